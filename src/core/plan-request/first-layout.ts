import type { Run } from '../run/run';
import { batchOn, fixedBatch, type BatchSettings } from './assumed-batch';
import type { Scenario } from './scenario';
import type { LocatedPartial } from '../run/given';
import type { ClusterSpec } from '../domain/cluster';
import { throwIfCancelled, type CancelSignal } from '../errors';
import { defaultConstants } from '../domain/slice-cost';
import { limitsOn } from '../memory-model/reserved';
import { fitsMemory, memoryVerdict } from '../memory-model/verdict';
import { splitsHeads } from '../model/mixers';
import { dividesIntoGroups } from '../model/parameters';
import { refusedTogether, type CapabilitiesWith } from '../domain/capabilities';
import type { ModelSpec } from '../domain/model';
import { listDivisors, greatestCommonDivisor } from '../numbers';
import { scheduleKind } from '../schedules/registry';
import { usualSchedule, type ScheduleName } from '../domain/schedule-names';
import { schedulesOfFormat } from '../layout-search/abilities';
import { usualSequenceParallel } from '../domain/runtime';
import type { Layout, PlanRequest, TrainingSpec } from '../domain/request';
import { peakMemory } from '../partition/chunk-order';
import { fillsStages, usualCut } from '../partition/stages';
import { createBounds, type Bounds } from '../layout-search/bounds';
import type { KeyedGroup } from '../layout-search/known';

/** Training before its layout is known. */
export type TrainingDraft = Omit<TrainingSpec, 'globalBatch' | 'sequenceParallel'>;

/** What a layout is searched with, in addition to what is given of it. */
export interface PlannedModel {
  readonly model: ModelSpec;
  readonly draft: TrainingDraft;
  readonly signal?: CancelSignal | undefined;
  /** What the runtime refuses is not a first layout, unless everything is. */
  readonly capabilities?: Pick<CapabilitiesWith, 'refuses'> | undefined;
  /** The scenario of the last plan, whose batch the layout has to divide. */
  readonly kept?: Scenario | undefined;
}

/** The settings of a run that decide its layout. */
export type LayoutSettings = Pick<Run, 'layout' | 'schedule' | 'format'> & BatchSettings;

export interface FoundLayout {
  readonly layout: Layout;
  /** By the memory of the schedule that layouts are judged by. */
  readonly fits: boolean;
  /** It fits, and leaves `room` of what is usable. */
  readonly hasRoom: boolean;
  /** Of its fullest stage, at least. */
  readonly peakBytes: number;
  /** Layouts whose memory was counted, the others being ruled out by a bound. */
  readonly evaluations: number;
  /** Layouts whose time was bounded. */
  readonly estimates: number;
}

export interface FoundCluster extends FoundLayout {
  readonly nodes: number;
}

/** Share of what is usable that an assumed layout leaves: predictions of memory are not better, and a batch grows. */
const room = 0.1;
/** Layouts of one number of nodes whose memory is counted at most; a count and no time, so that every machine gives the same answer. */
export const mostEvaluations = 24;
/** Most layouts evaluated for a faster one, where the first try found one. */
export const leastSecondLooks = 2;
/** Layouts of one number of nodes whose time is bounded at most. */
export const mostEstimates = 256;
/** Longest pipeline that is assumed because it is fast. */
const mostUsualStages = 16;
/** Share of the time that makes a layout worth more model parallelism: the bound is not better. */
const leastGain = 0.02;
/** Most nodes that are assumed. */
export const mostAssumedNodes = 256;
/** Longest pipeline that is assumed; longer ones can be asked for. */
const mostAssumedStages = 128;
/** Largest expert size that is assumed. */
const mostAssumedExpert = 64;

/** GPUs of the sizes that are given. Where no file gives the replicas, enough of them that the experts are shared out evenly. */
export function requestedGpus({ tensor, pipeline, data, context, expert, expertTensor = tensor }: LocatedPartial<Layout>): number {
  const replica = (tensor?.value ?? 1) * (context?.value ?? 1) * (data?.value ?? 1);
  const stages = pipeline?.value ?? 1;
  if (data !== undefined || expert === undefined || stages * replica === 1) return stages * replica;
  const experts = expert.value * (expertTensor?.value ?? 1);
  return (stages * replica * experts) / greatestCommonDivisor(replica, experts);
}

