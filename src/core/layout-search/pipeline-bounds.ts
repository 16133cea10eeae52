import { slicesAhead } from '../schedules/kind';
import type { WholeSliceTime } from '../domain/slice-cost';
import { sum } from '../numbers';

/** Time of one micro-batch on one stage, ms, and of its first and last token slice (itself when it is whole). */
export interface StageTimes extends WholeSliceTime {
  /** The part of `backwardMs` that makes gradients of weights. */
  readonly weightMs: number;
  /** Forward of its first slices and backward of its last ones, ms: none, one, ..., all. */
  readonly firstForwardMs: Float64Array;
  readonly lastBackwardMs: Float64Array;
  readonly first: WholeSliceTime;
  readonly last: WholeSliceTime;
}

/**
 * Least makespan of 1F1B, ms. On stage s with w = p - s - 1 micro-batches ahead, each of these is a chain of operations that run one after
 * another:
 * - all work of s, after the forwards before it and before the backwards;
 * - the first micro-batch down and back to s, then all that s has left: m - 1 backwards and m - 1 - w forwards;
 * - by symmetry m - 1 forwards and m - 1 - w backwards on s, then the last micro-batch down and back.
 *
 * @param boundaryMs that the first forward and the last backward wait at each boundary.
 */
export function oneForwardOneBackwardBound(stages: readonly StageTimes[], microBatches: number, boundaryMs: number): number {
  const count = stages.length;
  const all = sum(stages.map(({ forwardMs, backwardMs }) => forwardMs + backwardMs));
  let before = 0;
  let most = 0;
  stages.forEach(({ forwardMs, backwardMs }, stage) => {
    const own = microBatches * (forwardMs + backwardMs);
    const rest = Math.max(0, microBatches - (count - stage));
    const there = all + (stage + count - 1) * boundaryMs;
    most = Math.max(
      most,
      before + own + 2 * stage * boundaryMs,
      there + (microBatches - 1) * backwardMs + rest * forwardMs,
      there + (microBatches - 1) * forwardMs + rest * backwardMs,
    );
    before += forwardMs + backwardMs;
  });
  return most;
}

/**
 * Least makespan, ms, of schedules that run all forwards before any backward: all forwards of a stage are between those of the first slice
 * before it and of the last slice after it, and the backwards in the same way.
 *
 * @param transfersMs of each slice of a micro-batch, when they hold the stage; null: none do.
 */
export function drainedBound(stages: readonly StageTimes[], microBatches: number, transfersMs: readonly number[] | null): number {
  const transfer = microBatches * sum(transfersMs ?? []);
  const first = transfersMs?.[0] ?? 0;
  const last = transfersMs?.at(-1) ?? 0;
  const least = (pick: (time: WholeSliceTime) => number): number => {
    let before = 0;
    let after = sum(stages.map((stage) => pick(stage.last) + last));
    let most = 0;
    for (const stage of stages) {
      after -= pick(stage.last) + last;
      most = Math.max(most, before + microBatches * pick(stage) + transfer + after);
      before += pick(stage.first) + first;
    }
    return most;
  };
  return least(({ forwardMs }) => forwardMs) + least(({ backwardMs }) => backwardMs);
}

/**
 * Least makespan of 1F1B over token slices (Seq1F1B), ms. On each stage:
 * - all its work, after a first slice forward and before one backward on the stages before;
 * - the first micro-batch to the last stage, its last slice back, then all work but the forwards ahead, and again a first slice back;
 * - a first slice to the stage, all that comes before its last forward, that slice to the last stage, the last micro-batch backward there,
 *   and a first slice back.
 */
