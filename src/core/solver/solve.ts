import { ExpectedError, type CancelSignal } from '../errors';
import { baselinesOf, type Baselines } from './baselines';
import { latencyOf, unitCount, type SlicingProblem } from './problem';
import { tabulate, type SliceTimes } from './slice-times';
import type { Scheme } from './slicing';
import { proveOptimum } from './staircase';
import { schemeUnder } from './threshold';

/** How the batch is best cut and what proves it. Times in ms. */
export interface SlicingSolution {
  readonly scheme: Scheme;
  /** `totalMs + (stages - 1) * slowestMs` of `scheme`. */
  readonly latencyMs: number;
  readonly totalMs: number;
  readonly slowestMs: number;
  /** No scheme is faster than this; equal to `latencyMs` when `exact`. */
  readonly lowerBoundMs: number;
  /** The optimum is proved, up to rounding of sums (1e-12 relative). False only when the evaluations ran out. */
  readonly exact: boolean;
  /** Thresholds solved. */
  readonly evaluations: number;
  readonly baselines: Baselines;
}

export interface SolveOptions {
  readonly signal?: CancelSignal | undefined;
  /** Called with growing fractions of the work, 0..1. */
  readonly onProgress?: ((fraction: number) => void) | undefined;
}

/** Visits of slice times that the default work limit allows: about four seconds on one core. */
const defaultVisits = 4e9;
/** Latencies that differ by less than this share differ by rounding. */
const sameLatency = 1e-12;
/** Share of the progress that goes to calling the cost function. */
const tabulateShare = 0.5;

/**
 * The exact optimum over batch slices and token slices (TeraPipe eq. 5 to 9 and section 3.4): every threshold on the slowest slice that could matter is solved
 * or ruled out by a bound, so the answer carries its own proof. Costs are not assumed to be monotone.
 * Memory 8 bytes per slice time (`sliceTimeCount`); deterministic.
 * @throws RangeError for sizes that are not positive integers or a cost that is negative or NaN; ExpectedError `slicing-infeasible` when every scheme holds a
 * forbidden slice; CancelledError.
 */
export function solveSlicing(problem: SlicingProblem, { signal, onProgress }: SolveOptions = {}): SlicingSolution {
  requirePositiveIntegers(problem);
  const report = growingOnly(onProgress);
  const times = tabulate(problem, signal, (fraction) => {
    report(tabulateShare * fraction);
  });
  const baselines = baselinesOf(problem, tabulatedCost(times, problem.unit), signal);
  const visits = times.columns.reduce((sum, column) => sum + column.length, 0);
  const proof = proveOptimum(times, problem.stages, baselines.uniform.slowestMs, {
    signal,
    maximumEvaluations: problem.maximumEvaluations ?? Math.max(64, Math.floor(defaultVisits / visits)),
    onProgress: (fraction) => {
      report(tabulateShare + (1 - tabulateShare) * fraction);
    },
  });
  const found = schemeUnder(times, proof.thresholdMs, signal);
  if (found === null)
    throw new ExpectedError(
      'slicing-infeasible',
      `No way to cut ${problem.tokens} tokens avoids the slices that are ruled out`,
      'allow shorter slices or fewer sequences at a time',
    );
  const scheme = longFirst(found, problem);
  const { latencyMs, totalMs, slowestMs } = latencyOf(scheme, problem.stages, problem.cost);
  report(1);
  return {
    scheme,
    latencyMs,
    totalMs,
    slowestMs,
    lowerBoundMs: proof.exact ? latencyMs : Math.min(proof.lowerBoundMs, latencyMs),
    exact: proof.exact,
    evaluations: proof.evaluations,
    baselines,
  };
}

/** Among equals the order that the paper prints: long slices first, as later ones have more context. Kept as found where that is slower or breaks a unit. */
function longFirst(scheme: Scheme, { stages, cost, unit }: SlicingProblem): Scheme {
  const sorted = scheme.map(({ batch, tokens }) => ({ batch, tokens: [...tokens].sort((a, b) => b - a) }));
  const aligned = sorted.every(({ tokens }) => tokens.slice(0, -1).every((length) => length % unit === 0));
  const equal = latencyOf(sorted, stages, cost).latencyMs <= latencyOf(scheme, stages, cost).latencyMs * (1 + sameLatency);
  return aligned && equal ? sorted : scheme;
}

function requirePositiveIntegers(problem: SlicingProblem): void {
  const { batch, tokens, unit, stages, maximumBatchSlice = 1, minimumTokens = 1, maximumEvaluations = 1 } = problem;
  for (const [name, value] of Object.entries({ batch, tokens, unit, stages, maximumBatchSlice, minimumTokens, maximumEvaluations }))
    if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`${name} must be a positive integer, not ${value}`);
  if (minimumTokens > tokens) throw new RangeError(`minimumTokens ${minimumTokens} exceeds tokens ${tokens}`);
}

function tabulatedCost(times: SliceTimes, unit: number): SlicingProblem['cost'] {
  return (batch, tokens, context) => {
    const end = unitCount({ tokens: context + tokens, unit });
    return times.columns[batch - 1]?.[(end * (end - 1)) / 2 + context / unit] ?? Infinity;
  };
}

function growingOnly(onProgress: ((fraction: number) => void) | undefined): (fraction: number) => void {
  let reported = 0;
  return (fraction) => {
    if (onProgress === undefined || fraction < reported + 0.01) return;
    reported = fraction;
    onProgress(Math.min(1, fraction));
  };
}
