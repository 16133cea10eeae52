import type { LayerShape } from '../../../../src/core/domain/profile';
import { createTape, type Matrix, type Tape } from './tape';

/** A named tensor of row-major numbers. */
export interface Operand {
  readonly dims: readonly number[];
  readonly data: ArrayLike<number>;
}
export type Operands = ReadonlyMap<string, Operand>;

/** A layer from the textbook, head by head and token by token, in float64. */
export interface ReferenceLayer {
  readonly y: Matrix[];
  /** Of each sequence, of each key-value head: [tokens, headDim]. */
  readonly key: Matrix[][];
  readonly value: Matrix[][];
}

export interface Weights {
  readonly tape: Tape;
  /** `expert`: its part of a stacked weight. */
  readonly matrix: (name: string, expert?: number) => Matrix;
  /** Gradients of every weight that was used, flattened. */
  gradients(): Map<string, Float64Array>;
}

export function weightsOn(tape: Tape, operands: Operands, prefix: string): Weights {
  const leaves = new Map<string, Matrix>();
  return {
    tape,
    matrix(name, expert) {
      const key = expert === undefined ? name : `${name}#${expert}`;
      const known = leaves.get(key);
      if (known !== undefined) return known;
      const operand = operands.get(prefix + name);
      if (operand === undefined) throw new Error(`no ${prefix}${name}`);
      const cols = operand.dims.at(-1)!;
      const rows = operand.dims.length === 1 ? 1 : operand.dims.at(-2)!;
      const start = (expert ?? 0) * rows * cols;
      const leaf = tape.leaf(rows, cols, Array.from(operand.data).slice(start, start + rows * cols));
      leaves.set(key, leaf);
      return leaf;
    },
    gradients() {
      const whole = new Map<string, Float64Array>();
      for (const [key, leaf] of leaves) {
        const [name, expert] = key.split('#') as [string, string | undefined];
        const size = operands.get(prefix + name)!.data.length;
        const sum = whole.get(name) ?? new Float64Array(size);
        whole.set(name, sum);
        sum.set(leaf.gradient, Number(expert ?? 0) * leaf.gradient.length);
      }
      return whole;
    },
  };
}

export const range = (count: number): number[] => [...Array(count).keys()];

const columns = (tape: Tape, a: Matrix, start: number, count: number) => tape.select([a], a.rows, count, (r, c) => [0, r, start + c]);
const concatRows = (tape: Tape, parts: readonly Matrix[]) => {
  const owner = parts.flatMap((part, which) => range(part.rows).map((row) => [which, row] as const));
  return tape.select(parts, owner.length, parts[0]!.cols, (r, c) => [...owner[r]!, c]);
};
const concatColumns = (tape: Tape, parts: readonly Matrix[]) =>
  tape.transpose(
    concatRows(
      tape,
      parts.map((part) => tape.transpose(part)),
    ),
  );
const scale = (tape: Tape, a: Matrix, factor: number) =>
  tape.map(
    a,
    (x) => x * factor,
    () => factor,
  );

/**
 * Layer over a slice of each sequence. x: one [tokens, hidden] a sequence; past keys and values: of each sequence, of each key-value head,
 * [context, headDim].
 */
export function referenceLayer(
  weights: Weights,
  shape: LayerShape,
  x: readonly Matrix[],
  pastKey: readonly (readonly Matrix[])[],
  pastValue: readonly (readonly Matrix[])[],
): ReferenceLayer {
  const { tape } = weights;
  const key: Matrix[][] = [];
  const value: Matrix[][] = [];
  const middle = x.map((sequence, b) => {
    const normed = norm(weights, shape.norm, sequence, 'norm1');
    const qkv = affine(weights, normed, 'qkv', shape.qkvBias);
    const context = pastKey[b]![0]!.rows;
    const head = (at: number, name: string | null) => {
      let rows = columns(tape, qkv, at * shape.headDim, shape.headDim);
      if (name !== null && shape.qkNorm) rows = norm(weights, 'rmsnorm', rows, `${name}Norm`);
      return name !== null && shape.rotary ? turned(tape, rows, context) : rows;
    };
    const queries = range(shape.heads).map((h) => head(h, 'query'));
    key.push(range(shape.kvHeads).map((h) => head(shape.heads + h, 'key')));
    value.push(range(shape.kvHeads).map((h) => head(shape.heads + shape.kvHeads + h, null)));
    const outputs = queries.map((query, h) => {
      const group = Math.floor(h / (shape.heads / shape.kvHeads));
      const allKeys = concatRows(tape, [pastKey[b]![group]!, key[b]![group]!]);
      const allValues = concatRows(tape, [pastValue[b]![group]!, value[b]![group]!]);
      return tape.matmul(causal(tape, query, allKeys, context), allValues);
    });
    return tape.add(sequence, affine(weights, concatColumns(tape, outputs), 'output', shape.attentionOutputBias));
  });
  const tokens = middle[0]!.rows;
  const all = concatRows(tape, middle);
  const normed = norm(weights, shape.norm, all, 'norm2');
  const y = tape.add(all, shape.experts === null ? feedForward(weights, shape, normed) : mixture(weights, shape, normed, shape.experts));
  return { y: middle.map((_, b) => tape.select([y], tokens, y.cols, (r, c) => [0, b * tokens + r, c])), key, value };
}

