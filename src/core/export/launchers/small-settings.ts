import type { Facts } from '../../formats/facts';
import { engineOf } from '../../launchers/nanotron/engines';
import { formatCount } from '../../format';
import { counted, sentence } from '../../sentence';
import { gpusUsed } from '../../domain/request';
import { countOf } from '../../launchers/layout-sizes';
import { accumulationSteps, runsSlices, type LaunchSettings } from './launch-settings';
import { gpusSetting, nodesOf } from './gpus-setting';
import {
  countSetting,
  isGiven,
  never,
  optimizerOffloadSetting,
  removed,
  sizeSettings,
  switchSetting,
  unsupported,
  type DesiredSetting,
} from './desired-setting';

/** What a GPT-NeoX YAML needs for a plan: DeepSpeed's engine under Megatron's sizes. */
export function neoxSettings(plan: LaunchSettings): readonly DesiredSetting[] {
  return [
    ...sizeSettings(plan, { tensor: 1, pipeline: 1, expert: 1, sequenceLength: null, microBatch: null }),
    globalBatchSetting(plan),
    countSetting(sentence`ZeRO stage`, 'zeroStage', plan.zeroStage, 0),
    sequenceParallelSetting(plan),
    wholeRecomputeSetting(plan, true),
    optimizerOffloadSetting(plan.offloadOptimizer === true),
    nodesSetting(plan),
    ...lacking(plan, 'GPT-NeoX'),
    ...unsupported('context', sentence`context parallel size ${plan.context}`, sentence`its files have no key for it`, plan.context > 1),
  ];
}

/** What a nanotron YAML needs for a plan. */
export function nanotronSettings(plan: LaunchSettings): readonly DesiredSetting[] {
  return [
    ...sizeSettings(plan, { tensor: null, pipeline: null, data: null, context: 1, expert: 1 }),
    engineSetting(plan),
    ...sizeSettings(plan, { sequenceLength: null, microBatch: null }),
    countSetting(sentence`gradient accumulation steps`, 'gradientAccumulation', accumulationSteps(plan), null),
    { ...countSetting(sentence`ZeRO stage`, 'zeroStage', plan.zeroStage, 0), reason: sentence`nanotron shards the optimizer only` },
    sequenceParallelSetting(plan),
    wholeRecomputeSetting(plan),
    ...lacking(plan, 'nanotron'),
  ];
}

/** What a NeMo-RL YAML of the DTensor backend needs for a plan: FSDP2 takes the GPUs that the sizes leave. */
export function dtensorSettings(plan: LaunchSettings): readonly DesiredSetting[] {
  return [
    ...sizeSettings(plan, { tensor: 1, context: 1, expert: 1, sequenceLength: null, microBatch: null, globalBatch: null }),
    sequenceParallelSetting(plan),
    wholeRecomputeSetting(plan),
    nodesSetting(plan),
    ...lacking(plan, 'NeMo-RL'),
    ...unsupported('pipeline', sentence`pipeline parallel size ${plan.pipeline}`, sentence`DTensor has no pipeline`, plan.pipeline > 1),
    ...unsupported('zeroStage', sentence`ZeRO ${plan.zeroStage}`, sentence`FSDP2 shards weights`, plan.zeroStage !== 3 && plan.data > 1),
  ];
}

/** What none of these launchers has. */
function lacking(plan: LaunchSettings, name: string): readonly DesiredSetting[] {
  const { virtualStages, activationOffloadLayers = 0, schedule, expertTensor, tensor } = plan;
  return [
    ...unsupported(
      'virtualStages',
      counted(virtualStages, 'virtual stage'),
      sentence`${name} has one stage on each GPU`,
      virtualStages > 1,
    ),
    ...unsupported('slicing', sentence`token slices (${schedule})`, sentence`${name} has no token slices`, runsSlices(plan)),
    ...unsupported(
      'activationOffloadLayers',
      sentence`activations on the host`,
      sentence`${name} has no setting for it`,
      activationOffloadLayers > 0,
    ),
    ...unsupported(
      'expertTensor',
      sentence`expert tensor parallel size ${expertTensor ?? 1}`,
      sentence`${name} splits experts as the other weights`,
      expertTensor !== null && expertTensor !== tensor,
    ),
  ];
}

