import { ExpectedError, type CancelSignal } from '../errors';
import { formatCount, plural } from '../format';
import { countMemory, fitsCards, passMemory } from '../memory-model/count';
import type { Cards, MemoryProfile } from '../memory-model/profile';
import type { ModelSpec } from '../spec/model';
import type { StageShape } from '../memory-model/activation-memory';
import type { MemoryInputs } from '../memory-model/memory-inputs';
import type { PassTimes, ScheduleKind } from '../schedules/kind';
import { generateSchedule, placeChunks, problemOf, scheduleKind } from '../schedules/registry';
import type { Schedule, WorkUnit } from '../schedules/schedule';
import type { ScheduleName } from '../spec/schedule-names';
import type { Scheme } from '../spec/scheme';
import type { Layout } from '../spec/request';
import { chunkLayers, cutShapes, usualCut } from './stages';

/** A schedule kind that a config may name. */
export type NamedKind = ScheduleKind & { readonly name: ScheduleName };

/** The kind that runs a schedule on a layout: `1F1B` on virtual stages is interleaved, as in Megatron-LM. */
export function kindFor(schedule: ScheduleName, { virtualStages }: Pick<Layout, 'virtualStages'>): NamedKind {
  const name = schedule === '1F1B' && virtualStages > 1 ? 'Interleaved1F1B' : schedule;
  return { ...scheduleKind(name), name };
}

/** Chunks on each stage when a kind that is free runs on a layout without virtual stages. */
const usualChunks = 2;

/** Chunks that a kind has on each stage of a layout: its own number, or the layout's virtual stages. */
export function chunksPerStage(kind: ScheduleKind, { virtualStages }: Pick<Layout, 'virtualStages'>): number {
  if (kind.chunksPerStage !== 'several') return kind.chunksPerStage;
  return virtualStages > 1 ? virtualStages : usualChunks;
}

/** Whether a kind runs the virtual stages of a layout; one stands for what no file says. */
export function runsVirtualStages({ chunksPerStage: chunks }: ScheduleKind, virtualStages: number): boolean {
  return virtualStages === 1 || chunks === 'several' || chunks === virtualStages;
}

/** The layout's virtual stages are those that the schedule has: chunks are counted one by one. */
export function memoryInputs<T extends MemoryInputs>(inputs: T, chunks: number): T {
  return { ...inputs, layout: { ...inputs.layout, virtualStages: chunks } };
}

/** Where the layers of a model are under a schedule. */
export interface ChunkCut {
  /** Layers of each chunk, in the order of the model. */
  readonly shapes: readonly StageShape[];
  readonly stageOfChunk: Uint32Array;
}

/**
 * Layers that a schedule's chunks want at least: one each, but that where files ask for so many chunks the embedding and the head can each be one by itself, as in Megatron-LM and TorchTitan, unless they share a stage.
 */
export function fewestLayers(
  { vocab }: Pick<ModelSpec, 'vocab'>,
  kind: ScheduleKind,
  layout: Pick<Layout, 'pipeline' | 'virtualStages'>,
): number {
  const { pipeline, virtualStages } = layout;
  const areApart = kind.placement !== 'v' && pipeline > 1;
  return pipeline * chunksPerStage(kind, layout) - (virtualStages > 1 && vocab > 0 && areApart ? 2 : 0);
}

/**
 * The chunks of a schedule on a layout's stages.
 *
 * @param stageLayers layers of each stage or chunk; null: as equal as chunks allow, one more on those in the middle.
 * @throws ExpectedError `schedule-unmet` when there are fewer layers than chunks.
 */
