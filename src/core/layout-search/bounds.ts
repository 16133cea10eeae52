import { scheduleKind } from '../schedules/registry';
import { leastBoundaryMs } from '../time-model/boundary';
import type { StageContents } from '../memory-model/layer-tensors';
import { layerShare } from '../planner/predict/pipeline';
import type { PlanRequest } from '../domain/request';
import { paysForChunks, runtimeProfile } from '../domain/runtime';
import { isPostValidated, scheduleOn } from '../schedules/on-layout';
import {
  anyOrderBound,
  orderBound,
  createOrders,
  roomBound,
  type Room,
  type ChunkTimes,
  type InFlight,
  type Orders,
  type StageOrder,
} from './order-bounds';
import {
  anyCutBound,
  drainedBound,
  interleavedBound,
  oneForwardOneBackwardBound,
  slicedBound,
  workBound,
  type StageTimes,
} from './pipeline-bounds';
import type { CandidateGroup } from './candidate-group';
import { givenScheme } from './schedules';
import type { GridTimes } from './solved-slices';
import { maximum, sum } from '../numbers';
import { limitsOn } from '../memory-model/reserved';

import { toCostInputs, createKnownBounds, sliceLengths, groupMicroBatches, cutShapes, type CutShapes, type KeyedGroup, type KnownBounds, type SearchPoint, type SharedContents } from './known'; // prettier-ignore
import { mapAlike } from './map-alike';

/** What no cut of a candidate group, or no run of a point, goes below. */
export interface Bound {
  /** Infinity where nobody asked for it. */
  readonly iterationMs: number;
  readonly peakBytes: number;
}

type IsTimed = (peakBytes: number) => boolean;

export interface Bounds {
  /** What no cut goes below of what is always present, bytes. */
  readonly heldBytes: (group: KeyedGroup) => number;
  /** Timed only where `isTimed` is true of its peak, in bytes. */
  readonly groupBound: (group: CandidateGroup, isTimed?: IsTimed) => Bound;
  readonly pointBound: (point: SearchPoint, isTimed?: IsTimed) => Bound;
  /** A closer bound on a point whose slices are solved for, which takes some milliseconds. */
  readonly solvedBound: (point: SearchPoint) => Bound;
}

/** Layouts that need more than this many times what fits are not worth a word. */
export const nearlyFits = 1.5;
/** Bounds are lowered by this share, far above the rounding of sums. */
const rounding = 1e-9;

/** Bounds for points of a request. */
export function createBounds(request: PlanRequest, known: KnownBounds = createKnownBounds(request)): Bounds {
  const inputs: BoundInputs = { request, known, orders: createOrders() };
  const lowered = ({ iterationMs, peakBytes }: Bound): Bound => ({
    iterationMs: iterationMs * (1 - rounding),
    peakBytes: peakBytes * (1 - rounding),
  });
  return {
    heldBytes: (group) => leastHeldBytes(request, group, known) * (1 - rounding),
    groupBound: (group, isTimed) => lowered(groupBound(inputs, group, lowering(isTimed))),
    pointBound: (point, isTimed) => lowered(pointBound(inputs, point, lowering(isTimed))),
    solvedBound: (point) => lowered(solvedBound(inputs, point)),
  };
}

function lowering(isTimed: IsTimed = () => true): IsTimed {
  return (peakBytes) => isTimed(peakBytes * (1 - rounding));
}

interface BoundInputs {
  readonly request: PlanRequest;
  readonly known: KnownBounds;
  readonly orders: ReturnType<typeof createOrders>;
}

/** Slices that the request gives are bounded by nothing: there is but one such candidate group for each layout. */
function isGiven(request: PlanRequest, group: CandidateGroup): boolean {
  const { microBatch } = group.training;
  return scheduleKind(group.schedule).sliced && givenScheme(request, { microBatches: groupMicroBatches(group), microBatch }) !== null;
}

