import { memoized } from '../records';
import { throwIfCancelled, ExpectedError, type CancelSignal } from '../errors';
import { affineRows } from './affine-rows';
import { computeBaselines, bestEqualMs, type Baselines, type BatchLatency, type CutBaseline } from './baselines';
import { chooseMethod, type Solved } from './methods';
import { flowShopMs, formulaIsExact, flowShopObjective, type Objective } from './flow-shop';
import { requireSizes, schemeSliceTimes, commonUnit, type SlicingProblem } from './problem';
import type { SliceRows } from './slice-rows';
import type { BatchSlice, Scheme } from '../domain/scheme';
import { tabulatedRows } from './tabulated-rows';
import { longestUsefulMs } from './useful-times';
import { sentence } from '../sentence';

/** How the batch is best cut and what proves it. Times in ms. */
export interface SlicingSolution {
  readonly scheme: Scheme;
  /** Chunks of `scheme` in each round of filling and draining the pipeline; one round unless `maximumInFlight` asks for more. */
  readonly rounds: readonly number[];
  /** `totalMs + (stages - 1) * slowestMs` of `scheme` on equal stages, of each round. */
  readonly latencyMs: number;
  readonly totalMs: number;
  readonly slowestMs: number;
  /** No scheme is faster than this; equal to `latencyMs` when `exact`. */
  readonly lowerBoundMs: number;
  /** The optimum is proved, up to rounding of sums (1e-12 relative). */
  readonly exact: boolean;
  /**
   * What the latency is: eq. 5, which is the time itself on stages that are equal or heaviest at both ends, or the simulated time on stages
   * that differ otherwise, for which eq. 5 is only a bound.
   */
  readonly judgedBy: 'formula' | 'simulation';
  /** Thresholds solved. */
  readonly evaluations: number;
  readonly baselines: Baselines;
}

/** The best so far. Times in ms. */
export interface Incumbent {
  readonly scheme: Scheme;
  readonly latencyMs: number;
  readonly lowerBoundMs: number;
}

/** Incumbent times reported during the solve. */
export type IncumbentTimes = Pick<Incumbent, 'latencyMs' | 'lowerBoundMs'>;

interface SolveOptions {
  readonly signal?: CancelSignal | undefined;
  /** Called with growing fractions of the work, 0..1. */
  readonly onProgress?: ((fraction: number) => void) | undefined;
  /** Called when the best or the bound has moved; not where neither is known before the end. */
  readonly onIncumbent?: ((incumbent: Incumbent) => void) | undefined;
}

/** Latencies that differ by less than this share differ by rounding. */
const sameLatency = 1e-12;
/** Share of the progress that goes to calling the cost function. */
const tabulateShare = 0.5;

/**
 * The exact optimum over batch slices and token slices (TeraPipe eq. 5 to 9 and section 3.4; docs/model/slicing.md, Why the answer is
 * optimal): every threshold on the slowest slice that could matter is solved or ruled out by a bound, so the answer carries its own proof.
 * Costs are not assumed to be monotone. Of equally fast schemes one with the fewest slices. Without `contextKinks` every slice time is
 * asked for (8 bytes each, `sliceTimeCount` of them); with it, three per length. Deterministic.
 * @throws RangeError for sizes that are not positive integers or a cost that is negative, NaN or not of the structure declared;
 * ExpectedError `slicing-infeasible` when every scheme holds a forbidden slice; CancelledError.
 */
