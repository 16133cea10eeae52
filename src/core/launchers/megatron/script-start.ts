import type { LaunchSettings } from '../writing/launch-settings';

/**
 * Environment variables of a script for Megatron-LM (megatron/training/arguments.py 1453 to 1479 and 1961 to 1967 at d98e8a64).
 * `--attention-backend` sets those of Transformer Engine.
 * @param core minor number of the oldest release of Megatron-LM's core that takes the script; null for a fork.
 */
export function environmentLines(plan: LaunchSettings, core: number | null): readonly string[] {
  const { computeCapability, cudaGraphs, sliced } = plan;
  // refused with the CUDA graphs of a layer; forks may run on a PyTorch that does not know it
  const canExpand = computeCapability !== null && cudaGraphs === undefined && sliced === undefined;
  return [
    ...(needsOneConnection(plan, core) ? ['export CUDA_DEVICE_MAX_CONNECTIONS=1'] : []),
    ...(canExpand ? ['export PYTORCH_CUDA_ALLOC_CONF=${PYTORCH_CUDA_ALLOC_CONF:-expandable_segments:True}'] : []),
  ];
}

/** The oldest release that takes a script started so: 0.11 wants one connection always. @param core the oldest that takes its flags. */
export function oldestStarted(plan: LaunchSettings, core: number): number {
  return needsOneConnection(plan, core) ? core : Math.max(core, 12);
}

/** Where a tensor or sequence is split; from core 0.13 on not on Blackwell, nor where exchanges with experts are overlapped. */
function needsOneConnection({ tensor, context, computeCapability, overlapExpertComm }: LaunchSettings, core: number | null): boolean {
  const isBlackwell = Number(computeCapability ?? 0) >= 10 && core !== null && core >= 13;
  return (tensor > 1 || context > 1) && !isBlackwell && overlapExpertComm !== true;
}
