import type { ScheduleKind } from '../kind';
import { operationKind } from '../schedule';

/**
 * Seq1F1B (Sun et al. 2024, arXiv 2406.03488): 1F1B over token slices. Sequences go backward first in, first out, the last slice of each first. Stage s is `stages - s - 1` slices ahead of
 * the last stage, which begins a sequence backward as soon as it is forward: with s slices in each of m sequences min(p - r + s - 2, m s) slices are forward before the first one and one
 * more at rank r's first backward, as in the authors' code. Sequences of unlike slice counts keep that lead: a sequence goes backward when it and the lead are forward, not later.
 */
export const seq1f1b: ScheduleKind = {
  name: 'Seq1F1B',
  about: '1F1B over token slices: one slice forward and one backward in turn, the last slice of a sequence first (Sun et al. 2024).',
  placement: 'one',
  chunksPerStage: 1,
  slices: true,
  splitsBackward: false,
  unmet: () => null,
  order:
    ({ stages, units, microBatches, firstUnit }) =>
    (stage, emit) => {
      const lead = stages - 1 - stage;
      let forwards = 0;
      for (let microBatch = 0; microBatch < microBatches; microBatch++) {
        const first = firstUnit[microBatch] ?? 0;
        const end = firstUnit[microBatch + 1] ?? 0;
        const next = firstUnit[microBatch + 2] ?? end;
        for (let done = 0; done < end - first; done++) {
          const ahead = Math.min(units.length, lead + Math.min(end + done, next));
          while (forwards < ahead) emit(operationKind.forward, stage, forwards++);
          emit(operationKind.backward, stage, end - 1 - done);
        }
      }
    },
};
