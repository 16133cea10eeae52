import { pairedCopies } from '../activation-copies';
import { stagesBehindInFlight, type ScheduleKind } from '../kind';
import { oneForwardOneBackward } from './one-forward-one-backward';

/**
 * BPipe (Kim et al., ICML 2023): 1F1B whose early stages lend activations to the late ones, stage s to stage p - 1 - s on the same node, so
 * that no stage holds more than ceil((p + 2) / 2) micro-batches instead of p.
 */
export const bpipe: ScheduleKind = {
  ...oneForwardOneBackward,
  name: 'BPipe',
  slices: false,
  slicesInFlight: (of) => Math.min(stagesBehindInFlight(of), of.slices * mostHeld(of.stages)),
  copies: (schedule) => pairedCopies(schedule, mostHeld(schedule.stages), (stage) => schedule.stages - 1 - stage),
};

/** Micro-batches on a stage: half of what a pair holds, and one on its way. */
function mostHeld(stages: number): number {
  return Math.max(2, Math.ceil((stages + 2) / 2));
}
