import type { JsonChange } from '../../core/terapipe/change-json';

/** The changes that give a terapipe.json nodes of one kind, in place of node groups and their stages. */
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
