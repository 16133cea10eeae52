import type { CancelSignal } from '../errors';
import type { ScheduleName } from '../domain/schedule-names';
import type { Scheme } from '../domain/scheme';
import type { StageContents } from '../memory-model/activation-memory';
import { countMemory, fitsGpuMemory, passMemory } from '../memory-model/count';
import type { MemoryInputs } from '../domain/request';
import type { GpuMemory, MemoryProfile } from '../memory-model/profile';
import type { ChunkPasses } from '../schedules/kind';
import { scheduleOn, unitCount, unlessUnmet } from '../schedules/on-layout';
import { generateSchedule, toScheduleProblem } from '../schedules/registry';
import type { Schedule, WorkUnit } from '../schedules/schedule';
import { scheduleChunks, type Chunks } from './chunks';

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
export function scheduleOfChunks(
  { kind, inputs, chunkContents, stageOfChunk }: Chunks,
  scheme: Scheme,
  gpuMemory: GpuMemory,
  { signal, plannedFor }: { readonly signal?: CancelSignal | undefined; readonly plannedFor?: (first: WorkUnit) => PlannedFor } = {},
): Schedule {
  const { groupedMicroBatches = inputs.training.groupedMicroBatches } = kind;
  const problem = { ...toScheduleProblem(scheme, inputs.layout.pipeline, kind.chunks), groupedMicroBatches };
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
export function peakMemory(inputs: MemoryInputs, schedule: ScheduleName, scheme: Scheme, gpuMemory: GpuMemory): MemoryProfile | null {
  return unlessUnmet(() => judged(scheduleChunks(inputs, scheduleOn(schedule, inputs.layout)), scheme, gpuMemory, countMemory));
}

/** Whether the memory of a scheme on chunks fits; false where it cannot run, or has too many operations to look. */
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
  return judge(inputs, scheduleOfChunks(chunks, scheme, gpuMemory), chunkContents, gpuMemory);
}
