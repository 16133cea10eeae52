import { slicesAhead, type ScheduleKind, type ScheduleProblem } from '../kind';
import { operationKind } from '../schedule';

/**
 * Seq1F1B (Sun et al. 2024, arXiv 2406.03488), as its authors' code orders it: 1F1B over token slices. Sequences go backward first in,
 * first out, the last slice of each first. Rank r of p runs min(p - r + s - 2, all) slices ahead, s - 1 more than 1F1B, because the last
 * rank needs all s slices of a sequence before it can begin it backward. Where sequences are cut in unlike numbers of slices s is the
 * largest: with less, slices forward run out before the backward of a long sequence, and every stage waits (measured on random schemes: 1.5
 * to 2.7 times the bubble).
 */
export const seq1f1b: ScheduleKind = {
  name: 'Seq1F1B',
  placement: 'one',
  chunksPerStage: 1,
  slices: true,
  sliced: true,
  // It gains only with long slices: of 4,096 tokens and more (MindSpeed's measurements).
  mostSlices: 16,
  ownCut: 'equal-work',
  planned: false,
  splitsBackward: false,
  postValidated: false,
  judgedAs: '1F1B',
  bound: 'sliced',
  slicesInFlight: slicesAhead,
  unmet: () => null,
  order: (problem) => {
    const backward = backwardOrder(problem);
    const most = mostSlices(problem);
    return (stage, emit) => {
      const ahead = Math.min(problem.stages - stage + most - 2, backward.length);
      for (let step = 0; step < backward.length + ahead; step++) {
        if (step < backward.length) emit(operationKind.forward, stage, step);
        if (step >= ahead) emit(operationKind.backward, stage, backward[step - ahead] ?? 0);
      }
    };
  },
};

function backwardOrder({ units, microBatches, firstUnit }: ScheduleProblem): Uint32Array {
  const order = new Uint32Array(units.length);
  for (let microBatch = 0; microBatch < microBatches; microBatch++) {
    const first = firstUnit[microBatch] ?? 0;
    const end = firstUnit[microBatch + 1] ?? 0;
    for (let unit = first; unit < end; unit++) order[unit] = first + end - 1 - unit;
  }
  return order;
}

function mostSlices({ firstUnit }: ScheduleProblem): number {
  return firstUnit.reduce((most, first, microBatch) => Math.max(most, first - (firstUnit[microBatch - 1] ?? first)), 1);
}
