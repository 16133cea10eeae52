import type { CancelSignal } from '../errors';
import { leastCommonMultiple } from '../numbers';
import { shortestCut, type CutEffort, type CutSearch } from '../planner/candidates/makespan-cut';
import { cutAlike } from '../planner/candidates/makespan-problem';
import type { Pipeline } from '../planner/predict/pipeline';
import { slicingCost } from '../planner/candidates/terapipe-cost';
import type { SliceMs } from '../slicing/problem';
import { solveSlicing } from '../slicing/solve';
import { defaultUnit, type PlanRequest } from '../domain/request';
import type { Scheme } from '../domain/scheme';
import type { SliceCost } from '../domain/slice-cost';
import type { CandidateGroup } from './candidate-group';

/*
 * Slices that are solved for each layout, on a grid that is coarse enough for many layouts: their lengths are multiples of a unit, of which
 * a sequence has at most 64. The bounds below hold for all slices on that grid, the solved ones included.
 */

const mostUnits = 64;
/** Thresholds of a bound and of a solution, at most: both are good long before. */
const mostEvaluations = 400;
/** Steps and operations of a search with the makespan of a schedule: a few tenths of a second. */
const effort: CutEffort = { mostSteps: 1e6, mostOperations: 60_000, tolerance: 2e-3 };

/** Tokens that solved slices are multiples of. */
export function solvedUnit({ training, slicing }: Pick<PlanRequest, 'training' | 'slicing'>): number {
  const { sequenceLength: tokens } = training;
  const asked = slicing.unit ?? defaultUnit(tokens);
  return asked * Math.ceil(tokens / asked / mostUnits);
}

/** Slices that a sequence is cut into at most. */
export function mostSolvedSlices(request: Pick<PlanRequest, 'training' | 'slicing'>): number {
  return Math.ceil(request.training.sequenceLength / solvedUnit(request));
}

/** Every slice of the grid on a stage, ms: entry `from * (units + 1) + to`, the boundaries of units where it starts and ends. */
export interface GridTimes {
  readonly units: number;
  readonly forwardMs: Float64Array;
  readonly backwardMs: Float64Array;
}

/** What no cut on the grid goes below on a stage, ms. */
export interface LeastSlices {
  /** Forward and backward of all slices of the cut for which they add up to the least: equation 8 without a threshold. */
  readonly sumMs: number;
  /** Forward and backward of the first slice at least, however long it is. */
  readonly firstMs: number;
}

/**
 * The times of every slice of `batch` sequences on the grid, on each of some stages. All are asked slice by slice, because stages share the
 * times of their layers.
 */
export function gridTimes(costs: readonly SliceCost[], batch: number, tokens: number, unit: number): GridTimes[] {
  const units = Math.ceil(tokens / unit);
  const end = (index: number): number => Math.min(tokens, index * unit);
  const size = (units + 1) ** 2;
  const grids = costs.map((cost) => ({ cost, units, forwardMs: new Float64Array(size), backwardMs: new Float64Array(size) }));
  for (let from = 0; from < units; from++) {
    const context = end(from);
    for (let to = from + 1; to <= units; to++) {
      const [at, length] = [from * (units + 1) + to, end(to) - context];
      for (const { cost, forwardMs, backwardMs } of grids) {
        const time = cost(batch, length, context);
        forwardMs[at] = time.forwardMs;
        backwardMs[at] = time.backwardMs;
      }
    }
  }
  return grids.map(({ forwardMs, backwardMs }) => ({ units, forwardMs, backwardMs }));
}

/**
 * What cuts of a sequence into a number of slices or more do not go below on a stage, exact for any times. What is known of cuts into
 * exactly that number of slices is kept, and serves the next number.
 */
export function leastSlicesOn(grid: GridTimes): (fewest: number) => LeastSlices {
  const { units, forwardMs, backwardMs } = grid;
  // Of the first units, in exactly as many slices as the index.
  const exactly: Float64Array[] = [new Float64Array(units + 1).fill(Infinity)];
  exactly[0]?.fill(0, 0, 1);
  return (fewest) => {
    let [firstForwardMs, firstBackwardMs] = [Infinity, Infinity];
    for (let to = 1; to <= units - fewest + 1; to++) {
      firstForwardMs = Math.min(firstForwardMs, forwardMs[to] ?? 0);
      firstBackwardMs = Math.min(firstBackwardMs, backwardMs[to] ?? 0);
    }
    for (let last = exactly.at(-1); last !== undefined && exactly.length < fewest; last = exactly.at(-1))
      exactly.push(withSlice(grid, last, false));
    const before = exactly[fewest - 1];
    const all = before === undefined ? undefined : withSlice(grid, before, true);
    return { sumMs: all?.[units] ?? 0, firstMs: firstForwardMs + firstBackwardMs };
  };
}

