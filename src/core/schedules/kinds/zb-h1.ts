import { stagesBehindInFlight, type ScheduleKind } from '../kind';
import { emitHandcrafted } from '../zero-bubble/handcrafted-order';

/**
 * ZB-H1 (arXiv 2401.10241, section 2.2): with at least as many micro-batches as stages a bubble of (p - 1) (F + I - W), as many
 * micro-batches in flight as 1F1B.
 */
export const zbH1: ScheduleKind = {
  name: 'ZB-H1',
  placement: 'one',
  chunksPerStage: 1,
  slices: false,
  sliced: false,
  planned: false,
  splitsBackward: true,
  splitIn: ['megatron'],
  postValidated: true,
  bound: 'order',
  slicesInFlight: stagesBehindInFlight,
  unmet: () => null,
  order:
    ({ stages, microBatches }) =>
    (stage, emit) => {
      emitHandcrafted(stage, microBatches, stages - 1 - stage, stages - 1, emit);
    },
};
