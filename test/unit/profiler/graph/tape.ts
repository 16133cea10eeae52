/** A matrix of float64 on the tape, with the gradient of the loss to it. */
export interface Matrix {
  readonly rows: number;
  readonly cols: number;
  readonly values: Float64Array;
  readonly gradient: Float64Array;
}

/** Reverse-mode differentiation by a tape of small matrix operations: the oracle that graphs are compared with. */
export interface Tape {
  leaf(rows: number, cols: number, values: ArrayLike<number>): Matrix;
  matmul(a: Matrix, b: Matrix): Matrix;
  transpose(a: Matrix): Matrix;
  /** b of the extents of a, or one row or column of it, repeated. */
  add(a: Matrix, b: Matrix): Matrix;
  multiply(a: Matrix, b: Matrix): Matrix;
  map(a: Matrix, f: (x: number) => number, slope: (x: number) => number): Matrix;
  /** Sum of each row, as a column. */
  sumColumns(a: Matrix): Matrix;
  /** Element (r, c) is element index(r, c) of all matrices' one after the other. */
  select(
    sources: readonly Matrix[],
    rows: number,
    cols: number,
    index: (row: number, col: number) => readonly [matrix: number, row: number, col: number],
  ): Matrix;
  /** Adds the gradients of the sum of outputs weighted by seeds to every matrix. */
  backward(seeds: readonly (readonly [Matrix, ArrayLike<number>])[]): void;
}

export function createTape(): Tape {
  const steps: (() => void)[] = [];
  const matrix = (rows: number, cols: number): Matrix => ({
    rows,
    cols,
    values: new Float64Array(rows * cols),
    gradient: new Float64Array(rows * cols),
  });
  const make = (rows: number, cols: number, value: (row: number, col: number) => number, back: (out: Matrix) => void) => {
    const out = matrix(rows, cols);
    for (let r = 0; r < rows; r++) for (let c = 0; c < cols; c++) out.values[r * cols + c] = value(r, c);
    steps.push(() => back(out));
    return out;
  };
  const each = (m: Matrix, visit: (row: number, col: number, at: number) => void) => {
    for (let r = 0; r < m.rows; r++) for (let c = 0; c < m.cols; c++) visit(r, c, r * m.cols + c);
  };
  const spread = (b: Matrix) => (r: number, c: number) => (b.rows === 1 ? 0 : r) * b.cols + (b.cols === 1 ? 0 : c);
  const check = (holds: boolean) => {
    if (!holds) throw new Error('extents do not fit');
  };

  return {
    leaf(rows, cols, values) {
      check(values.length === rows * cols);
      const out = matrix(rows, cols);
      out.values.set(values);
      return out;
    },
    matmul(a, b) {
      check(a.cols === b.rows);
      const dot = (r: number, c: number) => {
        let sum = 0;
        for (let k = 0; k < a.cols; k++) sum += a.values[r * a.cols + k]! * b.values[k * b.cols + c]!;
        return sum;
      };
      return make(a.rows, b.cols, dot, (out) => {
        each(out, (r, c, at) => {
          const g = out.gradient[at]!;
          for (let k = 0; k < a.cols; k++) {
            a.gradient[r * a.cols + k]! += g * b.values[k * b.cols + c]!;
            b.gradient[k * b.cols + c]! += g * a.values[r * a.cols + k]!;
          }
        });
      });
    },
    transpose(a) {
      return make(
        a.cols,
        a.rows,
        (r, c) => a.values[c * a.cols + r]!,
        (out) => each(out, (r, c, at) => (a.gradient[c * a.cols + r]! += out.gradient[at]!)),
      );
    },
    add(a, b) {
      const at2 = spread(b);
      check((b.rows === 1 || b.rows === a.rows) && (b.cols === 1 || b.cols === a.cols));
      return make(
        a.rows,
        a.cols,
        (r, c) => a.values[r * a.cols + c]! + b.values[at2(r, c)]!,
        (out) =>
          each(out, (r, c, at) => {
            a.gradient[at]! += out.gradient[at]!;
            b.gradient[at2(r, c)]! += out.gradient[at]!;
          }),
      );
    },
    multiply(a, b) {
      const at2 = spread(b);
      check((b.rows === 1 || b.rows === a.rows) && (b.cols === 1 || b.cols === a.cols));
      return make(
        a.rows,
        a.cols,
        (r, c) => a.values[r * a.cols + c]! * b.values[at2(r, c)]!,
        (out) =>
          each(out, (r, c, at) => {
            a.gradient[at]! += out.gradient[at]! * b.values[at2(r, c)]!;
            b.gradient[at2(r, c)]! += out.gradient[at]! * a.values[at]!;
          }),
      );
    },
    map(a, f, slope) {
      return make(
        a.rows,
        a.cols,
        (r, c) => f(a.values[r * a.cols + c]!),
        (out) => each(out, (_r, _c, at) => (a.gradient[at]! += out.gradient[at]! * slope(a.values[at]!))),
      );
    },
    sumColumns(a) {
      const sum = (r: number) => a.values.subarray(r * a.cols, (r + 1) * a.cols).reduce((total, x) => total + x, 0);
      return make(a.rows, 1, sum, (out) => each(a, (r, _c, at) => (a.gradient[at]! += out.gradient[r]!)));
    },
    select(sources, rows, cols, index) {
      const place = (r: number, c: number) => {
        const [which, row, col] = index(r, c);
        const source = sources[which]!;
        check(row >= 0 && row < source.rows && col >= 0 && col < source.cols);
        return { source, at: row * source.cols + col };
      };
      const value = (r: number, c: number) => {
        const { source, at } = place(r, c);
        return source.values[at]!;
      };
      return make(rows, cols, value, (out) =>
        each(out, (r, c, at) => {
          const from = place(r, c);
          from.source.gradient[from.at]! += out.gradient[at]!;
        }),
      );
    },
    backward(seeds) {
      for (const [out, seed] of seeds) each(out, (_r, _c, at) => (out.gradient[at]! += seed[at]!));
      for (const step of steps.toReversed()) step();
    },
  };
}
