import { hostCopies } from '../activation-copies';
import type { ScheduleKind } from '../kind';
import type { ActivationCopies, Schedule } from '../schedule';
import { emitUniform, uniformStarts, uniformTraits } from '../uniform-blocks';

/**
 * PipeOffload (arXiv 2503.01328): micro-batches repeat one building block evenly, and activations of the chunks whose backward comes last
 * wait in host memory: half of the chunks of a stage, rounded up.
 */
export const pipeOffloadHalf: ScheduleKind = {
  ...uniformTraits,
  name: 'PO-H',
  slicesInFlight: () => 0,
  keepsOnHost: true,
  copies: (schedule) => offloadedCopies(schedule, Math.ceil(schedule.stageOfChunk.length / schedule.stages / 2)),
  order: (problem) => emitUniform(problem, 1),
};

/** The same with all chunks: four or so stay on a stage. */
export const pipeOffloadFull: ScheduleKind = {
  ...pipeOffloadHalf,
  name: 'PO-F',
  copies: (schedule) => offloadedCopies(schedule, schedule.stageOfChunk.length / schedule.stages),
};

function offloadedCopies(schedule: Schedule, offloaded: number): ActivationCopies {
  const { stages, stageOfChunk } = schedule;
  return hostCopies(schedule, offloaded, uniformStarts(stages, stageOfChunk.length / stages, 1));
}