export function solveSlicing(given: SlicingProblem, { signal, onProgress, onIncumbent }: SolveOptions = {}): SlicingSolution {
  requireSizes(given);
  const problem: SlicingProblem = { ...given, unit: commonUnit(given) };
  const report = growingOnly(onProgress);
  const factors = problem.stageFactors ?? [];
  const formula: Objective = factors.length === 0 ? { sum: 1, slowest: problem.stages - 1 } : flowShopObjective(factors);
  const judgedBy = factors.length === 0 || formulaIsExact(factors) ? 'formula' : 'simulation';
  const single = sliceRowsFor(problem, 1, signal, Infinity);
  const estimated = computeBaselines(problem, single, batchLatency(problem, formula), signal);
  const capMs = problem.grows === true && problem.oneScheme !== true && judgedBy === 'formula' ? bestEqualMs(estimated) : Infinity;
  const withinMs = longestUsefulMs(problem, single, formula, capMs);
  const kinds = rowsByChunkSize(problem, single, withinMs, signal, (fraction) => report(tabulateShare * fraction));

  const solved = chooseMethod(problem, kinds, formula, judgedBy, estimated, {
    signal,
    onMove: (best, boundMs, startGapMs) => {
      if (best !== null) {
        const latencyMs = formula.sum * best.objectiveMs;
        onIncumbent?.({ scheme: toScheme(best.chunks, problem), latencyMs, lowerBoundMs: Math.min(latencyMs, formula.sum * boundMs) });
      }
      if (best !== null && startGapMs > 0) report(tabulateShare + (1 - tabulateShare) * (1 - (best.objectiveMs - boundMs) / startGapMs));
    },
  });
  if (solved === null)
    throw new ExpectedError(
      'slicing-infeasible',
      sentence`No slicing of ${problem.tokens} tokens avoids the slices that are ruled out`,
      problem.maximumInFlight === undefined
        ? sentence`allow shorter slices or fewer sequences at a time`
        : sentence`allow more slices in flight, or longer ones`,
    );
  const rounds = solved.rounds.map((chunks) => toScheme(chunks, problem));
  const ordered = judgedBy === 'formula' ? rounds.map((round) => longFirst(round, problem)) : rounds;
  const judged = judge(ordered, problem, formula, judgedBy);
  report(1);
  return {
    scheme: ordered.flat(),
    rounds: ordered.map((round) => round.length),
    ...judged,
    lowerBoundMs: solved.exact ? judged.latencyMs : Math.min(solved.boundMs, judged.latencyMs),
    exact: solved.exact,
    judgedBy,
    evaluations: solved.evaluations,
    baselines: judgedBy === 'formula' ? estimated : simulated(estimated, problem),
  };
}

/** Chunks of 1, 2, ... sequences: those of one are known; the others are slices that take at most `withinMs`. */
function rowsByChunkSize(
  problem: SlicingProblem,
  single: SliceRows,
  withinMs: number,
  signal: CancelSignal | undefined,
  onProgress: (fraction: number) => void,
): SliceRows[] {
  const largest = Math.min(problem.batch, problem.maximumBatchSlice ?? problem.batch);
  return Array.from({ length: largest }, (_, index) => {
    throwIfCancelled(signal);
    const rows = index === 0 ? single : sliceRowsFor(problem, index + 1, signal, withinMs);
    onProgress((index + 1) / largest);
    return rows;
  });
}

function sliceRowsFor(problem: SlicingProblem, sequences: number, signal: CancelSignal | undefined, withinMs: number): SliceRows {
  const { contextKinks } = problem;
  const kinks = typeof contextKinks === 'function' ? contextKinks(sequences) : contextKinks;
  return kinks === undefined
    ? tabulatedRows(problem, sequences, signal, withinMs)
    : affineRows(problem, sequences, kinks, signal, withinMs);
}

/** The formula for a batch whose sequences are all cut alike; in rounds where slices in flight are limited. */
function batchLatency({ batch, maximumInFlight = Infinity, forwardOnly = false }: SlicingProblem, formula: Objective): BatchLatency {
  return ({ totalMs, slowestMs }, slices) => {
    const together = forwardOnly ? batch : Math.min(batch, Math.floor(maximumInFlight / slices));
    const rounds = together < 1 ? Infinity : Math.ceil(batch / together);
    return formula.sum * batch * totalMs + (formula.slowest === 0 ? 0 : formula.slowest * rounds * slowestMs);
  };
}