/** Of any cut: see `anyCutBound` and `leastStageBytes`. */
function groupBound({ request, known }: BoundInputs, group: CandidateGroup, isTimed: IsTimed): Bound {
  if (isGiven(request, group)) return { iterationMs: 0, peakBytes: 0 };
  const peakBytes = leastStageBytes(request, group, known);
  if (isFarTooLarge(request, group, peakBytes)) return { iterationMs: 0, peakBytes };
  if (!isTimed(peakBytes)) return { iterationMs: Infinity, peakBytes };
  const { schedule, slices, layout } = group;
  const { bound } = scheduleOn(schedule, layout);
  const isWhole = slices === 1 && layout.virtualStages === 1;
  const order = isWhole && (bound === 'alternating' || bound === 'drained') ? bound : 'any';
  const pipelineMs = anyCutBound(known.sumMs(group), layout.pipeline, groupMicroBatches(group), order);
  return { iterationMs: pipelineMs + known.afterwardsMs(group), peakBytes };
}

/** Nobody asks how fast such a layout would be: it costs less not to know. */
function isFarTooLarge(request: PlanRequest, group: LimitedGroup, peakBytes: number): boolean {
  return peakBytes * (1 - rounding) > nearlyFits * usableGpuBytes(request, group);
}

/**
 * With A_k static and a_k saved bytes of a layer of kind k, K those of a stage and w_s micro-batches in flight on stage s, the sum of A_k +
 * a_k w_s over the layers of a stage is at most C - K. Weighed by any positive g_s and summed over the stages, C - K is at least the sum
 * over all layers of the smallest g_s (A_k + a_k w_s), over the sum of all g_s; here g_s = 1 / (A + a w_s) of the mean layer, which makes
 * it tight for layers all alike. The smallest is at one of the ends, as the quotient rises or falls with w_s. Static bytes may grow less
 * than linearly with the layers: A_k is what the last layer adds.
 */
function leastStageBytes({ model }: PlanRequest, group: CandidateGroup, known: KnownBounds): number {
  const [always, saved] = [new Float64Array(known.kinds.length), new Float64Array(known.kinds.length)];
  let [meanAlways, meanSaved, stage] = [0, 0, Infinity];
  known.kinds.forEach(({ layers, none, one, all, more }, kind) => {
    const last = known.staticBytes(group, more) - known.staticBytes(group, all);
    // layers recomputed together share the input that they keep
    const kept = (known.savedBytes(group, one) - known.savedBytes(group, none)) / (group.training.recomputeGroup ?? 1);
    stage = Math.min(stage, known.staticBytes(group, one) - last);
    meanAlways += (layers / model.layers) * last;
    meanSaved += (layers / model.layers) * kept;
    always[kind] = last;
    saved[kind] = kept;
  });
  const { pipeline } = group.layout;
  const slicesAt = slicesInFlight(group);
  const flying = (at: number): number => Math.floor(slicesAt(at) / group.slices);
  const [most, fewest] = [flying(0), flying(pipeline - 1)];
  let weights = most === fewest ? pipeline / (meanAlways + meanSaved * most) : 0;
  if (most !== fewest) for (let at = 0; at < pipeline; at++) weights += 1 / (meanAlways + meanSaved * flying(at));
  let least = 0;
  known.kinds.forEach(({ layers }, kind) => {
    const share = (count: number): number => ((always[kind] ?? 0) + (saved[kind] ?? 0) * count) / (meanAlways + meanSaved * count);
    least += layers * Math.min(share(most), share(fewest));
  });
  return Math.max(0, stage) + least / weights;
}

/** The same of static bytes only: the mean of the stages. */
function leastHeldBytes({ model }: PlanRequest, group: KeyedGroup, known: KnownBounds): number {
  let sum = 0;
  let least = Infinity;
  for (const { layers, one, all, more } of known.kinds) {
    const always = known.staticBytes(group, more) - known.staticBytes(group, all);
    sum += layers * always;
    least = Math.min(least, known.staticBytes(group, one) - always);
  }
  return Math.max(0, model.layers > 0 ? least : 0) + sum / group.layout.pipeline;
}

