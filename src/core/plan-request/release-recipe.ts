import { isLauncher } from '../launchers/registry';
import type { Run } from '../run/run';
import { scheduleKind } from '../schedules/registry';
import { sentence } from '../sentence';
import { joinedGpus, type ClusterSpec } from '../domain/cluster';
import type { ModelSpec } from '../domain/model';
import type { RecomputeModule } from '../domain/recompute';
import type { TrainingSpec } from '../domain/request';
import { runtimeProfile } from '../domain/runtime';
import type { ValueOrDefault } from './defaults-recorder';

/*
 * What the performance recipes of Megatron-Bridge set and a file may leave out, where it names one of NVIDIA's releases (`runtimeVersion`
 * "26.06"). Source: `scripts/performance/configs` of the releases and `src/megatron/bridge/perf_recipes` of NVIDIA-NeMo/Megatron-Bridge at
 * 067f987df; what most recipes of a release set on a kind of system and model. A recipe that differs wants its keys in the file.
 */

/** The settings of a run that its release's recipe completes. */
export type RecipeSettings = Pick<Run, 'training' | 'layout' | 'schedule' | 'format'>;

/** NVIDIA's releases go by year and month; Megatron-LM's own versions began at 0. */
function nvidiaRelease(runtimeVersion = ''): number | null {
  const release = Number.parseFloat(runtimeVersion);
  return release >= 24 ? release : null;
}

/** Whether Megatron runs a file without a launcher, so that only the release decides the recipe. */
export function isOwnMegatron({ training, format }: Pick<RecipeSettings, 'training' | 'format'>): boolean {
  const runtime = training.runtime?.value;
  return runtimeProfile({ ...(runtime === undefined ? {} : { runtime }) }).id === 'megatron' && !isLauncher(format);
}

/** From this release on, recipes in MXFP8 record whole iterations as CUDA graphs, with grouped kernels for all experts of a rank. */
const firstWithWholeIterations = 26.06;

/** B300 and GB300 have 268 to 284 GB, B200 and GB200 at most 189: recipes of GPT-OSS 120B and of latent attention differ by that. */
const largeMemoryBytes = 240e9;
/** From this release on, GPT-OSS 120B exchanges during compute on GB200. */
const firstWithOverlapOnRacks = 26.04;

/** What decides the settings of experts. */
interface ExpertRecipe {
  readonly release: number;
  readonly isHopper: boolean;
  /** Of B300 or GB300. */
  readonly isLarge: boolean;
  readonly isRack: boolean;
  /** Of one stage, or on a rack: where recipes use CUDA graphs and HybridEP. */
  readonly isDirect: boolean;
  /** Records whole iterations as CUDA graphs. */
  readonly isWhole: boolean;
  readonly isSplit: boolean;
  /** Ranks that share the experts are on more than one node. */
  readonly isWide: boolean;
}

/** Latent attention without routing to groups, as Kimi K2 has it. Its recipes neither record whole iterations nor overlap the exchange. */
function isUngroupedLatent({ latent, experts }: ModelSpec): boolean {
  return (latent ?? null) !== null && experts?.groups === undefined;
}

/** GPT-OSS 120B: experts with biases, 128 of them. The 20B has 32, and recipes like most (v0.5.0, gpt_oss_llm_pretrain.py). */
function isLargeGptOss({ mlpBias, experts }: ModelSpec): boolean {
  return mlpBias && (experts?.count ?? 0) >= 128;
}

function expertRecipe({ training, layout }: RecipeSettings, model: ModelSpec, cluster: ClusterSpec, release: number): ExpertRecipe {
  const isHopper = cluster.gpu.peakTflops.nvfp4 === undefined;
  const isRack = joinedGpus(cluster) > cluster.gpusPerNode;
  const isDirect = isRack || (layout.pipeline?.value ?? 1) === 1;
  const recordsWhole = release >= firstWithWholeIterations && training.fp8Recipe?.value === 'mxfp8';
  return {
    release,
    isHopper,
    isLarge: cluster.gpu.memoryBytes > largeMemoryBytes,
    isRack,
    isDirect,
    isWhole: !isHopper && isDirect && recordsWhole && model.state === undefined && !isUngroupedLatent(model),
    isSplit: (layout.virtualStages?.value ?? 1) > 1,
    isWide: (layout.expert?.value ?? 1) > cluster.gpusPerNode,
  };
}

/** Hopper's recipes record only layers with a state, GPT-OSS 120B's where memory is large, those of latent attention not on GB300. */
function recordsLayers({ isHopper, isLarge, isRack, isDirect }: ExpertRecipe, model: ModelSpec): boolean {
  if (!isDirect || (isHopper && model.state === undefined)) return false;
  if (isLargeGptOss(model)) return isLarge;
  return (model.latent ?? null) === null || !isRack || !isLarge;
}

/**
 * Kimi K2 recomputes the dense MLP, too, on Hopper (`kimi_k2.py` of perf_recipes/kimi/h100). Nemotron 3 Nano in FP8 on Hopper has four
 * modules in v0.3.1 to v0.6.0; at 067f987df it has only `layernorm`, which is left out: no release with it is known.
 */
