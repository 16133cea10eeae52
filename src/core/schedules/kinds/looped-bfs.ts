import { allInFlight, type ScheduleKind } from '../kind';
import { operationKind } from '../schedule';

/** Breadth-first pipeline (arXiv 2211.05953), in the order of PyTorch's ScheduleLoopedBFS (torch 2.14). */
export const loopedBFS: ScheduleKind = {
  name: 'LoopedBFS',
  placement: 'loop',
  chunksPerStage: 'several',
  slices: false,
  sliced: false,
  planned: false,
  splitsBackward: false,
  postValidated: false,
  bound: 'order',
  slicesInFlight: allInFlight,
  unmet: () => null,
  order:
    ({ stages, microBatches, chunksPerStage }) =>
    (stage, emit) => {
      const chunks = stages * chunksPerStage;
      for (let chunk = stage; chunk < chunks; chunk += stages)
        for (let microBatch = 0; microBatch < microBatches; microBatch++) emit(operationKind.forward, chunk, microBatch);
      for (let chunk = chunks - stages + stage; chunk >= 0; chunk -= stages)
        for (let microBatch = microBatches - 1; microBatch >= 0; microBatch--) emit(operationKind.backward, chunk, microBatch);
    },
};
