import { memoized } from '../records';
import { sum } from '../numbers';
import type { CostInputs } from '../time-model/rates';
import type { SliceCost } from '../domain/slice-cost';
import { optimizerTime } from '../time-model/optimizer-time';
import { gradientExchangeTime } from '../time-model/gradient-exchange';
import { joinStageContents } from '../memory-model/count';
import { contentsKey, type StageContents } from '../memory-model/layer-tensors';
import { savedBytes } from '../memory-model/activation-memory';
import { keptForWeights } from '../memory-model/split-backward';
import { staticBytes, totalBytes } from '../memory-model/static';
import { layerGroups, layersByKind, partOfModel } from '../model/layers';
import { placeChunks } from '../schedules/registry';
import type { WorkUnit } from '../schedules/schedule';
import { uniformLengths } from '../slicing/baselines';
import { partCosts } from '../planner/predict/pipeline';
import type { PlanRequest } from '../domain/request';
import { scheduleOn, type ScheduleOnLayout } from '../schedules/on-layout';
import { chunkLayers } from '../partition/stages';
import type { StageLayers } from './cuts';
import type { StageTimes } from './pipeline-bounds';
import { sliceUnit } from './schedules';
import { gridTimes, leastRatio, leastSlicesOn, leastWeighed, solvedUnit, type GridTimes, type LeastSlices } from './solved-slices';
import type { CandidateGroup } from './candidate-group';
import { withMtpLayers } from '../model/multi-token-prediction';

/** One layout whole: a candidate group and its cut. */
export interface SearchPoint extends CandidateGroup {
  readonly stageLayers: StageLayers;
}

export type KeyedGroup = Pick<CandidateGroup, 'layout' | 'training' | 'keys'>;

/** What a stage or chunk holds, and its layers over those of a stage on average, for measured times of such a stage; 1 elsewhere. */
export interface SharedContents {
  readonly contents: StageContents;
  readonly share: number;
}

/** What is computed once for all candidate groups that share it. */
export interface KnownBounds {
  /** `share`: layers over those of a stage on average, for measured times of such a stage; 1 elsewhere. */
  readonly cost: (group: CandidateGroup, contents: StageContents, share: number) => SliceCost;
  /** Of one micro-batch on a stage or chunk. */
  readonly times: (group: CandidateGroup, contents: StageContents, share?: number) => StageTimes;
  /** Of one micro-batch on all stages together, ms, whatever the cut; at least. */
  readonly sumMs: (group: CandidateGroup) => number;
  /** Every slice of one micro-batch that may be solved for, on each of some stages or chunks; one object for those alike. */
  readonly gridTimes: (group: CandidateGroup, parts: readonly SharedContents[]) => GridTimes[];
  /** What no cut of one micro-batch into `fewest` slices or more goes below, on each of some stages or chunks. */
  readonly leastSlices: (group: CandidateGroup, parts: readonly SharedContents[], fewest: number) => LeastSlices[];
  /** By times of slices: see `leastRatio` and `leastWeighed`. */
  readonly leastRatio: (own: GridTimes, base: GridTimes) => number;
  readonly leastWeighed: (times: GridTimes, microBatches: number, weight: number) => number;
  /** Gradient exchange and optimizer, which follow the pipeline, ms; of an even stage, which no uneven cut is below. */
  readonly afterwardsMs: (group: CandidateGroup) => number;
  readonly staticBytes: (group: KeyedGroup, contents: StageContents) => number;
  /** Saved by a stage or chunk for the first slices of a micro-batch: none, one, ..., all. */
  readonly savedSlices: (group: CandidateGroup, contents: StageContents) => Float64Array;
  /** For all of them. */
  readonly savedBytes: (group: CandidateGroup, contents: StageContents) => number;
  /** Kept for one micro-batch from its input gradient to its weight gradient. */
  readonly keptBytes: (group: CandidateGroup, contents: StageContents) => number;
  readonly shapes: (stageLayers: StageLayers) => StageContents[];
  /** The stage of each chunk of a schedule on a number of stages. */
  readonly placed: (kind: Pick<ScheduleOnLayout, 'placement' | 'chunks'>, stages: number) => Uint32Array;
  /** The one object for all shapes equal to this. */
  readonly same: (contents: StageContents) => StageContents;
  /** Kinds of layers, with inner stages of none of them, of one, of as many as the model has layers, and of one more. */
  readonly kinds: readonly {
    readonly layers: number;
    readonly none: StageContents;
    readonly one: StageContents;
    readonly all: StageContents;
    readonly more: StageContents;
  }[];
}

/**
 * Asked again for a candidate group of the same key and the very same shape (`cutShapes` gives equal ones as one object), gives what it
 * gave.
 */
