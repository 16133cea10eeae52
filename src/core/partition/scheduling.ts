import { ExpectedError, type CancelSignal } from '../errors';
import { formatCount } from '../format';
import { countMemory, fitsGpuMemory, passMemory, stageContentsOf } from '../memory-model/count';
import type { GpuMemory, MemoryProfile } from '../memory-model/profile';
import type { ModelSpec } from '../domain/model';
import type { StageContents } from '../memory-model/activation-memory';
import type { MemoryInputs } from '../memory-model/memory-inputs';
import type { ChunkPasses, ScheduleKind } from '../schedules/kind';
import { traitsFor } from '../schedules/on-layout';
import { generateSchedule, placeChunks, problemOf } from '../schedules/registry';
import type { Schedule, WorkUnit } from '../schedules/schedule';
import type { ScheduleName } from '../domain/schedule-names';
import type { Scheme } from '../domain/scheme';
import type { Layout, TrainingSpec } from '../domain/request';
import { runtimeOf } from '../domain/runtime';
import { chunkLayers, cutContents, usualCut } from './stages';
import { counted, sentence } from '../sentence';

/** A schedule kind that a config may name, on a layout: made once for a schedule, and handed on to what follows. */
export interface NamedKind extends ScheduleKind {
  /** On each stage: the kind's own number, or the layout's virtual stages. */
  readonly chunks: number;
}

/** Chunks on each stage when a kind that is free runs on a layout without virtual stages. */
const usualChunks = 2;

/** The kind that runs a schedule on a layout: `1F1B` on virtual stages is interleaved, as in Megatron-LM. */
export function kindFor(schedule: ScheduleName, { virtualStages }: Pick<Layout, 'virtualStages'>): NamedKind {
  const kind = traitsFor(schedule, { virtualStages });
  const ofLayout = virtualStages > 1 ? virtualStages : usualChunks;
  return { ...kind, chunks: kind.chunksPerStage === 'several' ? ofLayout : kind.chunksPerStage };
}

/** The label of a kind in a list: interleaving by what it interleaves. */
export function scheduleLabel({ name, interleaves }: ScheduleKind): string {
  return interleaves === undefined ? name : `interleaved ${interleaves}`;
}

/** Whether a kind runs the virtual stages of a layout; one stands for what no file sets. */
export function runsVirtualStages({ chunksPerStage }: ScheduleKind, virtualStages: number): boolean {
  return virtualStages === 1 || chunksPerStage === 'several' || chunksPerStage === virtualStages;
}

/** Whether a stage starts its optimizer, and to the next step, without waiting for the other stages. */
export function isPostValidated({ postValidated }: Pick<ScheduleKind, 'postValidated'>, training: Pick<TrainingSpec, 'runtime'>): boolean {
  return postValidated && runtimeOf(training).postValidates;
}

/** A simulation of more operations is too long to try something that a plan only mentions. */
export const mostTriedOperations = 200_000;

/** Operations that simulating `scheme` takes: forward and backward of each unit on each chunk, or forward and both halves of backward. */
export function operationCount({ chunks, splitsBackward }: NamedKind, { pipeline }: Pick<Layout, 'pipeline'>, scheme: Scheme): number {
  return (splitsBackward ? 3 : 2) * pipeline * chunks * unitCount(scheme);
}

/** Micro-batches, or slices of them. */
export function unitCount(scheme: Scheme): number {
  return scheme.reduce((units, { tokens }) => units + tokens.length, 0);
}

/** The layers of a model as the chunks of a schedule hold them. */
export interface Chunks {
  readonly kind: NamedKind;
  /** What memory is counted of: the layout's virtual stages are those that the schedule has. */
  readonly inputs: MemoryInputs;
  readonly stageOfChunk: Uint32Array;
  /** Of each chunk, in the order of the model. */
  readonly chunkContents: readonly StageContents[];
  /** Of each stage: all its chunks together. */
  readonly stageContents: readonly StageContents[];
}