/**
 * The fewest nodes, doubled from `least`, on which a layout fits with room and divides the batch; else the fewest on which one fits, else
 * on which one comes closest to fitting: more nodes count as closer only where the peak falls by at least the share `room`.
 */
export function fewestNodes(given: LayoutSettings, planned: PlannedModel, oneNode: ClusterSpec, least = 1): FoundCluster | null {
  let best: FoundCluster | null = null;
  let [evaluations, estimates] = [0, 0];
  const batch = fixedBatch(given, planned.kept);
  for (let nodes = least; nodes <= Math.max(least, mostAssumedNodes); nodes *= 2) {
    const found = firstLayout(given, planned, { ...oneNode, nodes });
    evaluations += found?.evaluations ?? 0;
    estimates += found?.estimates ?? 0;
    if (found === null || (best !== null && !dividesBatch(found.layout, planned.draft, batch))) continue;
    const isCloser = found.fits || best === null || found.peakBytes < (1 - room) * best.peakBytes;
    if (best === null || (isCloser && isBetter(found, best))) best = { ...found, nodes };
    if (best.hasRoom) break;
  }
  return best === null ? null : { ...best, evaluations, estimates };
}

function dividesBatch({ data }: Pick<Layout, 'data'>, { microBatch }: TrainingDraft, batch: number | null): boolean {
  return batch === null || batch % (data * microBatch) === 0;
}

function isBetter(a: JudgedLayout, b: JudgedLayout): boolean {
  if (a.hasRoom || b.hasRoom || a.fits !== b.fits) return a.hasRoom || (a.fits && !b.fits);
  return !a.fits && a.peakBytes < b.peakBytes;
}

/**
 * A layout for a number of nodes; null when none uses all GPUs. It has the least model parallelism that fits with room, else that fits,
 * else that comes closest. If one fits with room, the result is the fastest such layout, by the search's bound on time, among those that
 * launchers usually run: stages as equal as its own, no pipeline deeper than `mostUsualStages` unless its own is.
 *
 * The memory of at most `mostEvaluations` layouts is counted to find one, and of as many again, `leastSecondLooks` at least, to find a
 * faster one; times of at most `mostEstimates` are bounded. What the search's bound on memory rules out is not counted.
 */
export function firstLayout(given: LayoutSettings, planned: PlannedModel, cluster: ClusterSpec): FoundLayout | null {
  const { model } = planned;
  const judge = createJudge(given, planned, cluster);
  const layouts = possibleLayouts(given, planned, cluster);
  let best: JudgedLayout | null = null;
  for (const layout of layouts) {
    const found = judge.look(layout, mostEvaluations);
    if (best === null || isBetter(found, best)) best = found;
    if (found.hasRoom) break;
  }
  if (best === null) return null;
  if (best.hasRoom) best = fasterLayout(best, [...layouts, ...withWholeExperts(layouts, given, model)], judge, given, model);
  return { ...best, ...judge.counts };
}

/** A layout by its memory. */
export function judgedLayout(given: LayoutSettings, planned: PlannedModel, cluster: ClusterSpec, layout: Layout): FoundLayout {
  const judge = createJudge(given, planned, cluster);
  return { ...judge.look(layout, 1), ...judge.counts };
}

/** Every layout that is assumed where it is the best, least model parallelism first. */
export function layoutsFor(given: LayoutSettings, planned: PlannedModel, cluster: ClusterSpec): Layout[] {
  const layouts = possibleLayouts(given, planned, cluster);
  return [...layouts, ...withWholeExperts(layouts, given, planned.model)];
}

