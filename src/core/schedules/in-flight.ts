/** Of which stage it is asked how much it holds. */
export interface StageOfRun {
  readonly stage: number;
  readonly stages: number;
  readonly microBatches: number;
  /** Of each micro-batch, alike. */
  readonly slices: number;
}

/** All of them: backward begins when the last forward is done. */
export function allInFlight({ microBatches, slices }: StageOfRun): number {
  return slices * microBatches;
}

/**
 * A micro-batch for the stage and each behind it. Interleaving, with or without a split backward, has done as many forwards of its last
 * chunks as plain 1F1B before its first backward (arXiv 2205.05198, section 4.2.1).
 */
export function stagesBehindInFlight({ stage, stages, microBatches, slices }: StageOfRun): number {
  return slices * Math.min(microBatches, stages - stage);
}

/** A micro-batch for the stage and each before it: what a V holds on its second chunks. */
export function stagesBeforeInFlight({ stage, microBatches, slices }: StageOfRun): number {
  return slices * Math.min(microBatches, stage + 1);
}

/**
 * Those that 1F1B over token slices (Seq1F1B) has done forward when it begins its first backward, at most; backwards come from slice to
 * slice, the last of a micro-batch first.
 */
export function slicesAhead({ stage, stages, microBatches, slices }: StageOfRun): number {
  return Math.min(stages - stage + slices - 1, slices * microBatches);
}
