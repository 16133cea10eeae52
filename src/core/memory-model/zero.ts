import { elementBytes } from '../domain/number-formats';
import { heldBytes, type RankParameters, type StaticBytes } from './held';
import type { StageContents } from './layer-tensors';
import type { MemoryInputs } from '../domain/request';
import { optimizerBytes } from './optimizer-states';

/*
 * DeepSpeed's optimizers as its engine chooses them: FP16_Optimizer (no ZeRO), DeepSpeedZeroOptimizer (stages 1 and 2), stage 3, and
 * BF16_Optimizer where gradients add up in fp32. Read from deepspeed/runtime at 5fe5b38 (2022-02) and 56c5223 (2022-04). See
 * docs/model/memory.md, Static memory.
 */

/** Elements of DeepSpeed's default `reduce_bucket_size`, and of stage 3's `stage3_max_live_parameters`. */
const bucketElements = 5e8;
const liveElements = 1e9;
/** Elements of its default `sub_group_size`, which stage 3 updates at a time. */
export const subGroupElements = 1e9;

/**
 * Weights and gradients in the training precision; from stage 1 on, and with BF16_Optimizer, the states divided, from 2 the gradients, with
 * 3 the weights. Gradients that add up in fp32 have a buffer of their own up to stage 1.
 */
export function deepspeedBytes(inputs: MemoryInputs, stage: StageContents, held: RankParameters): StaticBytes {
  const { zeroStage } = inputs.training;
  const element = elementBytes(inputs.training);
  const wide = addsUpInFp32(inputs);
  return {
    weights: heldBytes(held, element, zeroStage >= 3),
    gradients: zeroStage >= 2 ? heldBytes(held, wide ? 4 : element, true) : heldBytes(held, wide ? element + 4 : element, false),
    optimizer: optimizerBytes(inputs, stage, held, zeroStage >= 1 || isBf16Optimizer(inputs)),
    dummyGradients: 0,
    workspaces: bucketsInBackward(inputs) + (zeroStage >= 3 ? element * gatheredAtOnce(held) : 0),
  };
}

/** Parameters that stage 3 keeps gathered at once. */
export function gatheredAtOnce({ shared, experts }: RankParameters): number {
  return Math.min(liveElements, shared + experts);
}

/** Gradients add up in fp32 in addition to those of the training precision (`BF16_Optimizer`, `data_types.grad_accum_dtype`). */
function addsUpInFp32({ training }: MemoryInputs): boolean {
  return training.precision !== 'fp32' && training.gradAccumulationFp32;
}

/** BF16_Optimizer divides its fp32 states over the replicas without ZeRO too (`fp32_groups_flat_partition`). */
function isBf16Optimizer(inputs: MemoryInputs): boolean {
  return inputs.training.precision === 'bf16' && addsUpInFp32(inputs);
}

/** One bucket, two where exchanges overlap with the backward. */
function bucketBytes({ training }: MemoryInputs): number {
  if (training.zeroStage === 0) return 0;
  return elementBytes(training) * bucketElements * (training.overlapGradReduce === true ? 2 : 1);
}

/** A pipeline takes its bucket when all backwards are done (`reduce_gradients`), other runs before each backward. */
function bucketsInBackward(inputs: MemoryInputs): number {
  return inputs.layout.pipeline > 1 ? 0 : bucketBytes(inputs);
}

/** Made for the optimizer's step of the rank's gradients: joined in one tensor, and that in fp32. */
function stepCopies(inputs: MemoryInputs, held: RankParameters): { readonly joined: number; readonly fp32: number } {
  const { precision, zeroStage, optimizerSubGroup = subGroupElements } = inputs.training;
  if (precision === 'fp32' || (addsUpInFp32(inputs) && zeroStage <= 1)) return { joined: 0, fp32: 0 };
  const copy = (bytes: number): number => {
    const all = heldBytes(held, bytes, zeroStage >= 1);
    return zeroStage >= 3 ? Math.min(all, bytes * optimizerSubGroup) : all;
  };
  return { joined: copy(elementBytes(inputs.training)), fp32: copy(4) };
}

/**
 * Held at the optimizer's step in addition to static memory, bytes: its copies, less the gradients of parameters that other ranks update.
 */
export function zeroStepBytes(inputs: MemoryInputs, held: RankParameters): number {
  const { joined, fp32 } = stepCopies(inputs, held);
  const element = elementBytes(inputs.training);
  const freed = inputs.training.zeroStage === 1 ? heldBytes(held, element, false) - heldBytes(held, element, true) : 0;
  return joined + fp32 - freed;
}

/**
 * Blocks that PyTorch's allocator takes for tensors of a step which are too large for what activations leave free, and keeps, bytes: the
 * gradient of the word embedding, which each backward makes again, in fp32 where gradients add up in it; the bucket; the copies of the
 * step. Later tensors reuse the blocks.
 */
export function zeroBlocks(inputs: MemoryInputs, held: RankParameters, embedding: number): number {
  const { joined, fp32 } = stepCopies(inputs, held);
  const wide = addsUpInFp32(inputs) ? (4 / elementBytes(inputs.training)) * embedding : 0;
  const bucket = inputs.layout.pipeline > 1 ? bucketBytes(inputs) : 0;
  return blocksFor([[embedding, wide], [bucket], [joined, fp32]]);
}

/**
 * Bytes of the blocks that serve groups of requests, one group after another; the requests of a group are live together. A request takes
 * the smallest free block that holds it; the rest of the block serves later requests of its group.
 */
export function blocksFor(groups: readonly (readonly number[])[]): number {
  const blocks: number[] = [];
  for (const group of groups) {
    const free = [...blocks];
    for (const bytes of group) {
      if (bytes === 0) continue;
      const fitting = free.reduce((best, left, index) => (left >= bytes && left < (free[best] ?? Infinity) ? index : best), -1);
      if (fitting >= 0) free[fitting] = (free[fitting] ?? 0) - bytes;
      else {
        blocks.push(bytes);
        free.push(0);
      }
    }
  }
  return blocks.reduce((sum, bytes) => sum + bytes, 0);
}
