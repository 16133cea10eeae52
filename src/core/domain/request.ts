import type { Adapter } from './adapter';
import type { Fp8Recipe, NarrowFormat } from './number-formats';
import type { ClusterSpec, Precision } from './cluster';
import type { CapabilitiesWith } from './capabilities';
import type { CostTable } from './slice-cost';
import type { CostConstants } from './cost-constants';
import type { MasterBytes, Optimizer } from './optimizer';
import type { FusedAttentionKernel } from './attention-kernel';
import type { Runtime } from './runtime';
import type { Recompute } from './recompute';
import type { ModelSpec } from './model';
import type { NamedProfile } from './profile';
import type { RankOrder } from './rank-order';
import type { ScheduleName } from './schedule-names';
import type { Scheme } from './scheme';
import type { Sentence } from '../sentence';
import type { SequenceSplit } from './sequence-split';

/** What is trained and how. */
export interface TrainingSpec extends Recompute {
  /** Of an encoder-decoder model: of the source, which the encoder reads. */
  readonly sequenceLength: number;
  /** Of the target, which the decoder predicts; absent for other models. */
  readonly decoderSequenceLength?: number;
  /** Sequences of one micro-batch of 1F1B and GPipe. TeraPipe chooses its own batch slices. */
  readonly microBatch: number;
  /** Sequences of one step over all replicas. */
  readonly globalBatch: number;
  readonly precision: Precision;
  /**
   * Format that the inputs of the layers' weight products are cast to (Transformer Engine's FP8 and NVFP4); attention, router, head and all
   * else stay in `precision`. Absent: they too.
   */
  readonly gemmPrecision?: NarrowFormat;
  /** How FP8 inputs are scaled (Transformer Engine, torchao); absent: one scale a tensor. */
  readonly fp8Recipe?: Fp8Recipe;
  /**
   * The layers' weights are kept only in FP8, in addition to the optimizer's master weights (Megatron-LM's `--fp8-param-gather`); absent:
   * in the training precision, with copies in FP8.
   */
  readonly fp8ParamGather?: boolean;
  /**
   * Copies of a weight in a narrow format: along rows and along columns, or one where the GPU multiplies it either way round. By the GPU;
   * absent: 2.
   */
  readonly narrowCopies?: 1 | 2;
  /** Low-rank adapters are trained, the weights are frozen; absent: all weights are. */
  readonly adapter?: Adapter;
  readonly optimizer: Optimizer;
  /**
   * Bytes a parameter of the optimizer's states, where a file gives their types (Megatron-LM's `--exp-avg-dtype`, DeepSpeed's
   * `bf16_optimizer_states`); absent: as the optimizer keeps them.
   */
  readonly optimizerStateBytes?: number;
  /** Bytes a parameter of the master copy of 16-bit weights; 0: the optimizer updates those weights. Absent: 4. */
  readonly masterWeightBytes?: MasterBytes;
  /** Rows of the projections of a low-rank optimizer (GaLore, APOLLO); absent: 128. */
  readonly optimizerRank?: number;
  /** 0 none, 1 optimizer state (Megatron's distributed optimizer), 2 gradients too, 3 weights too. */
  readonly zeroStage: 0 | 1 | 2 | 3;
  /** Framework whose habits memory is counted by; absent: Megatron-LM with Transformer Engine. */
  readonly runtime?: Runtime;
  /** Its release as its makers number it, `26.06`; absent: the one that the constants were measured on. */
  readonly runtimeVersion?: string;
  /** Whether element-wise operations are fused by `torch.compile`; absent: as is usual in the runtime. */
  readonly compile?: boolean;
  /**
   * How context parallelism exchanges: heads for tokens by all-to-all, or keys and values round a ring (Megatron-LM's p2p); absent:
   * all-to-all.
   */
  readonly contextParallelComm?: 'all-to-all' | 'ring';
  /** The optimizer and its state are on the host; absent: on the GPU. */
  readonly offloadOptimizer?: boolean;
  /**
   * Layers of each chunk, its first ones, whose activations wait in the host's memory between forward and backward (Megatron-LM's
   * `cpu_offloading_num_layers`, of Transformer Engine; DeepSpeed's `cpu_checkpointing`, of all that recompute keeps); absent: none.
   */
  readonly activationOffloadLayers?: number;
  /** Gradient reduction overlaps with the last backward, weight all-gather with the first forward; absent: after and before them. */
  readonly overlapGradReduce?: boolean;
  readonly overlapParamGather?: boolean;
  readonly attention: 'flash' | 'unfused';
  /** What computes fused attention; absent: what the runtime uses on the GPU. */
  readonly attentionKernel?: FusedAttentionKernel;
  readonly sequenceParallel: boolean;
  /**
   * Tensor-parallel collectives are cut up and overlap with their GEMMs (PyTorch's asynchronous tensor parallelism, Transformer Engine's
   * user buffers); absent: one after the other.
   */
  readonly asyncTensorParallel?: boolean;
  /** What is recorded as CUDA graphs: parts of each layer except for the experts, or a whole iteration; absent: nothing. */
  readonly cudaGraphs?: CudaGraphScope;
  /**
   * What brings tokens to their experts: an all-to-all of a copy for each expert, or kernels that send a token once to each rank and node
   * (DeepEP, HybridEP); absent: all-to-all.
   */
  readonly expertDispatcher?: ExpertDispatcher;
  /**
   * That exchange overlaps with the compute of another micro-batch (Megatron-LM's `--overlap-moe-expert-parallel-comm`); absent:
   * separately.
   */
  readonly overlapExpertComm?: boolean;
  readonly fusedCrossEntropy: boolean;
  readonly dropout: boolean;
  /** Whether main gradients accumulate in fp32 (Megatron) or in the training precision. */
  readonly gradAccumulationFp32: boolean;
  /** Weight-gradient GEMMs add to the main gradients (Megatron's `gradient_accumulation_fusion`); absent: as the runtime does. */
  readonly gradAccumulationFusion?: boolean;
  /**
   * Of planned zero-bubble orders: micro-batches whose backward a stage may leave pending, as if each were as large as on the larger of the
   * first two stages (sail-sg's `--zero-bubble-max-pending-backward`: as many as stages is its ZB-1p, twice as many ZB-2p); absent: as many
   * as fit the GPU.
   */
  readonly maxPendingBackward?: number;
  /**
   * Documents of a step, where they are not all of `sequenceLength`: lengths in tokens with how often they come. A global batch has as many
   * documents as `globalBatch` says.
   */
  readonly lengths?: readonly (readonly [tokens: number, count: number])[];
}