/** As `slicesInFlight` of the schedule's kind, of each stage. */
function slicesInFlight(group: CandidateGroup): (stage: number) => number {
  const { schedule, layout, slices } = group;
  const microBatches = groupMicroBatches(group);
  const kind = scheduleOn(schedule, layout);
  return (stage) => kind.slicesInFlight({ stage, stages: layout.pipeline, microBatches, slices });
}

/** Of one cut: by the order in which the schedule runs its micro-batches. */
function pointBound(inputs: BoundInputs, point: SearchPoint, isTimed: IsTimed): Bound {
  const { request, known } = inputs;
  const shapes = cutShapes(known, point);
  const orders = ordersFor(inputs, point);
  const peakBytes = peakBound(request, point, shapes, known, orders);
  if (isGiven(request, point) || isFarTooLarge(request, point, peakBytes)) return { iterationMs: 0, peakBytes };
  if (!isTimed(peakBytes)) return { iterationMs: Infinity, peakBytes };
  return { iterationMs: pipelineBoundMs(request, point, shapes, known, orders) + known.afterwardsMs(point), peakBytes };
}

/** The same where slices are solved for, with equation 5 over all cuts. */
function solvedBound(inputs: BoundInputs, point: SearchPoint): Bound {
  const { request, known } = inputs;
  const { iterationMs, peakBytes } = pointBound(inputs, point, () => true);
  const shapes = cutShapes(known, point);
  const parts = chunkParts(request, point, shapes);
  const grids = known.gridTimes(point, parts);
  const fewest = fewestSlices(request, point, shapes, known);
  const firstMs = known.leastSlices(point, parts, fewest).map((least) => least.firstMs);
  const pipelineMs = solvedBoundMs(known, grids, firstMs, groupMicroBatches(point));
  return { iterationMs: Math.max(iterationMs, pipelineMs + known.afterwardsMs(point)), peakBytes };
}

function chunkParts(request: PlanRequest, point: SearchPoint, { chunks }: CutShapes): SharedContents[] {
  return chunks.map((contents) => ({ contents, share: shareOfChunk(request, point, contents) }));
}

/**
 * Fewest slices of a sequence with which the whole sequences in flight fit memory. Where none do: one for a schedule that fills and drains,
 * whose slices are found whatever they hold; the most there may be for the others (`solvedScheme`).
 */
function fewestSlices(request: PlanRequest, point: SearchPoint, { chunks, stages }: CutShapes, known: KnownBounds): number {
  const { schedule, layout } = point;
  const { slicesInFlight, bound } = scheduleOn(schedule, layout);
  const usableBytes = usableGpuBytes(request, point);
  const microBatches = groupMicroBatches(point);
  let fewest = 1;
  for (const stage of endStages(point)) {
    const [own, chunk] = [stages[stage], chunks[stage]];
    if (own === undefined || chunk === undefined) continue;
    const whole = (slices: number): number => Math.floor(slicesInFlight({ stage, stages: layout.pipeline, microBatches, slices }) / slices);
    const [heldBytes, savedBytes] = [known.staticBytes(point, own), known.savedBytes(point, chunk)];
    const fits = (slices: number): boolean => (heldBytes + whole(slices) * savedBytes) * (1 - rounding) <= usableBytes;
    while (fewest < point.slices && !fits(fewest)) fewest++;
    if (bound === 'drained' && !fits(fewest)) return 1;
  }
  return fewest;
}

/**
 * Of any cut into slices that fits: all work of a stage, after the first slice forward, and before its backward, on the stages before.
 */
function anySlicesBoundMs(request: PlanRequest, point: SearchPoint, shapes: CutShapes, known: KnownBounds): number {
  const microBatches = groupMicroBatches(point);
  const fewest = fewestSlices(request, point, shapes, known);
  let [beforeMs, most] = [0, 0];
  for (const { sumMs, firstMs } of known.leastSlices(point, chunkParts(request, point, shapes), fewest)) {
    most = Math.max(most, beforeMs + microBatches * sumMs);
    beforeMs += firstMs;
  }
  return most;
}

/**
 * Of any cut into slices, whether all forwards run before the backwards or both in turn (docs/model/search.md, Bounds of solved slices):
 * for stages a <= z that all take f_s times as long as some stage at least, the work of the lesser of a and z, and the slowest slice once
 * more on every stage between, after a first slice on the stages before a.
 */