/** The layout with the lowest time bound that has room and is faster than `first`; else `first`. */
function fasterLayout(
  first: JudgedLayout,
  layouts: readonly Layout[],
  judge: Judge,
  given: LayoutSettings,
  model: ModelSpec,
): JudgedLayout {
  if (layouts.length === 1) return first;
  const { pipeline } = first.layout;
  const isUsual = (layout: Layout): boolean =>
    layout.pipeline <= Math.max(pipeline, mostUsualStages) &&
    (schedulesOfFormat(given.format) === null || model.layers % pipeline > 0 || model.layers % layout.pipeline === 0);
  const firstMs = judge.estimate(first.layout).sequenceMs;
  const faster = layouts
    .filter((layout) => layout !== first.layout && isUsual(layout))
    .slice(0, mostEstimates - 1)
    .map((layout) => ({ layout, ...judge.estimate(layout) }))
    .filter(({ sequenceMs, mayHaveRoom }) => mayHaveRoom && sequenceMs < (1 - leastGain) * firstMs)
    .sort((a, b) => a.sequenceMs - b.sequenceMs);
  const most = judge.counts.evaluations + Math.max(judge.counts.evaluations, leastSecondLooks);
  for (const { layout } of faster) {
    const found = judge.look(layout, most);
    if (found.hasRoom) return found;
  }
  return first;
}

/** The one layout of a run whose files give tensor and pipeline sizes, which leave nothing to look for; null for others. */
export function givenLayout(given: LayoutSettings, planned: PlannedModel, cluster: ClusterSpec): Layout | null {
  const { tensor, pipeline } = given.layout;
  return tensor === undefined || pipeline === undefined ? null : (possibleLayouts(given, planned, cluster)[0] ?? null);
}

type JudgedLayout = Omit<FoundLayout, 'evaluations' | 'estimates'>;

interface Judge {
  /** By its memory; counted only while fewer than `most` were. */
  readonly look: (layout: Layout, most: number) => JudgedLayout;
  /** A step for each sequence of its batch, at least, and whether memory may leave room: the search's bounds under 1F1B. */
  readonly estimate: (layout: Layout) => { readonly sequenceMs: number; readonly mayHaveRoom: boolean };
  readonly counts: { evaluations: number; estimates: number };
}

function createJudge(given: LayoutSettings, { model, draft, signal, kept }: PlannedModel, cluster: ClusterSpec): Judge {
  const wanted = given.schedule?.value ?? usualSchedule;
  const schedule = scheduleKind(wanted).judgedAs ?? wanted;
  const counts = { evaluations: 0, estimates: 0 };
  const layoutTraining = (layout: Layout): TrainingSpec => ({
    ...draft,
    ...hybridGroups(draft, layout, cluster),
    sequenceParallel: usualSequenceParallel(draft, layout.tensor).value,
    globalBatch: batchOn(given, draft, layout, kept),
  });
  let known: Bounds | null = null;
  const boundsFor = (layout: Layout): Bounds => (known ??= createBounds(requestFor(model, cluster, layoutTraining(layout), layout)));
  return {
    counts,
    look: (layout, most) => {
      throwIfCancelled(signal);
      const training = layoutTraining(layout);
      const { usableBytes } = limitsOn({ training, layout }, cluster.gpu.memoryBytes);
      const least = leastBytes(boundsFor(layout), schedule, training, layout);
      const isRuledOut = least > usableBytes || counts.evaluations >= most;
      const counted = isRuledOut ? null : estimatePeak({ model, training, layout }, schedule, cluster.gpu.memoryBytes);
      if (counted !== null) counts.evaluations++;
      const peakBytes = counted?.peakBytes ?? (isRuledOut ? least : Infinity);
      const fits = counted?.fits ?? false;
      return { layout, fits, hasRoom: fits && peakBytes <= (1 - room) * usableBytes, peakBytes };
    },
    estimate: (layout) => {
      throwIfCancelled(signal);
      counts.estimates++;
      const training = layoutTraining(layout);
      const stageLayers = layout.stageLayers ?? usualCut(model, training, layout.pipeline * layout.virtualStages);
      const point = { ...keyedGroup(training, layout), schedule: usualSchedule, slices: 1, stageLayers };
      const { iterationMs, peakBytes } = boundsFor(layout).pointBound(point);
      const { usableBytes } = limitsOn({ training, layout }, cluster.gpu.memoryBytes);
      return { sequenceMs: iterationMs / training.globalBatch, mayHaveRoom: peakBytes <= (1 - room) * usableBytes };
    },
  };
}

/**
 * Groups of HSDP under `HYBRID_SHARD`, which shards over the GPUs of a node and repeats over nodes
 * (torch/distributed/fsdp/_init_utils.py of PyTorch 2.6); nothing without it or sharding, or where their number is given.
 */
