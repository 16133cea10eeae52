import type { Finding } from '../findings';
import type { FusedAttentionKernel } from '../domain/attention-kernel';
import type { Located, Place, TextRange } from '../domain/located';
import type { RopeScaling, StateKind } from '../domain/model';
import type { Fp8Recipe } from '../domain/number-formats';
import type { MasterBytes } from '../domain/optimizer';
import type { SplitRule } from '../domain/sequence-split';
import type { CudaGraphScope, ExpertDispatcher } from '../domain/request';
import type { Runtime } from '../domain/runtime';
import type { GivenAdapters } from './adapters';
import type { CapabilitiesWith } from '../domain/capabilities';
import type { ConfigFormat } from './config-format';
import type { Purpose } from './purpose';

/**
 * What any config or launcher file can express, in one vocabulary. Lengths in tokens; sizes as the file means them. A key is absent where
 * the file leaves it open.
 */
export interface FactValues {
  // model
  readonly modelType: string;
  /** TorchTitan and Bridge name a flavour whose sizes live in Python. */
  readonly flavor: string;
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  /** Width of one matrix of the dense feed-forward. */
  readonly ffn: number;
  readonly gatedMlp: boolean;
  readonly vocab: number;
  /** The vocabulary is padded to a multiple of this times the tensor size. */
  readonly vocabDivisor: number;
  readonly tiedEmbeddings: boolean;
  readonly maxPositions: number;
  readonly positions: 'learned' | 'rotary' | 'none';
  readonly rotaryBase: number;
  /** Share of a head that is rotated. */
  readonly rotaryShare: number;
  readonly ropeScaling: RopeScaling;
  readonly norm: 'layernorm' | 'rmsnorm';
  readonly normEpsilon: number;
  readonly bias: boolean;
  readonly qkvBias: boolean;
  readonly qkNorm: boolean;
  readonly experts: number;
  /** Experts that are not counted here: their number by layer where it differs, or `residual`. */
  readonly unlikeExperts: string;
  readonly activeExperts: number;
  readonly expertFfn: number;
  readonly sharedExperts: number;
  /** Width of the shared experts together, where the file gives that. */
  readonly sharedExpertFfn: number;
  readonly firstDenseLayers: number;
  /** Groups of experts, and of how many a token may visit some. */
  readonly routerGroups: number;
  readonly routerGroupTopk: number;
  /** Layers without experts where the file lists them, from 0. */
  readonly denseLayers: readonly number[];
  /** As written: a period, or a Python list expression such as `([0]*3+[1]*11)`. */
  readonly moeLayerFrequency: string;
  readonly decoderSparseStep: number;
  /** Multi-head latent attention and its ranks. */
  readonly latentAttention: boolean;
  readonly qLoraRank: number;
  readonly kvLoraRank: number;
  readonly qkNopeHeadDim: number;
  readonly qkRopeHeadDim: number;
  readonly vHeadDim: number;
  readonly mtpLayers: number;
  readonly slidingWindow: number;
  readonly slidingWindowActive: boolean;
  /** Megatron's `--window-attn-skip-freq`: all layers but every n-th have the window, or a list of ones and zeros; as written. */
  readonly windowFrequency: string;
  /**
   * Kind of every layer in order, in HuggingFace's names: `full_attention`, `sliding_attention`, `chunked_attention`, `cross_attention`,
   * `linear_attention`...
   */
  readonly attentionKinds: readonly string[];
  readonly encoderLayers: number;
  readonly decoderLayers: number;
  readonly encoderSequenceLength: number;
  readonly decoderSequenceLength: number;
  /** Layer kinds of a hybrid model, as written: letters of Megatron-LM, one a layer. */
  readonly hybridPattern: string;
  /** Megatron's `--hybrid-attention-ratio` and `--hybrid-mlp-ratio`: shares of the layers that attend, that are a feed-forward network. */
  readonly hybridAttentionRatio: number;
  readonly hybridMlpRatio: number;
  /** Megatron's `--linear-attention-freq`: all layers but every n-th have linear attention, or a list of ones and zeros; as written. */
  readonly linearAttentionFrequency: string;
  /** The output of attention is weighed by a gate. */
  readonly outputGate: boolean;
  /** Width that tokens are compressed to for the experts. */
  readonly expertLatent: number;
  /** What the layers with a state have, and its sizes: see `StateMixer`. */
  readonly stateKind: StateKind;
  readonly stateHeads: number;
  readonly stateHeadDim: number;
  readonly stateDim: number;
  readonly stateGroups: number;
  readonly stateStepRank: number;
  readonly stateConvolution: number;
  // layout
  readonly tensor: number;
  /** Tensor ranks may take unequal shares of heads and widths. */
  readonly unevenTensor: boolean;
  readonly pipeline: number;
  readonly data: number;
  readonly context: number;
  readonly expert: number;
  readonly expertTensor: number;
  readonly virtualStages: number;
  readonly layersPerVirtualStage: number;
  /** Megatron's `--microbatch-group-size-per-virtual-pipeline-stage`. */
  readonly microBatchGroup: number;
  /** Megatron's `--pipeline-model-parallel-layout`, as written. */
  readonly pipelineLayout: string;
  /**
   * Megatron's `--pipeline-model-parallel-split-rank`: of the stages of an encoder-decoder model, this many first ones are the encoder's.
   */
  readonly splitRank: number;
  readonly firstStageLayers: number;
  readonly lastStageLayers: number;
  /** TorchTitan: layers that the embedding on the first stage and the head on the last one count as. */
  readonly firstStageLessLayers: number;
  readonly lastStageLessLayers: number;
  /** TorchTitan: layers of each (virtual) stage. */
  readonly layersPerStage: number;
  /** Stages over all ranks, virtual ones included, where the file lists them or where they are split. */
  readonly totalStages: number;
  /**
   * Megatron's `--account-for-embedding-in-pipeline-split` and `--account-for-loss-in-pipeline-split`: the embedding, the head counts as
   * one layer.
   */
  readonly embeddingAsLayer: boolean;
  readonly lossAsLayer: boolean;
  /** Megatron's `--cp-comm-type`: p2p, all_gather, a2a, a2a+p2p, or several, one a layer; `ulysses` where a launcher has that alone. */
  readonly contextCommunication: string;
  /** Megatron's `--hierarchical-context-parallel-sizes`: ranks of the all-to-all within, of the ring around. */
  readonly contextLevels: readonly number[];
  /** Megatron-DeepSpeed's `--no-pipeline-parallel`: false where the model is not a pipeline module. */
  readonly pipelineModule: boolean;
  readonly dataReplicate: number;
  /** -1: what is left of the GPUs. */
  readonly dataShard: number;
  // training
  readonly sequenceLength: number;
  readonly microBatch: number;
  readonly globalBatch: number;
  /** TorchTitan: samples that one replica takes in one pass, before pipelining cuts them into micro-batches. */
  readonly localBatch: number;
  /** Micro-batches of one step on each replica. */
  readonly microBatches: number;
  readonly gradientAccumulation: number;
  readonly batchSchedule: string;
  readonly precision: 'fp32' | 'fp16' | 'bf16' | 'fp8' | 'nvfp4';
  /** The other one, where a file turns on both fp16 and bf16, which launchers refuse. */
  readonly secondPrecision: 'fp16' | 'bf16';
  readonly optimizer: string;
  /** Megatron Core's optimizer has types of its own for moments and main weights, given or not. */
  readonly precisionAware: boolean;
  /** Bytes of the optimizer's moments, and of its master weights, by the types that a file gives them. */
  readonly firstMomentBytes: number;
  readonly secondMomentBytes: number;
  readonly masterWeightBytes: MasterBytes;
  /** Of projections (GaLore, APOLLO). */
  readonly optimizerRank: number;
  readonly distributedOptimizer: boolean;
  readonly zeroStage: number;
  readonly recomputeGranularity: string;
  readonly recomputeMethod: string;
  readonly recomputeLayers: number;
  readonly recomputeModules: readonly string[];
  /** TorchTitan's `selective_ac_option`: `op`, or a layer period. */
  readonly recomputeOption: string;
  /** TorchTitan: layers are compiled, and the cross entropy is. */
  readonly compile: boolean;
  readonly fusedCrossEntropy: boolean;
  /** Gradients add up in fp32. */
  readonly gradAccumulationFp32: boolean;
  /** Weight-gradient GEMMs add to the main gradients themselves. */
  readonly gradAccumulationFusion: boolean;
  /** sail-sg: micro-batches whose backward a stage may leave pending. */
  readonly maxPendingBackward: number;
  /** DeepSpeed: the file has settings for activation checkpointing; whether it runs is up to the model's code. */
  readonly activationCheckpointing: boolean;
  readonly sequenceParallel: boolean;
  readonly attention: 'flash' | 'unfused';
  /** What computes fused attention, where the file names it. */
  readonly attentionKernel: FusedAttentionKernel;
  /** Megatron: activations of whole layers go to the host; of how many. */
  readonly cpuOffloading: boolean;
  readonly activationOffloadLayers: number;
  /** DeepSpeed: what recompute keeps goes to the host. */
  readonly cpuCheckpointing: boolean;
  /** Device that optimizer states or parameters are kept on instead of the GPU (`cpu`, `nvme`): DeepSpeed's ZeRO, TorchTitan's FSDP. */
  readonly offloadOptimizer: string;
  readonly offloadParameters: string;
  readonly variableSequenceLengths: boolean;
  readonly overlapP2p: boolean;
  /** Ranks of a pipeline lie next to each other, before replicas (Megatron-LM's `--use-tp-pp-dp-mapping`). */
  readonly stagesBeforeReplicas: boolean;
  /** Gradient reduction overlaps with backward, weight all-gather with forward. */
  readonly overlapGradReduce: boolean;
  readonly overlapParamGather: boolean;
  /** How FP8 is scaled; absent: as its runtime does by default. */
  readonly fp8Recipe: Fp8Recipe;
  /** The layers' weights are kept only in FP8. */
  readonly fp8ParamGather: boolean;
  /** Shares that are dropped out of hidden states and of attention's probabilities. */
  readonly hiddenDropout: number;
  readonly attentionDropout: number;
  /** Tensor-parallel collectives overlap with their GEMMs. */
  readonly asyncTensorParallel: boolean;
  readonly cudaGraphs: CudaGraphScope;
  readonly expertDispatcher: ExpertDispatcher;
  readonly overlapExpertComm: boolean;
  readonly schedule: string;
  readonly scheduleCsv: string;
  /** Id of the runtime that cuts sequences (`slice-runtimes`), at the flag that sets it, and into how many slices. */
  readonly sliceRuntime: string;
  readonly slices: number;
  readonly sliceRule: SplitRule | 'list';
  /** Tokens of each slice, where they are listed. */
  readonly sliceLengths: readonly number[];
  /** Flags that this runtime needs for slices and the file does not give, as they are written. */
  readonly sliceNeeds: readonly string[];
  /** MindSpeed-LLM's `--num-layer-list`: layers of each stage. */
  readonly stageLayers: readonly number[];
  /** MindSpeed-LLM's `--noop-layers`: of the layers that are assigned to stages, those that are not built, from 0. */
  readonly emptyLayers: readonly number[];
  /** DeepSpeed's and GPT-NeoX's way to cut layers into stages. */
  readonly partitionMethod: string;
  // cluster
  readonly nodes: number;
  readonly gpusPerNode: number;
  /** GPUs in all, where the file sets it itself. */
  readonly world: number;
}

