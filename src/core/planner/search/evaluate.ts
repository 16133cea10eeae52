import { gradientExchange, megatronBoundary, optimizerTime, terapipeBoundary, type RankOrder } from '../../cost/stage-time';
import type { CostInputs } from '../../cost/rates';
import type { SliceCost, WholeSliceTime } from '../../cost/slice-cost';
import { stageShapesOf, usablePeakBytes } from '../../memory/count';
import type { StageShape } from '../../memory/layer-tensors';
import { savedBytes } from '../../memory/runtime';
import { staticBytes, totalBytes } from '../../memory/static';
import { layerGroups, layersByKind } from '../../model/layers';
import { placeChunks } from '../../schedule/registry';
import { uniformLengths } from '../../solver/baselines';
import type { Scheme } from '../../solver/slicing';
import { chunkCost } from '../offload';
import { peakBytesOf } from '../plan';
import { measure, operationCount, type Measured, type Pipeline } from '../predict';
import type { PlanRequest } from '../request';
import { chunksPerStage, kindFor } from '../scheduling';
import { stageInputsOf } from '../stage-inputs';
import { chunkLayers } from '../stages';
import type { StageLayers } from './cuts';
import { anyCutBound, drainedBound, interleavedBound, oneForwardOneBackwardBound, type StageTimes } from './pipeline-bounds';
import { interning, shapesFor } from './shapes';
import { unitOf, type Family } from './space';

/*
 * The one place where the search meets the rest of the planner: what a layout takes by `predict`, and what it takes at least. Every bound here must stay below what `predict` says, and a property
 * test holds it there.
 */

/** One layout whole: a family and its cut. */
export interface SearchPoint extends Family {
  readonly stageLayers: StageLayers;
}

/** A point, predicted. Times in ms, memory of the worst stage in bytes. */
export interface Predicted {
  readonly point: SearchPoint;
  readonly iterationMs: number;
  readonly peakBytes: number;
  readonly fits: boolean;
}

/** What no cut of a family, or no run of a point, goes below. */
export interface Bound {
  readonly iterationMs: number;
  readonly peakBytes: number;
}

export interface Evaluator {
  /** What no cut goes below of what is always there, bytes. */
  readonly heldBytes: (family: KeyedFamily) => number;
  readonly familyBound: (family: Family) => Bound;
  readonly pointBound: (point: SearchPoint) => Bound;
  /** That simulating a point takes. */
  readonly operations: (point: SearchPoint) => number;
  /** Null when it would take too many operations to simulate. */
  readonly evaluate: (point: SearchPoint) => Predicted | null;
  /** The same with its parts; a point evaluated before is not simulated again. */
  readonly candidate: (point: SearchPoint, scheme?: Scheme) => Measured;
  readonly pipeline: (point: SearchPoint) => Pipeline;
  /** Peak that still fits. */
  readonly usableBytes: number;
}

/** Points with more operations are left out, which the counts and the bound say: simulating one would take longer than a cancelled search may go on. */
const maximumOperations = 250_000;
/** Layouts that need more than this many times what fits are not worth a word. */
export const nearlyFits = 1.5;
/** Bounds are lowered by this share, far above the rounding of sums. */
const rounding = 1e-9;

/** What is computed once for all families that share it. */
interface Known {
  readonly cost: (family: Family, shape: StageShape) => SliceCost;
  /** Of one micro-batch on a stage. */
  readonly times: (family: Family, shape: StageShape) => StageTimes;
  /** Gradient exchange and optimizer, which follow the pipeline, ms; of an even stage, which no uneven cut is below. */
  readonly afterwardsMs: (family: Family) => number;
  readonly staticBytes: (family: KeyedFamily, shape: StageShape) => number;
  /** Saved by a stage for one micro-batch, its slices together. */
  readonly savedBytes: (family: Family, shape: StageShape) => number;
  readonly shapes: (stageLayers: StageLayers) => StageShape[];
  /** The one object for all shapes equal to this. */
  readonly same: (shape: StageShape) => StageShape;
  /** The whole model on one stage. */
  readonly whole: StageShape;
  /** Kinds of layers, with inner stages of one of them, of as many as the model has layers, and of one more. */
  readonly kinds: readonly { readonly layers: number; readonly one: StageShape; readonly all: StageShape; readonly more: StageShape }[];
}

type KeyedFamily = Pick<Family, 'layout' | 'training' | 'keys'>;

/** Asked again for a family of the same key and the very same shape (`shapesOf` gives equal ones as one object), gives what it gave. */
function remembered<F extends KeyedFamily, T>(
  compute: (family: F, shape: StageShape) => T,
  keyOf: (family: F) => string,
): (family: F, shape: StageShape) => T {
  const known = new Map<StageShape, Map<string, T>>();
  return (family, shape) => {
    let ofShape = known.get(shape);
    if (ofShape === undefined) known.set(shape, (ofShape = new Map<string, T>()));
    const key = keyOf(family);
    let value = ofShape.get(key);
    if (value === undefined) ofShape.set(key, (value = compute(family, shape)));
    return value;
  };
}

