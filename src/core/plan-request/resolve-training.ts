import { nodeGroups } from '../cluster/groups';
import { sharesHeads } from '../model/mixers';
import type { LocatedPartial } from '../run/given';
import { isLauncher } from '../launchers/registry';
import type { Run } from '../run/run';
import { lacksBf16, type ClusterSpec } from '../domain/cluster';
import { scalesByTensor, type Fp8Recipe } from '../domain/number-formats';
import type { Located } from '../domain/located';
import type { ModelSpec } from '../domain/model';
import type { Layout, TrainingSpec } from '../domain/request';
import { runtimeProfile, usualAccumulation, usualLoss, type Runtime } from '../domain/runtime';
import { reducesAfterBackward } from '../domain/runtime-habits';
import { scheduleOn } from '../schedules/on-layout';
import { openNames } from '../domain/settings/setting';
import { settings } from '../domain/settings/table';
import type { ResolveDefaults } from './scenario';
import type { ValueOrDefault } from './defaults-recorder';
import { fusedAttentionKernel } from '../time-model/rates';
import { releaseRecipe } from './release-recipe';
import { resolveAdapter } from './resolve-adapter';
import { hybridGroups, type TrainingDraft } from './first-layout';
import { sequenceLengths } from './sequence-lengths';
import { counted, sentence } from '../sentence';

/** The training that files give, the rest by usual practice; what depends on the layout is still open. */
export function resolveTraining(
  run: Run,
  model: ModelSpec,
  cluster: ClusterSpec,
  valueOrDefault: ValueOrDefault,
  { runtime: usualRuntime, kept }: Pick<ResolveDefaults, 'runtime' | 'kept'>,
): TrainingDraft {
  const { training: given, profile } = run;
  const noFastBf16 = nodeGroups(cluster).some(({ gpu }) => lacksBf16(gpu));
  const named = runtimeFor(run, valueOrDefault, usualRuntime);
  const runtime = runtimeProfile(named);
  const recipe = releaseRecipe(run, model, cluster, valueOrDefault);
  const draft: Omit<TrainingDraft, 'gradAccumulationFp32'> = {
    ...sequenceLengths(given, model, valueOrDefault, kept),
    microBatch: valueOrDefault('training.microBatch', given.microBatch, () => settings.training.microBatch.assumed),
    precision: valueOrDefault('training.precision', given.precision, () => {
      const measured = profile?.value?.profile.precision;
      if (measured !== undefined) return { value: measured, reason: sentence`the profile was measured in it` };
      return noFastBf16
        ? { value: 'fp16', reason: sentence`this GPU has no fast bf16` }
        : { value: 'bf16', reason: sentence`usual practice` };
    }),
    optimizer: valueOrDefault('training.optimizer', given.optimizer, () => settings.training.optimizer.assumed),
    zeroStage: valueOrDefault('training.zeroStage', given.zeroStage, () => runtime.zeroStage),
    recompute:
      recipe.recompute ??
      valueOrDefault('training.recompute', given.recompute, () => ({
        value: 'none',
        reason: sentence`the fastest; a wrong guess costs 26 to 35 %, so set it`,
      })),
    ...resolveAttention(given, noFastBf16, valueOrDefault),
    fusedCrossEntropy: valueOrDefault('training.fusedCrossEntropy', given.fusedCrossEntropy, () =>
      usualLoss({
        runtime: runtime.id,
        modelType: model.modelType,
        runtimeVersion: given.runtimeVersion?.value,
        compile: given.compile?.value,
      }),
    ),
    dropout: valueOrDefault('training.dropout', given.dropout, () => settings.training.dropout.assumed),
    ...recipe,
    ...givenValues(optional(given)),
    ...resolveAdapter(run, model, valueOrDefault),
    ...named,
    ...narrowProducts(run, cluster, valueOrDefault),
  };
  recordKernel(cluster, draft, valueOrDefault);
  const { dataReplicate, ...others } = draft;
  const gradAccumulationFp32 =
    recipe.gradAccumulationFp32 ??
    valueOrDefault('training.gradAccumulationFp32', given.gradAccumulationFp32, () => usualAccumulation(runtime, draft));
  const overlaps = runtime.overlapsGradReduce === true && !reducesAfterBackward({ ...draft, gradAccumulationFp32 });
  return {
    ...(overlaps ? { overlapGradReduce: true } : {}),
    ...others,
    // groups of HSDP shard inside; without ZeRO all replicas are alike
    ...(draft.zeroStage === 0 || dataReplicate === undefined ? {} : { dataReplicate }),
    gradAccumulationFp32,
  };
}