export function slicedBound(stages: readonly StageTimes[], microBatches: number): number {
  const end = stages.at(-1);
  if (end === undefined) return 0;
  const count = end.firstForwardMs.length - 1;
  const forwardsFirst = sum(stages.slice(0, -1).map(({ first }) => first.forwardMs));
  const backwardsFirst = sum(stages.slice(0, -1).map(({ first }) => first.backwardMs));
  let forwardsLast = sum(stages.map(({ last }) => last.forwardMs));
  let backwardsLast = sum(stages.map(({ last }) => last.backwardMs));
  let [beforeMs, drainMs, most] = [0, 0, 0];
  stages.forEach(({ forwardMs, backwardMs, firstForwardMs, lastBackwardMs, first, last }, stage) => {
    const ahead = slicesAhead({ stage, stages: stages.length, microBatches, slices: count });
    const work = microBatches * (forwardMs + backwardMs);
    backwardsLast -= last.backwardMs;
    const done = Math.floor(ahead / count) * forwardMs + (firstForwardMs[ahead % count] ?? 0);
    const backwards = microBatches * count - ahead;
    const before =
      microBatches * forwardMs - last.forwardMs + Math.floor(backwards / count) * backwardMs + (lastBackwardMs[backwards % count] ?? 0);
    most = Math.max(
      most,
      beforeMs + work + drainMs,
      forwardsFirst + end.forwardMs + backwardsLast + work - done + drainMs,
      beforeMs + before + forwardsLast + end.backwardMs + backwardsFirst,
    );
    forwardsLast -= last.forwardMs;
    beforeMs += first.forwardMs;
    drainMs += first.backwardMs;
  });
  return most;
}

/**
 * Least makespan of interleaved 1F1B with chunks assigned round-robin, ms: all work of a stage, after the forwards of the first chunks
 * before it and before their backwards.
 *
 * @param stages all chunks of each together.
 * @param chunks in order of the layers: the first of them are the first of each stage.
 */
export function interleavedBound(stages: readonly WholeSliceTime[], chunks: readonly WholeSliceTime[], microBatches: number): number {
  let before = 0;
  let most = 0;
  stages.forEach(({ forwardMs, backwardMs }, stage) => {
    most = Math.max(most, before + microBatches * (forwardMs + backwardMs));
    before += (chunks[stage]?.forwardMs ?? 0) + (chunks[stage]?.backwardMs ?? 0);
  });
  return most;
}

/**
 * Least makespan of any order of token slices, ms: all work of a stage, after a first slice forward on the chunks before its first.
 *
 * @param stages all chunks of each together.
 * @param chunks in order of the layers: the first of them are the first of each stage.
 */
export function workBound(stages: readonly WholeSliceTime[], chunks: readonly StageTimes[], microBatches: number): number {
  let before = 0;
  let most = 0;
  stages.forEach(({ forwardMs, backwardMs }, stage) => {
    most = Math.max(most, before + microBatches * (forwardMs + backwardMs));
    before += chunks[stage]?.first.forwardMs ?? 0;
  });
  return most;
}

/**
 * docs/model/search.md, Bounds of a candidate group. Least makespan, ms, however a model of which one micro-batch takes X = `sumMs` is cut
 * into p stages; x_s is the time on stage s.
 * - `any` order: the busiest stage takes no less than the mean, m X / p.
 * - `drained`, whole sequences: C >= X + (m - 1) x_s on every stage, so X + (m - 1) X / p.
 * - `alternating` (1F1B): C >= x_0 + .. + x_(s-1) + m x_s on every stage, so C >= X / (1 - (1 - 1/m)^p); and the mean of the last two
 *   chains of `oneForwardOneBackwardBound` is C >= X + c_s x_s with c_s = (m - 1 + max(0, m - p + s)) / 2, so C >= X + X / (1/c_0 + .. +
 *   1/c_(p-1)).
 */
export function anyCutBound(sumMs: number, stages: number, microBatches: number, order: 'any' | 'drained' | 'alternating'): number {
  if (order === 'any') return (microBatches * sumMs) / stages;
  if (order === 'drained') return sumMs + ((microBatches - 1) * sumMs) / stages;
  let inverse = 0;
  for (let stage = 0; stage < stages; stage++) inverse += 2 / (microBatches - 1 + Math.max(0, microBatches - stages + stage));
  return Math.max(sumMs / (1 - Math.pow(1 - 1 / microBatches, stages)), sumMs + sumMs / inverse);
}
