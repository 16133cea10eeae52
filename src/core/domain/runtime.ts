import { sentence, type Sentence } from '../sentence';

/** What computes fused attention: FlashAttention by its generation, or Transformer Engine's cuDNN. */
const fusedAttentionKernels = ['flash1', 'flash2', 'flash3', 'cudnn'] as const;
export type FusedAttentionKernel = (typeof fusedAttentionKernels)[number];

/** What their makers call them. */
export const fusedAttentionNames: Readonly<Record<FusedAttentionKernel, string>> = {
  flash1: 'FlashAttention 1',
  flash2: 'FlashAttention 2',
  flash3: 'FlashAttention 3',
  cudnn: 'cuDNN',
};

/** The same, and attention as separate GEMMs and a softmax. */
export const attentionKernels = [...fusedAttentionKernels, 'unfused'] as const;
export type AttentionKernel = (typeof attentionKernels)[number];

/** Which framework's habits are counted: what it keeps, shards and gathers. */
export const runtimes = ['megatron', 'torchtitan', 'fsdp1', 'ddp', 'deepspeed', 'nanotron', 'terapipe'] as const;
export type Runtime = (typeof runtimes)[number];

/**
 * How stages of a pipeline hand on, whatever the schedule (docs/model/schedules.md, Transfers):
 * - `blocking`: a stage waits until what it sends has arrived;
 * - `exchange`: after a pass a stage sends and receives in one batch and waits for both; between passes of whole micro-batches that is
 *   hidden except for filling and draining, each further chunk of a stage pays for its own;
 * - `asynchronous`: sends are posted, and waited for where they are needed: hidden except for filling and draining.
 */
type WayOfSending = 'blocking' | 'exchange' | 'asynchronous';

/** What each is called. */
export const sendsText: Readonly<Record<WayOfSending, Sentence>> = {
  blocking: sentence`blocking`,
  exchange: sentence`batched exchange`,
  asynchronous: sentence`asynchronous`,
};