export type FactName = keyof FactValues;

/** A value with where it is (`source.place` is exactly the value's text, so that a fix can replace it). */
export interface Fact<T> extends Located<T> {
  /**
   * What to cut out to remove the setting with its key or flag, so that the rest stays well-formed: a YAML line with its newline, ` --flag
   * value` with the space before it.
   */
  readonly whole?: TextRange;
  /** The key or flag as this file writes it: `--tensor-model-parallel-size`, `parallelism.tensor_parallel_degree`. */
  readonly name?: string;
  /** A condition that are known only at run time decides whether it is so. */
  readonly isConditional?: true;
}

/** Everything one file (or one run's files, joined) sets. */
export type Facts = { readonly [K in FactName]?: Fact<FactValues[K]> };

/** What a launcher can run and its file can express. */
export type Capabilities = CapabilitiesWith<Partial<FactValues>>;

/** Traits of a launcher in which the programs of its family differ. */
export interface ProgramTraits {
  readonly runtime?: Runtime;
  readonly refusesUnevenLayers?: boolean;
  readonly ignoresLoneRecompute?: boolean;
  /** The flag that recomputes whole layers; absent: Megatron Core's granularity. */
  readonly wholeRecomputeFlag?: string;
}

/** One of several programs that take the same kind of file: a fork of Megatron-LM, a trainer of Hugging Face's family. */
export interface Program {
  readonly name: string;
  /** In what it differs from the launcher of its format. */
  readonly traits: ProgramTraits;
  /** What it can run; absent: as the launcher of its format. */
  readonly capabilities?: Capabilities;
}

