/** A linear model y = sum of coefficient x column, fitted with weights. */
export interface LinearFit {
  /** One for each column; 0 for columns that the samples cannot distinguish from earlier ones. */
  readonly coefficients: readonly number[];
  /** y minus the model, one for each row, unweighted. */
  readonly residuals: readonly number[];
  /** Diagonal of the hat matrix, 0 to 1: how far a row decides its own prediction. */
  readonly leverages: readonly number[];
}

/** A column whose part outside the span of the columns before it is smaller than this fraction of it adds nothing. */
const dependent = 1e-8;

/**
 * Weighted least squares by modified Gram-Schmidt (Golub and Van Loan, Matrix Computations, 5.2.8), columns in the order of their
 * importance.
 * @param rows one for each sample, all of the same length. @param weights multiply a row and its target.
 */
export function leastSquares(rows: readonly (readonly number[])[], targets: readonly number[], weights: readonly number[]): LinearFit {
  const width = rows[0]?.length ?? 0;
  const columns = Array.from({ length: width }, (_, j) => rows.map((row, i) => (row[j] ?? 0) * (weights[i] ?? 0)));
  const basis: number[][] = [];
  const kept: number[] = [];
  const triangle: number[][] = [];
  columns.forEach((column, j) => {
    const { rest, shares } = orthogonal(column, basis);
    const length = Math.sqrt(dot(rest, rest));
    if (!(length > dependent * Math.sqrt(dot(column, column)))) return;
    basis.push(rest.map((value) => value / length));
    triangle.push([...shares, length]);
    kept.push(j);
  });
  const { shares } = orthogonal(
    targets.map((target, i) => target * (weights[i] ?? 0)),
    basis,
  );
  const solved = backSubstituted(triangle, shares);
  const coefficients = Array.from({ length: width }, (_, j) => solved[kept.indexOf(j)] ?? 0);
  return {
    coefficients,
    residuals: targets.map((target, i) => target - dot(rows[i] ?? [], coefficients)),
    leverages: targets.map((_, i) => basis.reduce((sum, unit) => sum + (unit[i] ?? 0) ** 2, 0)),
  };
}

/**
 * The part of `column` outside the span of `basis`, and its shares in it. Twice, because once loses digits (Kahan and Parlett's "twice is
 * enough").
 */
function orthogonal(column: readonly number[], basis: readonly (readonly number[])[]): { rest: readonly number[]; shares: number[] } {
  let rest = column;
  const shares = basis.map(() => 0);
  for (let pass = 0; pass < 2; pass++)
    basis.forEach((unit, k) => {
      const share = dot(rest, unit);
      shares[k] = (shares[k] ?? 0) + share;
      rest = rest.map((value, i) => value - share * (unit[i] ?? 0));
    });
  return { rest, shares };
}

/** `triangle[j]` is column j of R from its top to its diagonal. */
function backSubstituted(triangle: readonly (readonly number[])[], shares: readonly number[]): number[] {
  const left = [...shares];
  const solved = triangle.map(() => 0);
  for (let j = triangle.length - 1; j >= 0; j--) {
    const column = triangle[j] ?? [];
    const value = (left[j] ?? 0) / (column[j] ?? 1);
    solved[j] = value;
    for (let k = 0; k < j; k++) left[k] = (left[k] ?? 0) - value * (column[k] ?? 0);
  }
  return solved;
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
}