export interface RuntimeProfile {
  readonly id: Runtime;
  readonly name: string;
  /** In a sentence about schedules. */
  readonly shortName: string;
  /** Widths of a gated feed-forward network that are kept: gate, up and product, and the activated gate where it is a tensor of its own. */
  readonly gatedWidths: 3 | 4;
  /**
   * Products in a narrow format keep their inputs, and copies of the weights, in it (Transformer Engine); otherwise both are cast again
   * each time (torchao).
   */
  readonly keepsNarrow: boolean;
  readonly sends: WayOfSending;
  /**
   * One rank of a stage sends the boundary whole, and the next stage's tensor-parallel ranks get it by a broadcast; else each sends its
   * share.
   */
  readonly sendsWhole: boolean;
  /**
   * Messages that go before and with each tensor that a stage sends, on average of both directions, where the host waits for every one of
   * them, and a stage receives in turn with sending; absent: a tensor is one message, and no host waits.
   */
  readonly awaitedMessages?: number;
  readonly rankOrder: RankOrder;
  /**
   * Zero-bubble schedules step the optimizer with post-validation (sail-sg's zero-bubble fork of Megatron-LM): no stage waits for the
   * others' gradients.
   */
  readonly postValidates: boolean;
  /**
   * What stays between the two halves of a split backward: the factors only of the weight gradients, or the whole graph, as autograd keeps
   * it until its second half has run, and also the gradients of the products' outputs.
   */
  readonly splitKeeps: 'factors' | 'graph';
  /** Kernels of fused attention in the order in which it takes them, as far as the GPU has them. */
  readonly attentionKernels: readonly FusedAttentionKernel[];
  /** Whether `torch.compile` or kernels of its own fuse element-wise operations where no file sets it. */
  readonly compiles: boolean;
  /** How often eager kernels read and write what fused ones do once. */
  readonly eagerTraffic: number;
  /**
   * Bytes that unfused attention reads and writes for each score in addition to its products, of two-byte elements; absent: what one fused
   * kernel of mask and softmax does, eager or not.
   */
  readonly softmaxBytes?: { readonly forward: number; readonly backward: number };
  /** How many times the issue floor an operation of forward takes at least, where Python issues it but not those of backward; absent: 1. */
  readonly forwardFloors?: number;
  /**
   * How often backward reads or writes the keys, and the values, of a whole sequence for every slice; absent: it touches those only of the
   * slice.
   */
  readonly cachePasses?: number;
  /**
   * Tensor-parallel collectives overlap with the backward GEMMs that do not need them (Megatron-LM, Transformer Engine), or only where
   * `asyncTensorParallel` asks for that.
   */
  readonly overlapsTensorParallel: boolean | 'if asked';
  /** With sequence parallelism backward gathers the input of a sublayer's first product once more, also where nothing overlaps. */
  readonly gathersInputAgain?: true;
  /** The gradient exchange overlaps backward by default. */
  readonly overlapsGradReduce?: true;
  /** Gradients leave in the buckets of PyTorch's DDP. */
  readonly hasBucketsOfDdp?: true;
  /** Gradients that add up in fp32 for a sharded optimizer are reduced whole after backward instead: no bucket, and nothing hides it. */
  readonly shardsWithoutDdp?: true;
  /**
   * Gradients are all-reduced before the optimizer's shards take theirs: on a pipeline (DeepSpeed's `PipelineEngine._exec_reduce_grads`,
   * `buffered_allreduce_fallback`), or on any layout.
   */
  readonly reducesWhole: 'never' | 'on pipelines' | 'always';
  /** Part of the bus that its all-reduces between tensor-parallel ranks reach. */
  readonly tensorBusShare: number;
  /** Weight-gradient GEMMs add to the main gradients themselves; else what they make is added by an operation of its own. */
  readonly fusesGradAccumulation: boolean;
  /** ZeRO stage where no file gives one, and the sentence on why. */
  readonly zeroStage: { readonly value: 0 | 1 | 3; readonly reason: Sentence };
  /** Whether gradients add up in fp32 where no file sets it, and why. */
  readonly gradAccumulationFp32: { readonly value: boolean; readonly reason: Sentence };
  /** The cross entropy is several kernels where no file sets it, and why; absent: as `usualLoss` has it. */
  readonly unfusedLoss?: Sentence;
  /** How many times the predicted step published runs of it took, of which none is among those that ranges are made from. */
  readonly publishedOverPredicted?: readonly [least: number, most: number];
}

const megatron: RuntimeProfile = {
  id: 'megatron',
  name: 'Megatron-LM with Transformer Engine',
  shortName: 'Megatron-LM',
  gatedWidths: 3,
  keepsNarrow: true,
  sends: 'exchange',
  sendsWhole: false,
  rankOrder: 'tp-cp-ep-dp-pp',
  postValidates: true,
  splitKeeps: 'factors',
  attentionKernels: ['cudnn', 'flash2'],
  compiles: true,
  eagerTraffic: 2,
  overlapsTensorParallel: true,
  reducesWhole: 'never',
  tensorBusShare: 1,
  fusesGradAccumulation: true,
  zeroStage: { value: 1, reason: sentence`Megatron-LM's distributed optimizer` },
  gradAccumulationFp32: { value: true, reason: sentence`Megatron-LM accumulates in fp32` },
};

/** Habits of runtimes that train plain modules of PyTorch. */
const pytorch = {
  gatedWidths: 4,
  keepsNarrow: false,
  sends: 'asynchronous',
  sendsWhole: false,
  rankOrder: 'tp-cp-ep-dp-pp',
  postValidates: false,
  splitKeeps: 'graph',
  overlapsTensorParallel: false,
  reducesWhole: 'never',
  tensorBusShare: 1,
  fusesGradAccumulation: false,
} as const satisfies Partial<RuntimeProfile>;

