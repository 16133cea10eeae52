import type { Facts } from '../../formats/facts';
import { hybridLayersOf } from '../../formats/hybrid';
import type { LauncherFormat } from '../../formats/config-format';
import { formatCount } from '../../format';
import { countOf, worldOf } from '../../rules/derived';
import { runsSlices, type LaunchSettings } from './launch-settings';
import { megatronStages } from '../../rules/launchers/stage-layers';
import { launcherTraitsOf } from '../../formats/registry';
import { sum } from '../../numbers';
import { plainName } from '../../partition/scheduling';
import { schedulesOf } from '../../schedules/registry';
import type { NarrowFormat } from '../../spec/number-formats';
import { hybridLetters } from './megatron-model';
import { recomputeSetting } from './megatron-recompute';
import { sliceSettings } from './slice-settings';
import { isSame, patternOf } from './stage-layers';
import {
  never,
  countSetting,
  removed,
  isGiven,
  unsupported,
  narrowFormatSettings,
  optimizerOffloadSetting,
  silentSize,
  switchSetting,
  type SettingEdit,
  type Alternative,
  type DesiredSetting,
} from './desired-setting';
import { counted, sentence } from '../../sentence';
import { gpusUsed } from '../../spec/request';

/** The formats of Megatron-LM and of what runs on Megatron Core. */
export type MegatronFormat = Extract<
  LauncherFormat,
  'megatron-shell' | 'megatron-yaml' | 'nemo' | 'megatron-bridge' | 'primus' | 'primus-bridge' | 'flagscale' | 'nemo-rl'
>;

/** How the settings of one format differ from the others'. */
interface Dialect {
  /** Formats of GEMMs that a new file names. */
  readonly narrow: readonly NarrowFormat[];
  /** Bars may cut the pattern of a hybrid into stages. */
  readonly barsInPattern: boolean;
  /** The number of virtual stages is a setting in every version. */
  readonly countsVirtualStages: boolean;
  /** The number of offloaded layers switches the offload on. */
  readonly offloadsByNumber: boolean;
  /** The number of nodes has a place in every file. */
  readonly saysNodes: boolean;
}

const plain: Dialect = { narrow: [], barsInPattern: true, countsVirtualStages: false, offloadsByNumber: false, saysNodes: false };

const dialects: Readonly<Record<MegatronFormat, Dialect>> = {
  'megatron-shell': { ...plain, narrow: ['fp8', 'nvfp4'], offloadsByNumber: true },
  'megatron-yaml': plain,
  nemo: { ...plain, barsInPattern: false, countsVirtualStages: true, saysNodes: true },
  'megatron-bridge': { ...plain, narrow: ['fp8', 'nvfp4'], countsVirtualStages: true },
  primus: plain,
  'primus-bridge': { ...plain, countsVirtualStages: true },
  flagscale: plain,
  'nemo-rl': { ...plain, barsInPattern: false, countsVirtualStages: true, saysNodes: true },
};

/** The settings of a plan in a file of Megatron-LM, NeMo or Megatron-Bridge: sizes first, then what depends on them. */
export function megatronSettings(
  plan: LaunchSettings,
  format: MegatronFormat,
  recompute: DesiredSetting = recomputeSetting(plan),
): readonly DesiredSetting[] {
  const silent = silentSize(format);
  return [
    countSetting(sentence`tensor parallel size`, 'tensor', plan.tensor, silent),
    countSetting(sentence`pipeline parallel size`, 'pipeline', plan.pipeline, silent),
    countSetting(sentence`context parallel size`, 'context', plan.context, silent),
    countSetting(sentence`expert parallel size`, 'expert', plan.expert, plan.model.experts === null ? 1 : silent),
    ...(plan.expertTensor === null
      ? []
      : [countSetting(sentence`expert tensor parallel size`, 'expertTensor', plan.expertTensor, silent === null ? null : plan.tensor)]),
    stagesSetting(plan, format),
    countSetting(sentence`sequence length`, 'sequenceLength', plan.sequenceLength, null),
    positionsSetting(plan),
    countSetting(sentence`micro-batch size`, 'microBatch', plan.microBatch, null),
    countSetting(sentence`global batch size`, 'globalBatch', plan.globalBatch, null),
    precisionSetting(plan, format),
    ...narrowFormatSettings(plan.gemmPrecision, dialects[format].narrow, sentence`set the format and its recipe yourself`),
    ...orderSettings(plan),
    ...overlapSettings(plan),
    shardingSetting(plan, format),
    switchSetting(
      sentence`sequence parallelism`,
      'sequenceParallel',
      plan.sequenceParallel,
      launcherTraitsOf(format).leavesOpen ? null : false,
      () => plan.tensor > 1,
    ),
    recompute,
    ...activationOffloadSettings(plan, format),
    optimizerOffloadSetting(plan.offloadOptimizer === true),
    ...contextParallelCommSettings(plan),
    gpusSetting(plan, format),
    ...(plan.sliced !== undefined && launcherTraitsOf(format).takesMegatronArguments ? sliceSettings(plan.sliced) : scheduleGaps(plan)),
  ];
}

