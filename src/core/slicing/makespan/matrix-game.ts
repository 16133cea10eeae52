/** What a matrix game is worth, and how both sides mix. */
export interface GameValue {
  readonly value: number;
  /** Shares of the rows, whose player wants much, and of the columns, whose player wants little. */
  readonly rows: Float64Array;
  readonly columns: Float64Array;
}

/** Reduced costs above this are improvements, in a game scaled to about 1. */
const improves = 1e-11;

/**
 * Solves the game in which the rows' player gets `payoff(row, column)`, all above 0, by the simplex method: maximise the sum of y with
 * `payoff y <= 1`, whose solution is the columns' mix divided by the value, and whose dual the rows'.
 */
export function solveGame(rowCount: number, columnCount: number, payoff: (row: number, column: number) => number): GameValue {
  const width = columnCount + rowCount + 1;
  const tableau = new Float64Array((rowCount + 1) * width);
  let scale = 0;
  for (let row = 0; row < rowCount; row++)
    for (let column = 0; column < columnCount; column++) scale = Math.max(scale, payoff(row, column));
  const basis = new Int32Array(rowCount);
  for (let row = 0; row < rowCount; row++) {
    for (let column = 0; column < columnCount; column++) tableau[row * width + column] = payoff(row, column) / scale;
    tableau[row * width + columnCount + row] = 1;
    tableau[row * width + width - 1] = 1;
    basis[row] = columnCount + row;
  }
  const goal = rowCount * width;
  for (let column = 0; column < columnCount; column++) tableau[goal + column] = 1;
  const mostPivots = 20 * (rowCount + columnCount) + 50;
  for (let pivots = 0; pivots < mostPivots; pivots++) {
    // After many pivots the first improving column (Bland's rule), which cannot cycle.
    const entering = enteringColumn(tableau, goal, width - 1, pivots > mostPivots / 2);
    if (entering < 0) break;
    const leaving = leavingRow(tableau, basis, width, entering);
    if (leaving < 0) break;
    pivot(tableau, width, leaving, entering);
    basis[leaving] = entering;
  }
  const columns = new Float64Array(columnCount);
  basis.forEach((column, row) => {
    if (column < columnCount) columns[column] = Math.max(0, tableau[row * width + width - 1] ?? 0);
  });
  const rows = Float64Array.from({ length: rowCount }, (_, row) => Math.max(0, -(tableau[goal + columnCount + row] ?? 0)));
  const total = sum(columns);
  return { value: scale / total, rows: normalised(rows), columns: normalised(columns) };
}

function enteringColumn(tableau: Float64Array, goal: number, columns: number, first: boolean): number {
  let best = -1;
  let most = improves;
  for (let column = 0; column < columns; column++) {
    const gain = tableau[goal + column] ?? 0;
    if (gain <= most) continue;
    best = column;
    if (first) return best;
    most = gain;
  }
  return best;
}

function leavingRow(tableau: Float64Array, basis: Int32Array, width: number, entering: number): number {
  let best = -1;
  let least = Infinity;
  for (let row = 0; row < basis.length; row++) {
    const rate = tableau[row * width + entering] ?? 0;
    if (rate <= improves) continue;
    const ratio = (tableau[row * width + width - 1] ?? 0) / rate;
    if (ratio < least || (ratio === least && (basis[row] ?? 0) < (basis[best] ?? 0))) {
      least = ratio;
      best = row;
    }
  }
  return best;
}

function pivot(tableau: Float64Array, width: number, leaving: number, entering: number): void {
  const from = leaving * width;
  const by = tableau[from + entering] ?? 1;
  for (let index = from; index < from + width; index++) tableau[index] = (tableau[index] ?? 0) / by;
  for (let start = 0; start < tableau.length; start += width) {
    const times = tableau[start + entering] ?? 0;
    if (start === from || times === 0) continue;
    for (let index = 0; index < width; index++)
      tableau[start + index] = (tableau[start + index] ?? 0) - times * (tableau[from + index] ?? 0);
  }
}

function sum(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function normalised(values: Float64Array): Float64Array {
  const total = sum(values);
  return total > 0 ? values.map((value) => value / total) : values;
}
