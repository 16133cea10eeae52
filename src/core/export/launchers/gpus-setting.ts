import { formatCount } from '../../format';
import { counted, sentence } from '../../sentence';
import { gpusUsed } from '../../domain/request';
import type { Alternative, DesiredSetting } from './desired-setting';
import type { LaunchSettings } from './launch-settings';

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
export function nodesOf({ nodes, gpusPerNode }: LaunchSettings): Alternative {
  return [
    { fact: 'nodes', value: nodes },
    { fact: 'gpusPerNode', value: gpusPerNode },
  ];
}