function stagesSetting(plan: LaunchSettings, format: MegatronFormat): DesiredSetting {
  const { stageLayers, pipeline, virtualStages } = plan;
  const isEven = new Set(stageLayers).size === 1;
  const each = stageLayers[0] ?? 0;
  const layers = isEven ? sentence`${counted(each, 'layer')} on each stage` : sentence`${stageText(stageLayers)} layers on the stages`;
  return {
    what: virtualStages > 1 ? sentence`${counted(virtualStages, 'virtual stage')} on each GPU, ${layers}` : layers,
    facts: [
      ...(hybridLetters(plan.model) === null ? [] : (['hybridPattern'] as const)),
      ...(['virtualStages', 'layersPerVirtualStage', 'pipelineLayout'] as const),
      ...(['splitRank', 'firstStageLayers', 'lastStageLayers', 'embeddingAsLayer', 'lossAsLayer'] as const),
      ...(['stageLayers', 'emptyLayers'] as const),
    ],
    isMet: (facts) => {
      const stages = megatronStages(facts, format, sum(stageLayers));
      const isLone = pipeline > 1 || (facts.layersPerVirtualStage === undefined && facts.virtualStages === undefined);
      return isSame(stages, stageLayers) && isLone;
    },
    alternatives: (facts) => stageAlternatives(plan, format, facts),
    reason: sentence`no setting deals the ${formatCount(sum(stageLayers))} layers that way`,
  };
}

function stageAlternatives(plan: LaunchSettings, format: MegatronFormat, facts: Facts): readonly Alternative[] {
  const { stageLayers, pipeline, virtualStages } = plan;
  if (plan.model.stacks !== undefined) return splitAlternatives(plan);
  const letters = hybridLettersIn(plan, facts);
  if (letters !== null) return hybridAlternatives(plan, letters, format, facts);
  if (isGiven(facts, 'emptyLayers')) return emptiedAlternatives(plan, format, facts);
  if (isGiven(facts, 'stageLayers')) return listedAlternatives(plan, format, facts);
  const first = stageLayers[0] ?? 0;
  const last = stageLayers.at(-1) ?? 0;
  const middle = stageLayers.slice(1, -1);
  const each = middle[0] ?? Math.max(first, last);
  const plainEnds = removed('firstStageLayers', 'lastStageLayers', 'embeddingAsLayer', 'lossAsLayer');
  const layout: Alternative = [
    ...removed('virtualStages', 'layersPerVirtualStage'),
    ...plainEnds,
    { fact: 'pipelineLayout', value: patternOf(stageLayers, countOf(facts, 'mtpLayers') ?? 0) },
  ];
  if (isGiven(facts, 'pipelineLayout')) return [layout];
  const virtual: Alternative = virtualStageEdits(virtualStages, each, format, facts);
  if (stageLayers.every((layers) => layers === first)) return [[...plainEnds, ...virtual], layout];
  const isLevel = middle.every((layers) => layers === each);
  const ends: SettingEdit[] = [
    { fact: 'firstStageLayers', value: first },
    { fact: 'lastStageLayers', value: last },
  ];
  const bare: SettingEdit[] = [
    { fact: 'embeddingAsLayer', value: each - first === 1 },
    { fact: 'lossAsLayer', value: each - last === 1 },
  ];
  const light = [each - first, each - last].every((less) => less === 0 || less === 1) && launcherTraitsOf(format).takesMegatronArguments;
  return [
    ...(isLevel && virtualStages === 1 && pipeline > 1 ? [[...removed('embeddingAsLayer', 'lossAsLayer'), ...virtual, ...ends]] : []),
    ...(isLevel && light ? [[...removed('firstStageLayers', 'lastStageLayers'), ...virtual, ...bare]] : []),
    layout,
  ];
}

