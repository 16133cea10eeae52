import { elementBytes } from './number-formats';
import { masterBytes, stateBytes } from './optimizer';
import type { TrainingSpec } from './request';
import { keepsFp32Weights } from './runtime';

/**
 * Bytes a parameter of a checkpoint to resume training: weights, master weights and optimizer states, 14 of mixed-precision Adam; 12 where
 * the weights themselves are in fp32 (TorchTitan, FSDP and DDP, unless files keep them in 16 bits).
 */
export function savedParameterBytes(training: TrainingSpec): number {
  const kept = training.masterWeightBytes === 0 ? elementBytes(training) : 4;
  return stateBytes(training) + (keepsFp32Weights(training) ? kept : elementBytes(training) + masterBytes(training));
}
