import type { ScheduleKind } from '../kind';
import { emitHandcrafted } from '../zero-bubble/handcrafted-order';

/**
 * ZB-H2 (arXiv 2401.10241, section 2.3): with at least 2 p - 1 micro-batches a bubble of (p - 1) (F + I - 2 W), and 2 p - 1 micro-batches
 * in memory.
 */
export const zbH2: ScheduleKind = {
  name: 'ZB-H2',
  placement: 'one',
  chunksPerStage: 1,
  slices: false,
  sliced: false,
  planned: false,
  splitsBackward: true,
  splitIn: ['megatron'],
  postValidated: true,
  bound: 'order',
  slicesInFlight: ({ stage, stages, microBatches }) => Math.min(microBatches, 2 * (stages - stage) - 1),
  unmet: () => null,
  order:
    ({ stages, microBatches }) =>
    (stage, emit) => {
      emitHandcrafted(stage, microBatches, 2 * (stages - 1 - stage), 2 * (stages - 1), emit);
    },
};
