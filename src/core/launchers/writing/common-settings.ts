import { gpusUsed } from '../../domain/request';
import type { Facts } from '../../run/facts';
import { formatCount } from '../../format';
import { counted, sentence } from '../../sentence';
import { countOf } from '../counts';
import {
  isGiven,
  never,
  removed,
  switchSetting,
  unsupported,
  unsupportedGroups,
  type Alternative,
  type DesiredSetting,
} from './desired-setting';
import { runsSlices, type LaunchSettings } from './launch-settings';

/** The number of GPUs of a file from which replicas follow: they are what the other sizes leave. */
export function gpusSetting(
  plan: LaunchSettings,
  { isMet, alternatives }: Pick<DesiredSetting, 'isMet' | 'alternatives'>,
  reason = sentence`the file does not set the number of GPUs; start it on ${counted(plan.nodes, 'node')} of ${counted(plan.gpusPerNode, 'GPU')}`,
): DesiredSetting {
  return {
    what: sentence`${counted(gpusUsed(plan), 'GPU')}, so that data parallelism is ${formatCount(plan.data)}`,
    facts: ['nodes', 'gpusPerNode', 'world'],
    carries: ['data'],
    isMet,
    alternatives,
    reason,
  };
}

/** The plan's nodes and GPUs of each. */
export function nodeSettings({ nodes, gpusPerNode }: LaunchSettings): Alternative {
  return [
    { fact: 'nodes', value: nodes },
    { fact: 'gpusPerNode', value: gpusPerNode },
  ];
}

/** What plans can have and GPT-NeoX, nanotron and DTensor do not. @param name of the launcher. */
export function lacking(plan: LaunchSettings, name: string): readonly DesiredSetting[] {
  const { virtualStages, activationOffloadLayers = 0, schedule, expertTensor, tensor } = plan;
  return [
    ...unsupported(
      'virtualStages',
      counted(virtualStages, 'virtual stage'),
      sentence`${name} has one stage on each GPU`,
      virtualStages > 1,
    ),
    ...unsupportedGroups(plan, sentence`no setting for it is known of ${name}`),
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

/** Sequence parallelism, which has no effect without tensor parallelism. */
export function sequenceParallelSetting({ tensor, sequenceParallel }: LaunchSettings): DesiredSetting {
  return switchSetting(sentence`sequence parallelism`, 'sequenceParallel', sequenceParallel, false, () => tensor > 1);
}

/** Whole layers are recomputed, all of them, or none. @param groups whether the file sets how many are recomputed together. */
export function wholeRecomputeSetting({ recompute }: LaunchSettings, groups = false): DesiredSetting {
  const { granularity, layers, group = 1 } = recompute;
  const isSupported = granularity !== 'selective' && layers === undefined && (group === 1 || groups);
  const recomputeGroupSize = (facts: Facts): number => (groups ? (countOf(facts, 'recomputeLayers') ?? 1) : 1);
  const isWhole = granularity === 'full';
  return {
    what: group > 1 ? sentence`recompute ${granularity}, ${formatCount(group)} layers together` : sentence`recompute ${granularity}`,
    facts: ['recomputeGranularity', ...(groups ? (['recomputeLayers'] as const) : [])],
    carries: ['recompute'],
    isMet: (facts) =>
      isSupported && (facts.recomputeGranularity?.value ?? 'none') === granularity && (!isWhole || recomputeGroupSize(facts) === group),
    alternatives: (facts) => {
      if (!isSupported) return [];
      if (!isWhole) return [removed('recomputeGranularity')];
      const whole = { fact: 'recomputeGranularity', value: 'full' } as const;
      const together = [whole, { fact: 'recomputeLayers', value: group } as const];
      if (!groups) return [[whole]];
      return recomputeGroupSize(facts) === group ? [[whole], together] : [together];
    },
    reason: isSupported ? never : sentence`this launcher recomputes all layers, whole, or none`,
  };
}

/** A file that gives the GPUs of a node gives the number of nodes, or has one. */
export function nodesSetting(plan: LaunchSettings): DesiredSetting {
  return gpusSetting(plan, {
    isMet: (facts) => (countOf(facts, 'nodes') ?? 1) * (countOf(facts, 'gpusPerNode') ?? 0) === gpusUsed(plan),
    alternatives: (facts) => (isGiven(facts, 'gpusPerNode') ? [nodeSettings(plan)] : []),
  });
}
