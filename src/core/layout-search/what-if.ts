import { refusedTogether } from '../domain/capabilities';
import { joinedGpus } from '../domain/cluster';
import { splitsModel } from '../model/mixers';
import { greatestCommonDivisor, sum } from '../numbers';
import type { PlanRequest } from '../domain/request';

/** Sizes that a person steps through to see what they would cost, by their keys of terapipe.json. */
export const whatIfKeys = [
  'layout.tensor',
  'layout.pipeline',
  'layout.virtualStages',
  'layout.data',
  'layout.context',
  'layout.expert',
  'training.microBatch',
  'cluster.nodes',
] as const;

export type WhatIfKey = (typeof whatIfKeys)[number];

/** Sequences of a step, which stay as they are wherever they can be divided: what is tried is the same work. */
const batchKey = 'training.globalBatch';

/** One value of each; a micro-batch of 0 is one that the planner chooses. */
export type WhatIfSizes = Readonly<Record<WhatIfKey | typeof batchKey, number>>;

/** Chunks on each stage that the schedule runs which the files name: `several` for any number, and where they name none. */
export type WhatIfChunks = number | 'several';

/** Settings that a person chooses in addition to the sizes, by their keys of terapipe.json. */
export const whatIfChoices = ['schedule', 'slicing.unit', 'training.recompute'] as const;

export type WhatIfChoice = (typeof whatIfChoices)[number];

/** One of them chosen; null leaves it to the planner. */
export type WhatIfChosen =
  readonly [key: 'schedule' | 'training.recompute', value: string | null] | readonly [key: 'slicing.unit', value: number | null];

/** A setting of terapipe.json to change; null leaves it to the planner. */
export type WhatIfSet =
  | readonly [key: WhatIfKey, value: number | null]
  | readonly [key: typeof batchKey, value: number]
  | readonly [key: 'layout.stageLayers', value: readonly number[]]
  | WhatIfChosen;

/** Longest walk to the next valid value: sizes of clusters that are planned end below. */
const mostSize = 16_384;

/** The sizes that a request is planned with. */
export function whatIfSizes(request: PlanRequest): WhatIfSizes {
  const { layout, training, cluster } = request;
  return {
    'layout.tensor': layout.tensor,
    'layout.pipeline': layout.pipeline,
    'layout.virtualStages': layout.virtualStages,
    'layout.data': layout.data,
    'layout.context': layout.context,
    'layout.expert': layout.expert,
    'training.microBatch': isAssumed(request, 'training.microBatch') ? 0 : training.microBatch,
    'cluster.nodes': cluster.nodes,
    [batchKey]: training.globalBatch,
  };
}

/** Whether two requests have the same sizes to step from. */
export function hasSameSizes(a: PlanRequest, b: PlanRequest): boolean {
  const [ofA, ofB] = [whatIfSizes(a), whatIfSizes(b)];
  return ([...whatIfKeys, batchKey] as const).every((key) => ofA[key] === ofB[key]);
}

/**
 * The sizes with the next valid value of one key, up (1) or down (-1), and what follows from it: replicas take the GPUs that tensor,
 * pipeline and context leave, or the other way round the nodes follow the replicas; micro-batch and expert sizes shrink to what divides.
 * The global batch stays; one that no file gives becomes the nearest that the replicas divide.
 * Null where no value in that direction is one that launchers accept.
 */
export function steppedSizes(
  request: PlanRequest,
  chunks: WhatIfChunks,
  sizes: WhatIfSizes,
  key: WhatIfKey,
  direction: 1 | -1,
): WhatIfSizes | null {
  const { least, most } = sizeRange(request, sizes, key);
  for (let value = sizes[key] + direction; value >= least && value <= most; value += direction) {
    const changed = withSize(request, chunks, sizes, key, value);
    if (changed !== null) return changed;
  }
  return null;
}

/**
 * What has to be set for these sizes, in addition to what the files set: those that differ, and with a changed layout the sizes that no
 * file gives and that would be chosen again.
 * @param stageLayers layers of each stage, or of each virtual stage in the order of the model, where they are repartitioned.
 */
export function whatIfSets(request: PlanRequest, sizes: WhatIfSizes, stageLayers?: readonly number[]): readonly WhatIfSet[] {
  const now = whatIfSizes(request);
  const differs = (key: keyof WhatIfSizes): boolean => sizes[key] !== now[key];
  const isNewLayout = stageLayers !== undefined || whatIfKeys.some((key) => key !== 'training.microBatch' && differs(key));
  const isDerived = (key: WhatIfKey): boolean =>
    key === 'layout.data' && isAssumed(request, key) && (differs('cluster.nodes') || !isAssumed(request, 'cluster.nodes'));
  const isRechosen = (key: WhatIfKey): boolean =>
    isNewLayout && (key === 'layout.tensor' || key === 'layout.pipeline' || key === 'layout.data') && isAssumed(request, key);
  // a cut has an entry for each virtual stage
  const isOfCut = (key: WhatIfKey): boolean =>
    key === 'layout.virtualStages' && stageLayers !== undefined && request.freeVirtualStages === true && sizes[key] > 1;
  const changed = whatIfKeys
    .filter((key) => (differs(key) || isRechosen(key) || isOfCut(key)) && !isDerived(key))
    .map((key): WhatIfSet => [key, key === 'training.microBatch' && sizes[key] === 0 ? null : sizes[key]]);
  // A batch that no file gives would be assumed again, for other GPUs or replicas than those of the plan.
  const isBatchSet = differs(batchKey) || (isAssumed(request, batchKey) && (isNewLayout || differs('training.microBatch')));
  return [
    ...(isBatchSet ? [[batchKey, sizes[batchKey]] as const] : []),
    ...changed,
    ...(stageLayers === undefined ? [] : [['layout.stageLayers', stageLayers] as const]),
  ];
}

