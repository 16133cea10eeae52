import { searchKeys, type SearchKey } from './layout-choices';
import { sentence, type Sentence } from '../sentence';

/** What sets a choice of a launcher's run: its file; its script, command line or another of its files; nothing, as it cannot run it. */
export type SetBy = 'file' | 'elsewhere' | 'nobody';

/** Sizes of a run; a launcher refuses some combinations. */
export type RefusedSize = 'tensor' | 'pipeline' | 'context' | 'expert' | 'virtualStages' | 'zeroStage';
export type RefusedSizes = Readonly<Partial<Record<RefusedSize, number>>>;

/** What a model has that some sizes do not go with. */
export interface RefusedModel {
  readonly tiedEmbeddings: boolean;
  /** Null or false: it has none. */
  readonly experts: object | boolean | null;
}

/** The rules of refusals, by their codes. */
export type RefusalCode = 'zero-with-pp' | 'zero-with-tp' | 'zero-with-experts' | 'tied-with-pp' | 'vpp-needs-overlap-or-pp3';

/** Sizes that a launcher refuses together, or only with some models. */
export interface Refusal {
  readonly code: RefusalCode;
  /** It refuses runs in which each of these is at least as large; the first is the one to make smaller. */
  readonly atLeast: RefusedSizes;
  /** And none of these larger. */
  readonly atMost?: RefusedSizes;
  /** Only of models with it. */
  readonly model?: keyof RefusedModel;
  /** Why: the end of a sentence. */
  readonly why: Sentence;
  /** What mends it, where that is not to make one of the sizes smaller. */
  readonly remedy?: Sentence;
  /** It starts them, and they take much longer than is planned: a search leaves them out, and the finding is a warning. */
  readonly isSlow?: true;
  /** The check in its code. */
  readonly source: string;
}

/**
 * Ways to recompute: nothing, attention's core, named modules, a share of each chunk's layers or all of them, and TorchTitan's operations.
 */
export type RecomputeWay = 'none' | 'core' | 'modules' | 'share' | 'full' | 'op';
/** Of launchers that recompute whole layers, or nothing. */
export const wholeLayersOnly: readonly RecomputeWay[] = ['none', 'full'];
/** What such a launcher recomputes with checkpointing on or off, layer by layer, where its file leaves it open. */
export const silentCheckpointing = (isOn: boolean): { recomputeGranularity: string; recomputeMethod: string; recomputeLayers: number } => ({
  recomputeGranularity: isOn ? 'full' : 'none',
  recomputeMethod: 'uniform',
  recomputeLayers: 1,
});
/** Megatron-LM's. */
const megatronRecomputes: readonly RecomputeWay[] = ['none', 'core', 'modules', 'share', 'full'];

/** The ways in which a launcher recomputes; Megatron-LM's where nothing is known. */
export function supportedRecomputes(capabilities: Pick<CapabilitiesWith, 'recomputes'> | undefined): readonly RecomputeWay[] {
  return capabilities?.recomputes ?? megatronRecomputes;
}

/**
 * What a launcher can run and its file can set. `index.ts` of its folder states it, with the version that was read.
 * @typeParam Values what files set, by name.
 */
export interface CapabilitiesWith<Values extends object = object> {
  /** The program, as its makers call it. */
  readonly name: string;
  /** The release or commit that was read, and where. */
  readonly source: string;
  readonly setBy: Readonly<Record<SearchKey, SetBy>>;
  readonly refuses: readonly Refusal[];
  /** How it recomputes; absent: as Megatron-LM does. */
  readonly recomputes?: readonly RecomputeWay[];
  /** It divides layers over stages by its own rule, which no file can change; absent: the file can set the layers of each stage. */
  readonly hasFixedStageLayers?: true;
  /**
   * It trains with code of its own, of which no run is among those that ranges are made from: it is timed as the runtime that it is most
   * like.
   */
  readonly ownTraining?: true;
  /** What it takes where its file leaves it open; sizes of parallel groups are 1. */
  readonly silent: Readonly<Values>;
}

/**
 * What sets each choice: the file those of `file`, something else those of `elsewhere`, nothing the others. The number of replicas and the
 * schedule count as the file's: replicas follow the GPUs, and the runtime decides which schedules there are.
 */
export function setBy(file: readonly SearchKey[], elsewhere: readonly SearchKey[] = []): CapabilitiesWith['setBy'] {
  const setter = (key: SearchKey): SetBy =>
    file.includes(key) || key === 'data' || key === 'schedule' ? 'file' : elsewhere.includes(key) ? 'elsewhere' : 'nobody';
  return Object.fromEntries(searchKeys.map((key) => [key, setter(key)])) as Record<SearchKey, SetBy>;
}