function byGroupAndShape<F extends KeyedGroup, T>(
  compute: (group: F, contents: StageContents, share: number) => T,
  groupKey: (group: F) => string,
): (group: F, contents: StageContents, share?: number) => T {
  const known = new Map<StageContents, Map<string, T>>();
  return (group, contents, share = 1) => {
    const ofShape = memoized(known, contents, () => new Map<string, T>());
    const key = share === 1 ? groupKey(group) : `${groupKey(group)}/${share}`;
    return memoized(ofShape, key, () => compute(group, contents, share));
  };
}

/** Remembers costs (ms) and memory (bytes) by what they depend on, for one request; nothing is computed before it is asked for. */
export function createKnownBounds(request: PlanRequest): KnownBounds {
  // Stages of the same inputs share the times of their layers.
  const inputsByTime = new Map<string, CostInputs>();
  const costs = byGroupAndShape(
    (group, contents, share) => {
      const inputs = memoized(inputsByTime, group.keys.time, () => toCostInputs(request, group));
      return partCosts(request, inputs)(contents, share);
    },
    ({ keys }: CandidateGroup) => keys.time,
  );
  const sliced = ({ keys }: CandidateGroup): string => keys.sliced;
  const times = byGroupAndShape(
    (group: CandidateGroup, contents, share) => sliceTimes(costs(group, contents, share), group, request),
    sliced,
  );
  /** Without what depends on the cut: waits for copies to the host and for sharded weights, and every n-th layer's recompute. */
  const computeMs = byGroupAndShape((group: CandidateGroup, contents) => {
    const inputs = toCostInputs(request, group);
    const { recompute, zeroStage, activationOffloadLayers = 0 } = inputs.training;
    const isAdditive = recompute !== 'every' && zeroStage <= 1 && activationOffloadLayers === 0;
    const additive = { recompute: recompute === 'every' ? 'none' : recompute, zeroStage: zeroStage > 1 ? 1 : zeroStage } as const;
    const kept = { ...inputs, training: { ...inputs.training, ...additive, activationOffloadLayers: 0 } };
    const cost = isAdditive ? costs(group, contents) : partCosts(request, kept)(contents, 1);
    if (group.solved === true) return sum(solvedGridTimes(request, group, [cost]).map((grid) => leastSlicesOn(grid)(1).sumMs));
    const { forwardMs, backwardMs } = sliceTimes(cost, group, request);
    return forwardMs + backwardMs;
  }, sliced);
  const afterwards = byGroupAndShape(
    (group: CandidateGroup, stage) => {
      const inputs = toCostInputs(request, group);
      return gradientExchangeTime(inputs, stage) + optimizerTime(inputs, stage);
    },
    ({ keys }) => keys.holding,
  );
  const evenStage = Array.from({ length: request.model.layers + 1 }, (_, pipeline) => ({
    layers: request.model.layers / pipeline,
    first: false,
    last: false,
  }));
  const placements = new Map<string, Uint32Array>();
  const savedSlices = byGroupAndShape((group: CandidateGroup, contents) => savedUnits(request, group, contents), sliced);
  const { model } = request;
  const whole = {
    layers: model.layers,
    first: true,
    last: true,
    ...partOfModel(model),
  };
  const kinds = layersByKind(layerGroups(model)).map(({ kind, layers }) => {
    const inner = (count: number): StageContents => ({ layers: count, first: false, last: false, groups: [{ kind, layers: count }] });
    return { layers, none: inner(0), one: inner(1), all: inner(model.layers), more: inner(model.layers + 1) };
  });
  return {
    placed: (kind, stages) =>
      memoized(placements, `${kind.placement},${stages},${kind.chunks}`, () => placeChunks(kind.placement, stages, kind.chunks)),
    same: interning(),
    shapes: shapesFor(request),
    kinds,
    cost: costs,
    times,
    sumMs: (group) => (request.costTable === null ? 1 : group.layout.pipeline) * computeMs(group, whole),
    ...slicesKnown(request, costs),
    afterwardsMs: (group) => afterwards(group, evenStage[group.layout.pipeline] ?? whole),
    staticBytes: byGroupAndShape(
      (group, contents) => totalBytes(staticBytes(toCostInputs(request, group), contents)),
      ({ keys }) => keys.holding,
    ),
    savedSlices,
    savedBytes: (group, contents) => savedSlices(group, contents).at(-1) ?? 0,
    keptBytes: byGroupAndShape((group: CandidateGroup, contents) => {
      const { layers, head } = keptForWeights(toCostInputs(request, group), contents, microBatchUnits(request, group)[0] ?? noUnit);
      return layers + head;
    }, sliced),
  };
}

/** Grids that are kept at most, those asked for last: of 64 units they are 33 KB each. */
const mostGrids = 2000;

