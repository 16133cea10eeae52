import type { StageUnits } from './balance';

/** A way to cut the active units into stages, and what its largest stage takes, in whatever unit compression compares. */
export interface StagePartition {
  readonly units: StageUnits;
  readonly largest: number;
}

/** Cuts the units left into `stages`; null when there is no cut that may be. */
type Cutter = (stages: number) => StagePartition | null;

/**
 * Pipeline length after a freeze: halved as long as the largest stage of the shorter pipeline is not larger than the largest one of the
 * first epoch (arXiv 2102.03161, equation in section 3.2 and the released code, both `<=`; line 30 of Algorithm 1 prints `<`). Several
 * halvings at once are possible; 1 is pure data parallelism.
 * @param largestAtFirst largest stage of the first epoch, in the same unit as `StagePartition.largest`.
 */
export function compressedLength(length: number, cutter: Cutter, largestAtFirst: number): number {
  let stages = length;
  while (stages >= 2) {
    const shorter = Math.floor(stages / 2);
    const cut = cutter(shorter);
    if (cut === null || cut.largest > largestAtFirst) break;
    stages = shorter;
  }
  return stages;
}

/** PipeTransformer's number of micro-batches by pipeline length: 16, and 4 without a pipeline (released code). */
export function tableMicroBatches(stages: number): number {
  return stages >= 2 ? 16 : 4;
}

/** Numbers of micro-batches that PipeTransformer tries: K to 6 K, no more than there are samples. */
export function searchedMicroBatches(stages: number, samples: number): number[] {
  return Array.from({ length: 5 * stages + 1 }, (_, more) => Math.min(stages + more, samples)).filter(
    (count, index, all) => count !== all[index - 1],
  );
}