/** A launcher's file as one of the readers understands it. */
export interface LauncherFile {
  readonly file: string;
  readonly format: ConfigFormat;
  readonly text: string;
  /** Where to put a remark about the whole run: its first fact. */
  readonly place: Place;
  readonly facts: Facts;
  /** What the reader noticed: unresolved variables, placeholders, sizes that live elsewhere. Severity information unless it will fail. */
  readonly remarks: readonly Finding[];
  /** Paths this file names that hold the model (`--model config.json`, `hf_assets_path`), as written and located. */
  readonly modelFiles: readonly Located<string>[];
  /** The program of its family that it starts, where there are several. */
  readonly program?: Program;
  /** What the program does; absent: it trains. */
  readonly purpose?: Purpose;
  /** Settings that may change what is planned and that are left out: unknown ones, and those that are not planned. */
  readonly leftOut?: readonly string[];
  /** The run trains only adapters: gradients and optimizer states are those of few weights. */
  readonly adapters?: GivenAdapters;
  /** Settings that another script completes and starts: what is missing here is no mistake. */
  readonly isPart?: true;
  /** `${NAME}` placeholders of a template that stand for values; a template is no error. */
  readonly placeholders: readonly string[];
}

/** A reader: pure, synchronous, total. @throws ExpectedError with a place for text that is not of its syntax at all. */
export type LauncherReader = (file: string, text: string) => LauncherFile;