const fsdp1: RuntimeProfile = {
  ...pytorch,
  id: 'fsdp1',
  name: 'PyTorch FSDP1',
  shortName: 'FSDP1',
  attentionKernels: ['flash1', 'flash2', 'cudnn'],
  compiles: false,
  eagerTraffic: 2.2,
  zeroStage: { value: 3, reason: sentence`FSDP shards everything` },
  gradAccumulationFp32: { value: false, reason: sentence`FSDP keeps and sums gradients in the training precision` },
};

const profiles: Readonly<Record<Runtime, RuntimeProfile>> = {
  megatron,
  fsdp1,
  // torch/nn/parallel/distributed.py of PyTorch 2.6: buckets are all-reduced while backward runs
  ddp: {
    ...fsdp1,
    id: 'ddp',
    name: 'PyTorch DDP',
    shortName: 'DDP',
    attentionKernels: ['flash2', 'flash1', 'cudnn'],
    overlapsGradReduce: true,
    hasBucketsOfDdp: true,
    zeroStage: { value: 0, reason: sentence`DDP shards nothing` },
    gradAccumulationFp32: { value: true, reason: sentence`gradients have the type of the weights, fp32 under autocast` },
  },
  torchtitan: {
    ...pytorch,
    id: 'torchtitan',
    name: 'TorchTitan (FSDP2)',
    shortName: 'TorchTitan',
    attentionKernels: ['flash2', 'cudnn'],
    compiles: true,
    eagerTraffic: 3,
    zeroStage: { value: 3, reason: sentence`FSDP2 shards everything` },
    gradAccumulationFp32: { value: true, reason: sentence`TorchTitan reduces in fp32` },
  },
  deepspeed: {
    ...pytorch,
    id: 'deepspeed',
    name: 'DeepSpeed',
    shortName: 'DeepSpeed',
    splitKeeps: 'factors',
    attentionKernels: ['flash2', 'flash1', 'cudnn'],
    compiles: true,
    eagerTraffic: 2,
    reducesWhole: 'on pipelines',
    tensorBusShare: 0.5,
    zeroStage: { value: 0, reason: sentence`DeepSpeed's default without zero_optimization.stage` },
    gradAccumulationFp32: { value: false, reason: sentence`DeepSpeed keeps gradients in the training precision` },
  },
  // huggingface/nanotron at 2411b022, src/nanotron; each figure is counted in docs/model/time.md, nanotron
  nanotron: {
    ...megatron,
    id: 'nanotron',
    name: 'nanotron',
    shortName: 'nanotron',
    gatedWidths: 4,
    sends: 'blocking',
    // p2p.py: shape messages before each of two tensors forward (hidden states and mask), of one backward: 6 and 3
    awaitedMessages: 4.5,
    postValidates: false,
    splitKeeps: 'graph',
    attentionKernels: ['flash2', 'cudnn'],
    compiles: false,
    // its products in FP8 are its own (src/nanotron/fp8), not Transformer Engine's
    keepsNarrow: false,
    // models/llama.py: 200 n h bytes of element-wise work in a layer for 96 of fused kernels
    eagerTraffic: 2.1,
    // tp_linear_async_communication
    overlapsTensorParallel: 'if asked',
    // tp_recompute_allgather, true by default
    gathersInputAgain: true,
    // DDP with get_fp32_accum_hook, which has no scatter for ZeRO; releases with ZeRO 1 have no DDP (sync_gradients_across_dp)
    overlapsGradReduce: true,
    hasBucketsOfDdp: true,
    shardsWithoutDdp: true,
    reducesWhole: 'always',
    fusesGradAccumulation: false,
    zeroStage: { value: 0, reason: sentence`nanotron's examples set zero_stage to 0` },
    gradAccumulationFp32: { value: true, reason: sentence`as nanotron's examples set accumulate_grad_in_fp32` },
    unfusedLoss: sentence`nanotron computes it in fp32, kernel by kernel`,
    // test/golden/data/drawn.json
    publishedOverPredicted: [1.3, 4],
  },
  terapipe: {
    ...megatron,
    id: 'terapipe',
    name: "TeraPipe's own (Megatron-LM of 2020)",
    shortName: "TeraPipe's runtime",
    sends: 'blocking',
    compiles: false,
    // transformer_models.py: the mask is added in place (4), the softmax goes to fp32 (6), and back (6); backward the cast and the softmax
    softmaxBytes: { forward: 16, backward: 16 },
    // Fig. 3 of the paper: the forward of a layer, 13 operations, never takes less than 1.45 ms
    forwardFloors: 1.26,
    // _AssignCache: the gradient of a slice's keys is padded to the whole cache (1), added to that of later slices (3) and cloned (2)
    cachePasses: 6,
    sendsWhole: true,
    rankOrder: 'tp-cp-ep-pp-dp',
    postValidates: false,
    fusesGradAccumulation: false,
    zeroStage: { value: 0, reason: sentence`TeraPipe's runtime has no ZeRO` },
    gradAccumulationFp32: { value: false, reason: sentence`TeraPipe's runtime sums gradients in the training precision` },
  },
};

