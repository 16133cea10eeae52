import type { Finding } from '../findings';
import { byDefault, from, type Located } from '../domain/located';
import { narrowFormats } from '../domain/number-formats';
import { rankOrderBy } from '../domain/runtime';
import { recomputeModules } from '../domain/recompute';
import type { Layout, TrainingSpec } from '../domain/request';
import { sharedNames } from '../domain/settings/setting';
import { settings } from '../domain/settings/table';
import { namedSchedules, type ScheduleName } from '../domain/schedule-names';
import type { Fact, Facts, FactName, FactValues, LauncherFile } from '../run/facts';
import { frequentLayers, readHybridRun, isHybrid, type HybridRun } from './megatron/hybrid';
import { gpuOfPreset } from '../terapipe/cluster-section';
import { completeInline } from '../terapipe/inline-model';
import { launchedCapabilities, leftOpenIn, programTraits, settingOfDeepSpeed } from './as-launched';
import { launcherTraits } from './registry';
import { replaceSizes } from './replaced-sizes';
import { frequencyPattern, latentAttentionSizes, readModelTraits } from '../run/traits';
import type { Run, RunModel } from '../run/run';
import type { LocatedPartial, TrainingSettings } from '../run/given';
import { withDetails, type ModelTraits, type WrittenModel } from '../run/written-model';
import { readOptimizer } from './tables/optimizer-facts';
import { greatestDivisor } from '../numbers';
import { without } from '../records';
import { counted, sentence, type Sentence } from '../sentence';
import { isOfTokenizer } from './tables/tokenizers';