/**
 * Layers of each stage as a schedule has them on a layout; with virtual stages of each of these, in the order of the model. What
 * `layout.stageLayers` would say.
 */
export function cutOf({ model, training, layout }: MemoryInputs, schedule: ScheduleName): readonly number[] {
  const { pipeline, virtualStages, stageLayers } = layout;
  if (stageLayers !== undefined) return stageLayers;
  if (virtualStages > 1) return usualCut(model, training, pipeline * virtualStages);
  return chunksOf({ model, training, layout }, kindFor(schedule, layout)).stageContents.map(({ layers }) => layers);
}

/**
 * Layers that a schedule's chunks want at least: one each, but that where files ask for this many chunks the embedding and the head can
 * each be one by itself, as in Megatron-LM and TorchTitan; where they share a stage, only by a cut that a file gives.
 */
export function fewestLayers(
  { vocab }: Pick<ModelSpec, 'vocab'>,
  kind: NamedKind,
  layout: Pick<Layout, 'pipeline' | 'virtualStages' | 'stageLayers'>,
): number {
  const { pipeline, virtualStages, stageLayers } = layout;
  const areApart = kind.placement !== 'v' && pipeline > 1;
  const mayBeAlone = areApart || stageLayers?.length === pipeline * kind.chunks;
  return pipeline * kind.chunks - (virtualStages > 1 && vocab > 0 && mayBeAlone ? 2 : 0);
}

/**
 * The chunks of a schedule on a layout's stages.
 *
 * @param stageLayers layers of each stage or chunk; null: as equal as chunks allow, one more on those in the middle.
 * @throws ExpectedError `schedule-unmet` when there are fewer layers than chunks.
 */
export function chunksOf(
  inputs: MemoryInputs,
  kind: NamedKind,
  stageLayers: readonly number[] | null = inputs.layout.stageLayers ?? null,
): Chunks {
  const { model, training, layout } = inputs;
  const { pipeline } = layout;
  const { name, placement, chunks } = kind;
  const stageOfChunk = placeChunks(placement, pipeline, chunks);
  const least = fewestLayers(model, kind, layout);
  if (chunks > 1 && stageLayers === null && model.layers < least)
    throw new ExpectedError(
      'schedule-unmet',
      sentence`${name} with ${counted(chunks, 'virtual stage')} on each of ${counted(pipeline, 'stage')} needs ${formatCount(least)} layers or more, and there are ${formatCount(model.layers)}`,
      sentence`use at most ${counted(Math.floor((model.layers + pipeline * chunks - least) / chunks), 'stage')}, or another schedule`,
    );
  const cut = stageLayers === null ? usualCut(model, training, pipeline * chunks) : chunkLayers(stageLayers, stageOfChunk);
  const contents = cutContents(cut, model);
  const chunkContents = kind.exchangesAttention === true ? spreadHead(contents, pipeline) : contents;
  const own = layout.virtualStages === chunks ? inputs : { model, training, layout: { ...layout, virtualStages: chunks } };
  return { kind, inputs: own, stageOfChunk, chunkContents, stageContents: stageContentsOf(pipeline, stageOfChunk, chunkContents) };
}

/** The head and the loss on the last chunk of every stage, an equal part each. */
function spreadHead(contents: readonly StageContents[], stages: number): readonly StageContents[] {
  const first = contents.length - stages;
  return contents.map((own, chunk) => ({ ...own, headShare: chunk < first ? 0 : 1 / stages }));
}

/** What planners of orders plan with. */
export interface PlannedFor {
  readonly times: ChunkPasses['times'];
  readonly sendMs: number;
  readonly objective: 'span' | 'makespan';
}

/**
 * The order in which the chunks of a schedule run a scheme.
 *
 * @param plannedFor what planners plan for, by the first unit; left out, equal times.
 * @throws ExpectedError `schedule-unmet` when it cannot run on this many stages, layers or micro-batches; CancelledError.
 */
