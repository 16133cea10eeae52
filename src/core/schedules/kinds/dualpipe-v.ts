import { stagesBeforeInFlight, type Emit, type ScheduleKind } from '../kind';
import { operationKind } from '../schedule';
import { counted, sentence } from '../../sentence';

/** DualPipeV (DeepSeek's DualPipe of arXiv 2412.19437 folded into a V), in the order of PyTorch's ScheduleDualPipeV (torch 2.14). */
export const dualPipeV: ScheduleKind = {
  name: 'DualPipeV',
  placement: 'v',
  chunksPerStage: 2,
  slices: false,
  sliced: false,
  planned: false,
  splitsBackward: true,
  splitIn: ['pytorch', 'dualpipe'],
  postValidated: false,
  hidesExpertExchange: true,
  bound: 'order',
  slicesInFlight: stagesBeforeInFlight,
  unmet: ({ stages, microBatches }) =>
    microBatches >= 2 * stages
      ? null
      : {
          message: sentence`DualPipeV needs at least ${counted(2 * stages, 'micro-batch', 'micro-batches')} on ${counted(stages, 'stage')}, two for each, but there ${microBatches === 1 ? sentence`is` : sentence`are`} ${counted(microBatches, 'micro-batch', 'micro-batches')}`,
          remedy: sentence`use ${2 * stages} micro-batches or more, or at most ${counted(Math.floor(microBatches / 2), 'stage')}`,
        },
  order:
    ({ stages, microBatches }) =>
    (stage, emit) => {
      const behind = stages - 1 - stage;
      const { forward, backward, splitBackward, weight, overlapped } = sidePasses(stage, 2 * stages - 1 - stage, emit);
      repeat(2 * behind, () => forward('down'));
      repeat(stage + 1, () => {
        forward('down');
        forward('up');
      });
      repeat(behind, () => {
        splitBackward('up');
        weight();
        forward('up');
      });
      repeat(microBatches - 2 * stages + stage + 1, (time) => {
        if (time === 0 && behind === 0) {
          // Nothing can fill the time that the last stage would wait for an overlapped pair here.
          forward('down');
          backward('up');
        } else overlapped('down', 'up');
        overlapped('up', 'down');
      });
      repeat(behind, () => {
        backward('up');
        overlapped('up', 'down');
      });
      // The second half of the drain splits its backward: the weight gradients fill what follows.
      for (let pass = 0; pass <= 2 * stage + 1; pass++) (pass <= stage ? backward : splitBackward)(pass % 2 === 0 ? 'up' : 'down');
      repeat(behind, () => {
        weight();
        splitBackward('down');
      });
      repeat(stage + 1, weight);
    },
};

type Side = 'down' | 'up';

/**
 * The passes of a stage with a chunk on either side of the V; each runs the next micro-batch of its kind, `weight` the oldest split
 * backward that lacks it.
 */
function sidePasses(down: number, up: number, emit: Emit) {
  const chunks = { down, up };
  const forwards = { down: 0, up: 0 };
  const backwards = { down: 0, up: 0 };
  const split: { readonly chunk: number; readonly microBatch: number }[] = [];
  let weights = 0;
  const forward = (side: Side, overlapsNext = false) => emit(operationKind.forward, chunks[side], forwards[side]++, overlapsNext);
  const backward = (side: Side) => emit(operationKind.backward, chunks[side], backwards[side]++);
  return {
    forward,
    backward,
    splitBackward: (side: Side) => {
      const pass = { chunk: chunks[side], microBatch: backwards[side]++ };
      split.push(pass);
      emit(operationKind.backwardInput, pass.chunk, pass.microBatch);
    },
    weight: () => {
      const pass = split[weights];
      if (pass === undefined) return;
      weights += 1;
      emit(operationKind.backwardWeight, pass.chunk, pass.microBatch);
    },
    overlapped: (forwardSide: Side, backwardSide: Side) => {
      forward(forwardSide, true);
      backward(backwardSide);
    },
  };
}

function repeat(times: number, pass: (time: number) => void): void {
  for (let time = 0; time < times; time++) pass(time);
}