/** MindSpeed-LLM's list of layers a stage, or, with virtual stages or without the list, what Megatron-LM has. */
function listedAlternatives(plan: LaunchSettings, format: MegatronFormat, facts: Facts): readonly Alternative[] {
  const { stageLayers, virtualStages } = plan;
  const { stageLayers: _, ...others } = facts;
  const list: Alternative = [
    ...removed('virtualStages', 'layersPerVirtualStage', 'pipelineLayout'),
    { fact: 'stageLayers', value: stageLayers.join(',') },
  ];
  const usual = stageAlternatives(plan, format, others).map((edits) => [...removed('stageLayers'), ...edits]);
  return virtualStages === 1 && stageLayers.length > 1 ? [list, ...usual] : usual;
}

/** MindSpeed-LLM deals layers evenly and leaves some out: those that a stage has too many, of as many layers in all as divide. */
function emptiedAlternatives(plan: LaunchSettings, format: MegatronFormat, facts: Facts): readonly Alternative[] {
  const { stageLayers, virtualStages } = plan;
  const stages = stageLayers.length;
  const most = Math.max(...stageLayers);
  const given = sum(stageLayers) + new Set(facts.emptyLayers?.value).size;
  const sizes = given % stages === 0 && given / stages > most ? [given / stages, most] : [most];
  return sizes.map((each) => {
    const empty = stageLayers.flatMap((count, stage) => Array.from({ length: each - count }, (_, index) => stage * each + count + index));
    return [
      ...removed('firstStageLayers', 'lastStageLayers', 'embeddingAsLayer', 'lossAsLayer'),
      ...virtualStageEdits(virtualStages, each, format, facts),
      empty.length === 0 ? { fact: 'emptyLayers' } : { fact: 'emptyLayers', value: empty.join(',') },
      ...(each * stages === given ? [] : [{ fact: 'layers' as const, value: each * stages }]),
    ];
  });
}

/** The stage from which on an encoder-decoder model's decoder runs, where it begins with a stage. */
function splitAlternatives({ model, stageLayers, pipeline }: LaunchSettings): readonly Alternative[] {
  if (pipeline === 1) return [removed('splitRank')];
  const split = stageLayers.findIndex((_, stage) => sum(stageLayers.slice(0, stage + 1)) === model.stacks?.encoderLayers) + 1;
  return split === 0 ? [] : [[{ fact: 'splitRank', value: split }]];
}

/** The pattern of a hybrid that the file describes, or that a new file is to; null where it is none. */
function hybridLettersIn({ model, stageLayers }: LaunchSettings, { hybridPattern, hybridAttentionRatio }: Facts): string | null {
  const own = hybridPattern === undefined ? null : hybridLayersOf(hybridPattern.value);
  const letters = own?.letters ?? (hybridAttentionRatio === undefined ? hybridLetters(model) : null);
  return letters?.length === sum(stageLayers) ? letters : null;
}

/**
 * Hybrids deal layers evenly, or fewer to the ends; otherwise, and with virtual stages, by bars in the pattern itself, which flags of core
 * 0.16 and older do not know.
 */
function hybridAlternatives(
  { stageLayers, pipeline, virtualStages }: LaunchSettings,
  letters: string,
  format: MegatronFormat,
  facts: Facts,
): readonly Alternative[] {
  const [first = 0, last = 0] = [stageLayers[0], stageLayers.at(-1)];
  const middle = stageLayers.slice(1, -1);
  const others = removed('virtualStages', 'layersPerVirtualStage', 'pipelineLayout', 'embeddingAsLayer', 'lossAsLayer');
  let from = 0;
  const barred = stageLayers.map((layers) => letters.slice(from, (from += layers))).join('|');
  const { hybridPattern } = facts;
  const prediction = hybridPattern?.value.includes('/') === true ? hybridPattern.value.slice(hybridPattern.value.indexOf('/')) : '';
  const bare: Alternative = hybridPattern?.value.includes('|') === true ? [{ fact: 'hybridPattern', value: letters + prediction }] : [];
  const isOld = hybridPattern?.name?.includes('override') === true;
  const plain: Alternative = [...bare, ...others, ...removed('firstStageLayers', 'lastStageLayers')];
  const ends: Alternative = [...bare, ...others, { fact: 'firstStageLayers', value: first }, { fact: 'lastStageLayers', value: last }];
  return [
    ...(virtualStages === 1 && new Set(stageLayers).size === 1 ? [plain] : []),
    ...(virtualStages === 1 && pipeline > 1 && new Set(middle).size <= 1 ? [ends] : []),
    ...(isOld || !dialects[format].barsInPattern
      ? []
      : [[...others, ...removed('firstStageLayers', 'lastStageLayers'), { fact: 'hybridPattern', value: barred + prediction } as const]]),
  ];
}