export function orderOf(
  { kind, inputs, chunkContents, stageOfChunk }: Chunks,
  scheme: Scheme,
  gpuMemory: GpuMemory,
  { signal, plannedFor }: { readonly signal?: CancelSignal | undefined; readonly plannedFor?: (first: WorkUnit) => PlannedFor } = {},
): Schedule {
  const problem = problemOf(scheme, inputs.layout.pipeline, kind.chunks);
  const [first] = problem.units;
  if (!kind.planned || first === undefined) return generateSchedule(kind.name, problem);
  const memory = limitedTo(
    inputs.training.maxPendingBackward,
    passMemory(inputs, first, chunkContents, stageOfChunk, gpuMemory),
    stageOfChunk,
  );
  const { times = equalTimes(stageOfChunk.length), sendMs = 0, objective = 'span' } = plannedFor?.(first) ?? {};
  return generateSchedule(kind.name, {
    ...problem,
    times: { ...problem.times, sendMs },
    chunkPasses: { times, memory },
    objective,
    signal,
  });
}

/**
 * No stage holds more than this many forwards of the larger of the first two stages (sail-sg/zero-bubble-pipeline-parallelism at 39f2c186,
 * `scheduler` of megatron/core/pipeline_parallel/zerobubble/runtime.py): the first stage has the embedding, and often fewer layers.
 */
function limitedTo(pending: number | undefined, memory: ChunkPasses['memory'], stageOfChunk: ArrayLike<number>): ChunkPasses['memory'] {
  if (pending === undefined) return memory;
  const ofStage = (stage: number): number =>
    memory.forward.reduce((bytes, own, chunk) => (stageOfChunk[chunk] === stage ? bytes + own : bytes), 0);
  const most = pending * Math.max(ofStage(0), ofStage(1));
  return { ...memory, limit: memory.limit.map((bytes) => Math.min(bytes, most)) };
}

function equalTimes(chunks: number): ChunkPasses['times'] {
  const oneMs = new Float64Array(chunks).fill(1);
  return { forwardMs: oneMs, backwardInputMs: oneMs, backwardWeightMs: oneMs };
}

/** A schedule with more operations than this is not made only to count its memory: it takes tens of megabytes. */
const maximumJudgedOperations = 2 ** 20;

/** Peak memory of a schedule on the layout's stages; null when it cannot run there, or has too many operations to look. */
export function memoryOf(inputs: MemoryInputs, schedule: ScheduleName, scheme: Scheme, gpuMemory: GpuMemory): MemoryProfile | null {
  return unlessUnmet(() => judged(chunksOf(inputs, kindFor(schedule, inputs.layout)), scheme, gpuMemory, countMemory));
}

/** Whether the memory of a scheme on chunks that exist fits; false where it cannot run, or has too many operations to look. */
export function fitsOn(chunks: Chunks, scheme: Scheme, gpuMemory: GpuMemory): boolean {
  return unlessUnmet(() => judged(chunks, scheme, gpuMemory, fitsGpuMemory)) ?? false;
}

function judged<T>(
  chunks: Chunks,
  scheme: Scheme,
  gpuMemory: GpuMemory,
  judge: (inputs: MemoryInputs, schedule: Schedule, chunkContents: readonly StageContents[], gpuMemory: GpuMemory) => T,
): T | null {
  const { inputs, chunkContents } = chunks;
  if (3 * unitCount(scheme) * chunkContents.length > maximumJudgedOperations) return null;
  return judge(inputs, orderOf(chunks, scheme, gpuMemory), chunkContents, gpuMemory);
}

/** Null for a schedule that cannot run on its stages, layers or micro-batches. */
export function unlessUnmet<T>(action: () => T | null): T | null {
  try {
    return action();
  } catch (error) {
    if (error instanceof ExpectedError && error.code === 'schedule-unmet') return null;
    throw error;
  }
}