export const cudaGraphScopes = ['layers', 'iteration'] as const;
export type CudaGraphScope = (typeof cudaGraphScopes)[number];
export const expertDispatchers = ['alltoall', 'deepep', 'hybridep'] as const;
export type ExpertDispatcher = (typeof expertDispatchers)[number];

/** Tokens of one sequence, source and target together. */
export function sequenceTokens({
  sequenceLength,
  decoderSequenceLength = 0,
}: Pick<TrainingSpec, 'sequenceLength' | 'decoderSequenceLength'>): number {
  return sequenceLength + decoderSequenceLength;
}

/** GPUs that a layout uses. */
export function gpusUsed({ tensor, pipeline, data, context }: Pick<Layout, 'tensor' | 'pipeline' | 'data' | 'context'>): number {
  return tensor * pipeline * data * context;
}

/** Sizes of the parallel groups. */
export interface Layout {
  readonly tensor: number;
  readonly pipeline: number;
  readonly data: number;
  readonly context: number;
  readonly expert: number;
  /** Ranks that share each expert (Megatron-LM's expert tensor parallel size); absent: as `tensor`. */
  readonly expertTensor?: number;
  readonly virtualStages: number;
  /** In which order ranks are numbered, and so which groups lie inside a node; absent: as the runtime does. */
  readonly order?: RankOrder;
  /**
   * Layers of each stage, or with virtual stages of each chunk, in the order of the model: `pipeline * virtualStages` entries that add up
   * to the model's layers. Schedules with chunks of their own on a layout without virtual stages divide those of a stage over its chunks.
   * Absent: as equal as can be.
   */
  readonly stageLayers?: readonly number[];
  /** On which of the cluster's groups, counted from 0, each stage is: there where the cluster has groups, one entry a stage. */
  readonly stageNodeGroups?: readonly number[];
}