function recomputed({ isHopper, isLarge, isWhole }: ExpertRecipe, model: ModelSpec, isNarrow: boolean): readonly RecomputeModule[] {
  if ((model.latent ?? null) !== null) {
    if (isHopper && isUngroupedLatent(model)) return ['mla_up_proj', 'mlp'];
    return isWhole && isLarge ? [] : ['mla_up_proj'];
  }
  if (model.state !== undefined && isHopper) return isNarrow ? ['core_attn', 'layernorm', 'moe', 'moe_act'] : ['layernorm', 'moe'];
  return isLargeGptOss(model) && !isWhole && !isLarge ? ['layernorm', 'moe_act'] : [];
}

/** What the recipes set for the exchange between experts. */
function exchangeKeys(recipe: ExpertRecipe, model: ModelSpec): Partial<TrainingSpec> {
  const { release, isLarge, isRack, isDirect, isWhole, isSplit, isWide } = recipe;
  if (isLargeGptOss(model) && !isWhole && isWide) {
    const isOverlapped = isRack && !isLarge && release >= firstWithOverlapOnRacks;
    return { expertDispatcher: isOverlapped ? 'hybridep' : 'alltoall', overlapExpertComm: isOverlapped };
  }
  return {
    expertDispatcher: isDirect || model.experts?.groups !== undefined ? 'hybridep' : 'alltoall',
    overlapExpertComm: isWhole || (!isRack && isSplit && !isUngroupedLatent(model)),
  };
}

/**
 * What recipes set for experts. Racks, and a single stage elsewhere, record parts of each layer. Between nodes without a rack's NVLink,
 * virtual stages overlap the exchange of one micro-batch with the compute of another, which needs them. GPT-OSS 120B (experts with biases),
 * Nemotron 3 Nano (layers with a state) and Kimi K2 have recipes that differ from most.
 */
function expertKeys(run: RecipeSettings, model: ModelSpec, cluster: ClusterSpec, release: number): Partial<TrainingSpec> {
  const recipe = expertRecipe(run, model, cluster, release);
  const modules = recomputed(recipe, model, run.training.gemmPrecision !== undefined);
  return {
    ...(recipe.isWhole ? { cudaGraphs: 'iteration' } : recordsLayers(recipe, model) ? { cudaGraphs: 'layers' } : {}),
    ...exchangeKeys(recipe, model),
    ...(modules.length === 0 ? {} : { recompute: 'selective', recomputeModules: modules }),
  };
}

/**
 * The same where no release is named, of experts that lie on several nodes. A model that sends tokens to a few groups of experts does so
 * that each token crosses to a node once (arXiv 2412.19437, 3.2.2); virtual stages, or a schedule made for it, run the exchange during
 * compute (3.2.1).
 */
function unnamedKeys({ layout, schedule }: RecipeSettings, model: ModelSpec, cluster: ClusterSpec): Partial<TrainingSpec> {
  const { expert, expertTensor, virtualStages } = layout;
  if (model.experts === null || (expert?.value ?? 1) * (expertTensor?.value ?? 1) <= joinedGpus(cluster)) return {};
  const hides = (virtualStages?.value ?? 1) > 1 || (schedule !== undefined && scheduleKind(schedule.value).hidesExpertExchange === true);
  return {
    ...(model.experts.groups === undefined ? {} : { expertDispatcher: 'hybridep' }),
    ...(hides ? { overlapExpertComm: true } : {}),
  };
}

/** Settings that a run leaves out, from the recipes of its release, or the usual ones without a release; each is recorded as assumed. */
export function releaseRecipe(
  run: RecipeSettings,
  model: ModelSpec,
  cluster: ClusterSpec,
  valueOrDefault: ValueOrDefault,
): Partial<TrainingSpec> {
  const { training: given, layout } = run;
  const runtimeVersion = given.runtimeVersion?.value;
  if (!isOwnMegatron(run)) return {};
  const release = nvidiaRelease(runtimeVersion);
  const usual: Partial<TrainingSpec> =
    release === null
      ? unnamedKeys(run, model, cluster)
      : {
          overlapGradReduce: true,
          overlapParamGather: true,
          ...((layout.tensor?.value ?? 1) > 1 ? { asyncTensorParallel: true } : {}),
          ...(model.experts === null ? {} : expertKeys(run, model, cluster, release)),
          gradAccumulationFp32: false,
        };
  const reason =
    release === null ? sentence`experts span several nodes` : sentence`as the recipes of Megatron-Bridge ${runtimeVersion ?? ''} set it`;
  const open = Object.entries(usual).filter(
    ([key]) => given[key as keyof typeof given] === undefined && !(key === 'recomputeModules' && given.recompute),
  );
  return Object.fromEntries(open.map(([key, value]) => [key, valueOrDefault(`training.${key}`, undefined, () => ({ value, reason }))]));
}