export function hybridGroups(
  { hybridShard, dataReplicate, zeroStage }: Pick<TrainingSpec, 'hybridShard' | 'dataReplicate' | 'zeroStage'>,
  { tensor, context, data }: Layout,
  { gpusPerNode }: Pick<ClusterSpec, 'gpusPerNode'>,
): Pick<TrainingSpec, 'dataReplicate'> {
  if (hybridShard !== true || dataReplicate !== undefined || zeroStage === 0) return {};
  return { dataReplicate: greatestCommonDivisor(data, Math.max(1, Math.floor((tensor * context * data) / gpusPerNode))) };
}

function requestFor(model: ModelSpec, cluster: ClusterSpec, training: TrainingSpec, layout: Layout): PlanRequest {
  const open = { schedule: null, slicing: { unit: null, scheme: null }, costTable: null, profile: null, assumptions: [] };
  return { title: '', model, cluster, training, layout, constants: defaultConstants, ...open };
}

/** What the fullest stage needs, however the layers are cut, at least: the search's bound, under 1F1B with what is saved. */
function leastBytes(bounds: Bounds, schedule: ScheduleName, training: TrainingSpec, layout: Layout): number {
  const family = keyedGroup(training, layout);
  return schedule === usualSchedule ? bounds.groupBound({ ...family, schedule, slices: 1 }).peakBytes : bounds.heldBytes(family);
}

function keyedGroup(training: TrainingSpec, layout: Layout): KeyedGroup {
  const { tensor, context, expert, expertTensor } = layout;
  const time = [tensor, context, expert, expertTensor].join();
  return { layout, training, keys: { time, sliced: time, holding: Object.values(layout).join() } };
}