function knownOf(request: PlanRequest): Known {
  const cost = remembered(
    (family, shape) => chunkCost(inputsOf(request, family), shape),
    ({ keys }: Family) => keys.time,
  );
  const sliced = ({ keys }: Family): string => keys.sliced;
  const afterwards = (order: RankOrder) =>
    remembered(
      (family: Family, stage) => {
        const inputs = inputsOf(request, family);
        return gradientExchange(inputs, stage, order) + optimizerTime(inputs, stage);
      },
      ({ keys }) => keys.holding,
    );
  const [replicasTogether, stagesTogether] = [afterwards('data'), afterwards('pipeline')];
  const evenStage = Array.from({ length: request.model.layers + 1 }, (_, pipeline) => ({
    layers: request.model.layers / pipeline,
    first: false,
    last: false,
  }));
  const { model } = request;
  const whole = {
    layers: model.layers,
    first: true,
    last: true,
    ...(model.layerKinds === undefined ? {} : { groups: layerGroups(model) }),
  };
  const kinds = layersByKind(layerGroups(model)).map(({ kind, layers }) => {
    const inner = (count: number): StageShape => ({ layers: count, first: false, last: false, groups: [{ kind, layers: count }] });
    return { layers, one: inner(1), all: inner(model.layers), more: inner(model.layers + 1) };
  });
  return {
    same: interning(),
    shapes: shapesFor(request),
    whole,
    kinds,
    cost,
    times: remembered((family, shape) => sliceTimes(cost(family, shape), family, request), sliced),
    afterwardsMs: (family) =>
      (family.schedule === 'TeraPipe' ? stagesTogether : replicasTogether)(family, evenStage[family.layout.pipeline] ?? whole),
    staticBytes: remembered(
      (family, shape) => totalBytes(staticBytes(inputsOf(request, family), shape)),
      ({ keys }) => keys.holding,
    ),
    savedBytes: remembered((family, shape) => savedUnitBytes(request, family, shape), sliced),
  };
}

/** Predicts and bounds points of a request's model on its cluster; remembers stage times. */
export function evaluatorOf(request: PlanRequest): Evaluator {
  const known = knownOf(request);
  const pipeline = (point: SearchPoint): Pipeline => {
    const { stageLayers } = point;
    const { stages: shapes } = shapesOf(known, point);
    const costOf = (shape: StageShape): SliceCost => known.cost(point, known.same(shape));
    const inputs = inputsOf(request, point);
    return { inputs, stageInputs: stageInputsOf(inputs), shapes, stageLayers, costs: shapes.map(costOf), costOf, measured: false };
  };
  const measured = new WeakMap<SearchPoint, Measured>();
  const candidate = (point: SearchPoint, scheme = schemeOf(request, point)): Measured => {
    const name = familyName(point);
    const id =
      point.schedule === 'TeraPipe'
        ? 'uniform'
        : point.schedule === 'GPipe'
          ? 'gpipe'
          : point.schedule === '1F1B'
            ? '1f1b'
            : point.schedule;
    return measure(pipeline(point), { id, name, schedule: point.schedule, scheme, certificate: null });
  };
  const operations = (point: SearchPoint, scheme = schemeOf(request, point)): number => {
    const kind = kindFor(point.schedule, point.layout);
    return operationCount(scheme, point.layout.pipeline * chunksPerStage(kind, point.layout), kind.splitsBackward ? 3 : 2);
  };
  return {
    operations,
    usableBytes: usablePeakBytes(request.cluster.gpu.memoryBytes),
    pipeline,
    candidate: (point, scheme) => (scheme === undefined ? (measured.get(point) ?? candidate(point)) : candidate(point, scheme)),
    evaluate: (point) => {
      const scheme = schemeOf(request, point);
      if (operations(point, scheme) > maximumOperations) return null;
      const found = candidate(point, scheme);
      measured.set(point, found);
      return { point, iterationMs: found.iterationMs, fits: found.fits, peakBytes: peakBytesOf(found) };
    },
    heldBytes: (family) => leastHeldBytes(request, family, known) * (1 - rounding),
    familyBound: (family) => lowered(familyBound(request, family, known)),
    pointBound: (point) => lowered(pointBound(request, point, known)),
  };
}

function lowered({ iterationMs, peakBytes }: Bound): Bound {
  return { iterationMs: iterationMs * (1 - rounding), peakBytes: peakBytes * (1 - rounding) };
}