/** About as many units a sequence is cut into when the unit is not given. */
const defaultUnits = 256;

/** Tokens that slice lengths are multiples of when no file sets it: a multiple of 8 that cuts the sequence in about 256. */
export function defaultUnit(sequenceLength: number): number {
  return Math.max(8, 8 * Math.ceil(sequenceLength / defaultUnits / 8));
}

interface SlicingSpec {
  /** Slice lengths are multiples of this many tokens; null: chosen. */
  readonly unit: number | null;
  /** A scheme to predict as it is instead of solving for one. */
  readonly scheme: Scheme | null;
  /** How a launcher's flags gave `scheme`; absent: they did not. */
  readonly split?: SequenceSplit;
}

/** One choice that no file made, shown with the plan. */
export interface Assumption {
  /** As in terapipe.json: `training.microBatch`. */
  readonly key: string;
  readonly value: string;
  readonly reason: Sentence;
  /** Why it was assumed first, where it is kept while the config is edited. */
  readonly firstReason?: Sentence;
}

/**
 * The assumptions that people see. Of the model's, which its family fills in, only a missing vocabulary, because embedding and head are
 * then not counted.
 */
export function reportedAssumptions(assumptions: readonly Assumption[]): Assumption[] {
  return assumptions.filter(({ key, value }) => !key.startsWith('model.') || (key === 'model.vocab' && value === '0'));
}

/** What measured steps made of the constants of the machine. */
export interface Calibration {
  /** The run's own step, as measured and as it was predicted before; null: none was measured. */
  readonly iterationMs: number | null;
  readonly predictedMs: number | null;
  /** GEMM efficiency of the GPU before and since. */
  readonly before: number;
  readonly gemmEfficiency: number;
  readonly constants: readonly CalibratedConstant[];
  /** Of other runs on the machine. */
  readonly steps: readonly CalibratedStep[];
  /** Half width that holds 80 % of other runs on the machine, percent. */
  readonly errorPercent: number;
}

/** A constant of the machine, as assumed and as the measured steps have it; null: the GPU has none. */
interface CalibratedConstant {
  /** As in terapipe.json. */
  readonly key: string;
  readonly before: number | null;
  readonly after: number | null;
  /** Standard deviation of its logarithm after the steps of other runs. */
  readonly spread: number;
}

/** A measured step of another run, as predicted before and since. */
export interface CalibratedStep {
  readonly iterationMs: number;
  readonly predictedMs: number;
  readonly calibratedMs: number;
}

/** Everything `plan()` needs, resolved to numbers. Plain data: crosses threads. */
export interface PlanRequest {
  readonly title: string;
  readonly model: ModelSpec;
  readonly cluster: ClusterSpec;
  readonly training: TrainingSpec;
  readonly layout: Layout;
  /** Fixed by the user, or null: the best that fits is chosen. */
  readonly schedule: ScheduleName | null;
  /** No file gives `layout.virtualStages`: a plan chooses them with the schedule, and its request has those of what it chose. */
  readonly freeVirtualStages?: true;
  /** Schedules to choose from where `schedule` is null, and to search: those asked for, else those that the runtime runs. Absent: any. */
  readonly runs?: readonly ScheduleName[];
  /** The schedule that a launcher's file names: this launcher runs it. */
  readonly launches?: ScheduleName;
  /** What the launcher, or the runtime that the files name, can run and express. Absent: nothing is known of it. */
  readonly capabilities?: CapabilitiesWith;
  readonly slicing: SlicingSpec;
  /** Constants of the analytic model, all shown and editable. */
  readonly constants: CostConstants;
  /** Measured slice times; when present they replace the analytic slice cost. */
  readonly costTable: CostTable | null;
  /** A profile that matches model, layout and GPU; its measured layer times replace the analytic ones. */
  readonly profile: NamedProfile | null;
  /** Measured steps that corrected the constants of the machine, and what those were before and are now. */
  readonly calibration?: Calibration;
  /** Settings of the files that are left out, which widens the error bar. */
  readonly leftOut?: readonly string[];
  /** What no file set and was filled in; passed through to be shown with the plan. */
  readonly assumptions: readonly Assumption[];
}