/** The sizes that `whatIfSets` has set so, with the replicas that follow from them where no file gives these. */
export function sizesOfSets(request: PlanRequest, sets: readonly WhatIfSet[]): WhatIfSizes {
  const now = whatIfSizes(request);
  const given = new Map<string, unknown>(sets);
  const whatIfSize = (key: WhatIfKey): number => {
    const value = given.has(key) ? (given.get(key) ?? 0) : now[key];
    return typeof value === 'number' ? value : now[key];
  };
  const batch = given.get(batchKey);
  const sizes: WhatIfSizes = {
    ...(Object.fromEntries(whatIfKeys.map((key) => [key, whatIfSize(key)])) as Record<WhatIfKey, number>),
    [batchKey]: typeof batch === 'number' ? batch : now[batchKey],
  };
  if (given.has('layout.data') || !isAssumed(request, 'layout.data')) return sizes;
  const gpus = given.has('cluster.nodes') ? sizes['cluster.nodes'] * request.cluster.gpusPerNode : gpuCount(now);
  const data = gpus / (gpuCount(sizes) / sizes['layout.data']);
  return Number.isInteger(data) ? { ...sizes, 'layout.data': data } : sizes;
}

/**
 * Between which layers the boundary behind a stage of a cut can lie, counted from the first layer: each stage keeps one, except for those
 * with the embedding or the head, which may be all that they have.
 */
export function boundaryRange(
  { model }: Pick<PlanRequest, 'model'>,
  cut: readonly number[],
  stage: number,
): { readonly least: number; readonly most: number } {
  const fewest = (of: number): number => (model.vocab > 0 && (of === 0 || of === cut.length - 1) ? 0 : 1);
  const before = sum(cut.slice(0, stage));
  const after = before + (cut[stage] ?? 0) + (cut[stage + 1] ?? 0);
  return { least: before + fewest(stage), most: after - fewest(stage + 1) };
}

/** A cut whose boundary behind a stage lies at a layer, or as near as `boundaryRange` has it. */
export function withBoundary(request: Pick<PlanRequest, 'model'>, cut: readonly number[], stage: number, layer: number): readonly number[] {
  const { least, most } = boundaryRange(request, cut, stage);
  if (least > most) return cut;
  const before = sum(cut.slice(0, stage));
  const both = (cut[stage] ?? 0) + (cut[stage + 1] ?? 0);
  const own = Math.min(most, Math.max(least, layer)) - before;
  return cut.map((layers, index) => (index === stage ? own : index === stage + 1 ? both - own : layers));
}

function isAssumed({ assumptions }: Pick<PlanRequest, 'assumptions'>, key: string): boolean {
  return assumptions.some((assumption) => assumption.key === key);
}

function sizeRange(request: PlanRequest, sizes: WhatIfSizes, key: WhatIfKey): { readonly least: number; readonly most: number } {
  const { model, cluster } = request;
  switch (key) {
    case 'layout.tensor':
      return { least: 1, most: joinedGpus(cluster) };
    case 'layout.pipeline':
      return { least: 1, most: model.layers };
    case 'layout.virtualStages':
      return { least: 1, most: Math.floor(model.layers / sizes['layout.pipeline']) };
    case 'layout.context':
      return { least: 1, most: gpuCount(sizes) };
    case 'layout.expert':
      return { least: 1, most: model.experts?.count ?? 1 };
    case 'training.microBatch':
      return { least: 0, most: sequencesPerReplica(sizes) };
    case 'layout.data':
    case 'cluster.nodes':
      return { least: 1, most: mostSize };
  }
}

function gpuCount(sizes: WhatIfSizes): number {
  return sizes['layout.tensor'] * sizes['layout.pipeline'] * sizes['layout.context'] * sizes['layout.data'];
}

/** Sequences of one replica in a step. */
function sequencesPerReplica(sizes: WhatIfSizes): number {
  return sizes[batchKey] / sizes['layout.data'];
}

/** The batch of the request, or the nearest that the replicas divide where no file gives it. */
function heldBatch(request: PlanRequest, { 'layout.data': data }: WhatIfSizes): number {
  const { globalBatch } = request.training;
  if (globalBatch % data === 0 || !isAssumed(request, batchKey)) return globalBatch;
  return data * Math.max(1, Math.round(globalBatch / data));
}

