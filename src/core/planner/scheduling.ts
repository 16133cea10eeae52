import { ExpectedError } from '../errors';
import { formatCount, plural } from '../format';
import { countMemory, passMemory } from '../memory/count';
import type { MemoryProfile } from '../memory/profile';
import type { MemoryInputs, StageShape } from '../memory/runtime';
import type { PassTimes, ScheduleKind } from '../schedule/kind';
import { generateSchedule, placeChunks, problemOf, scheduleKind } from '../schedule/registry';
import type { Schedule, ScheduleName, WorkUnit } from '../schedule/schedule';
import type { Scheme } from '../solver/slicing';
import type { Layout } from './request';
import { stageShapes } from './stages';

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

export interface MadeSchedule {
  readonly schedule: Schedule;
  /** Layers of each chunk. Where chunks do not divide the layers evenly, those in the middle have one more. */
  readonly shapes: readonly StageShape[];
}

/**
 * The order of a schedule for the stages and layers of a model.
 *
 * @param inputs with the chunks of a stage as the layout's virtual stages.
 * @param timesOf what planners plan with; left out, equal times.
 * @throws ExpectedError `schedule-unmet` when it cannot run on so many stages, layers or micro-batches.
 */
export function makeSchedule(
  inputs: MemoryInputs,
  kind: ScheduleKind,
  scheme: Scheme,
  capacityBytes: number,
  timesOf?: (units: readonly WorkUnit[], shapes: readonly StageShape[]) => PassTimes,
): MadeSchedule {
  const { model, layout } = inputs;
  const { pipeline, virtualStages: chunks } = layout;
  if (chunks > 1 && pipeline * chunks > model.layers)
    throw new ExpectedError(
      'schedule-unmet',
      `${kind.name} with ${plural(chunks, 'virtual stage')} on each of ${plural(pipeline, 'stage')} needs ${formatCount(pipeline * chunks)} layers or more, and there are ${formatCount(model.layers)}`,
      `use at most ${plural(Math.floor(model.layers / chunks), 'stage')}, or another schedule`,
    );
  const shapes = stageShapes(model.layers, pipeline * chunks);
  const problem = problemOf(scheme, pipeline, chunks);
  const [first] = problem.units;
  if (!kind.splitsBackward || first === undefined) return { schedule: generateSchedule(kind.name, problem), shapes };
  const memory = passMemory(inputs, first, false, shapes, placeChunks(kind.placement, pipeline, chunks), capacityBytes);
  const times = timesOf?.(problem.units, shapes) ?? problem.times;
  return { schedule: generateSchedule(kind.name, { ...problem, times, memory }), shapes };
}

/** Peak memory of a schedule on the layout's stages; null when it cannot run there. */
export function memoryOf(inputs: MemoryInputs, schedule: ScheduleName, scheme: Scheme, capacityBytes: number): MemoryProfile | null {
  const kind = kindFor(schedule, inputs.layout);
  const own = memoryInputs(inputs, chunksPerStage(kind, inputs.layout));
  try {
    const made = makeSchedule(own, kind, scheme, capacityBytes);
    return countMemory(own, made.schedule, made.shapes, capacityBytes);
  } catch (error) {
    if (error instanceof ExpectedError && error.code === 'schedule-unmet') return null;
    throw error;
  }
}