/** Of launchers whose file sets the whole layout. */
export const setsAll = setBy(searchKeys);
/** The same of launchers whose file has no order of ranks. */
export const setsAllExceptOrder = setBy(searchKeys.filter((key) => key !== 'order'));

/** What sets one choice; the file where nothing is known of the launcher. */
export function searchKeySetter(capabilities: Pick<CapabilitiesWith, 'setBy'> | undefined, key: SearchKey): SetBy {
  return capabilities?.setBy[key] ?? 'file';
}

/** Choices that the file of a launcher cannot set: a search keeps them. */
export function notInFile(capabilities: Pick<CapabilitiesWith, 'setBy'>): readonly SearchKey[] {
  return searchKeys.filter((key) => capabilities.setBy[key] !== 'file');
}

/** All combinations that a launcher refuses of these sizes and this model. */
export function matchingRefusals(refuses: readonly Refusal[], sizes: RefusedSizes, model: RefusedModel): readonly Refusal[] {
  return refuses.filter(
    ({ atLeast, atMost = {}, model: trait }) =>
      Object.entries(atLeast).every(([name, least]) => sizeIn(sizes, name as RefusedSize) >= least) &&
      Object.entries(atMost).every(([name, most]) => sizeIn(sizes, name as RefusedSize) <= most) &&
      (trait === undefined || (model[trait] ?? false) !== false),
  );
}

/** A combination that a launcher refuses; undefined: it runs these sizes of this model. */
export function refusedTogether(
  capabilities: Pick<CapabilitiesWith, 'refuses'> | undefined,
  sizes: RefusedSizes,
  model: RefusedModel,
): Refusal | undefined {
  return matchingRefusals(capabilities?.refuses ?? [], sizes, model)[0];
}

/** A size that nothing sets is 1, and ZeRO's stage 0. */
export function sizeIn(sizes: RefusedSizes, name: RefusedSize): number {
  return sizes[name] ?? (name === 'zeroStage' ? 0 : 1);
}

/** `PipelineEngine` asserts a stage below 2. */
export const zeroWithPipeline: Refusal = {
  code: 'zero-with-pp',
  atLeast: { zeroStage: 2, pipeline: 2 },
  why: sentence`it would reduce gradients after every micro-batch, which DeepSpeed's pipeline engine refuses`,
  source: 'deepspeedai/DeepSpeed at edaa7221, deepspeed/runtime/pipe/engine.py 76',
};

/** The same of a model that is a pipeline module with one stage too. */
export const zeroWithModule: Refusal = {
  code: 'zero-with-pp',
  atLeast: { zeroStage: 2 },
  why: sentence`Megatron-DeepSpeed makes a pipeline module of the model, of 1 stage too, and its engine refuses it`,
  remedy: sentence`use ZeRO stage 1, or 1 stage and --no-pipeline-parallel`,
  source: 'microsoft/Megatron-DeepSpeed at f4157bea, pretrain_gpt.py, and deepspeed/runtime/pipe/engine.py 76',
};

/** FSDP2 in Megatron-LM refuses pipelines; Megatron-FSDP takes them, and exchanges in every micro-batch. */
export const shardedPipeline: Refusal = {
  code: 'zero-with-pp',
  atLeast: { zeroStage: 2, pipeline: 2 },
  why: sentence`it reduces gradients after every micro-batch, which is not planned`,
  isSlow: true,
  source: 'NVIDIA/Megatron-LM at d98e8a64, megatron/training/arguments.py 1034 and 1118, --use-torch-fsdp2 and --use-megatron-fsdp',
};

/** `_configure_tensor_parallel` asserts a stage of at most 2. */
export const zero3WithAutoTensor: Refusal = {
  code: 'zero-with-tp',
  atLeast: { zeroStage: 3, tensor: 2 },
  why: sentence`DeepSpeed's AutoTP supports ZeRO stages up to 2`,
  source: 'deepspeedai/DeepSpeed, deepspeed/runtime/engine.py, _configure_tensor_parallel',
};

/** Layers of DeepSpeed's own with experts. */
export const zero3WithExperts: Refusal = {
  code: 'zero-with-experts',
  atLeast: { zeroStage: 3, expert: 2 },
  why: sentence`DeepSpeed's layers with experts take stages up to 2`,
  source: 'deepspeedai/DeepSpeed at edaa7221, deepspeed/runtime/engine.py 1890',
};

/** Two stages that interleave send to each other both ways at once. */
export const interleavedPair: Refusal = {
  code: 'vpp-needs-overlap-or-pp3',
  atLeast: { virtualStages: 2, pipeline: 2 },
  atMost: { pipeline: 2 },
  why: sentence`the same two GPUs send to each other both ways at once, which needs overlapped communication`,
  source: 'NVIDIA/Megatron-LM at d98e8a64, megatron/training/arguments.py 1006',
};
