import type { JsonChange } from '../../core/formats/terapipe/change-json';

/** What makes the cluster of a terapipe.json nodes of one kind: in place of groups of nodes and of the stages on them. */
export function plainClusterChanges({
  gpu,
  nodes,
  gpusPerNode,
}: {
  readonly gpu: string;
  readonly nodes: number;
  readonly gpusPerNode: number;
}): readonly JsonChange[] {
  return [
    { path: ['cluster', 'groups'], value: undefined },
    { path: ['layout', 'stageNodeGroups'], value: undefined },
    { path: ['cluster', 'gpu'], value: gpu },
    { path: ['cluster', 'nodes'], value: nodes },
    { path: ['cluster', 'gpusPerNode'], value: gpusPerNode },
  ];
}