/** Virtual stages in the words that the file has for them already; else, for Megatron-LM, in those that all its versions know. */
function virtualStageEdits(virtualStages: number, layersOfOne: number, format: MegatronFormat, facts: Facts): readonly SettingEdit[] {
  if (virtualStages === 1) return removed('virtualStages', 'layersPerVirtualStage', 'pipelineLayout');
  const counts = isGiven(facts, 'virtualStages') || dialects[format].countsVirtualStages;
  return [
    ...removed(counts ? 'layersPerVirtualStage' : 'virtualStages', 'pipelineLayout'),
    counts ? { fact: 'virtualStages', value: virtualStages } : { fact: 'layersPerVirtualStage', value: layersOfOne },
  ];
}

function stageText(stageLayers: readonly number[]): string {
  return stageLayers.length <= 8 ? stageLayers.join(', ') : `${stageLayers.slice(0, 3).join(', ')}, ..., ${String(stageLayers.at(-1))}`;
}

/** Megatron stops where there are fewer positions than tokens. */
function positionsSetting({ sequenceLength }: LaunchSettings): DesiredSetting {
  return {
    what: sentence`at least ${formatCount(sequenceLength)} positions`,
    facts: ['maxPositions'],
    isMet: ({ maxPositions }) => maxPositions === undefined || maxPositions.value >= sequenceLength,
    alternatives: () => [[{ fact: 'maxPositions', value: sequenceLength }]],
    reason: never,
  };
}

function precisionSetting({ precision }: LaunchSettings, format: MegatronFormat): DesiredSetting {
  const isOpen = launcherTraitsOf(format).leavesOpen;
  const silent = isOpen ? null : 'fp32';
  return {
    what: sentence`precision ${precision}`,
    facts: ['precision', 'secondPrecision'],
    isMet: (facts) => {
      const given = facts.precision?.value;
      // What a narrow format is computed in beside the GEMMs.
      const beside = given === 'fp8' || given === 'nvfp4' ? 'bf16' : given;
      return facts.secondPrecision === undefined && (beside ?? silent) === precision;
    },
    alternatives: () =>
      isOpen && precision === 'fp32' ? [] : [[{ fact: 'precision', value: precision === 'fp32' ? undefined : precision }]],
    reason: isOpen ? sentence`the recipe in Python decides` : never,
  };
}

function shardingSetting({ zeroStage }: LaunchSettings, format: MegatronFormat): DesiredSetting {
  const isOpen = launcherTraitsOf(format).leavesOpen;
  const hasStages = (facts: Facts): boolean => isGiven(facts, 'zeroStage') || isOpen;
  const stageOf = ({ zeroStage: stage, distributedOptimizer: distributed }: Facts): number | null =>
    stage?.value ?? (distributed === undefined ? (isOpen ? null : 0) : distributed.value ? 1 : 0);
  return {
    what:
      zeroStage === 0
        ? sentence`optimizer not sharded (ZeRO 0)`
        : zeroStage === 1
          ? sentence`ZeRO 1 (distributed optimizer)`
          : sentence`ZeRO ${zeroStage}`,
    facts: ['zeroStage', 'distributedOptimizer'],
    isMet: (facts) => stageOf(facts) === zeroStage,
    alternatives: (facts) => {
      if (!isOpen && isGiven(facts, 'zeroStage')) return [[{ fact: 'zeroStage', value: zeroStage }]];
      const distributed: SettingEdit = { fact: 'distributedOptimizer', value: zeroStage > 0 };
      if (zeroStage < 2) return [hasStages(facts) ? [{ fact: 'zeroStage' }, distributed] : [distributed]];
      return isOpen ? [[distributed, { fact: 'zeroStage', value: zeroStage }]] : [];
    },
    reason: sentence`Megatron-LM shards the optimizer alone (ZeRO 1); its own FSDP is another runtime than the plan counted`,
  };
}

/** Whole layers whose activations go to the host: a number on a command line, a number and a switch in a config. */
function activationOffloadSettings(
  { activationOffloadLayers = 0, pipeline, recompute }: LaunchSettings,
  format: MegatronFormat,
): readonly DesiredSetting[] {
  if (activationOffloadLayers > 0 && (pipeline > 1 || recompute.granularity !== 'none'))
    return unsupported(
      'activationOffloadLayers',
      sentence`activations on the host`,
      sentence`Megatron offloads whole layers on one pipeline stage alone, without recompute`,
    );
  const givenOf = ({ cpuOffloading, activationOffloadLayers: layers }: Facts): number =>
    cpuOffloading?.value === true ? (layers?.value ?? 0) : 0;
  return [
    {
      what:
        activationOffloadLayers === 0
          ? sentence`no activations on the host`
          : sentence`activations of ${counted(activationOffloadLayers, 'layer')} on the host`,
      facts: ['cpuOffloading', 'activationOffloadLayers'],
      isMet: (facts) => givenOf(facts) === activationOffloadLayers,
      alternatives: () => {
        if (activationOffloadLayers === 0) return [removed('cpuOffloading', 'activationOffloadLayers')];
        const layers: SettingEdit = { fact: 'activationOffloadLayers', value: activationOffloadLayers };
        return dialects[format].offloadsByNumber ? [[layers]] : [[{ fact: 'cpuOffloading', value: true }, layers], [layers]];
      },
      reason: never,
    },
  ];
}