function sequenceParallelSetting({ tensor, sequenceParallel }: LaunchSettings): DesiredSetting {
  return switchSetting(sentence`sequence parallelism`, 'sequenceParallel', sequenceParallel, false, () => tensor > 1);
}

/** Whole layers are recomputed, all of them, or none. @param groups whether the file sets how many are recomputed together. */
function wholeRecomputeSetting({ recompute }: LaunchSettings, groups = false): DesiredSetting {
  const { granularity, layers, group = 1 } = recompute;
  const isSaid = granularity !== 'selective' && layers === undefined && (group === 1 || groups);
  const groupOf = (facts: Facts): number => (groups ? (countOf(facts, 'recomputeLayers') ?? 1) : 1);
  const isWhole = granularity === 'full';
  return {
    what: group > 1 ? sentence`recompute ${granularity}, ${formatCount(group)} layers together` : sentence`recompute ${granularity}`,
    facts: ['recomputeGranularity', ...(groups ? (['recomputeLayers'] as const) : [])],
    carries: ['recompute'],
    isMet: (facts) => isSaid && (facts.recomputeGranularity?.value ?? 'none') === granularity && (!isWhole || groupOf(facts) === group),
    alternatives: (facts) => {
      if (!isSaid) return [];
      if (!isWhole) return [removed('recomputeGranularity')];
      const whole = { fact: 'recomputeGranularity', value: 'full' } as const;
      const together = [whole, { fact: 'recomputeLayers', value: group } as const];
      if (!groups) return [[whole]];
      return groupOf(facts) === group ? [[whole], together] : [together];
    },
    reason: isSaid ? never : sentence`this launcher recomputes all layers, whole, or none`,
  };
}

/** Of micro-batch, accumulation and global batch the file has two or three; those that it has agree. */
function globalBatchSetting(plan: LaunchSettings): DesiredSetting {
  const { globalBatch } = plan;
  const steps = accumulationSteps(plan);
  return {
    what: sentence`global batch size ${formatCount(globalBatch)}`,
    facts: ['globalBatch', 'gradientAccumulation'],
    carries: ['globalBatch'],
    isMet: ({ globalBatch: all, gradientAccumulation: accumulated }) =>
      (all === undefined || all.value === globalBatch) &&
      (accumulated === undefined || accumulated.value === steps) &&
      (all !== undefined || (accumulated?.value ?? 1) === steps),
    alternatives: (facts) => {
      const wanted = [
        { fact: 'globalBatch', value: globalBatch },
        { fact: 'gradientAccumulation', value: steps },
      ] as const;
      const given = wanted.filter(({ fact }) => isGiven(facts, fact));
      return [given.length > 0 ? given : wanted.slice(1)];
    },
    reason: never,
  };
}

function engineSetting({ schedule, pipeline }: LaunchSettings): DesiredSetting {
  const isKnown = engineOf(schedule) !== undefined;
  return {
    what: sentence`schedule ${schedule}`,
    facts: ['schedule'],
    isMet: (facts) => pipeline === 1 || (facts.schedule?.value ?? 'GPipe') === schedule,
    alternatives: () => (isKnown ? [[{ fact: 'schedule', value: schedule }]] : []),
    reason: isKnown ? never : sentence`nanotron runs 1F1B and GPipe`,
  };
}

/** A file that gives the GPUs of a node gives the number of nodes, or has one. */
function nodesSetting(plan: LaunchSettings): DesiredSetting {
  return gpusSetting(plan, {
    isMet: (facts) => (countOf(facts, 'nodes') ?? 1) * (countOf(facts, 'gpusPerNode') ?? 0) === gpusUsed(plan),
    alternatives: (facts) => (isGiven(facts, 'gpusPerNode') ? [nodesOf(plan)] : []),
  });
}