/** What is known of slices that may be solved for. */
function slicesKnown(
  request: PlanRequest,
  costs: KnownBounds['cost'],
): Pick<KnownBounds, 'leastSlices' | 'gridTimes' | 'leastRatio' | 'leastWeighed'> {
  const grids = latest<GridTimes>(mostGrids);
  const leasts = new Map<StageContents, Map<string, LeastSlices>>();
  const programs = new WeakMap<GridTimes, (fewest: number) => LeastSlices>();
  const ratios = new WeakMap<GridTimes, WeakMap<GridTimes, number>>();
  const weighed = new WeakMap<GridTimes, Map<string, number>>();
  const gridsFor = (group: CandidateGroup, parts: readonly SharedContents[]): ReadonlyMap<StageContents, GridTimes> => {
    const key = ({ share }: SharedContents): string => (share === 1 ? group.keys.sliced : `${group.keys.sliced}/${share}`);
    const found = new Map<StageContents, GridTimes>();
    const fresh = new Map<StageContents, SharedContents>();
    for (const part of parts) {
      const grid = grids.get(part.contents, key(part));
      if (grid === undefined) fresh.set(part.contents, part);
      else found.set(part.contents, grid);
    }
    if (fresh.size === 0) return found;
    const missing = [...fresh.values()];
    const made = solvedGridTimes(
      request,
      group,
      missing.map(({ contents, share }) => costs(group, contents, share)),
    );
    missing.forEach((part, index) => {
      const grid = made[index];
      if (grid === undefined) return;
      grids.set(part.contents, key(part), grid);
      found.set(part.contents, grid);
    });
    return found;
  };
  return {
    gridTimes: (group, parts) => {
      const found = gridsFor(group, parts);
      return parts.flatMap(({ contents }) => found.get(contents) ?? []);
    },
    leastSlices: (group, parts, fewest) => {
      const of = ({ contents }: SharedContents) => memoized(leasts, contents, () => new Map<string, LeastSlices>());
      const key = ({ share }: SharedContents): string => `${group.keys.sliced}/${share}/${fewest}`;
      const unknown = parts.filter((part) => !of(part).has(key(part)));
      const times = unknown.length === 0 ? new Map<StageContents, GridTimes>() : gridsFor(group, unknown);
      for (const part of unknown) {
        const grid = times.get(part.contents);
        if (grid !== undefined) memoized(of(part), key(part), () => memoized(programs, grid, () => leastSlicesOn(grid))(fewest));
      }
      return parts.flatMap((part) => of(part).get(key(part)) ?? []);
    },
    leastRatio: (own, base) =>
      memoized(
        memoized(ratios, base, () => new WeakMap<GridTimes, number>()),
        own,
        () => leastRatio(own, base),
      ),
    leastWeighed: (times, microBatches, weight) =>
      memoized(
        memoized(weighed, times, () => new Map<string, number>()),
        `${microBatches},${weight}`,
        () => leastWeighed(times, microBatches, weight),
      ),
  };
}

/** Keeps what was asked for or set last, up to a number, by a shape and a key. */
function latest<T>(most: number): {
  readonly get: (contents: StageContents, key: string) => T | undefined;
  readonly set: (contents: StageContents, key: string, value: T) => void;
} {
  const shapes = new Map<StageContents, number>();
  const values = new Map<string, T>();
  const name = (contents: StageContents, key: string): string => `${memoized(shapes, contents, () => shapes.size + 1)}:${key}`;
  return {
    get: (contents, key) => {
      const named = name(contents, key);
      const value = values.get(named);
      if (value !== undefined) {
        values.delete(named);
        values.set(named, value);
      }
      return value;
    },
    set: (contents, key, value) => {
      values.set(name(contents, key), value);
      const [oldest] = values.keys();
      if (values.size > most && oldest !== undefined) values.delete(oldest);
    },
  };
}

/** What cost and memory are computed of, for one layout of a request. */
export function toCostInputs({ model, cluster, constants }: PlanRequest, { layout, training }: KeyedGroup): CostInputs {
  return { model, training, layout, cluster, constants };
}

/** What each chunk holds, where it is, and what each stage holds of them. */
export interface CutShapes {
  readonly chunks: readonly StageContents[];
  readonly stageOfChunk: Uint32Array;
  readonly stages: readonly StageContents[];
}

/** What the chunks and stages of a cut hold, in the places that its schedule gives them. */
export function cutShapes(known: KnownBounds, { layout, schedule, stageLayers }: SearchPoint): CutShapes {
  const kind = scheduleOn(schedule, layout);
  const stageOfChunk = known.placed(kind, layout.pipeline);
  const chunks = known.shapes(chunkLayers(stageLayers, stageOfChunk));
  return {
    chunks,
    stageOfChunk,
    stages: chunks.length === layout.pipeline ? chunks : joinStageContents(layout.pipeline, stageOfChunk, chunks).map(known.same),
  };
}