function toScheme(chunks: Solved['rounds'][number], { tokens, unit }: SlicingProblem): Scheme {
  return chunks.map(({ sequences, ends }) => ({
    batch: sequences,
    tokens: Array.from(ends, (end, index) => Math.min(tokens, end * unit) - (ends[index - 1] ?? 0) * unit),
  }));
}

function judge(rounds: readonly Scheme[], problem: SlicingProblem, formula: Objective, by: SlicingSolution['judgedBy']) {
  const times = rounds.map((round) => schemeSliceTimes(round, problem.cost));
  const totals = times.map((each) => each.reduce((sum, ms) => sum + ms, 0));
  const slowest = times.map((each) => each.reduce((most, ms) => Math.max(most, ms), 0));
  const totalMs = totals.reduce((sum, ms) => sum + ms, 0);
  const latencyMs =
    by === 'formula'
      ? formula.sum * totalMs + formula.slowest * slowest.reduce((sum, ms) => sum + ms, 0)
      : times.reduce((sum, each) => sum + flowShopMs(each, problem.stageFactors ?? []), 0);
  return { latencyMs, totalMs, slowestMs: slowest.reduce((most, ms) => Math.max(most, ms), 0) };
}

/** The same baselines with their simulated times. */
function simulated({ uniform, equalTime, equalWork, dynamicChunks }: Baselines, problem: SlicingProblem): Baselines {
  const latency = (tokens: readonly number[]): number => {
    const times = schemeSliceTimes([{ batch: 1, tokens }], problem.cost);
    return flowShopMs(repeated(times, problem.batch), problem.stageFactors ?? []);
  };
  const judged = (baseline: CutBaseline): CutBaseline => ({ ...baseline, latencyMs: latency(baseline.tokens) });
  return {
    wholeMs: latency([problem.tokens]),
    uniform: judged(uniform),
    equalTime: judged(equalTime),
    equalWork: equalWork === null ? null : judged(equalWork),
    dynamicChunks: dynamicChunks === null ? null : judged(dynamicChunks),
  };
}

function* repeated(times: Float64Array, often: number): Generator<number> {
  for (let index = 0; index < often; index++) yield* times;
}

/**
 * Among equals the order that the paper prints: long slices first, as later ones have more context. Kept as found where that is slower or
 * breaks a unit.
 */
function longFirst(scheme: Scheme, problem: SlicingProblem): Scheme {
  const known = new Map<readonly number[], readonly number[]>();
  const sorted = scheme
    .map((chunk) => {
      const tokens = memoized(known, chunk.tokens, () => longFirstChunk(chunk, problem));
      return { batch: chunk.batch, tokens };
    })
    .sort((a, b) => b.batch - a.batch);
  const alike = problem.oneScheme !== true || new Set(sorted.map(({ tokens }) => String(tokens))).size === 1;
  return alike ? sorted : scheme;
}

function longFirstChunk({ batch, tokens }: BatchSlice, { cost, unit }: SlicingProblem): readonly number[] {
  const sorted = tokens.toSorted((a, b) => b - a);
  if (!sorted.slice(0, -1).every((length) => length % unit === 0)) return tokens;
  const [before, after] = [tokens, sorted].map((lengths) => {
    const times = schemeSliceTimes([{ batch, tokens: lengths }], cost);
    return { totalMs: times.reduce((sum, ms) => sum + ms, 0), slowestMs: times.reduce((most, ms) => Math.max(most, ms), 0) };
  });
  const no = (afterMs = Infinity, beforeMs = 0): boolean => afterMs > beforeMs * (1 + sameLatency);
  return no(after?.totalMs, before?.totalMs) || no(after?.slowestMs, before?.slowestMs) ? tokens : sorted;
}

function growingOnly(onProgress: ((fraction: number) => void) | undefined): (fraction: number) => void {
  let reported = 0;
  return (fraction) => {
    const share = Math.min(1, fraction);
    if (onProgress === undefined || share <= reported || (share < reported + 0.01 && share < 1)) return;
    reported = share;
    onProgress(share);
  };
}