/** The profile that training settings name; Megatron-LM with Transformer Engine unless set otherwise. */
export function runtimeProfile({ runtime }: { readonly runtime?: Runtime }): RuntimeProfile {
  return profiles[runtime ?? 'megatron'];
}

/** Whether models are those of Transformers, unless they are custom: a Trainer's under DeepSpeed or DDP. */
export function runsTransformers({ runtime }: { readonly runtime?: Runtime }): boolean {
  return runtime === 'deepspeed' || runtime === 'ddp';
}

/** Whether sequence parallelism is on where no file sets it, and why. */
export function usualSequenceParallel(
  training: { readonly runtime?: Runtime; readonly sequenceLength: number; readonly decoderSequenceLength?: number },
  tensor: number,
): { readonly value: boolean; readonly reason: Sentence } {
  if (tensor === 1) return { value: false, reason: sentence`needs tensor parallelism` };
  if (training.runtime === 'terapipe') return { value: false, reason: sentence`TeraPipe's runtime has no sequence parallelism` };
  if (!splitsSequences(training, tensor)) return { value: false, reason: sentence`it needs sequences that the tensor size divides` };
  return { value: true, reason: sentence`usual with tensor parallelism` };
}

/** Whether sequence parallelism of this size divides the sequences. */
export function splitsSequences(
  { sequenceLength, decoderSequenceLength = 0 }: { readonly sequenceLength: number; readonly decoderSequenceLength?: number },
  tensor: number,
): boolean {
  return sequenceLength % tensor === 0 && decoderSequenceLength % tensor === 0;
}

/** In which order the ranks of a run are numbered: as its layout sets it, else as its runtime does. */
export function resolveRankOrder({
  layout,
  training,
}: {
  readonly layout: { readonly order?: RankOrder };
  readonly training: { readonly runtime?: Runtime };
}): RankOrder {
  return layout.order ?? runtimeProfile(training).rankOrder;
}

/**
 * Whether gradients add up in fp32 where no file sets it, and why. DeepSpeed trains bf16 without ZeRO with its BF16_Optimizer
 * (`get_data_types` of deepspeed/runtime/engine.py).
 */
export function usualAccumulation(
  { id, gradAccumulationFp32 }: RuntimeProfile,
  { precision, zeroStage }: { readonly precision: string; readonly zeroStage: number },
): RuntimeProfile['gradAccumulationFp32'] {
  return id === 'deepspeed' && precision === 'bf16' && zeroStage === 0
    ? { value: true, reason: sentence`without ZeRO, DeepSpeed sums bf16 gradients in fp32` }
    : gradAccumulationFp32;
}

/** Whether weight-gradient GEMMs add to the main gradients themselves: as the file sets it, else as the runtime does. */
export function fusesGradAccumulation(training: { readonly runtime?: Runtime; readonly gradAccumulationFusion?: boolean }): boolean {
  return training.gradAccumulationFusion ?? runtimeProfile(training).fusesGradAccumulation;
}

