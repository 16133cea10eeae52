import { isLauncher } from '../launchers/registry';
import type { Run } from '../run/run';
import { scheduleKind } from '../schedules/registry';
import { sentence } from '../sentence';
import { joinedGpus, type ClusterSpec } from '../domain/cluster';
import type { ModelSpec } from '../domain/model';
import type { TrainingSpec } from '../domain/request';
import { runtimeProfile } from '../domain/runtime';
import type { ValueOrDefault } from './defaults-recorder';

/*
 * What the performance recipes of Megatron-Bridge set and a file may leave out, where it names one of NVIDIA's releases (`runtimeVersion`
 * "26.06"). Source: `scripts/performance/configs` of the releases and `src/megatron/bridge/perf_recipes` of NVIDIA-NeMo/Megatron-Bridge at
 * 067f987df; what most recipes of a release set on a kind of system. A recipe that differs wants its keys in the file.
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

/**
 * What recipes set for experts. Hopper's record nothing; racks, and a single stage elsewhere, record parts of each layer. Between nodes
 * without a rack's NVLink, virtual stages overlap the exchange of one micro-batch with the compute of another, which needs them.
 */
function expertKeys({ training, layout }: RecipeSettings, model: ModelSpec, cluster: ClusterSpec, release: number): Partial<TrainingSpec> {
  const stages = layout.pipeline?.value ?? 1;
  const isHopper = cluster.gpu.peakTflops.nvfp4 === undefined;
  const isRack = joinedGpus(cluster) > cluster.gpusPerNode;
  const isRecorded = !isHopper && (isRack || stages === 1);
  const isWhole = isRecorded && release >= firstWithWholeIterations && training.fp8Recipe?.value === 'mxfp8' && model.state === undefined;
  return {
    ...(isRecorded ? { cudaGraphs: isWhole ? 'iteration' : 'layers' } : {}),
    expertDispatcher: isRack || stages === 1 || model.experts?.groups !== undefined ? 'hybridep' : 'alltoall',
    overlapExpertComm: isWhole || (!isRack && (layout.virtualStages?.value ?? 1) > 1),
    ...(model.latent ? { recompute: 'selective', recomputeModules: ['mla_up_proj'] } : {}),
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
