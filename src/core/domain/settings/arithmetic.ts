import { sentence } from '../../sentence';
import { attentionKernels, type FusedAttentionKernel } from '../runtime';
import { fp8Formats, fp8Recipes, narrowFormats } from '../number-formats';
import { masterWidths, optimizers, type MasterBytes } from '../optimizer';
import { amount, boolean, flag, integer, nonNegative, choiceRule, text, valueOf } from './rules';
import type { SettingTable } from './setting';

/** PyTorch's names of precisions; GEMMs in 8 and 4 bits are a setting of their own. */
const precisionWords = {
  float32: 'fp32',
  float: 'fp32',
  float16: 'fp16',
  half: 'fp16',
  bfloat16: 'bf16',
  fp8: sentence`keep it "bf16" and set training.gemmPrecision to "fp8"`,
  float8: sentence`keep it "bf16" and set training.gemmPrecision to "fp8"`,
  nvfp4: sentence`keep it "bf16" and set training.gemmPrecision to "nvfp4"`,
} as const;

/** Number formats. */
export const precision = {
  precision: {
    read: valueOf<'fp32' | 'fp16' | 'bf16' | 'fp8' | 'nvfp4'>(),
    key: choiceRule(['fp32', 'fp16', 'bf16'], precisionWords),
    assumed: true,
    title: sentence`precision`,
    compared: {},
    meaning: sentence`Number format of weights and activations: decides the peak rate and the bytes of both.`,
    fieldNames: ['dtype'],
  },
  /** Where a file turns on both fp16 and bf16. */
  secondPrecision: { read: valueOf<'fp16' | 'bf16'>(), meaning: sentence`A second number format; launchers refuse two.` },
  /**
   * Format that the inputs of the layers' weight products are cast to (Transformer Engine's FP8 and NVFP4); attention, router, head and all
   * else stay in `precision`. Absent: they too.
   */
  gemmPrecision: {
    key: choiceRule(narrowFormats),
    title: sentence`GEMMs in`,
    compared: {},
    meaning: sentence`Number format of the layers' GEMMs: faster but needs casts; the rest keeps the training precision.`,
  },
  /** Transformer Engine, torchao; absent: one scale a tensor. */
  fp8Recipe: { type: choiceRule(fp8Recipes), meaning: sentence`How FP8 inputs are scaled: it decides what the casts cost.` },
  /** Megatron-LM's `--fp8-format`; absent: as `usualFp8Format` has it. */
  fp8Format: {
    type: choiceRule(fp8Formats),
    meaning: sentence`Kind of FP8 values. It does not affect predicted times; exported files set it.`,
  },
  /** Megatron-LM's `--fp8-param-gather`; absent: in the training precision, with copies in FP8. */
  fp8ParamGather: {
    type: boolean,
    meaning: sentence`The layers' weights are kept only in FP8; the optimizer has its master weights.`,
  },
  /** Absent: as is usual in the runtime. */
  compile: {
    type: boolean,
    meaning: sentence`Whether torch.compile fuses element-wise operations: without it they move more memory.`,
  },
} as const satisfies SettingTable;