function estimatePeak(
  inputs: { readonly model: ModelSpec; readonly training: TrainingSpec; readonly layout: Layout },
  schedule: ScheduleName,
  memoryBytes: number,
): { readonly fits: boolean; readonly peakBytes: number } {
  const { training, layout } = inputs;
  const scheme = Array.from({ length: 2 * layout.pipeline }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
  const memory = peakMemory(inputs, schedule, scheme, memoryBytes);
  return memory === null ? { fits: false, peakBytes: Infinity } : { fits: fitsMemory(memory), peakBytes: memoryVerdict(memory).peakBytes };
}

/**
 * Layouts that respect what is given and use all GPUs, least model parallelism first. Those whose replicas divide a given batch and share
 * out a given expert size, where there are any.
 */
function possibleLayouts(given: LayoutSettings, planned: PlannedModel, cluster: ClusterSpec): Layout[] {
  const { model, draft, kept, capabilities } = planned;
  const { layout: fixed } = given;
  const context = fixed.context?.value ?? 1;
  const shared: Pick<Layout, 'expertTensor' | 'stageLayers'> = {
    ...(fixed.expertTensor === undefined ? {} : { expertTensor: fixed.expertTensor.value }),
    ...(fixed.stageLayers?.value === undefined ? {} : { stageLayers: fixed.stageLayers.value }),
  };
  const all = possibleSizes(fixed, model, cluster, (cluster.nodes * cluster.gpusPerNode) / context).flatMap((sizes) =>
    expertSizes(given, model, { ...sizes, context }).map((expert) => ({
      ...sizes,
      context,
      expert,
      ...shared,
      virtualStages: fixed.virtualStages?.value ?? 1,
    })),
  );
  const { zeroStage, runtime } = draft;
  const filled = orAll(all, ({ pipeline }) => fillsStages(runtime, model.layers, pipeline));
  const layouts = orAll(filled, (layout) => refusedTogether(capabilities, { ...layout, zeroStage }, model) === undefined);
  const batch = fixedBatch(given, kept);
  return orAll(
    layouts,
    (layout) =>
      dividesBatch(layout, draft, batch) &&
      dividesIntoGroups(model, draft, layout) &&
      ((layout.data * context * layout.tensor) / (layout.expertTensor ?? layout.tensor)) % layout.expert === 0,
  );
}

/** Those that are wanted, or all where none is. */
function orAll(layouts: Layout[], isWanted: (layout: Layout) => boolean): Layout[] {
  const wanted = layouts.filter(isWanted);
  return wanted.length > 0 ? wanted : layouts;
}

/**
 * The same with experts that tensor parallelism does not split, as launchers run many small ones, where nothing sets how they are split.
 */
function withWholeExperts(layouts: readonly Layout[], given: LayoutSettings, model: ModelSpec): Layout[] {
  const { expert, expertTensor } = given.layout;
  if (model.experts === null || expert !== undefined || expertTensor !== undefined || areExpertsDecided(given)) return [];
  const { count } = model.experts;
  const unshared = layouts.filter((layout) => layout.tensor > 1 && layout.expert === 1);
  return unshared.flatMap((layout) => {
    const ranks = layout.data * layout.context * layout.tensor;
    return listDivisors(count)
      .filter((size) => size <= mostAssumedExpert && ranks % size === 0)
      .map((size) => ({ ...layout, expert: size, expertTensor: 1 }));
  });
}

/** Expert sizes: as given, 1 where a launcher's file or whole sizes leave it out, else whatever divides the experts and their replicas. */
function expertSizes(
  given: LayoutSettings,
  model: ModelSpec,
  { data, context, tensor }: Pick<Layout, 'data' | 'context' | 'tensor'>,
): number[] {
  const { layout } = given;
  if (layout.expert !== undefined) return [layout.expert.value];
  if (model.experts === null || areExpertsDecided(given)) return [1];
  const replicas = (data * context * tensor) / (layout.expertTensor?.value ?? tensor);
  return listDivisors(model.experts.count).filter((size) => size <= mostAssumedExpert && replicas % size === 0);
}

/** A launcher's file decides by what it leaves out, and whole sizes do. */
function areExpertsDecided({ layout, format }: LayoutSettings): boolean {
  return schedulesOfFormat(format) !== null || (layout.tensor !== undefined && layout.pipeline !== undefined);
}

type Sizes = Pick<Layout, 'tensor' | 'pipeline' | 'data'>;

/**
 * Sizes that respect what is given, divide heads, stay in a node with tensor parallelism, and use `gpus`; least model parallelism first, of
 * equal ones those that divide the layers evenly, and of these the longest pipeline.
 */
function possibleSizes(given: LocatedPartial<Layout>, model: ModelSpec, cluster: ClusterSpec, gpus: number): Sizes[] {
  if (given.tensor !== undefined && given.pipeline !== undefined) {
    const modelParallel = given.tensor.value * given.pipeline.value;
    return [
      {
        tensor: given.tensor.value,
        pipeline: given.pipeline.value,
        data: given.data?.value ?? Math.max(1, Math.floor(gpus / modelParallel)),
      },
    ];
  }
  const tensors =
    given.tensor !== undefined ? [given.tensor.value] : listDivisors(cluster.gpusPerNode).filter((tensor) => splitsHeads(model, tensor));
  const pipelines = given.pipeline !== undefined ? [given.pipeline.value] : stageCounts(given, model, gpus);
  const isEven = ({ pipeline }: Sizes): number => (model.layers % pipeline === 0 ? 0 : 1);
  return tensors
    .flatMap((tensor) =>
      pipelines.map((pipeline) => ({ tensor, pipeline, data: given.data?.value ?? Math.floor(gpus / tensor / pipeline) })),
    )
    .filter(({ tensor, pipeline, data }) => data >= 1 && tensor * pipeline * data === gpus)
    .sort((a, b) => a.tensor * a.pipeline - b.tensor * b.pipeline || isEven(a) - isEven(b) || b.pipeline - a.pipeline);
}

/** Numbers of stages: those that divide the layers, and where nothing depends on equal stages those that divide the GPUs too. */
function stageCounts({ virtualStages }: LocatedPartial<Layout>, { layers, stacks }: ModelSpec, gpus: number): number[] {
  const most = Math.min(layers, mostAssumedStages);
  const even = listDivisors(layers).filter((stages) => stages <= most);
  if ((virtualStages?.value ?? 1) > 1 || stacks !== undefined) return even;
  return [...new Set([...even, ...listDivisors(gpus).filter((stages) => stages <= most)])];
}
