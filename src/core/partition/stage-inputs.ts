import { groupAt, stageGpus } from '../cluster/groups';
import type { ClusterSpec } from '../domain/cluster';
import type { CostInputs } from '../time-model/rates';
import type { GpuMemory } from '../memory-model/profile';
import type { Layout } from '../domain/request';

/**
 * What the times of each stage are predicted from: the nodes of its kind as a plain cluster, with the stages that lie on them. One object
 * for all stages of a kind; on a plain cluster the inputs as they are.
 */
export function stageInputsOf(inputs: CostInputs & { readonly cluster: ClusterSpec }): readonly CostInputs[] {
  const { cluster, layout } = inputs;
  const { groups } = cluster;
  if (groups === undefined) return Array.from({ length: layout.pipeline }, () => inputs);
  const { stageNodeGroups = [], ...sizes } = layout;
  /** Each stage takes the next GPUs of its group, for all replicas. */
  const order = 'tp-cp-ep-dp-pp';
  const known = new Map<number, CostInputs>();
  return stageNodeGroups.map((group) => {
    let own = known.get(group);
    const pipeline = stageNodeGroups.filter((other) => other === group).length;
    if (own === undefined) known.set(group, (own = { ...inputs, cluster: groupAt(groups, group), layout: { ...sizes, order, pipeline } }));
    return own;
  });
}

/** Memory of the GPUs that a layout's stages run on. */
export function gpuMemoryOf(cluster: ClusterSpec, layout: Pick<Layout, 'stageNodeGroups'>): GpuMemory {
  return stageGpus(cluster, layout) ?? cluster.gpu.memoryBytes;
}
