import { formatCount } from '../format';
import type { ClusterSpec, GpuSpec, NodeGroup } from '../domain/cluster';
import { counted, listOf, sentence, type Sentence } from '../sentence';

/** The kinds of nodes of a cluster, one where all are alike. */
export function nodeGroups(cluster: ClusterSpec): readonly NodeGroup[] {
  return cluster.groups ?? [cluster];
}

/** A cluster of several kinds of nodes; groups that are all of one kind make a plain cluster. */
export function joinNodeGroups(groups: readonly [NodeGroup, ...NodeGroup[]]): ClusterSpec {
  const [first, ...others] = groups;
  const nodes = groups.reduce((sum, group) => sum + group.nodes, 0);
  const plain = { gpu: first.gpu, links: first.links, nodes, gpusPerNode: first.gpusPerNode };
  return others.every((other) => sameKind(first, other)) ? plain : { ...plain, groups };
}

/** Whether nodes of two groups have the same GPUs, as many of them, and the same links. */
export function sameKind(a: NodeGroup, b: NodeGroup): boolean {
  const kind = ({ gpu, links, gpusPerNode }: NodeGroup): string => JSON.stringify([gpu, links, gpusPerNode]);
  return kind(a) === kind(b);
}

/** GPUs of all its nodes. */
export function gpusOfGroup({ nodes, gpusPerNode }: NodeGroup): number {
  return nodes * gpusPerNode;
}

/** `2 nodes of 8 H100-80GB + 4 nodes of 8 A100-80GB`. */
export function clusterText(cluster: ClusterSpec): Sentence {
  return nodeGroups(cluster)
    .map(({ nodes, gpusPerNode, gpu }) => sentence`${counted(nodes, 'node')} of ${formatCount(gpusPerNode)} ${gpu.name}`)
    .reduce((a, b) => sentence`${a} + ${b}`);
}

/** `16 H100-80GB + 32 A100-80GB`; of a plain cluster the `gpus` that a layout uses. */
export function gpusText(cluster: ClusterSpec, gpus: number): string {
  if (cluster.groups === undefined) return `${formatCount(gpus)} ${cluster.gpu.name}`;
  return cluster.groups.map((group) => `${formatCount(gpusOfGroup(group))} ${group.gpu.name}`).join(' + ');
}

/** `H100-80GB and A100-80GB`: each GPU once. */
export function gpuNames(cluster: ClusterSpec): string {
  return [...new Set(nodeGroups(cluster).map(({ gpu }) => gpu.name))].join(' and ');
}

/** The GPUs of a layout's stages, where they are not all alike; null where they are. */
export function stageGpus(
  { groups }: ClusterSpec,
  { stageNodeGroups }: { readonly stageNodeGroups?: readonly number[] },
): readonly GpuSpec[] | null {
  if (groups === undefined) return null;
  return (stageNodeGroups ?? []).map((group) => groupAt(groups, group).gpu);
}

/** @throws Error for a number that no group has. */
export function groupAt(groups: readonly NodeGroup[], index: number): NodeGroup {
  const group = groups[index];
  if (group === undefined) throw new Error(`there is no group ${index}`);
  return group;
}

/** `A100-80GB on stages 0-7, H100-80GB on stages 8-11`; null where all nodes are alike. */
export function placementText(cluster: ClusterSpec, layout: { readonly stageNodeGroups?: readonly number[] }): Sentence | null {
  const gpus = stageGpus(cluster, layout);
  if (gpus === null) return null;
  const runs: { gpu: string; first: number; last: number }[] = [];
  gpus.forEach(({ name }, stage) => {
    const run = runs.at(-1);
    if (run?.gpu === name) run.last = stage;
    else runs.push({ gpu: name, first: stage, last: stage });
  });
  const placed = runs.map(({ gpu, first, last }) =>
    first === last ? sentence`${gpu} on stage ${first}` : sentence`${gpu} on stages ${first}-${last}`,
  );
  return sentence`${listOf(placed)}`;
}
