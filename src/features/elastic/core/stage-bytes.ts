import type { GpuSpec } from '../../../core/domain/cluster';
import { verdictOfPeak, type MemoryVerdict } from '../../../core/memory-model/verdict';
import { maximum } from '../../../core/numbers';

/** Bytes of a GPU by what they hold. */
export interface StageBytes {
  readonly weights: number;
  readonly gradients: number;
  readonly optimizer: number;
  readonly activations: number;
  /** Frozen layers on the first stage: their weights, and what one pass of them holds. */
  readonly frozen: number;
}

/** All of it. */
export function totalBytes({ weights, gradients, optimizer, activations, frozen }: StageBytes): number {
  return weights + gradients + optimizer + activations + frozen;
}

/** The verdict on the stages of an epoch, whose GPUs are alike: that of the fullest one. */
export function epochVerdict(stageBytes: readonly StageBytes[], { memoryBytes }: Pick<GpuSpec, 'memoryBytes'>): MemoryVerdict {
  const totals = stageBytes.map(totalBytes);
  const peakBytes = maximum(totals);
  return verdictOfPeak({ peakBytes, capacityBytes: memoryBytes, stage: totals.indexOf(peakBytes), stages: totals.length });
}
