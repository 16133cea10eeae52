import { groupBy } from '../measured-runs';

/** A measured run as the fit takes it: how far it lies from its prediction, and how that moves with the constants. */
export interface Observation {
  /** Project or paper, which is left out whole. */
  readonly project: string;
  /** Runs of one project that share what nobody modelled: their machine, their release. */
  readonly family: string;
  /** How far families like this lie from the model. */
  readonly spread: number;
  /** Logarithm of measured over predicted time at `start`. */
  readonly log: number;
  /** How the logarithm of the prediction changes with that of each constant. */
  readonly slopes: Readonly<Record<string, number>>;
}

/** What is known of logarithms of constants without the runs: a sum of them, weighted by `of`, is `mean`, give or take `spread`. */
export interface Prior {
  readonly of: Readonly<Record<string, number>>;
  readonly mean: number;
  readonly spread: number;
}

/** Logarithms of constants, and how far they may be off (one standard deviation). */
export interface Solution {
  readonly logs: Readonly<Record<string, number>>;
  readonly spreads: Readonly<Record<string, number>>;
}

/** How far single runs lie from their family. */
const runSpread = 0.025;
/** Beyond this many of its standard deviations a run counts less, in proportion (Huber). */
const outlying = 2;
/** The same of families: one that lies farther off is taken for one of a wider kind. */
const outlyingFamily = 1.5;
const passes = 12;

/**
 * The most likely constants, linear about `start`: runs of one family share an error, so that fifty runs of one table do not count as fifty
 * sources. Runs that lie far off count less.
 */
export function solve(observations: readonly Observation[], priors: readonly Prior[], start: Readonly<Record<string, number>>): Solution {
  const keys = Object.keys(start);
  const place = new Map(keys.map((key, index) => [key, index]));
  const families = [...groupBy(observations, ({ family }) => family).values()];
  let change = keys.map(() => 0);
  let precision: number[][] = [];
  for (let pass = 0; pass < passes; pass++) {
    precision = keys.map(() => keys.map(() => 0));
    const target = keys.map(() => 0);
    for (const prior of priors) {
      const row = Object.entries(prior.of).map(([key, weight]): [number, number] => [place.get(key) ?? NaN, weight]);
      const missing = prior.mean - row.reduce((sum, [index, weight]) => sum + weight * (start[keys[index] ?? ''] ?? NaN), 0);
      addRow(precision, target, row, missing, 1 / prior.spread ** 2);
    }
    for (const runs of families) addFamily(precision, target, runs, place, change);
    change = solveLinear(precision, target);
  }
  const covariance = keys.map(
    (_, index) =>
      solveLinear(
        precision,
        keys.map((__, other) => (other === index ? 1 : 0)),
      )[index] ?? NaN,
  );
  return {
    logs: Object.fromEntries(keys.map((key, index) => [key, (start[key] ?? NaN) + (change[index] ?? NaN)])),
    spreads: Object.fromEntries(keys.map((key, index) => [key, Math.sqrt(covariance[index] ?? NaN)])),
  };
}

/** What is left of a run at other constants than those it was predicted with, as a logarithm of measured over predicted. */
export function residual({ log, slopes }: Observation, start: Readonly<Record<string, number>>, logs: Solution['logs']): number {
  return Object.entries(slopes).reduce((left, [key, slope]) => left - slope * ((logs[key] ?? NaN) - (start[key] ?? NaN)), log);
}

function addRow(precision: number[][], target: number[], row: readonly [number, number][], value: number, weight: number): void {
  for (const [i, a] of row) {
    target[i] = (target[i] ?? 0) + weight * a * value;
    const into = precision[i];
    if (into !== undefined) for (const [j, b] of row) into[j] = (into[j] ?? 0) + weight * a * b;
  }
}

/** Runs of one family, whose shared error is taken out as one more unknown that nobody asks for. */
function addFamily(
  precision: number[][],
  target: number[],
  runs: readonly Observation[],
  place: ReadonlyMap<string, number>,
  change: readonly number[],
): void {
  const rows = runs.map(({ slopes, log }) => {
    const row = Object.entries(slopes).map(([key, slope]): [number, number] => [place.get(key) ?? NaN, slope]);
    return { row, log, left: row.reduce((sum, [index, slope]) => sum - slope * (change[index] ?? 0), log) };
  });
  const [{ spread: usualSpread } = { spread: NaN }] = runs;
  const middle = median(rows.map(({ left }) => left));
  const spread = Math.max(usualSpread, Math.abs(middle) / outlyingFamily);
  const usual = middle * (spread ** 2 / (spread ** 2 + runSpread ** 2 / rows.length));
  const weights = rows.map(({ left }) => Math.min(1, (outlying * runSpread) / Math.abs(left - usual)) / runSpread ** 2);
  rows.forEach(({ row, log }, index) => {
    addRow(precision, target, row, log, weights[index] ?? 0);
  });
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  const shared = new Map<number, number>();
  let log = 0;
  rows.forEach((one, index) => {
    const weight = weights[index] ?? 0;
    log += weight * one.log;
    for (const [at, slope] of one.row) shared.set(at, (shared.get(at) ?? 0) + weight * slope);
  });
  addRow(precision, target, [...shared], log, -1 / (all + 1 / spread ** 2));
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Solves a symmetric positive system by elimination. */
function solveLinear(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const rows = matrix.map((row, index) => [...row, right[index] ?? 0]);
  const n = rows.length;
  for (let i = 0; i < n; i++) {
    const pivot = rows[i] ?? [];
    for (let j = i + 1; j < n; j++) {
      const row = rows[j] ?? [];
      const factor = (row[i] ?? 0) / (pivot[i] ?? NaN);
      if (factor !== 0) for (let k = i; k <= n; k++) row[k] = (row[k] ?? 0) - factor * (pivot[k] ?? 0);
    }
  }
  const found = Array.from({ length: n }, () => 0);
  for (let i = n - 1; i >= 0; i--) {
    const row = rows[i] ?? [];
    const rest = found.reduce((sum, value, k) => (k > i ? sum - (row[k] ?? 0) * value : sum), row[n] ?? 0);
    found[i] = rest / (row[i] ?? NaN);
  }
  return found;
}