/** What updates the weights, and what it keeps. */
export const optimizer = {
  optimizer: {
    read: text,
    key: { ...choiceRule(optimizers), expects: sentence`the name of an optimizer, as "adam", "adamw_bnb_8bit" or "muon"` },
    assumed: { value: 'adam', reason: sentence`usual practice` },
    meaning: sentence`The optimizer's state per parameter: Adam keeps two moments and an fp32 copy.`,
  },
  precisionAware: { read: flag, meaning: sentence`Whether moments and main weights of the optimizer have number types of their own.` },
  firstMomentBytes: { read: amount, sets: ['optimizerStateBytes'] },
  secondMomentBytes: { read: amount, sets: ['optimizerStateBytes'] },
  /**
   * Where a file gives their types (Megatron-LM's `--exp-avg-dtype`, DeepSpeed's `bf16_optimizer_states`); absent: as the optimizer keeps
   * them.
   */
  optimizerStateBytes: {
    key: nonNegative(64),
    meaning: sentence`Bytes that the optimizer keeps for each parameter, without its master weight.`,
  },
  /** Absent: 4. */
  masterWeightBytes: {
    read: valueOf<MasterBytes>(),
    key: choiceRule(masterWidths),
    meaning: sentence`Bytes of the master copy of each 16-bit weight; 0 if the optimizer updates the weights themselves.`,
  },
  /** Of GaLore and APOLLO; absent: 128. */
  optimizerRank: {
    read: amount,
    key: integer(1, 100_000),
    meaning: sentence`Rows of the projections whose states a low-rank optimizer keeps.`,
  },
  distributedOptimizer: {
    read: flag,
    sets: ['zeroStage'],
    meaning: sentence`Whether the optimizer state is sharded over the replicas, as by ZeRO stage 1.`,
  },
  /** 0 nothing, 1 optimizer state (Megatron's distributed optimizer), 2 gradients too, 3 weights too. */
  zeroStage: {
    read: amount,
    key: choiceRule([0, 1, 2, 3]),
    assumed: true,
    title: sentence`ZeRO stage`,
    compared: {},
    meaning: sentence`What data-parallel replicas shard: 1 optimizer state, 2 also gradients, 3 also weights.`,
    fieldNames: ['zero'],
  },
  /**
   * HSDP: FSDP's `dp_replicate`, `HYBRID_SHARD`, Megatron-LM's `--num-distributed-optimizer-instances`. Absent: 1, all replicas shard
   * together.
   */
  dataReplicate: {
    type: integer(1, 1_000_000),
    title: sentence`groups of replicas (HSDP)`,
    compared: { silent: 1 },
    meaning: sentence`HSDP: groups of replicas that each hold the whole model state; it is sharded inside a group.`,
    // prettier-ignore
    fieldNames: ['hsdp', 'dpreplicate', 'dpreplicatesize', 'dataparallelreplicatedegree', 'replicatedegree', 'numdistributedoptimizerinstances'],
  },
  /** FSDP's `HYBRID_SHARD`, unless `dataReplicate` is given. */
  hybridShard: { type: boolean, meaning: sentence`FSDP shards inside each node and repeats over the nodes, as HYBRID_SHARD does.` },
  /**
   * Even: every rank updates as many parameters. Tensors: every tensor is updated by one rank, which broadcasts it (InternEvo's
   * `HybridZeroOptimizer`, PyTorch's `ZeroRedundancyOptimizer`). Absent: even.
   */
  optimizerShards: {
    type: choiceRule(['even', 'tensors']),
    title: sentence`shards of the optimizer`,
    compared: { silent: 'even' },
    meaning: sentence`Even shards, or whole tensors, each updated and broadcast by one rank, as InternEvo does.`,
  },
  /** In the training precision otherwise. */
  gradAccumulationFp32: {
    type: boolean,
    assumed: true,
    meaning: sentence`Accumulates gradients in fp32, twice the bytes of half precision.`,
  },
  /** Megatron's `gradient_accumulation_fusion`; absent: as the runtime does. */
  gradAccumulationFusion: {
    type: boolean,
    meaning: sentence`Weight-gradient GEMMs add to the main gradients themselves: no pass over the gradients after them.`,
  },
} as const satisfies SettingTable;

/** Kernels whose choice changes time or memory. */
export const kernels = {
  attention: {
    type: choiceRule(['flash', 'unfused']),
    assumed: true,
    meaning: sentence`FlashAttention never stores the score matrix; unfused attention does: memory grows quadratically.`,
  },
  /** Absent: what the runtime uses on the GPU. `unfused` is the same as `attention: unfused`. */
  attentionKernel: {
    read: valueOf<FusedAttentionKernel>(),
    key: choiceRule(attentionKernels),
    meaning: sentence`Attention kernel: it decides the rate, most of all for long sequences.`,
  },
  /** In fp32, because a name of the program still refers to them (prime-rl until 2026-01); absent: freed when the loss is computed. */
  keepsLogits: {
    type: boolean,
    meaning: sentence`The program holds the logits in fp32 through backward: 4 bytes each, where the loss is not fused.`,
  },
  fusedCrossEntropy: { type: boolean, assumed: true, meaning: sentence`Computes the loss without a second copy of the logits.` },
  hiddenDropout: { read: amount, sets: ['dropout'] },
  attentionDropout: { read: amount, sets: ['dropout'] },
  dropout: {
    key: boolean,
    assumed: { value: false, reason: sentence`usual practice in pre-training` },
    meaning: sentence`Dropout costs time for its masks, and memory to keep them.`,
  },
} as const satisfies SettingTable;