/** The least of the first units with one slice more than `before` has, or with one or more. */
function withSlice({ units, forwardMs, backwardMs }: GridTimes, before: Float64Array, orMore: boolean): Float64Array {
  const least = new Float64Array(units + 1).fill(Infinity);
  for (let from = 0; from < units; from++) {
    const startMs = orMore ? Math.min(before[from] ?? 0, least[from] ?? 0) : (before[from] ?? 0);
    if (startMs === Infinity) continue;
    for (let to = from + 1, at = from * (units + 1) + to; to <= units; to++, at++) {
      const ms = startMs + (forwardMs[at] ?? 0) + (backwardMs[at] ?? 0);
      if (ms < (least[to] ?? 0)) least[to] = ms;
    }
  }
  return least;
}

/** How many times as long as on `base` every slice takes on a stage at least, forward and backward. */
export function leastRatio(own: GridTimes, base: GridTimes): number {
  if (own === base) return 1;
  let least = Infinity;
  for (const [mine, other] of [
    [own.forwardMs, base.forwardMs],
    [own.backwardMs, base.backwardMs],
  ] as const)
    mine.forEach((ms, slice) => {
      const of = other[slice] ?? 0;
      if (of > 0 && ms < least * of) least = ms / of;
    });
  return least === Infinity ? 0 : least;
}

/** The least over all cuts of the sum of all slices of this many micro-batches and `weight` times the slowest, ms, on one stage. */
export function leastWeighed({ units, forwardMs, backwardMs }: GridTimes, microBatches: number, weight: number): number {
  return solveSlicing({
    batch: microBatches,
    tokens: units,
    unit: 1,
    stages: weight + 1,
    maximumBatchSlice: 1,
    maximumEvaluations: mostEvaluations,
    cost: (_, length, from) => {
      const at = from * (units + 1) + from + length;
      return (forwardMs[at] ?? 0) + (backwardMs[at] ?? 0);
    },
  }).lowerBoundMs;
}

function solveGroup(request: PlanRequest, { layout }: CandidateGroup, cost: SliceMs, microBatches: number, signal?: CancelSignal) {
  return solveSlicing(
    {
      batch: microBatches,
      tokens: request.training.sequenceLength,
      unit: solvedUnit(request),
      stages: layout.pipeline,
      maximumBatchSlice: 1,
      maximumEvaluations: mostEvaluations,
      cost,
    },
    { signal },
  );
}

/**
 * The slices of every micro-batch, all on the grid, that are found for a layout: by equation 5 for a schedule that fills and drains, else
 * by its simulated makespan within memory. Where none fit, equal slices as short as can be. Null where only a makespan below `belowMs` is
 * wanted, and none was found.
 * @throws CancelledError.
 */
export function solvedScheme(
  request: PlanRequest,
  group: CandidateGroup,
  pipeline: Pipeline,
  microBatches: number,
  { belowMs = Infinity, graphs, signal, onSteps }: Pick<CutSearch, 'belowMs' | 'graphs' | 'signal' | 'onSteps'> = {},
): Scheme | null {
  const { training, layout, schedule } = group;
  const { microBatch } = training;
  const cost = slicingCost(pipeline);
  const own: SliceMs = (_, tokens, context) => cost(microBatch, tokens, context);
  const drained = solveGroup(request, group, own, microBatches, signal).scheme;
  const kind = pipeline.schedules[schedule];
  if (kind.bound === 'drained') return drained.map(({ tokens }) => ({ batch: microBatch, tokens }));
  const unit = solvedUnit(request);
  const asked = { ...request, training, layout, slicing: { unit, scheme: null } };
  const found = shortestCut(asked, pipeline, kind, {
    effort,
    known: drained.slice(0, 1).map(({ tokens }) => tokens),
    belowMs,
    graphs,
    signal,
    onSteps,
  });
  if (found === null && belowMs < Infinity) return null;
  const shortest = leastCommonMultiple(unit, training.sequenceParallel ? layout.tensor : 1);
  const tokens = request.training.sequenceLength;
  const slices = Math.ceil(tokens / shortest);
  const finest = Array.from({ length: slices }, (_, index) => Math.min(tokens, (index + 1) * shortest) - index * shortest);
  return cutAlike({ microBatches, microBatch }, found?.lengths ?? finest);
}