/** In which order ranks are numbered; Megatron-LM's own is replicas first. */
function orderSettings({ order }: LaunchSettings): readonly DesiredSetting[] {
  if (order === undefined) return [];
  const stagesFirst = order === 'tp-cp-ep-pp-dp';
  const setting = switchSetting(
    sentence`stages of a pipeline before replicas in the order of ranks`,
    'stagesBeforeReplicas',
    stagesFirst,
    false,
    () => true,
  );
  return [{ ...setting, carries: ['order'] }];
}

/** Exchanges beside compute, where the plan counts on them. */
function overlapSettings({ overlapGradReduce = false, overlapParamGather = false }: LaunchSettings): readonly DesiredSetting[] {
  return [
    ...(overlapGradReduce
      ? [switchSetting(sentence`gradient exchange beside backward`, 'overlapGradReduce', true, false, () => true)]
      : []),
    ...(overlapParamGather
      ? [switchSetting(sentence`gathers of weights beside forward`, 'overlapParamGather', true, false, () => true)]
      : []),
  ];
}

/** Megatron's own exchange is a ring (`p2p`). */
function contextParallelCommSettings({ contextParallelComm, context }: LaunchSettings): readonly DesiredSetting[] {
  if (contextParallelComm === undefined || context === 1) return [];
  const isWanted = (name: string): boolean => name.startsWith('a2a') === (contextParallelComm === 'all-to-all');
  return [
    {
      what:
        contextParallelComm === 'ring' ? sentence`context parallelism by ring (p2p)` : sentence`context parallelism by all-to-all (a2a)`,
      facts: ['contextCommunication'],
      isMet: ({ contextCommunication }) => isWanted(contextCommunication?.value ?? 'p2p'),
      alternatives: () => [[{ fact: 'contextCommunication', value: contextParallelComm === 'ring' ? 'p2p' : 'a2a' }]],
      reason: never,
    },
  ];
}

/** Data parallelism is what the GPUs leave, so that their number is what says it. */
function gpusSetting(plan: LaunchSettings, format: MegatronFormat): DesiredSetting {
  const gpus = gpusUsed(plan);
  const { nodes, gpusPerNode } = plan;
  return {
    what: sentence`${counted(gpus, 'GPU')}, so that data parallelism is ${formatCount(plan.data)}`,
    facts: ['nodes', 'gpusPerNode', 'world'],
    isMet: (facts) => worldOf(facts) === gpus,
    alternatives: (facts) => {
      const sizes: SettingEdit[] = [
        { fact: 'nodes', value: nodes },
        { fact: 'gpusPerNode', value: gpusPerNode },
      ];
      const isThere = isGiven(facts, 'nodes') || isGiven(facts, 'gpusPerNode') || dialects[format].saysNodes;
      if (isGiven(facts, 'world')) return [[{ fact: 'world', value: gpus }]];
      return isThere && nodes * gpusPerNode === gpus ? [sizes] : [];
    },
    reason: sentence`the file does not say how many GPUs it starts on; start it on ${counted(nodes, 'node')} of ${counted(gpusPerNode, 'GPU')}`,
  };
}

function scheduleGaps(plan: LaunchSettings): readonly DesiredSetting[] {
  const { schedule } = plan;
  const isSliced = runsSlices(plan);
  const isRun = schedulesOf('megatron').includes(plainName(schedule, plan));
  const runs = sentence`Megatron runs 1F1B, interleaved where there are virtual stages`;
  const named: DesiredSetting = {
    what: sentence`schedule ${schedule}`,
    facts: ['schedule'],
    isMet: (facts) => isSliced || !isRun || facts.schedule === undefined || facts.schedule.value === schedule,
    alternatives: () => [removed('schedule')],
    reason: never,
  };
  return [
    named,
    ...unsupported(
      'schedule',
      sentence`token slices (${schedule})`,
      sentence`Megatron-LM and NeMo have no token slices; ${runs}`,
      isSliced,
    ),
    ...unsupported('schedule', sentence`schedule ${schedule}`, runs, !isSliced && !isRun),
  ];
}