/** A model read from a config of its own, to fill what a launcher leaves open. */
interface JoinedModel extends RunModel {
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * The run that a launcher describes, as planning takes it. Sizes that the launcher gives win over those of the model config joined to it;
 * what neither gives follows the defaults of numbers given inline.
 * What planning does not support stays only in the facts.
 *
 * @throws ExpectedError `config-model-incomplete` at the launcher's first fact when layers, hidden size or heads are known from nowhere.
 */
export function runOfLauncher(launcher: LauncherFile, title: string, joined: JoinedModel | null): Run {
  const { file, format, place } = launcher;
  const hybrid = readHybridRun(launcher.facts);
  const facts = withWindow(hybrid === null ? launcher.facts : withKinds(launcher.facts, hybrid));
  const given = modelNumbers(joined === null || !isOfTokenizer(facts.vocab?.name) ? facts : without(facts, 'vocab'));
  const model =
    joined === null
      ? completeInline(given, place)
      : 'hidden' in given || 'heads' in given
        ? replaceSizes(joined.model, given)
        : { ...joined.model, ...given };
  const texts = new Map([[file, launcher.text], ...(joined?.texts ?? [])]);
  const cluster = resolveNodes(facts);
  const schedule = resolveSchedule(facts);
  const capabilities = launchedCapabilities(launcher);
  const traits = readModelTraits(facts, facts.outputGate?.value === true ? { outputGate: true } : {}, hybrid?.hybrid);
  return {
    traits,
    ...unplannedBy(facts),
    ...joined,
    ...(joined?.traits && { traits: withLaunchedDropout(joined.traits, facts) }),
    // Either the launcher or the config gives all layers of a hybrid.
    ...(isHybrid(launcher.facts) && { traits }),
    file,
    files: [...texts.keys()],
    format,
    ...(capabilities !== null && { capabilities }),
    title,
    place,
    model,
    ...cluster,
    ...gpuOfPreset(launcher.gpu),
    training: { ...toTrainingSettings(facts, model.layers.value), ...runtimeOfLauncher(launcher), ...resolveMtpLayers(launcher) },
    ...(launcher.adapters && { adapters: launcher.adapters }),
    layout: toLayoutSettings(facts, model.layers.value),
    ...readBatchPerReplica(launcher),
    ...(schedule === undefined ? {} : { schedule }),
    ...sliceSplit(facts),
    constants: {},
    ...(launcher.leftOut !== undefined && { leftOut: launcher.leftOut }),
    remarks: [...launcher.remarks, ...predictionRemarks(facts, hybrid)],
    texts,
  };
}

/** As many layers as the pattern of a hybrid has, each with its kind. */
function withKinds(facts: Facts, { kinds, layers }: HybridRun): Facts {
  const { source } = facts.hybridPattern ?? facts.layers ?? { source: { kind: 'override' } as const };
  return {
    ...facts,
    layers: facts.hybridPattern === undefined && facts.layers !== undefined ? facts.layers : { value: layers, source },
    attentionKinds: { value: kinds, source },
  };
}

/** A launcher's attention window applies to all attention layers except those that it skips. */
function withWindow(facts: Facts): Facts {
  const { slidingWindow, attentionKinds, layers, windowFrequency } = facts;
  if (slidingWindow === undefined) return facts;
  const isWithin = windowFrequency === undefined ? null : frequentLayers(windowFrequency.value, layers?.value ?? 0);
  const names = attentionKinds?.value ?? (isWithin === null ? null : isWithin.map(() => 'attention'));
  const kinds = names?.map((name, layer) =>
    (name === 'attention' || name === 'full_attention') && isWithin?.[layer] !== false ? 'sliding_attention' : name,
  );
  return {
    ...facts,
    slidingWindowActive: { ...slidingWindow, value: true },
    ...(kinds && kinds.length > 0 && { attentionKinds: { source: slidingWindow.source, value: kinds } }),
  };
}

/** MTP layers in the pattern of a hybrid, which are left out. */
function predictionRemarks({ hybridPattern }: Facts, hybrid: HybridRun | null): Finding[] {
  if (hybridPattern?.source.kind !== 'file' || hybrid === null || hybrid.depths === 0) return [];
  return [
    {
      code: 'model-approximated',
      severity: 'information',
      place: hybridPattern.source.place,
      message: sentence`Planned without ${counted(hybrid.depths, 'layer')} of multi-token prediction`,
      remedy: sentence`leave room for them in the memory and time of the last stage`,
      fixes: [],
    },
  ];
}

/**
 * Kinds of model that a launcher's flags set and planning does not support: they are read, inspected and checked, but not planned as
 * something else.
 */
function unplannedBy(facts: Facts): Pick<Run, 'unplanned'> {
  const kinds: readonly (readonly [FactName, Sentence, boolean])[] = [
    ['latentAttention', sentence`a model with latent attention, not all of whose sizes are given`, latentAttentionSizes(facts) === null],
    [
      'hybridPattern',
      sentence`a hybrid some of whose layers are of a kind that is not known`,
      isHybrid(facts) && readHybridRun(facts) === null,
    ],
    ['linearAttentionFrequency', sentence`a hybrid whose kinds of layers cannot be read`, isHybrid(facts) && readHybridRun(facts) === null],
    ['unlikeExperts', sentence`a model whose experts differ by layer or come in addition to a dense network`, true],
    ['unevenTensor', sentence`a run whose tensor ranks take unequal shares of the heads`, hasUnequalShares(facts)],
    ['windowFrequency', sentence`a model whose windows cannot be read`, !isReadWindows(facts)],
    ['moeLayerFrequency', sentence`a model whose layers differ in a way that cannot be read`, !isReadFrequency(facts)],
  ];
  for (const [name, kind, unknown] of kinds) {
    const fact: Fact<unknown> | undefined = facts[name];
    if (fact?.source.kind !== 'file' || fact.value === false || !unknown) continue;
    const remedy = sentence`give the sizes of a decoder like it inline under "model" in a terapipe.json to plan that`;
    return { unplanned: { message: sentence`This is ${kind}, which is read but not planned`, remedy, place: fact.source.place } };
  }
  return {};
}

function hasUnequalShares({ heads, kvHeads, tensor }: Facts): boolean {
  return [heads, kvHeads].some((count) => count !== undefined && count.value % (tensor?.value ?? 1) !== 0);
}

function isReadWindows({ slidingWindow, windowFrequency, layers }: Facts): boolean {
  if (slidingWindow === undefined || windowFrequency === undefined || layers === undefined) return true;
  return frequentLayers(windowFrequency.value, layers.value) !== null;
}

function isReadFrequency({ moeLayerFrequency, layers }: Facts): boolean {
  return moeLayerFrequency === undefined || frequencyPattern(moeLayerFrequency.value, layers?.value ?? 1) !== null;
}

function modelNumbers(facts: Facts): LocatedPartial<WrittenModel> {
  const numbers = pick(facts, ['modelType', ...sharedNames(settings.model)]);
  const { bias, encoderLayers, decoderLayers } = facts;
  const biases =
    bias === undefined
      ? {}
      : {
          qkvBias: bias.value ? from(bias, bias.value) : (facts.qkvBias ?? from(bias, bias.value)),
          attentionOutputBias: from(bias, bias.value),
          mlpBias: facts.mlpBias ?? from(bias, bias.value),
        };
  const both = encoderLayers !== undefined && decoderLayers !== undefined;
  const stacks = both
    ? { layers: from(encoderLayers, encoderLayers.value + decoderLayers.value), encoderLayers: from(encoderLayers, encoderLayers.value) }
    : {};
  return { ...numbers, ...biases, ...latentNorms(facts), ...stacks };
}

/** In latent attention Megatron Core's `qk_layernorm` is of the compressed queries, keys and values, not of heads. */
function latentNorms({ latentAttention, qkNorm }: Facts): LocatedPartial<WrittenModel> {
  return latentAttention?.value === true && qkNorm !== undefined ? { qkNorm: from(qkNorm, false) } : {};
}

function toTrainingSettings(facts: Facts, layers: number): LocatedPartial<TrainingSpec> {
  const { sequenceLength, encoderSequenceLength, decoderSequenceLength, precision, zeroStage, distributedOptimizer, recomputeGranularity } =
    facts;
  const { recomputeMethod, recomputeLayers, recomputeModules: written, contextCommunication, offloadOptimizer } = facts;
  const idle = recomputeMethod?.value === 'block' && recomputeLayers?.value === 0;
  const isGrouped = recomputeMethod?.value !== 'block' && (recomputeLayers?.value ?? 0) > 1;
  const modules =
    written &&
    from(
      written,
      recomputeModules.filter((name) => written.value.includes(name)),
    );
  const narrow = narrowFormats.find((format) => format === precision?.value);
  const length = sequenceLength ?? encoderSequenceLength;
  const zero =
    zeroStage ?? (distributedOptimizer === undefined ? undefined : from(distributedOptimizer, distributedOptimizer.value ? 1 : 0));
  return defined<LocatedPartial<TrainingSpec>>({
    ...pick(facts, ['attentionKernel', ...sharedNames(settings.training)]),
    sequenceLength: length && from(length, length.value),
    decoderSequenceLength: facts.decoderLayers && decoderSequenceLength && from(decoderSequenceLength, decoderSequenceLength.value),
    precision: precision && from(precision, precision.value === 'fp8' || precision.value === 'nvfp4' ? 'bf16' : precision.value),
    gemmPrecision: narrow === undefined || precision === undefined ? undefined : from(precision, narrow),
    zeroStage: zero && from(zero, Math.min(3, Math.max(0, zero.value)) as TrainingSpec['zeroStage']),
    recompute:
      recomputeGranularity &&
      from(recomputeGranularity, idle ? 'none' : toRecomputeMode(recomputeGranularity.value, facts.recomputeOption?.value)),
    recomputeEvery: recomputePeriod(facts),
    recomputeLayers:
      recomputeMethod?.value === 'block' && recomputeLayers !== undefined && !idle
        ? from(recomputeLayers, recomputeLayers.value)
        : undefined,
    recomputeGroup: isGrouped && recomputeLayers !== undefined ? from(recomputeLayers, recomputeLayers.value) : undefined,
    recomputeModules: modules && modules.value.length > 0 ? modules : undefined,
    activationOffloadLayers: offloadedLayers(facts, layers),
    contextParallelComm:
      contextCommunication &&
      from(contextCommunication, /^(a2a|ulysses)/.test(contextCommunication.value) ? ('all-to-all' as const) : ('ring' as const)),
    offloadOptimizer: offloadOptimizer && from(offloadOptimizer, offloadOptimizer.value !== 'none'),
    offloadDevice: offloadOptimizer?.value === 'nvme' ? from(offloadOptimizer, 'nvme' as const) : undefined,
    dropout: resolveDropout(facts),
    ...readOptimizer(facts),
  });
}

/** Whether masks are kept: those of hidden states, or those of attention's probabilities where they are kept themselves. */
function resolveDropout({ hiddenDropout, attentionDropout, attention }: Facts): Located<boolean> | undefined {
  if (hiddenDropout === undefined) return undefined;
  const isOfScores = attention?.value === 'unfused' && (attentionDropout?.value ?? 0) > 0;
  return from(hiddenDropout, hiddenDropout.value > 0 || isOfScores);
}

/** The shares of a launcher that has settings of its own for them win over those of the model config joined to it. */
function withLaunchedDropout(traits: ModelTraits, { hiddenDropout, attentionDropout }: Facts): ModelTraits {
  if (hiddenDropout === undefined && attentionDropout === undefined) return traits;
  const { hiddenDropoutShare = 0, attentionDropoutShare = 0, ...details } = traits.details ?? {};
  const [hidden, attention] = [hiddenDropout?.value ?? hiddenDropoutShare, attentionDropout?.value ?? attentionDropoutShare];
  return withDetails(without(traits, 'details'), {
    ...details,
    ...(hidden > 0 && { hiddenDropoutShare: hidden }),
    ...(attention > 0 && { attentionDropoutShare: attention }),
  });
}

/** Further tokens are predicted where a launcher sets it; a recipe of Megatron-Bridge may set it in Python. */
function resolveMtpLayers({ facts: { mtpLayers }, format }: LauncherFile): Pick<LocatedPartial<TrainingSettings>, 'mtpLayers'> {
  if (mtpLayers !== undefined) return { mtpLayers: from(mtpLayers, mtpLayers.value) };
  if (launcherTraits(format).leavesOpen) return {};
  return {
    mtpLayers: byDefault(0, sentence`this launcher trains multi-token prediction only when it is set`),
  };
}

/** Layers whose activations go to the host: Megatron's number, or all layers that DeepSpeed keeps inputs of. */
function offloadedLayers(
  { cpuOffloading, activationOffloadLayers, cpuCheckpointing, recomputeGranularity }: Facts,
  layers: number,
): Located<number> | undefined {
  if (activationOffloadLayers !== undefined && cpuOffloading?.value === true)
    return from(activationOffloadLayers, activationOffloadLayers.value);
  const isKept = recomputeGranularity !== undefined && toRecomputeMode(recomputeGranularity.value) === 'full';
  return cpuCheckpointing?.value === true && isKept ? from(cpuCheckpointing, layers) : undefined;
}

/** Frameworks that keep and shard other things than Megatron-LM, whose scripts run Megatron-DeepSpeed where they have settings of it. */
function runtimeOfLauncher(launcher: LauncherFile): LocatedPartial<TrainingSpec> {
  const { runtime } = programTraits(launcher);
  if (runtime !== 'megatron') return { runtime: byDefault(runtime, sentence`the framework of this file`) };
  const sign = settingOfDeepSpeed(launcher);
  return sign === undefined ? {} : { runtime: from(sign, 'deepspeed' as const) };
}

/**
 * What each launcher calls its recompute modes. Anything but whole layers is the attention core or less; TorchTitan's selective mode is
 * single operations or every n-th layer.
 */
function toRecomputeMode(written: string, option?: string): TrainingSpec['recompute'] {
  if (/^(full|true|block|uniform)$/i.test(written)) return 'full';
  if (/^(none|null|false|)$/i.test(written)) return 'none';
  if (option === 'op') return 'op';
  return option !== undefined && isPeriod(option) ? 'every' : 'selective';
}

function isPeriod(option: string): boolean {
  return /^[1-9]\d{0,3}$/.test(option);
}

function recomputePeriod({ recomputeGranularity, recomputeOption }: Facts): Located<number> | undefined {
  if (recomputeGranularity === undefined || recomputeOption === undefined) return undefined;
  const isEvery = toRecomputeMode(recomputeGranularity.value, recomputeOption.value) === 'every';
  return isEvery ? from(recomputeOption, Number(recomputeOption.value)) : undefined;
}

function toLayoutSettings(facts: Facts, layers: number): LocatedPartial<Layout> {
  const { pipeline, virtualStages, layersPerVirtualStage, stagesBeforeReplicas } = facts;
  const perStage = layers / (pipeline?.value ?? 1);
  const interleaved =
    virtualStages ??
    (layersPerVirtualStage === undefined ? undefined : from(layersPerVirtualStage, perStage / layersPerVirtualStage.value));
  return defined<LocatedPartial<Layout>>({
    ...pick(facts, sharedNames(settings.layout)),
    order: stagesBeforeReplicas === undefined ? undefined : from(stagesBeforeReplicas, rankOrderBy(stagesBeforeReplicas.value)),
    virtualStages:
      interleaved !== undefined && Number.isInteger(interleaved.value) && interleaved.value >= 1
        ? from(interleaved, interleaved.value)
        : undefined,
  });
}

/** Most GPUs of a node when only their total is written. */
const usualGpusPerNode = 8;

/** A total of processes is a GPU each, over the nodes that the file gives, else over as few as usual ones are. */
function resolveNodes({ nodes, gpusPerNode, world }: Facts): Pick<Run, 'nodes' | 'gpusPerNode'> {
  const total = world?.value ?? 0;
  const perNode = gpusPerNode?.value ?? (nodes === undefined ? greatestDivisor(total, usualGpusPerNode) : total / nodes.value);
  const isWhole = total > 0 && perNode >= 1 && Number.isInteger(perNode) && total % perNode === 0;
  const shared = world === undefined || !isWhole ? undefined : { nodes: from(world, total / perNode), gpusPerNode: from(world, perNode) };
  return defined<Pick<Run, 'nodes' | 'gpusPerNode'>>({
    nodes: nodes ? from(nodes, nodes.value) : shared?.nodes,
    gpusPerNode: gpusPerNode ? from(gpusPerNode, gpusPerNode.value) : shared?.gpusPerNode,
  });
}

/** The schedule that a launcher's name means, in any case as TorchTitan takes them; 1F1B for what has no name of ours. */
function scheduleNamed(written: string): ScheduleName {
  const same = namedSchedules.find((name) => name.toLowerCase() === written.toLowerCase());
  return same ?? (/gpipe/i.test(written) ? 'GPipe' : '1F1B');
}

/** Megatron-LM and NeMo run 1F1B wherever there is a pipeline; others name theirs. Null schedules of ours: chosen by the planner. */
function resolveSchedule({ schedule, pipeline }: Facts): Located<ScheduleName> | undefined {
  if (schedule !== undefined) return from(schedule, scheduleNamed(schedule.value));
  return pipeline !== undefined && pipeline.value > 1 ? byDefault('1F1B', sentence`what this launcher runs on a pipeline`) : undefined;
}

/** How the runtime cuts sequences, where it is set to. */
function sliceSplit({ sliceRuntime, slices, sliceRule, sliceLengths, ffn }: Facts): Pick<Run, 'split'> {
  if (sliceRuntime === undefined || slices === undefined) return {};
  const rule = sliceRule?.value ?? 'average';
  return {
    split: from(slices, {
      runtime: sliceRuntime.value,
      slices: slices.value,
      rule,
      lengths: rule === 'list' ? (sliceLengths?.value ?? []) : [],
      ...(ffn === undefined ? {} : { ffn: ffn.value }),
    }),
  };
}

function pick<K extends FactName>(facts: Facts, names: readonly K[]): { readonly [N in K]?: Located<FactValues[N]> } {
  return Object.fromEntries(
    names.flatMap((name) => {
      const fact = facts[name];
      return fact === undefined ? [] : [[name, from(fact, fact.value)]];
    }),
  ) as { readonly [N in K]?: Located<FactValues[N]> };
}

function defined<T extends object>(fields: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

/**
 * Sequences that each replica takes in a step where no global batch is given: TorchTitan's local batch, the micro-batches that DeepSpeed
 * accumulates (1 unless given), or one micro-batch of Megatron-LM (megatron/training/arguments.py 702).
 */
function readBatchPerReplica(launcher: LauncherFile): Pick<Run, 'batchPerReplica'> {
  const { localBatch, microBatch, gradientAccumulation } = launcher.facts;
  const { batchOfReplica, takesMegatronArguments } = programTraits(launcher);
  if (takesMegatronArguments && microBatch !== undefined && takesNoBatch(launcher))
    return { batchPerReplica: byDefault(microBatch.value, sentence`one micro-batch, Megatron-LM's default without --global-batch-size`) };
  if (batchOfReplica === 'local') return localBatch === undefined ? {} : { batchPerReplica: from(localBatch, localBatch.value) };
  if (batchOfReplica === null || microBatch === undefined) return {};
  return { batchPerReplica: from(microBatch, microBatch.value * (gradientAccumulation?.value ?? 1)) };
}

/** Whether a file is a whole launch that sets no global batch, not by a flag whose value is not known either. */
function takesNoBatch(launcher: LauncherFile): boolean {
  const { globalBatch, batchSchedule } = launcher.facts;
  const { flags, isPart } = leftOpenIn(launcher);
  return globalBatch === undefined && batchSchedule === undefined && !isPart && !flags.some((flag) => flag.includes('batch'));
}