function solvedBoundMs(known: KnownBounds, stages: readonly GridTimes[], firstMs: readonly number[], microBatches: number): number {
  const turns = [...new Set(stages)].flatMap((times) => [stages.indexOf(times), stages.lastIndexOf(times)]);
  let most = 0;
  for (const base of new Set(stages)) {
    const factors = stages.map((own) => known.leastRatio(own, base));
    for (const a of turns)
      for (const z of turns) {
        const least = Math.min(factors[a] ?? 0, factors[z] ?? 0);
        // A base that both ends are as slow as: with a slower one the sum would count less.
        if (a > z || least < 1) continue;
        const weight = Math.floor(sum(factors.slice(a, z + 1)) - 1);
        const beforeMs = sum(firstMs.slice(0, a));
        most = Math.max(most, beforeMs + known.leastWeighed(base, microBatches, weight));
      }
  }
  return most;
}

/** Orders that are worth reading: of schedules without a bound of their own. */
function ordersFor({ orders }: BoundInputs, point: SearchPoint): Orders | null {
  const { schedule, layout } = point;
  const kind = scheduleOn(schedule, layout);
  return kind.bound === 'order' ? orders(kind, layout.pipeline, kind.chunks, groupMicroBatches(point)) : null;
}

function pipelineBoundMs(request: PlanRequest, point: SearchPoint, shapes: CutShapes, known: KnownBounds, orders: Orders | null): number {
  if (point.solved === true) return anySlicesBoundMs(request, point, shapes, known);
  const { schedule, layout, training } = point;
  const kind = scheduleOn(schedule, layout);
  const times = timesOfChunks(request, point, shapes, known);
  const stages = (): ChunkTimes[] => summedByStage(chunks, shapes);
  const count = groupMicroBatches(point);
  const inputs = toCostInputs(request, point);
  const { sends } = runtimeProfile(training);
  const sendMs = (tokens: number): number => (request.costTable === null ? leastBoundaryMs(inputs, training.microBatch, tokens) : 0);
  const heldMs = exchangeHoldsMs(
    paysForChunks(training, request.cluster.gpu),
    layout.pipeline,
    shapes.chunks.length,
    sendMs(request.training.sequenceLength),
  );
  const chunks =
    heldMs === 0
      ? times
      : mapAlike(times, (time) => ({ ...time, forwardMs: time.forwardMs + heldMs, backwardMs: time.backwardMs + heldMs }));
  switch (kind.bound) {
    case 'drained':
      return drainedBound(chunks, count, sends === 'blocking' ? sliceLengths(request, point).map(sendMs) : null);
    case 'sliced':
      return slicedBound(chunks, count);
    case 'alternating':
      return oneForwardOneBackwardBound(chunks, count, sendMs(request.training.sequenceLength));
    case 'interleaved':
      return interleavedBound(stages(), chunks, count);
    case 'work':
      return workBound(stages(), chunks, count);
    case 'order':
    case 'room':
  }
  const spans = isPostValidated(kind, training);
  const any = anyOrderBound(chunks, stages(), count, spans);
  if (orders !== null) return Math.max(any, orderBound(chunks, orders, sendMs(request.training.sequenceLength), spans));
  return Math.max(any, roomBound(chunks, ownChunks(shapes), count, orderRoom(request, point, shapes, known), spans));
}

/** What a pass is held by exchanges at the least: see `scheduleTransfers`. */
function exchangeHoldsMs(pays: boolean, stages: number, chunks: number, sendMs: number): number {
  return pays && stages > 1 ? ((1 - stages / chunks) * sendMs) / 2 : 0;
}

function ownChunks({ stages, stageOfChunk }: CutShapes): number[][] {
  const own = stages.map((): number[] => []);
  stageOfChunk.forEach((stage, chunk) => own[stage]?.push(chunk));
  return own;
}