/**
 * Whether further chunks of a stage pay for their exchanges. Megatron-LM hides them since `overlap_p2p_comm` is on by default: in every
 * release that goes by NVIDIA's numbers, and so on GPUs that none before 2025 runs on (those that know NVFP4, which want CUDA 12.8); not
 * elsewhere where none is named, as rates were measured before.
 */
export function paysForChunks(
  training: { readonly runtime?: Runtime; readonly runtimeVersion?: string },
  { peakTflops }: { readonly peakTflops: { readonly nvfp4?: number } },
): boolean {
  const hides = training.runtimeVersion !== undefined || peakTflops.nvfp4 !== undefined;
  return runtimeProfile(training).sends === 'exchange' && !hides;
}

/**
 * Whether the cross entropy is one kernel where no file sets it, and why. TorchTitan compiles it since 0.1 (2025-06; 2025-02 by its dates),
 * where it compiles at all; llm-foundry, whose runs FSDP1's habits were measured on, takes FlashAttention's (`loss_fn` of
 * llmfoundry/models/mpt/modeling_mpt.py).
 */
export function usualLoss({
  runtime,
  modelType,
  runtimeVersion = '',
  compile = false,
}: {
  readonly runtime: Runtime;
  /** As a config of Transformers names it, or `custom`. */
  readonly modelType: string;
  readonly runtimeVersion?: string | undefined;
  readonly compile?: boolean | undefined;
}): { readonly value: boolean; readonly reason: Sentence } {
  const { unfusedLoss } = runtimeProfile({ runtime });
  if (unfusedLoss !== undefined) return { value: false, reason: unfusedLoss };
  if (runtime === 'fsdp1') return { value: true, reason: sentence`llm-foundry's default loss_fn, fused_crossentropy` };
  if (runsTransformers({ runtime }) && modelType !== 'custom') return { value: false, reason: sentence`Transformers computes it in fp32` };
  if (runtime !== 'torchtitan') return { value: true, reason: sentence`usual practice` };
  const [major = 0, minor = 0] = runtimeVersion.split(/[.-]/).map(Number);
  const since = major === 0 ? minor >= 1 : 100 * (major % 2000) + minor >= 2502;
  if (compile && since) return { value: true, reason: sentence`TorchTitan compiles it since 0.1` };
  return {
    value: false,
    reason: compile ? sentence`TorchTitan did not compile it before 0.1` : sentence`TorchTitan compiles it only with the model`,
  };
}

/**
 * In which order ranks are numbered, the kinds of parallelism whose ranks lie next to each other first, as Megatron-LM writes it
 * (`RankGenerator` of megatron/core/parallel_state.py): replicas before stages, or the stages of a pipeline before replicas
 * (`--use-tp-pp-dp-mapping`, TeraPipe's runtime).
 */
export const rankOrders = ['tp-cp-ep-dp-pp', 'tp-cp-ep-pp-dp'] as const;
export type RankOrder = (typeof rankOrders)[number];

/** @param stagesBeforeReplicas as `--use-tp-pp-dp-mapping` sets. */
export function rankOrderBy(stagesBeforeReplicas: boolean): RankOrder {
  return stagesBeforeReplicas ? 'tp-cp-ep-pp-dp' : 'tp-cp-ep-dp-pp';
}

/** Whether the runtime shards by PyTorch's FSDP: weights, too, whatever `zeroStage` is. */
export function isFsdp({ runtime }: { readonly runtime?: Runtime }): boolean {
  return runtime === 'torchtitan' || runtime === 'fsdp1';
}

/** Whether the weights that the optimizer updates are the model's own, in fp32, and 16-bit ones are made of them for each pass. */
export function keepsFp32Weights(training: { readonly runtime?: Runtime }): boolean {
  return isFsdp(training) || training.runtime === 'ddp';
}
