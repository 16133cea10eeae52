import type { Facts } from '../../run/facts';
import { formatCount } from '../../format';
import { worldSize } from '../counts';
import { runsSlices, type LaunchSettings } from '../writing/launch-settings';
import { silentSize, type LauncherTraits } from '../traits';
import { plainName, scheduleOn } from '../../schedules/on-layout';
import { runtimeSchedules } from '../../schedules/registry';
import { gpusSetting, nodeSettings } from '../writing/common-settings';
import { recomputeSetting } from './recompute-setting';
import { plainDialect, stagesSetting, type MegatronDialect } from './stages-setting';
import { sliceSettings } from './slice-settings';
import {
  never,
  countSetting,
  removed,
  isGiven,
  unsupported,
  unsupportedGroups,
  narrowFormatSettings,
  optimizerOffloadSetting,
  sizeSettings,
  switchSetting,
  type SettingEdit,
  type DesiredSetting,
} from '../writing/desired-setting';
import { counted, sentence } from '../../sentence';
import { gpusUsed } from '../../domain/request';

/** The settings of a plan in a file of Megatron-LM, NeMo or Megatron-Bridge: sizes first, then what depends on them. */
export function megatronSettings(
  plan: LaunchSettings,
  traits: LauncherTraits,
  dialect: MegatronDialect = plainDialect,
  recompute: DesiredSetting = recomputeSetting(plan),
): readonly DesiredSetting[] {
  const silent = silentSize(traits);
  return [
    ...sizeSettings(plan, { tensor: silent, pipeline: silent, context: silent, expert: plan.model.experts === null ? 1 : silent }),
    ...(plan.expertTensor === null
      ? []
      : [countSetting(sentence`expert tensor parallel size`, 'expertTensor', plan.expertTensor, silent === null ? null : plan.tensor)]),
    stagesSetting(plan, traits, dialect),
    ...sizeSettings(plan, { sequenceLength: null }),
    positionsSetting(plan),
    ...sizeSettings(plan, { microBatch: null, globalBatch: null }),
    precisionSetting(plan, traits),
    ...narrowFormatSettings(plan.gemmPrecision, dialect.narrow, sentence`set the format and its recipe yourself`),
    ...orderSettings(plan),
    ...overlapSettings(plan, traits),
    shardingSetting(plan, traits),
    ...instanceSettings(plan, traits),
    switchSetting(
      sentence`sequence parallelism`,
      'sequenceParallel',
      plan.sequenceParallel,
      traits.leavesOpen ? null : false,
      () => plan.tensor > 1,
    ),
    recompute,
    ...activationOffloadSettings(plan, dialect),
    optimizerOffloadSetting(plan.offloadOptimizer === true),
    ...contextParallelCommSettings(plan),
    worldSetting(plan, dialect),
    ...(plan.sliced !== undefined && traits.takesMegatronArguments ? sliceSettings(plan.sliced) : scheduleGaps(plan)),
  ];
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

function precisionSetting({ precision }: LaunchSettings, { leavesOpen: isOpen }: LauncherTraits): DesiredSetting {
  const silent = isOpen ? null : 'fp32';
  return {
    what: sentence`precision ${precision}`,
    facts: ['precision', 'secondPrecision'],
    isMet: (facts) => {
      const given = facts.precision?.value;
      // The format of all except the GEMMs.
      const unnarrowed = given === 'fp8' || given === 'nvfp4' ? 'bf16' : given;
      return facts.secondPrecision === undefined && (unnarrowed ?? silent) === precision;
    },
    alternatives: () =>
      isOpen && precision === 'fp32' ? [] : [[{ fact: 'precision', value: precision === 'fp32' ? undefined : precision }]],
    reason: isOpen ? sentence`the recipe in Python decides` : never,
  };
}

function shardingSetting({ zeroStage }: LaunchSettings, { leavesOpen: isOpen }: LauncherTraits): DesiredSetting {
  const hasStages = (facts: Facts): boolean => isGiven(facts, 'zeroStage') || isOpen;
  const zeroStageFrom = ({ zeroStage: stage, distributedOptimizer: distributed }: Facts): number | null =>
    stage?.value ?? (distributed === undefined ? (isOpen ? null : 0) : distributed.value ? 1 : 0);
  return {
    what:
      zeroStage === 0
        ? sentence`optimizer not sharded (ZeRO 0)`
        : zeroStage === 1
          ? sentence`ZeRO 1 (distributed optimizer)`
          : sentence`ZeRO ${zeroStage}`,
    facts: ['zeroStage', 'distributedOptimizer'],
    isMet: (facts) => zeroStageFrom(facts) === zeroStage,
    alternatives: (facts) => {
      if (!isOpen && isGiven(facts, 'zeroStage')) return [[{ fact: 'zeroStage', value: zeroStage }]];
      const distributed: SettingEdit = { fact: 'distributedOptimizer', value: zeroStage > 0 };
      if (zeroStage < 2) return [hasStages(facts) ? [{ fact: 'zeroStage' }, distributed] : [distributed]];
      return isOpen ? [[distributed, { fact: 'zeroStage', value: zeroStage }]] : [];
    },
    reason:
      zeroStage < 2 ? never : sentence`Megatron-LM shards only the optimizer (ZeRO 1); its FSDP is another runtime than the planned one`,
  };
}

/** Groups of HSDP are instances of the distributed optimizer, which ZeRO 2 and 3 of another runtime do not have. */
function instanceSettings(
  { zeroStage, dataReplicate = 1 }: LaunchSettings,
  { leavesOpen: isOpen }: LauncherTraits,
): readonly DesiredSetting[] {
  const isWritten = zeroStage === 1 || (isOpen && zeroStage > 1);
  const instances = countSetting(sentence`instances of the distributed optimizer`, 'dataReplicate', isWritten ? dataReplicate : 1, 1);
  if (isWritten || zeroStage === 0) return [instances];
  const groups = unsupportedGroups({ zeroStage, dataReplicate }, sentence`Megatron-LM has them only of its distributed optimizer (ZeRO 1)`);
  return [{ ...instances, carries: [] }, ...groups];
}

/** Whole layers whose activations go to the host: a number on a command line, a number and a switch in a config. */
function activationOffloadSettings(
  { activationOffloadLayers = 0, pipeline, recompute }: LaunchSettings,
  dialect: MegatronDialect,
): readonly DesiredSetting[] {
  if (activationOffloadLayers > 0 && (pipeline > 1 || recompute.granularity !== 'none'))
    return unsupported(
      'activationOffloadLayers',
      sentence`activations on the host`,
      sentence`Megatron offloads whole layers only on one pipeline stage and without recompute`,
    );
  const offloadedLayerCount = ({ cpuOffloading, activationOffloadLayers: layers }: Facts): number =>
    cpuOffloading?.value === true ? (layers?.value ?? 0) : 0;
  return [
    {
      what:
        activationOffloadLayers === 0
          ? sentence`no activations on the host`
          : sentence`activations of ${counted(activationOffloadLayers, 'layer')} on the host`,
      facts: ['cpuOffloading', 'activationOffloadLayers'],
      isMet: (facts) => offloadedLayerCount(facts) === activationOffloadLayers,
      alternatives: () => {
        if (activationOffloadLayers === 0) return [removed('cpuOffloading', 'activationOffloadLayers')];
        const layers: SettingEdit = { fact: 'activationOffloadLayers', value: activationOffloadLayers };
        return dialect.offloadsByNumber ? [[layers]] : [[{ fact: 'cpuOffloading', value: true }, layers], [layers]];
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

/** Exchanges overlapped with compute, where the plan assumes that. Gathers of weights are refused without the distributed optimizer. */
function overlapSettings(
  { overlapGradReduce = false, overlapParamGather = false, zeroStage }: LaunchSettings,
  { leavesOpen: isOpen }: LauncherTraits,
): readonly DesiredSetting[] {
  const gathers = sentence`weight all-gathers overlapped with forward`;
  const isDistributed = zeroStage === 1 || (isOpen && zeroStage > 1);
  return [
    ...(overlapGradReduce
      ? [switchSetting(sentence`gradient reduction overlapped with backward`, 'overlapGradReduce', true, false, () => true)]
      : []),
    ...(overlapParamGather && isDistributed ? [switchSetting(gathers, 'overlapParamGather', true, false, () => true)] : []),
    ...(zeroStage === 0 ? [switchSetting(gathers, 'overlapParamGather', false, false, () => true)] : []),
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

function worldSetting(plan: LaunchSettings, dialect: MegatronDialect): DesiredSetting {
  const gpus = gpusUsed(plan);
  return gpusSetting(plan, {
    isMet: (facts) => worldSize(facts) === gpus,
    alternatives: (facts) => {
      if (isGiven(facts, 'world')) return [[{ fact: 'world', value: gpus }]];
      const isThere = isGiven(facts, 'nodes') || isGiven(facts, 'gpusPerNode') || dialect.hasNodes;
      return isThere && plan.nodes * plan.gpusPerNode === gpus ? [nodeSettings(plan)] : [];
    },
  });
}

function scheduleGaps(plan: LaunchSettings): readonly DesiredSetting[] {
  const { schedule } = plan;
  const isSliced = runsSlices(plan);
  const isRun = runtimeSchedules('megatron').includes(plainName(schedule, plan));
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
    overlappedPasses(plan),
    ...unsupported(
      'schedule',
      sentence`token slices (${schedule})`,
      sentence`Megatron-LM and NeMo have no token slices; ${runs}`,
      isSliced,
    ),
    ...unsupported('schedule', sentence`schedule ${schedule}`, runs, !isSliced && !isRun).map((gap) => ({
      ...gap,
      // a fork that has it
      facts: ['schedule'] as const,
      isMet: (facts: Facts) => facts.schedule?.value === schedule,
    })),
  ];
}

/**
 * MindSpeed overlaps passes with experts on one stage, on virtual ones and in DualPipeV (Ascend/MindSpeed at 028de58c,
 * mindspeed/features_manager/moe/fb_overlap.py 91 to 107).
 */
function overlappedPasses(plan: LaunchSettings): DesiredSetting {
  const { pipeline, schedule, expert, tensor, expertTensor } = plan;
  const canOverlap = (pipeline === 1 || scheduleOn(schedule, plan).chunks > 1) && expert > 1 && (expertTensor ?? tensor) === 1;
  return {
    what: sentence`passes of two micro-batches one after the other`,
    facts: ['passOverlap'],
    isMet: ({ passOverlap }) => passOverlap?.value !== true || canOverlap,
    alternatives: () => [removed('passOverlap')],
    reason: never,
  };
}