function affine({ tape, matrix }: Weights, x: Matrix, name: string, bias: boolean, expert?: number): Matrix {
  const product = tape.matmul(x, matrix(name, expert));
  return bias ? tape.add(product, matrix(`${name}Bias`, expert)) : product;
}

/** (x - mean) / sqrt(variance + 1e-5) * gain + bias; RMSNorm without mean and bias. */
export function norm({ tape, matrix }: Weights, kind: 'layernorm' | 'rmsnorm', x: Matrix, name: string): Matrix {
  const mean = (a: Matrix) => scale(tape, tape.sumColumns(a), 1 / a.cols);
  const centred = kind === 'rmsnorm' ? x : tape.add(x, scale(tape, mean(x), -1));
  const inverse = tape.map(
    mean(tape.multiply(centred, centred)),
    (v) => (v + 1e-5) ** -0.5,
    (v) => -0.5 * (v + 1e-5) ** -1.5,
  );
  const gained = tape.multiply(tape.multiply(centred, inverse), matrix(name));
  return kind === 'rmsnorm' ? gained : tape.add(gained, matrix(`${name}Bias`));
}

/** Rotation of pairs (i, i + d / 2) by position * 10000^(-2 i / d), as a sum of products with cosines and sines. */
function turned(tape: Tape, rows: Matrix, firstPosition: number): Matrix {
  const half = rows.cols / 2;
  const angle = (r: number, c: number) => (firstPosition + r) * 10000 ** ((-2 * (c % half)) / rows.cols);
  const table = (f: (r: number, c: number) => number) =>
    tape.leaf(
      rows.rows,
      rows.cols,
      range(rows.rows * rows.cols).map((at) => f(Math.floor(at / rows.cols), at % rows.cols)),
    );
  const swapped = tape.select([rows], rows.rows, rows.cols, (r, c) => [0, r, (c + half) % rows.cols]);
  return tape.add(
    tape.multiply(
      rows,
      table((r, c) => Math.cos(angle(r, c))),
    ),
    tape.multiply(
      swapped,
      table((r, c) => (c < half ? -1 : 1) * Math.sin(angle(r, c))),
    ),
  );
}

/** Softmax over the keys at positions up to the query's, one query at a time. */
function causal(tape: Tape, query: Matrix, keys: Matrix, context: number): Matrix {
  const scores = scale(tape, tape.matmul(query, tape.transpose(keys)), 1 / Math.sqrt(query.cols));
  const zero = tape.leaf(1, 1, [0]);
  const rows = range(query.rows).map((r) => {
    const seen = context + r + 1;
    const p = softmax(
      tape,
      tape.select([scores], 1, seen, (_r, c) => [0, r, c]),
    );
    return tape.select([p, zero], 1, keys.rows, (_r, c) => (c < seen ? [0, 0, c] : [1, 0, 0]));
  });
  return concatRows(tape, rows);
}

export function softmax(tape: Tape, row: Matrix): Matrix {
  const most = Math.max(...row.values);
  const e = tape.map(
    row,
    (x) => Math.exp(x - most),
    (x) => Math.exp(x - most),
  );
  return tape.multiply(
    e,
    tape.map(
      tape.sumColumns(e),
      (x) => 1 / x,
      (x) => -1 / x ** 2,
    ),
  );
}

function feedForward(weights: Weights, shape: LayerShape, x: Matrix, expert?: number): Matrix {
  const { tape } = weights;
  const up = affine(weights, x, 'up', shape.mlpBias, expert);
  const sigmoid = (v: number) => 1 / (1 + Math.exp(-v));
  const activated = shape.gatedMlp
    ? tape.multiply(
        tape.map(
          affine(weights, x, 'gate', shape.mlpBias, expert),
          (v) => v * sigmoid(v),
          (v) => sigmoid(v) * (1 + v * (1 - sigmoid(v))),
        ),
        up,
      )
    : tape.map(
        up,
        (v) => (v * (1 + erf(v / Math.SQRT2))) / 2,
        (v) => (1 + erf(v / Math.SQRT2)) / 2 + (v * Math.exp(-(v ** 2) / 2)) / Math.sqrt(2 * Math.PI),
      );
  return affine(weights, activated, 'down', shape.mlpBias, expert);
}

