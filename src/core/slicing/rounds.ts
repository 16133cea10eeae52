import { throwIfCancelled, type CancelSignal } from '../errors';
import { emptyRow, type SliceRows } from './slice-rows';
import { roundingSlack, type FoundScheme } from './search';
import { append } from '../records';
import { minimum } from '../numbers';

/** Plans that hold at most this many slices at a time. */
interface RoundsProblem {
  readonly kinds: readonly SliceRows[];
  readonly sequences: number;
  readonly weight: number;
  /** Most slices in a round: TeraPipe runs all forwards of a round before its backwards, so all its slices are in flight at once. */
  readonly maximumSlices: number;
  readonly maximumEvaluations: number;
}

export interface RoundsResult {
  /** Rounds in order; null: no sequence can be cut into this few slices. */
  readonly rounds: readonly FoundScheme['chunks'][] | null;
  readonly objectiveMs: number;
  readonly boundMs: number;
  readonly exact: boolean;
  readonly evaluations: number;
}

/** The best round of this many sequences, and a bound on it. */
export interface Round {
  readonly plan: Pick<FoundScheme, 'chunks' | 'objectiveMs'> | null;
  readonly boundMs: number;
  readonly evaluations: number;
}

/**
 * The fastest way to run the batch in rounds of few slices, each of which fills and drains the pipeline (gradient accumulation, appendix of
 * TeraPipe): for every number of sequences the best round, and of these the cheapest composition of the batch.
 * @throws CancelledError
 */
export function solveRounds(problem: RoundsProblem, signal: CancelSignal | undefined): RoundsResult {
  return composeRounds(Array.from({ length: problem.sequences }, (_, index) => bestRound(problem, index + 1, signal)));
}

/** The cheapest composition of a batch from rounds: entry i has i + 1 sequences; the last entry is the whole batch. */
export function composeRounds(found: readonly Round[]): RoundsResult {
  const sequences = found.length;
  const best = new Float64Array(sequences + 1).fill(Infinity);
  const bound = new Float64Array(sequences + 1).fill(Infinity);
  const last = new Uint32Array(sequences + 1);
  best[0] = 0;
  bound[0] = 0;
  for (let done = 1; done <= sequences; done++)
    found.forEach(({ plan, boundMs }, index) => {
      const size = index + 1;
      if (size > done) return;
      const total = (best[done - size] ?? Infinity) + (plan?.objectiveMs ?? Infinity);
      if (total < (best[done] ?? 0) * (1 - roundingSlack) || (total < Infinity && best[done] === Infinity)) {
        best[done] = total;
        last[done] = size;
      }
      bound[done] = Math.min(bound[done] ?? 0, (bound[done - size] ?? Infinity) + boundMs);
    });
  const objectiveMs = best[sequences] ?? Infinity;
  const evaluations = found.reduce((sum, round) => sum + round.evaluations, 0);
  const boundMs = Math.min(objectiveMs, bound[sequences] ?? 0);
  if (objectiveMs === Infinity) return { rounds: null, objectiveMs, boundMs, exact: true, evaluations };
  const rounds: FoundScheme['chunks'][] = [];
  for (let left = sequences; left > 0; left -= last[left] ?? left) append(rounds, [found[(last[left] ?? 1) - 1]?.plan?.chunks ?? []]);
  return { rounds, objectiveMs, boundMs, exact: boundMs >= objectiveMs * (1 - roundingSlack), evaluations };
}

interface LimitedStep {
  readonly totalMs: number;
  readonly slowestMs: number;
  readonly slices: number;
  readonly chunks: FoundScheme['chunks'];
}

/** The staircase of thresholds once more, with the slices of a round of `size` sequences counted. */
export function bestRound(
  { kinds, weight, maximumSlices, maximumEvaluations }: Omit<RoundsProblem, 'sequences'>,
  size: number,
  signal: CancelSignal | undefined,
): Round {
  const usable = kinds.filter((rows) => rows.sequences <= size);
  let plan: FoundScheme | null = null;
  let evaluations = 0;
  const solve = (limitMs: number): LimitedStep => {
    evaluations++;
    const step = cheapestWithFew(usable, size, maximumSlices, limitMs, signal);
    const objectiveMs = step.totalMs + weight * step.slowestMs;
    if (step.totalMs < Infinity && objectiveMs < (plan?.objectiveMs ?? Infinity) * (1 - roundingSlack)) plan = { ...step, objectiveMs };
    return step;
  };
  const capMs = (): number => (plan?.objectiveMs ?? Infinity) * (1 - roundingSlack);
  const top = solve(Infinity);
  if (top.totalMs === Infinity) return { plan: null, boundMs: Infinity, evaluations };
  const open = [{ lowMs: -1, highMs: top.slowestMs, sumMs: top.totalMs }];
  const intervalBound = (interval: { lowMs: number; sumMs: number }): number => interval.sumMs + weight * Math.max(0, interval.lowMs);
  for (let interval = open.pop(); interval !== undefined; interval = open.pop()) {
    const { lowMs, highMs, sumMs } = interval;
    const uselessMs = weight === 0 ? -1 : (capMs() - sumMs) / weight;
    const limitMs = Math.min(highMs * (1 - Number.EPSILON), uselessMs);
    if (limitMs <= lowMs || limitMs < 0) continue;
    if (evaluations >= maximumEvaluations)
      return { plan, boundMs: Math.min(capMs(), intervalBound(interval), minimum(open.map(intervalBound))), evaluations };
    const pivotMs =
      evaluations % 2 === 0 && highMs - limitMs < (highMs - Math.max(0, lowMs)) / 4 ? (Math.max(0, lowMs) + limitMs) / 2 : limitMs;
    const step = solve(pivotMs);
    if (pivotMs < limitMs) open.push({ lowMs: pivotMs, highMs, sumMs });
    if (step.totalMs < Infinity && step.slowestMs > 0) open.push({ lowMs, highMs: step.slowestMs, sumMs: step.totalMs });
  }
  return { plan, boundMs: readPlan(plan)?.objectiveMs ?? Infinity, evaluations };
}

