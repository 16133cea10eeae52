import { runtimeProfile, type Runtime } from './runtime';

/** Whether ranks are grouped and sizes checked as Megatron-LM's, nanotron's included. */
export function isLikeMegatron(runtime: Runtime = 'megatron'): boolean {
  return runtime === 'megatron' || runtime === 'nanotron';
}

/** Whether all gradients are reduced in one call after backward. */
export function reducesAfterBackward(training: {
  readonly runtime?: Runtime;
  readonly zeroStage: number;
  readonly gradAccumulationFp32: boolean;
}): boolean {
  return runtimeProfile(training).shardsWithoutDdp === true && training.zeroStage > 0 && training.gradAccumulationFp32;
}

/** Whether tensor-parallel collectives overlap in pieces with the GEMMs that need them. */
export function overlapsInPieces(training: { readonly runtime?: Runtime; readonly asyncTensorParallel?: boolean }): boolean {
  return training.asyncTensorParallel === true && runtimeProfile(training).overlapsTensorParallel !== 'if asked';
}