/**
 * The runtime that files name, or that of the schedule they ask for where it has one of its own: all that it is compared with is timed as
 * that one sends. A launcher's file has its own; where no file decides, it is assumed.
 */
function runtimeFor(
  { format, training, schedule, scheme }: Run,
  valueOrDefault: ValueOrDefault,
  usual: Runtime = 'megatron',
): Pick<TrainingSpec, 'runtime'> {
  const asked = schedule?.value ?? (scheme === undefined ? null : 'TeraPipe');
  const own = asked === null ? undefined : scheduleOn(asked, { virtualStages: 1 }).ownRuntime;
  const written = training.runtime?.value;
  if (written !== undefined) return { runtime: written };
  if (own === undefined && isLauncher(format)) return {};
  const reason =
    own === undefined
      ? sentence`as no file names a launcher; it decides costs, and which schedules run`
      : sentence`the one of ${asked ?? ''}`;
  const runtime = valueOrDefault('training.runtime', undefined, () => ({ value: own ?? usual, reason }));
  return runtime === 'megatron' ? {} : { runtime };
}

/** Records the kernel that attention is timed with as assumed, where no file names one. */
function recordKernel(
  { gpu }: ClusterSpec,
  training: Pick<TrainingSpec, 'attention' | 'attentionKernel' | 'runtime'>,
  say: ValueOrDefault,
): void {
  if (training.attention !== 'flash' || training.attentionKernel !== undefined) return;
  const kernel = fusedAttentionKernel({ gpu }, training);
  say('training.attentionKernel', undefined, () => ({
    value: kernel ?? 'any',
    reason:
      kernel === null
        ? sentence`none was measured on ${gpu.name}`
        : sentence`the first that ${runtimeProfile(training).name} takes of those measured on ${gpu.name}`,
  }));
}

/** How attention is computed; a kernel is more specific than `attention`. */
function resolveAttention(
  { attention, attentionKernel }: Run['training'],
  noFastBf16: boolean,
  valueOrDefault: ValueOrDefault,
): Pick<TrainingSpec, 'attention' | 'attentionKernel'> {
  const kernel = attentionKernel?.value;
  if (kernel === 'unfused') return { attention: 'unfused' };
  if (kernel !== undefined) return { attention: 'flash', attentionKernel: kernel };
  return {
    attention: valueOrDefault('training.attention', attention, () => ({
      value: noFastBf16 ? 'unfused' : 'flash',
      reason: noFastBf16 ? sentence`FlashAttention needs Ampere or later` : sentence`usual practice`,
    })),
  };
}

/** Resolved together with others. */
const apart = ['decoderSequenceLength', 'gemmPrecision', 'fp8Recipe', 'fp8Format', 'fp8ParamGather', 'attentionKernel'] as const;
type Apart = (typeof apart)[number];

/** What a plan has only where a file gives it. */
const asGiven = openNames(settings.training).filter(
  (name): name is Exclude<typeof name, Apart> => !(apart as readonly string[]).includes(name),
);

function optional(given: Run['training']): LocatedPartial<Pick<TrainingSpec, (typeof asGiven)[number]>> {
  return Object.fromEntries(asGiven.flatMap((key) => (given[key] === undefined ? [] : [[key, given[key]] as const])));
}

/** The format of the layers' products, where the GPU has a rate for it. */
function narrowProducts(
  run: Run,
  cluster: ClusterSpec,
  valueOrDefault: ValueOrDefault,
): Pick<TrainingSpec, 'gemmPrecision' | 'fp8Recipe' | 'fp8Format' | 'fp8ParamGather' | 'narrowCopies'> {
  const { gemmPrecision, fp8Recipe, fp8Format } = run.training;
  const value = gemmPrecision?.value;
  if (value === undefined) return {};
  const without = nodeGroups(cluster).find(({ gpu: { peakTflops } }) => peakTflops[value] === undefined);
  if (without === undefined)
    return value === 'fp8'
      ? {
          gemmPrecision: value,
          ...(fp8Recipe === undefined ? {} : { fp8Recipe: fp8Recipe.value }),
          ...(fp8Format === undefined ? {} : { fp8Format: fp8Format.value }),
          ...narrowWeights(run, valueOrDefault),
          ...(multipliesEitherWay(cluster, fp8Recipe?.value) ? { narrowCopies: 1 as const } : {}),
        }
      : { gemmPrecision: value };
  valueOrDefault('training.gemmPrecision', undefined, () => ({
    value: 'none',
    reason: sentence`${without.gpu.name} has no rate for products in ${value}`,
  }));
  return {};
}