/** What planned orders stay within: what is left of each stage's memory after static memory. */
function orderRoom(request: PlanRequest, point: SearchPoint, { stages, chunks }: CutShapes, known: KnownBounds): Room {
  const usable = usableGpuBytes(request, point);
  return {
    stageBytes: stages.map((contents) => (1 + rounding) * (usable - known.staticBytes(point, contents))),
    savedBytes: chunks.map((contents) => known.savedBytes(point, contents)),
  };
}

/** One micro-batch on each chunk; measured times of a stage in proportion to its layers. */
function timesOfChunks(request: PlanRequest, point: SearchPoint, shapes: CutShapes, known: KnownBounds): StageTimes[] {
  return mapAlike(shapes.chunks, (contents) => known.times(point, contents, shareOfChunk(request, point, contents)));
}

function shareOfChunk({ costTable, model }: PlanRequest, { layout }: SearchPoint, contents: StageContents): number {
  return costTable === null ? 1 : layerShare({ model, layout }, contents);
}

function summedByStage(chunks: readonly ChunkTimes[], { stages, stageOfChunk }: CutShapes): ChunkTimes[] {
  const sums = stages.map(() => ({ forwardMs: 0, backwardMs: 0, weightMs: 0 }));
  chunks.forEach(({ forwardMs, backwardMs, weightMs }, chunk) => {
    const sum = sums[stageOfChunk[chunk] ?? 0];
    if (sum === undefined) return;
    sum.forwardMs += forwardMs;
    sum.backwardMs += backwardMs;
    sum.weightMs += weightMs;
  });
  return sums;
}

/** Of the first, second and last stage: static memory and the micro-batches in flight, chunk by chunk where the order is known. */
function peakBound(
  request: PlanRequest,
  group: CandidateGroup,
  { chunks, stageOfChunk, stages }: CutShapes,
  known: KnownBounds,
  orders: Orders | null,
): number {
  const isUnknown = isGiven(request, group);
  let peak = 0;
  for (const stage of endStages(group)) {
    const shape = stages[stage];
    if (shape === undefined) continue;
    const own = isUnknown ? [] : chunks === stages ? [shape] : chunks.filter((_, index) => stageOfChunk[index] === stage);
    const held = heldBytes(group, stage, own, known, orders?.byStage.get(stage));
    peak = Math.max(peak, known.staticBytes(group, shape) + held);
  }
  return peak;
}

/** The first, second and last: of stages alike one of them needs most. */
function endStages({ layout }: CandidateGroup): ReadonlySet<number> {
  return new Set([0, 1, layout.pipeline - 1]);
}

/** Of what micro-batches hold on a stage with chunks `own`. */
function heldBytes(
  group: CandidateGroup,
  stage: number,
  own: readonly StageContents[],
  known: KnownBounds,
  order: StageOrder | undefined,
): number {
  const saved = own.map((chunk) => known.savedBytes(group, chunk));
  if (order !== undefined) {
    const kept = own.map((chunk) => known.keptBytes(group, chunk));
    const bytes = ({ alive, waiting }: InFlight): number =>
      own.reduce((sum, _, place) => sum + (alive[place] ?? 0) * (saved[place] ?? 0) + (waiting[place] ?? 0) * (kept[place] ?? 0), 0);
    return maximum(order.held.map(bytes));
  }
  const slices = slicesInFlight(group)(stage);
  const whole = Math.floor(slices / group.slices);
  // Which slices have begun is not known where they are solved for.
  const begun = group.solved === true ? 0 : slices - whole * group.slices;
  const ofBegun = begun === 0 ? 0 : own.reduce((sum, chunk) => sum + (known.savedSlices(group, chunk)[begun] ?? 0), 0);
  return whole * saved.reduce((sum, bytes) => sum + bytes, 0) + ofBegun;
}

/** What the limit of a layout depends on. */
export type LimitedGroup = Pick<CandidateGroup, 'layout' | 'training'>;

/** The highest peak that fits a GPU of a request under a layout, bytes: the limit of its plan (`limitsOn`). */
export function usableGpuBytes({ cluster }: Pick<PlanRequest, 'cluster'>, group: LimitedGroup): number {
  return limitsOn(group, cluster.gpu.memoryBytes).usableBytes;
}