/** Micro-batches on each replica. */
export function groupMicroBatches({ layout, training }: CandidateGroup): number {
  return training.globalBatch / layout.data / training.microBatch;
}

/** Tokens of each slice of a sequence; where slices are solved for, of the most that there may be. */
export function sliceLengths({ training, slicing }: PlanRequest, { slices, solved }: CandidateGroup): number[] {
  if (slices === 1) return [training.sequenceLength];
  if (solved === true) return uniformLengths(training.sequenceLength, solvedUnit({ training, slicing }), slices);
  return uniformLengths(training.sequenceLength, sliceUnit(training.sequenceLength, slicing.unit), slices);
}

/** One micro-batch on one stage, its slices one by one and together. */
function sliceTimes(cost: SliceCost, group: CandidateGroup, request: PlanRequest): StageTimes {
  const { microBatch } = group.training;
  let [forwardMs, backwardMs, weightMs] = [0, 0, 0];
  const slices = microBatchUnits(request, group).map(({ tokens, context }) => {
    const time = cost(microBatch, tokens, context);
    forwardMs += time.forwardMs;
    backwardMs += time.backwardMs;
    weightMs += time.backwardWeightMs;
    return time;
  });
  const nothing = { forwardMs: 0, backwardMs: 0 };
  const [firstForwardMs, lastBackwardMs] = [
    sums(slices.map((slice) => slice.forwardMs)),
    sums(slices.map((slice) => slice.backwardMs).reverse()),
  ];
  return { forwardMs, backwardMs, weightMs, firstForwardMs, lastBackwardMs, first: slices[0] ?? nothing, last: slices.at(-1) ?? nothing };
}

function solvedGridTimes(request: PlanRequest, { training }: CandidateGroup, costs: readonly SliceCost[]): GridTimes[] {
  return gridTimes(costs, training.microBatch, training.sequenceLength, solvedUnit(request));
}

const noUnit: WorkUnit = { microBatch: 0, slice: 0, batch: 0, tokens: 0, context: 0 };

/** The slices of a micro-batch. */
function microBatchUnits(request: PlanRequest, group: CandidateGroup): WorkUnit[] {
  let context = 0;
  return sliceLengths(request, group).map((tokens, slice) => {
    const unit = { microBatch: 0, slice, batch: group.training.microBatch, tokens, context };
    context += tokens;
    return unit;
  });
}

function savedUnits(request: PlanRequest, group: CandidateGroup, contents: StageContents): Float64Array {
  const inputs = toCostInputs(request, group);
  // Only scores, which fused attention does not keep, depend on the context.
  const isAlike = inputs.training.attention === 'flash';
  const known = new Map<number, number>();
  const saved = (unit: WorkUnit): number => {
    // Of slices that are not known, the least: no keys and values, and of scores what the shortest slices have.
    const isSliced = group.slices > 1 && group.solved !== true;
    const { activations, keysValues, logits } = savedBytes(inputs, contents, unit, isSliced);
    return activations + keysValues + logits;
  };
  return sums(microBatchUnits(request, group).map((unit) => (isAlike ? memoized(known, unit.tokens, () => saved(unit)) : saved(unit))));
}

/** Of the first values: none, one, ..., all. */
function sums(values: readonly number[]): Float64Array {
  const all = new Float64Array(values.length + 1);
  values.forEach((value, index) => (all[index + 1] = (all[index] ?? 0) + value));
  return all;
}

/** Gives the one object for all shapes equal to one. */
function interning(): (contents: StageContents) => StageContents {
  const known = new Map<string, StageContents>();
  return (contents) => {
    const key = contentsKey(contents);
    const same = known.get(key);
    if (same === undefined) known.set(key, contents);
    return same ?? contents;
  };
}

/** The stages, or chunks, of a cut; equal ones are one object. */
function shapesFor({ model }: PlanRequest): (stageLayers: StageLayers) => StageContents[] {
  const known = new Map<number, StageContents>();
  const byName = new Map<string, StageContents>();
  return (stageLayers) => {
    let from = 0;
    return stageLayers.map((layers, stage) => {
      const [first, last] = [stage === 0, stage === stageLayers.length - 1];
      const start = model.layerKinds === undefined ? 0 : from;
      const key = ((start * (model.layers + 1) + layers) * 2 + (first ? 1 : 0)) * 2 + (last ? 1 : 0);
      let shape = known.get(key);
      if (shape === undefined) {
        const made = withMtpLayers(model, { layers, first, last, ...partOfModel(model, from, from + layers) });
        const name = contentsKey(made);
        shape = byName.get(name) ?? made;
        byName.set(name, shape);
        known.set(key, shape);
      }
      from += layers;
      return shape;
    });
  };
}