export function chunkCut({ model, training, layout }: MemoryInputs, kind: ScheduleKind, stageLayers: readonly number[] | null): ChunkCut {
  const { pipeline } = layout;
  const chunks = chunksPerStage(kind, layout);
  const stageOfChunk = placeChunks(kind.placement, pipeline, chunks);
  const least = fewestLayers(model, kind, layout);
  if (chunks > 1 && model.layers < least)
    throw new ExpectedError(
      'schedule-unmet',
      `${kind.name} with ${plural(chunks, 'virtual stage')} on each of ${plural(pipeline, 'stage')} needs ${formatCount(least)} layers or more, and there are ${formatCount(model.layers)}`,
      `use at most ${plural(Math.floor((model.layers + pipeline * chunks - least) / chunks), 'stage')}, or another schedule`,
    );
  const cut = stageLayers === null ? usualCut(model, training, pipeline * chunks) : chunkLayers(stageLayers, stageOfChunk);
  return { shapes: cutShapes(cut, model), stageOfChunk };
}

export interface MadeSchedule extends ChunkCut {
  readonly schedule: Schedule;
}

/**
 * The order of a schedule for the stages and layers of a model.
 *
 * @param timesOf what planners plan with; left out, equal times.
 * @param stageLayers as `chunkCut` takes them; left out, those of the layout.
 * @throws ExpectedError `schedule-unmet` when it cannot run on so many stages, layers or micro-batches; CancelledError.
 */
export function makeSchedule(
  inputs: MemoryInputs,
  kind: ScheduleKind,
  scheme: Scheme,
  cards: Cards,
  {
    signal,
    timesOf,
    stageLayers = inputs.layout.stageLayers ?? null,
  }: {
    readonly signal?: CancelSignal | undefined;
    readonly timesOf?: (units: readonly WorkUnit[], shapes: readonly StageShape[]) => PassTimes;
    readonly stageLayers?: readonly number[] | null;
  } = {},
): MadeSchedule {
  const { layout } = inputs;
  const { pipeline } = layout;
  const chunks = chunksPerStage(kind, layout);
  const cut = chunkCut(inputs, kind, stageLayers);
  const { shapes, stageOfChunk } = cut;
  const problem = problemOf(scheme, pipeline, chunks);
  const [first] = problem.units;
  if (!kind.splitsBackward || first === undefined) return { schedule: generateSchedule(kind.name, problem), ...cut };
  const memory = passMemory(memoryInputs(inputs, chunks), first, false, shapes, stageOfChunk, cards);
  const times = timesOf?.(problem.units, shapes) ?? problem.times;
  return { schedule: generateSchedule(kind.name, { ...problem, times, memory, signal }), ...cut };
}

/** A schedule with more operations than this is not made to look at its memory alone: tens of megabytes. */
const maximumJudgedOperations = 2 ** 20;

/** Peak memory of a schedule on the layout's stages; null when it cannot run there, or has too many operations to look. */
export function memoryOf(inputs: MemoryInputs, schedule: ScheduleName, scheme: Scheme, cards: Cards): MemoryProfile | null {
  return judged(inputs, schedule, scheme, cards, countMemory);
}

/** Whether that fits; false where it is null. */
export function fitsOn(inputs: MemoryInputs, schedule: ScheduleName, scheme: Scheme, cards: Cards): boolean {
  return judged(inputs, schedule, scheme, cards, fitsCards) ?? false;
}

function judged<T>(
  inputs: MemoryInputs,
  schedule: ScheduleName,
  scheme: Scheme,
  cards: Cards,
  judge: (inputs: MemoryInputs, schedule: Schedule, shapes: readonly StageShape[], cards: Cards) => T,
): T | null {
  const kind = kindFor(schedule, inputs.layout);
  const units = scheme.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const { pipeline } = inputs.layout;
  if (3 * units * pipeline * chunksPerStage(kind, inputs.layout) > maximumJudgedOperations) return null;
  try {
    const made = makeSchedule(inputs, kind, scheme, cards);
    return judge(memoryInputs(inputs, chunksPerStage(kind, inputs.layout)), made.schedule, made.shapes, cards);
  } catch (error) {
    if (error instanceof ExpectedError && error.code === 'schedule-unmet') return null;
    throw error;
  }
}
