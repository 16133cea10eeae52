import { stagesBeforeInFlight, type Emit, type ScheduleKind } from '../kind';
import { operationKind } from '../schedule';

/**
 * ZB-V for equal times of forward, input and weight gradient (arXiv 2401.10241, section 6), in the order of PyTorch's ScheduleZBVZeroBubble
 * (torch 2.14). Fewer than 2p - 1 micro-batches run in the order of 2p - 1, without the ones that are missing.
 */
export const zbvZeroBubble: ScheduleKind = {
  name: 'ZBVZeroBubble',
  placement: 'v',
  chunksPerStage: 2,
  slices: false,
  sliced: false,
  planned: false,
  splitsBackward: true,
  splitIn: ['megatron', 'pytorch'],
  postValidated: true,
  bound: 'order',
  slicesInFlight: stagesBeforeInFlight,
  unmet: () => null,
  order: ({ stages, microBatches }) => {
    const planned = Math.max(2 * stages - 1, microBatches);
    return (stage, emit) => {
      const before = stage;
      const after = stages - stage;
      const down = chunkPasses(stage, microBatches, emit);
      const up = chunkPasses(2 * stages - 1 - stage, microBatches, emit);
      repeat(2 * after - 1, down.forward);
      repeat(before, up.forward, down.forward);
      repeat(after, up.forward, up.input, up.weight);
      // All planned forwards of the first chunk but the 2p - stage - 1 above, then the rest of the second's.
      const steady = [down.input, down.weight, up.forward, up.input, up.weight];
      repeat(planned - 2 * stages + before + 1, down.forward, ...steady);
      repeat(after - 1, ...steady);
      repeat(before, down.input, up.input);
      repeat(after, down.input, down.weight);
      repeat(before, up.weight);
      repeat(before, down.weight);
    };
  },
};

/** Passes of one chunk. Each runs the next micro-batch of its kind, or nothing where none is left. */
function chunkPasses(chunk: number, microBatches: number, emit: Emit): Readonly<Record<'forward' | 'input' | 'weight', () => void>> {
  const pass = (kind: Parameters<Emit>[0]) => {
    let next = 0;
    return () => {
      if (next < microBatches) emit(kind, chunk, next);
      next += 1;
    };
  };
  return { forward: pass(operationKind.forward), input: pass(operationKind.backwardInput), weight: pass(operationKind.backwardWeight) };
}

function repeat(times: number, ...passes: readonly (() => void)[]): void {
  for (let time = 0; time < times; time++) for (const pass of passes) pass();
}