function inputsOf({ model, cluster, constants }: PlanRequest, { layout, training }: KeyedFamily): CostInputs {
  return { model, training, layout, cluster, constants };
}

/** What each chunk holds, where it is, and what each stage holds of them. */
interface CutShapes {
  readonly chunks: readonly StageShape[];
  readonly stageOfChunk: Uint32Array;
  readonly stages: readonly StageShape[];
}

function shapesOf(known: Known, { layout, schedule, stageLayers }: SearchPoint): CutShapes {
  const kind = kindFor(schedule, layout);
  const stageOfChunk = placeChunks(kind.placement, layout.pipeline, chunksPerStage(kind, layout));
  const chunks = known.shapes(chunkLayers(stageLayers, stageOfChunk));
  return {
    chunks,
    stageOfChunk,
    stages: chunks.length === layout.pipeline ? chunks : stageShapesOf(layout.pipeline, stageOfChunk, chunks).map(known.same),
  };
}

/** Micro-batches on each replica. */
export function microBatchesOf({ layout, training }: Family): number {
  return training.globalBatch / layout.data / training.microBatch;
}

function lengthsOf({ training, slicing }: PlanRequest, { slices }: Family): number[] {
  return uniformLengths(training.sequenceLength, unitOf(training.sequenceLength, slicing.unit), slices);
}

/** What the schedule runs: micro-batches, each in equal token slices, or the slices that the request gives. */
export function schemeOf(request: PlanRequest, family: Family): Scheme {
  if (request.slicing.scheme !== null) return request.slicing.scheme;
  const tokens = family.slices === 1 ? [request.training.sequenceLength] : lengthsOf(request, family);
  return Array.from({ length: microBatchesOf(family) }, () => ({ batch: family.training.microBatch, tokens }));
}

/** `1F1B`, `interleaved 1F1B, 4 virtual stages`, `TeraPipe, 8 slices`. */
export function familyName({ layout, schedule, slices }: Family): string {
  if (schedule === '1F1B' && layout.virtualStages > 1) return `interleaved 1F1B, ${layout.virtualStages} virtual stages`;
  return slices > 1 ? `${schedule}, ${slices} slices` : schedule;
}

/** One micro-batch on one stage, its slices one by one and together. */
function sliceTimes(cost: SliceCost, family: Family, request: PlanRequest): StageTimes {
  const { microBatch } = family.training;
  let context = 0;
  let [forwardMs, backwardMs] = [0, 0];
  const slices = (family.slices === 1 ? [request.training.sequenceLength] : lengthsOf(request, family)).map((tokens) => {
    const time = cost(microBatch, tokens, context);
    context += tokens;
    forwardMs += time.forwardMs;
    backwardMs += time.backwardMs;
    return time;
  });
  const nothing = { forwardMs: 0, backwardMs: 0 };
  return { forwardMs, backwardMs, first: slices[0] ?? nothing, last: slices.at(-1) ?? nothing };
}

/** Of any cut: see `anyCutBound` and `leastStageBytes`. */
function familyBound(request: PlanRequest, family: Family, known: Known): Bound {
  if (request.slicing.scheme !== null) return { iterationMs: 0, peakBytes: 0 };
  const peakBytes = leastStageBytes(request, family, known);
  if (isFarTooLarge(request, peakBytes)) return { iterationMs: 0, peakBytes };
  const { forwardMs, backwardMs } = known.times(family, known.whole);
  const order = family.slices > 1 || family.layout.virtualStages > 1 ? 'any' : family.schedule === '1F1B' ? '1F1B' : 'drained';
  const pipelineMs = anyCutBound(forwardMs + backwardMs, family.layout.pipeline, microBatchesOf(family), order);
  return { iterationMs: pipelineMs + known.afterwardsMs(family), peakBytes };
}

/** Nobody asks how fast such a layout would be: it costs less not to know. */
function isFarTooLarge({ cluster }: PlanRequest, peakBytes: number): boolean {
  return peakBytes * (1 - rounding) > nearlyFits * usablePeakBytes(cluster.gpu.memoryBytes);
}

/**
 * With A_k static and a_k saved bytes of a layer of kind k, K those of a stage and w_s micro-batches in flight on stage s, the sum of A_k + a_k w_s over the layers of a stage is at most C - K. Weighed by any positive
 * g_s and summed over the stages, C - K is at least the sum over all layers of the smallest g_s (A_k + a_k w_s), over the sum of all g_s; here g_s = 1 / (A + a w_s) of the mean layer, which makes it tight for
 * layers all alike. The smallest is at one of the ends, as the quotient rises or falls with w_s. Static bytes may grow less than linearly with the layers: A_k is what the last layer adds.
 */