/** The sizes with one changed and the others following; null where launchers would not accept them. */
function withSize(request: PlanRequest, chunks: WhatIfChunks, sizes: WhatIfSizes, key: WhatIfKey, value: number): WhatIfSizes | null {
  const placed = onGpus(request, { ...sizes, [key]: value }, key, gpuCount(sizes));
  if (placed === null) return null;
  const held = { ...placed, [batchKey]: heldBatch(request, placed) };
  const followed = { ...held, ...dividing(request, held) };
  return followed[key] === value && isAccepted(request, chunks, followed, key) ? followed : null;
}

/** Replicas follow the model's sizes and the nodes; the nodes follow the replicas. */
function onGpus({ cluster }: PlanRequest, sizes: WhatIfSizes, key: WhatIfKey, gpus: number): WhatIfSizes | null {
  if (key === 'training.microBatch' || key === 'layout.expert' || key === 'layout.virtualStages') return sizes;
  const { gpusPerNode } = cluster;
  const isWhole = cluster.groups === undefined && gpus === cluster.nodes * gpusPerNode;
  if (key === 'layout.data') {
    const nodes = gpuCount(sizes) / gpusPerNode;
    return isWhole && Number.isInteger(nodes) ? { ...sizes, 'cluster.nodes': nodes } : null;
  }
  if (key === 'cluster.nodes' && cluster.groups !== undefined) return null;
  const whole = key === 'cluster.nodes' ? sizes['cluster.nodes'] * gpusPerNode : gpus;
  const data = whole / (gpuCount(sizes) / sizes['layout.data']);
  return Number.isInteger(data) ? { ...sizes, 'layout.data': data } : null;
}

/** Micro-batch, expert and virtual stages as far as they still divide. */
function dividing(request: PlanRequest, sizes: WhatIfSizes): Partial<WhatIfSizes> {
  const { model, layout } = request;
  const batch = sequencesPerReplica(sizes);
  const microBatch = sizes['training.microBatch'];
  const expertTensor = layout.expertTensor ?? sizes['layout.tensor'];
  const ranks = (sizes['layout.tensor'] * sizes['layout.context'] * sizes['layout.data']) / expertTensor;
  const chunks = sizes['layout.pipeline'] * sizes['layout.virtualStages'];
  return {
    ...(!Number.isInteger(batch) || microBatch === 0 ? {} : { 'training.microBatch': greatestCommonDivisor(microBatch, batch) }),
    ...(model.experts === null || !Number.isInteger(ranks)
      ? {}
      : { 'layout.expert': greatestCommonDivisor(sizes['layout.expert'], ranks) }),
    ...(request.freeVirtualStages !== true && (sizes['layout.pipeline'] === 1 || model.layers % chunks !== 0)
      ? { 'layout.virtualStages': 1 }
      : {}),
  };
}

/** Whether the launcher runs sizes: what neither its file nor its script can express stays, and it refuses none of them together. */
function isRun({ model, layout, training, capabilities }: PlanRequest, sizes: WhatIfSizes): boolean {
  const named = {
    tensor: sizes['layout.tensor'],
    pipeline: sizes['layout.pipeline'],
    context: sizes['layout.context'],
    expert: sizes['layout.expert'],
    virtualStages: sizes['layout.virtualStages'],
  };
  const kept = Object.entries(named).every(
    ([key, size]) => capabilities?.setBy[key as keyof typeof named] !== 'nobody' || size === layout[key as keyof typeof named],
  );
  return kept && refusedTogether(capabilities, { ...named, zeroStage: training.zeroStage }, model) === undefined;
}

/** As the rules of `src/core/rules/checks` have it, for the sizes that a step of `key` changes. */
function isAccepted(request: PlanRequest, chunks: WhatIfChunks, sizes: WhatIfSizes, key: WhatIfKey): boolean {
  const { model, training, layout } = request;
  if (!Number.isInteger(sequencesPerReplica(sizes)) || !isRun(request, sizes)) return false;
  const isRepartitioned = sizes['layout.pipeline'] !== layout.pipeline || sizes['layout.virtualStages'] !== layout.virtualStages;
  // Layers that a file assigns are only for its stages.
  if (isRepartitioned && layout.stageLayers !== undefined) return false;
  switch (key) {
    case 'layout.tensor':
      return splitsModel(model, sizes[key]);
    case 'layout.context':
      return sizes[key] === 1 || (model.stacks === undefined && training.sequenceLength % (2 * sizes[key]) === 0);
    case 'layout.virtualStages':
      return sizes[key] === 1 || chunks === 'several' || chunks === sizes[key];
    case 'layout.expert':
      return model.experts !== null && model.experts.count % sizes[key] === 0;
    case 'layout.pipeline':
      return layout.stageNodeGroups === undefined;
    case 'training.microBatch':
    case 'layout.data':
    case 'cluster.nodes':
      return true;
  }
}