/**
 * Whether weights are kept only in FP8: as the file sets it; a launcher's file that leaves it out does not ask for it, others get what
 * NeMo's and Megatron-Bridge's recipes in FP8 set (`fp8_params` of `bf16_with_fp8_mixed`, `fp8_param_gather` of `bf16_with_fp8_*_mixed`):
 * all but that with scales of blocks of 128 (`bf16_with_fp8_subchannel_scaling_mixed`).
 */
function narrowWeights({ format, training }: Run, valueOrDefault: ValueOrDefault): Pick<TrainingSpec, 'fp8ParamGather'> {
  const { fp8ParamGather, fp8Recipe, runtime } = training;
  if (fp8ParamGather === undefined && (isLauncher(format) || (runtime !== undefined && runtime.value !== 'megatron'))) return {};
  const value = fp8Recipe?.value !== 'blockwise';
  const reason = value
    ? sentence`as NeMo's and Megatron-Bridge's recipes in FP8 keep weights`
    : sentence`as NeMo's and Megatron-Bridge's recipe with scales of blocks keeps weights`;
  return { fp8ParamGather: fp8ParamGather?.value ?? valueOrDefault('training.fp8ParamGather', undefined, () => ({ value, reason })) };
}

/**
 * Whether FP8 weights with one scale a tensor need no transposed copy: tensor cores that know NVFP4 (Blackwell) take FP8 either way round
 * (`is_non_tn_fp8_gemm_supported` of Transformer Engine).
 */
function multipliesEitherWay(cluster: ClusterSpec, recipe: Fp8Recipe | undefined): boolean {
  return scalesByTensor(recipe) && nodeGroups(cluster).every(({ gpu: { peakTflops } }) => peakTflops.nvfp4 !== undefined);
}

/**
 * A ring for context parallelism where no file sets how it exchanges and its ranks cannot share out the heads, which all-to-all hands on:
 * Megatron-LM's own default (`--cp-comm-type p2p`).
 */
export function resolveContextParallelComm(
  model: ModelSpec,
  { runtime = 'megatron', contextParallelComm }: TrainingDraft,
  { tensor, context }: Layout,
  valueOrDefault: ValueOrDefault,
): Pick<TrainingSpec, 'contextParallelComm'> {
  const ranks = tensor * context;
  const isOther = runtime !== 'megatron' || model.state !== undefined;
  if (context === 1 || contextParallelComm !== undefined || isOther || sharesHeads(model, ranks)) return {};
  const reason = sentence`all-to-all splits heads, which are not divisible by ${counted(ranks, 'rank')} of tensor and context parallelism`;
  return { contextParallelComm: valueOrDefault('training.contextParallelComm', undefined, () => ({ value: 'ring', reason })) };
}

/** Groups of HSDP where the files ask for one in each node, and give no number. */
export function resolveHybridGroups(
  draft: TrainingDraft,
  layout: Layout,
  cluster: ClusterSpec,
  valueOrDefault: ValueOrDefault,
): Pick<TrainingSpec, 'dataReplicate'> {
  const { dataReplicate } = hybridGroups(draft, layout, cluster);
  if (dataReplicate === undefined) return {};
  const reason = sentence`HYBRID_SHARD shards inside each node`;
  return { dataReplicate: valueOrDefault('training.dataReplicate', undefined, () => ({ value: dataReplicate, reason })) };
}

/** Plain values of located fields. */
export function givenValues<T extends object>(given: LocatedPartial<T>): Partial<T> {
  return Object.fromEntries(Object.entries(given).map(([key, located]) => [key, (located as Located<unknown>).value])) as Partial<T>;
}