function leastStageBytes({ model, slicing }: PlanRequest, family: Family, known: Known): number {
  const [always, saved] = [new Float64Array(known.kinds.length), new Float64Array(known.kinds.length)];
  let [meanAlways, meanSaved, stage] = [0, 0, Infinity];
  known.kinds.forEach(({ layers, one, all, more }, kind) => {
    const last = known.staticBytes(family, more) - known.staticBytes(family, all);
    // layers recomputed together share the input that they keep
    const kept = known.savedBytes(family, one) / (family.training.recomputeGroup ?? 1);
    stage = Math.min(stage, known.staticBytes(family, one) - last);
    meanAlways += (layers / model.layers) * last;
    meanSaved += (layers / model.layers) * kept;
    always[kind] = last;
    saved[kind] = kept;
  });
  const { pipeline } = family.layout;
  const flying = (at: number): number => (slicing.scheme !== null ? 0 : inFlight(family, at));
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

/** The same of static bytes alone: the mean of the stages. */
function leastHeldBytes({ model }: PlanRequest, family: KeyedFamily, known: Known): number {
  let sum = 0;
  let least = Infinity;
  for (const { layers, one, all, more } of known.kinds) {
    const always = known.staticBytes(family, more) - known.staticBytes(family, all);
    sum += layers * always;
    least = Math.min(least, known.staticBytes(family, one) - always);
  }
  return Math.max(0, model.layers > 0 ? least : 0) + sum / family.layout.pipeline;
}

/** Micro-batches of which a stage holds everything saved, at least. Interleaving starts no later than plain 1F1B (arXiv 2205.05198, section 4.2.1). */
function inFlight(family: Family, stage: number): number {
  const count = microBatchesOf(family);
  return family.schedule === '1F1B' ? Math.min(count, family.layout.pipeline - stage) : count;
}

function savedUnitBytes(request: PlanRequest, family: Family, shape: StageShape): number {
  const inputs = inputsOf(request, family);
  const lengths = family.slices === 1 ? [request.training.sequenceLength] : lengthsOf(request, family);
  let context = 0;
  let bytes = 0;
  lengths.forEach((tokens, slice) => {
    const unit = { microBatch: 0, slice, batch: family.training.microBatch, tokens, context };
    const { activations, keysValues, logits } = savedBytes(inputs, shape, unit, family.slices > 1);
    bytes += activations + keysValues + logits;
    context += tokens;
  });
  return bytes;
}

/** Of one cut: by the order in which the schedule runs its micro-batches. */
function pointBound(request: PlanRequest, point: SearchPoint, known: Known): Bound {
  const shapes = shapesOf(known, point);
  const peakBytes = peakBound(request, point, shapes, known);
  if (request.slicing.scheme !== null || isFarTooLarge(request, peakBytes)) return { iterationMs: 0, peakBytes };
  const chunks = shapes.chunks.map((shape) => known.times(point, shape));
  const count = microBatchesOf(point);
  const inputs = inputsOf(request, point);
  const { virtualStages } = point.layout;
  const [longest = 0] = lengthsOf(request, point);
  const { microBatch } = point.training;
  const pipelineMs =
    point.schedule === 'TeraPipe'
      ? drainedBound(
          chunks,
          count,
          lengthsOf(request, point).map((tokens) => terapipeBoundary(inputs, microBatch, tokens)),
        )
      : virtualStages > 1
        ? interleavedBound(summedByStage(chunks, shapes), chunks, count)
        : point.schedule === 'GPipe'
          ? drainedBound(chunks, count, null)
          : oneForwardOneBackwardBound(chunks, count, megatronBoundary(inputs, microBatch, longest));
  return { iterationMs: pipelineMs + known.afterwardsMs(point), peakBytes };
}

function summedByStage(chunks: readonly StageTimes[], { stages, stageOfChunk }: CutShapes): WholeSliceTime[] {
  const sums = stages.map(() => ({ forwardMs: 0, backwardMs: 0 }));
  chunks.forEach(({ forwardMs, backwardMs }, chunk) => {
    const sum = sums[stageOfChunk[chunk] ?? 0];
    if (sum === undefined) return;
    sum.forwardMs += forwardMs;
    sum.backwardMs += backwardMs;
  });
  return sums;
}

/** Of the first, second and last stage: what is always there and the micro-batches in flight. */
function peakBound(request: PlanRequest, family: Family, { chunks, stageOfChunk, stages }: CutShapes, known: Known): number {
  let peak = 0;
  for (const stage of new Set([0, 1, family.layout.pipeline - 1])) {
    const shape = stages[stage];
    if (shape === undefined) continue;
    let saved = 0;
    if (request.slicing.scheme === null)
      chunks.forEach((chunk, index) => (saved += stageOfChunk[index] === stage ? known.savedBytes(family, chunk) : 0));
    peak = Math.max(peak, known.staticBytes(family, shape) + inFlight(family, stage) * saved);
  }
  return peak;
}