/** Slot s = token * active + j goes to expert s mod count; the experts of a token are weighted by the softmax of their logits. */
function mixture(weights: Weights, shape: LayerShape, x: Matrix, { count, active }: { count: number; active: number }): Matrix {
  const { tape, matrix } = weights;
  const outputs = range(x.rows).map((token) => {
    const row = tape.select([x], 1, x.cols, (_r, c) => [0, token, c]);
    const logits = tape.matmul(row, matrix('router'));
    const chosen = range(active).map((j) => (token * active + j) % count);
    const gates = softmax(
      tape,
      tape.select([logits], 1, active, (_r, j) => [0, 0, chosen[j]!]),
    );
    const answers = chosen.map((expert) => feedForward(weights, shape, row, expert));
    return tape.matmul(gates, concatRows(tape, answers));
  });
  return concatRows(tape, outputs);
}

/** Error function to 1e-15: its Taylor series below 3, a continued fraction above. */
export function erf(x: number): number {
  if (x < 0) return -erf(-x);
  if (x > 3) {
    let fraction = x;
    for (let k = 60; k > 0; k--) fraction = x + k / 2 / fraction;
    return 1 - Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
  }
  let [sum, term] = [0, x];
  for (let k = 0; Math.abs(term) > 1e-18 && k < 200; k++) {
    sum += term / (2 * k + 1);
    term *= -(x * x) / (k + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

/** Gradients by name, as the backward graph names its results. */
export interface ReferencePass {
  readonly y: Float64Array;
  readonly presentKey: Float64Array;
  readonly presentValue: Float64Array;
  readonly gradients: ReadonlyMap<string, Float64Array>;
}

/**
 * Forward of a layer over operands named as the graphs name them, and the gradients of <dy, y> + <dKeyIn, own keys> + <dValueIn, own
 * values>, with `main.*` added to those of weights.
 */
export function referencePass(shape: LayerShape, operands: Operands, batch: number, tokens: number, context: number): ReferencePass {
  const tape = createTape();
  const weights = weightsOn(tape, operands, '');
  const blocks = (name: string, count: number, rows: number, cols: number) => {
    const data = Array.from(operands.get(name)!.data);
    return range(count).map((i) => data.slice(i * rows * cols, (i + 1) * rows * cols));
  };
  const sequences = blocks('x', batch, tokens, shape.hidden).map((data) => tape.leaf(tokens, shape.hidden, data));
  const byHead = (name: string, rows: number) => {
    const parts = blocks(name, batch * shape.kvHeads, rows, shape.headDim);
    return range(batch).map((b) => parts.slice(b * shape.kvHeads, (b + 1) * shape.kvHeads));
  };
  const past = (name: string) => byHead(name, context).map((heads) => heads.map((data) => tape.leaf(context, shape.headDim, data)));
  const [pastKey, pastValue] = [past('pastKey'), past('pastValue')];
  const layer = referenceLayer(weights, shape, sequences, pastKey, pastValue);
  const seeds = (name: string, own: Matrix[][]) =>
    byHead(name, tokens).flatMap((heads, b) => heads.map((data, h) => [own[b]![h]!, data] as const));
  tape.backward([
    ...blocks('dy', batch, tokens, shape.hidden).map((data, b) => [layer.y[b]!, data] as const),
    ...seeds('dKeyIn', layer.key),
    ...seeds('dValueIn', layer.value),
  ]);
  const gradients = new Map<string, Float64Array>();
  for (const [name, gradient] of weights.gradients()) {
    const main = operands.get(`main.${name}`)!.data;
    gradients.set(
      `d.${name}`,
      gradient.map((g, at) => g + main[at]!),
    );
  }
  gradients.set('dx', flat(sequences.map((m) => m.gradient)));
  gradients.set('dPastKey', flat(pastKey.flat().map((m) => m.gradient)));
  gradients.set('dPastValue', flat(pastValue.flat().map((m) => m.gradient)));
  const present = (old: Matrix[][], own: Matrix[][]) =>
    flat(old.flatMap((heads, b) => heads.flatMap((m, h) => [m.values, own[b]![h]!.values])));
  return {
    y: flat(layer.y.map((m) => m.values)),
    presentKey: present(pastKey, layer.key),
    presentValue: present(pastValue, layer.value),
    gradients,
  };
}

export function flat(parts: readonly ArrayLike<number>[]): Float64Array {
  return Float64Array.from(parts.flatMap((part) => Array.from(part)));
}