/** The checker does not see assignments inside closures. */
function readPlan(plan: FoundScheme | null): FoundScheme | null {
  return plan;
}

/**
 * The cheapest composition of `size` sequences with at most `most` slices, none above `limitMs`. O(most x slices) per kind, O(size x
 * most^2) per kind for the batch.
 */
function cheapestWithFew(
  kinds: readonly SliceRows[],
  size: number,
  most: number,
  limitMs: number,
  signal: CancelSignal | undefined,
): LimitedStep {
  const cuts = kinds.map((rows) => cheapestByCount(rows, Math.min(most, rows.units), limitMs, signal));
  const width = most + 1;
  const totals = new Float64Array((size + 1) * width).fill(Infinity);
  const lastKinds = new Uint32Array(totals.length);
  const lastCounts = new Uint32Array(totals.length);
  totals[0] = 0;
  for (let done = 1; done <= size; done++)
    kinds.forEach((rows, kind) => {
      if (rows.sequences > done) return;
      const before = (done - rows.sequences) * width;
      cuts[kind]?.totals.forEach((ms, count) => {
        if (ms === Infinity) return;
        for (let slices = count; slices <= most; slices++) {
          const total = (totals[before + slices - count] ?? Infinity) + ms;
          if (total >= (totals[done * width + slices] ?? 0)) continue;
          totals[done * width + slices] = total;
          lastKinds[done * width + slices] = kind;
          lastCounts[done * width + slices] = count;
        }
      });
    });
  let slices = 0;
  for (let count = 1; count <= most; count++)
    if ((totals[size * width + count] ?? 0) < (totals[size * width + slices] ?? 0)) slices = count;
  const totalMs = totals[size * width + slices] ?? Infinity;
  if (totalMs === Infinity) return { totalMs, slowestMs: 0, slices: 0, chunks: [] };
  const chunks: { sequences: number; ends: Uint32Array }[] = [];
  let slowestMs = 0;
  for (let done = size, left = slices; done > 0;) {
    const kind = lastKinds[done * width + left] ?? 0;
    const count = lastCounts[done * width + left] ?? 0;
    const cut = cuts[kind]?.cut(count);
    slowestMs = Math.max(slowestMs, cut?.slowestMs ?? 0);
    chunks.push({ sequences: kinds[kind]?.sequences ?? 1, ends: cut?.ends ?? new Uint32Array(0) });
    done -= kinds[kind]?.sequences ?? done;
    left -= count;
  }
  return { totalMs, slowestMs, slices, chunks };
}

interface CutsByCount {
  /** Cheapest sum with exactly this many slices, ms. */
  readonly totals: Float64Array;
  readonly cut: (count: number) => { readonly ends: Uint32Array; readonly slowestMs: number };
}

/** Eq. 8 with the slices counted: one layer per slice. */
function cheapestByCount(rows: SliceRows, most: number, limitMs: number, signal: CancelSignal | undefined): CutsByCount {
  const { units } = rows;
  const width = units + 1;
  const layers = new Float64Array((most + 1) * width).fill(Infinity);
  const next = new Uint32Array((most + 1) * width);
  const peaks = new Float64Array((most + 1) * width);
  layers[units] = 0;
  const row = emptyRow();
  for (let start = units - 1; start >= 0; start--) {
    throwIfCancelled(signal);
    rows.read(start, limitMs, row);
    for (let count = 1; count <= most; count++) {
      const at = count * width + start;
      const behind = (count - 1) * width + start + 1;
      for (let index = 0; index < row.length; index++) {
        const peak = row.peakMs[row.offset + index] ?? 0;
        if (peak > limitMs) continue;
        const total = (row.ms[row.offset + index] ?? 0) + (layers[behind + index] ?? 0);
        if (total >= (layers[at] ?? 0)) continue;
        layers[at] = total;
        next[at] = start + 1 + index;
        peaks[at] = peak;
      }
    }
  }
  return {
    totals: Float64Array.from({ length: most + 1 }, (_, count) => (count === 0 ? Infinity : (layers[count * width] ?? Infinity))),
    cut: (count) => {
      const ends = new Uint32Array(count);
      let slowestMs = 0;
      for (let left = count, unit = 0; left > 0; left--) {
        const at = left * width + unit;
        slowestMs = Math.max(slowestMs, peaks[at] ?? 0);
        unit = next[at] ?? units;
        ends[count - left] = unit;
      }
      return { ends, slowestMs };
    },
  };
}
