import { runtimeProfile } from '../domain/runtime';
import type { WorkUnit } from '../schedules/schedule';
import { embeddingBackwardBytes } from './activation-memory';
import { gatherBuffers } from './fsdp';
import { trainedParameters } from './held';
import type { StageContents } from './layer-tensors';
import { lossBlocks } from './loss';
import type { StageMemory } from './profile';
import type { MemoryInputs } from '../domain/request';
import { contextBytes, fragmentation, leastFragmentation, mostPeakBytes, usablePeakBytes } from './verdict';
import { zeroBlocks } from './zero';

/*
 * What a GPU's memory holds in addition to the tensors of a stage's peak: what PyTorch's allocator reserves and cannot use, and what is not
 * a tensor. See docs/model/memory.md, Reserved memory.
 */

/**
 * What expandable segments grow by: 20 MiB, and 2 for tensors under 1 MiB (`kLargeBuffer` and `kSmallBuffer` of
 * c10/cuda/CUDACachingAllocator.cpp).
 */
const segmentBytes = 22 * 2 ** 20;

/** What makes PyTorch's allocator grow and join its segments, so that next to nothing of what it reserves is lost. */
export const expandableSegments = 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True';

/** Whether the allocator grows its segments: as the files set it, else as the runtime's launcher does (TorchTitan's does). */
function growsSegments({ training }: Pick<MemoryInputs, 'training'>): boolean {
  return training.expandableSegments ?? runtimeProfile(training).id === 'torchtitan';
}

/**
 * Whether stages do not fit, but would if fragmentation cost no memory, which `expandableSegments` nearly achieves. False where it is set.
 */
export function overflowsByFragmentation(
  inputs: LimitInputs,
  stages: readonly Pick<StageMemory, 'peakBytes' | 'capacityBytes' | 'usableBytes'>[],
): boolean {
  if (growsSegments(inputs)) return false;
  const outsideBytes = nonAllocatorBytes(inputs) + segmentBytes;
  return (
    stages.some(({ peakBytes, usableBytes }) => peakBytes > usableBytes) &&
    stages.every(({ peakBytes, capacityBytes }) => peakBytes <= capacityBytes - outsideBytes)
  );
}

/**
 * What PyTorch's allocator reserves at a peak of `bytes` tensors in forwards and backwards (`max_reserved`), bytes.
 * @param atHead the unit whose head's backward makes that peak; null where another operation does.
 */
export function reservedAt(inputs: MemoryInputs, stage: StageContents, bytes: number, atHead: WorkUnit | null): number {
  const usual = growsSegments(inputs) ? bytes + segmentBytes : (1 + fragmentation) * bytes;
  const sharded = gatherBuffers(inputs, stage) + (atHead === null ? 0 : lossBlocks(inputs, stage, atHead));
  switch (runtimeProfile(inputs.training).id) {
    case 'megatron':
    case 'terapipe':
    case 'nanotron':
    case 'ddp':
      return usual;
    case 'deepspeed':
      // with segments that grow, blocks of other moments join
      return growsSegments(inputs)
        ? usual
        : usual + zeroBlocks(inputs, trainedParameters(inputs, stage), embeddingBackwardBytes(inputs, stage));
    // buffers of other streams have segments of their own, which grow, too
    case 'fsdp1':
    case 'torchtitan':
      return usual + sharded;
  }
}

/**
 * Whether blocks of other moments are counted one by one and stay in segments of their own, which only fall free as wholes: those of
 * DeepSpeed and of FSDP, where segments do not grow.
 */
export function keepsBlocks(inputs: Pick<MemoryInputs, 'training'>): boolean {
  const { id } = runtimeProfile(inputs.training);
  return (id === 'deepspeed' || id === 'fsdp1' || id === 'torchtitan') && !growsSegments(inputs);
}

/**
 * The CUDA context with the kernels of PyTorch before it loaded them when first used (1.x): 1,573 MiB on A100, 1,271 on V100, as BigScience
 * measured (train/tr11-176B-ml/chronicles-prequel.md).
 */
const eagerContextBytes = 1.5 * 2 ** 30;
/** NCCL's buffers of one communicator: assumed, not measured. */
const communicatorBytes = 2 ** 28;

/**
 * Outside the allocator, as `nvidia-smi` shows it, bytes: the CUDA context and NCCL's buffers. A pipeline of DeepSpeed has communicators to
 * both neighbours and one of a replica in addition to those of the world and of each size above 1.
 */
export function nonAllocatorBytes({ training, layout }: LimitInputs): number {
  if (runtimeProfile(training).id !== 'deepspeed') return contextBytes;
  const { tensor, pipeline, data, context, expert } = layout;
  const sizes = [tensor, pipeline, data, context, expert].filter((size) => size > 1).length;
  const communicators = sizes === 0 ? 0 : sizes + 1 + (pipeline > 1 ? 3 : 0);
  return eagerContextBytes + communicators * communicatorBytes;
}

/** What the limit depends on. */
type LimitInputs = Pick<MemoryInputs, 'training' | 'layout'>;

/**
 * What a GPU has, what fits it and what may run on it, bytes: see `StageMemory`. Plans, searches, figures and plots take the limit from
 * here, each for the layout that it is about. Under TorchTitan, whose launcher sets expandable segments, 5 % stay free: on two runs that
 * nothing was fitted to, peaks were 6 and 8 % above ours.
 */
export function limitsOn(
  inputs: LimitInputs,
  capacityBytes: number,
): Pick<StageMemory, 'capacityBytes' | 'usableBytes' | 'mostBytes' | 'growsSegments'> {
  if (inputs.training.expandableSegments === true && runtimeProfile(inputs.training).id !== 'torchtitan') {
    const mostBytes = Math.max(0, capacityBytes - nonAllocatorBytes(inputs) - segmentBytes);
    return { capacityBytes, usableBytes: mostBytes / (1 + leastFragmentation), mostBytes, growsSegments: true };
  }
  const usableBytes = usablePeakBytes(capacityBytes, nonAllocatorBytes(inputs));
  return { capacityBytes, usableBytes, mostBytes: mostUsable(inputs, capacityBytes) };
}

/**
 * A stage with the limits of a GPU that has as much memory as the one that it was counted on, or more: a search counts on GPUs that lack
 * what it keeps free.
 */
export function onLargerGpu(inputs: LimitInputs, stage: StageMemory, capacityBytes: number): StageMemory {
  const crowdedBytes = Math.max(0, stage.crowdedBytes - (capacityBytes - stage.capacityBytes));
  return { ...stage, ...limitsOn(inputs, capacityBytes), crowdedBytes };
}

/**
 * The highest peak that may run on a GPU, bytes. What the allocator leaves unused was measured under Megatron-LM (max_reserved is 1.01 to
 * 1.09 of max_allocated on B200); DeepSpeed's runs ran out of memory just above what is usable (bsA-660 ran, bsA-807 did not), and of
 * others nothing is known.
 */
function mostUsable(inputs: LimitInputs, capacityBytes: number): number {
  const peakBytes = runtimeProfile(inputs.training).id === 'megatron' ? mostPeakBytes : usablePeakBytes;
  return peakBytes(capacityBytes, nonAllocatorBytes(inputs));
}
