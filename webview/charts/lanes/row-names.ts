import type { StageNode } from '../../../src/core/cluster/rank-groups';
import { t } from '../../base/strings';
import { rangesText } from './rows';

/** Where twisties and pins, and names of nodes begin left of the lanes, and how large the former are, CSS px. */
export const rowControls = { iconsPx: 4, iconPx: 12, namePx: 18 } as const;

/** `Node 3`. */
export function nodeName({ node }: StageNode): string {
  return t('Node {0}', node);
}

/** `Node 3: stages 6–7`, with the nodes of other replicas. */
export function nodeText({ node, nodes }: StageNode, stages: readonly number[]): string {
  const which = rangesText(stages);
  if (nodes > 1) return t('Node {0} and {1} of other replicas: stages {2}', node, nodes - 1, which);
  return stages.length === 1 ? t('Node {0}: stage {1}', node, which) : t('Node {0}: stages {1}', node, which);
}
