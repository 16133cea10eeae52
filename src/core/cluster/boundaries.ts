import { joinedGpus, type NodeGroup } from '../domain/cluster';
import type { RankOrder } from '../domain/runtime';
import type { Layout } from '../domain/request';

type Sizes = Pick<Layout, 'tensor' | 'context' | 'pipeline' | 'data'>;

/** GPUs next to each other that hold one stage: of one replica where stages are numbered before replicas, else of all. */
function stageGpus({ tensor, context, data }: Sizes, order: RankOrder): number {
  return tensor * context * (order === 'tp-cp-ep-pp-dp' ? 1 : data);
}

/**
 * Whether two stages reach each other without the network, on every replica. Both lie within the GPUs that a node or NVLink joins.
 *
 * @param from and `to`: stages, counted from 0.
 */
export function stagesJoined(
  layout: Sizes,
  cluster: Pick<NodeGroup, 'gpusPerNode' | 'links'>,
  order: RankOrder,
  from: number,
  to: number,
): boolean {
  const joined = joinedGpus(cluster);
  const gpus = stageGpus(layout, order);
  const [first, end] = [Math.min(from, to) * gpus, (Math.max(from, to) + 1) * gpus];
  if (end - first > joined) return false;
  const replica = layout.pipeline * gpus;
  const replicas = order === 'tp-cp-ep-pp-dp' && replica % joined !== 0 ? Math.min(layout.data, joined) : 1;
  for (let index = 0; index < replicas; index++)
    if (Math.floor((index * replica + first) / joined) !== Math.floor((index * replica + end - 1) / joined)) return false;
  return true;
}

/** Whether some neighbouring stages may reach each other without the network: no boundary does where this is false. */
export function someStagesJoined(layout: Sizes, cluster: Pick<NodeGroup, 'gpusPerNode' | 'links'>, order: RankOrder): boolean {
  return layout.pipeline > 1 && 2 * stageGpus(layout, order) <= joinedGpus(cluster);
}

/** GPUs of a node that send at once to the next stage over its network. */
export function sendingGpus(layout: Sizes, { gpusPerNode }: Pick<NodeGroup, 'gpusPerNode'>, order: RankOrder): number {
  return Math.min(gpusPerNode, stageGpus(layout, order));
}

/** Whether it depends on the order of ranks which groups lie inside a node: there are replicas of stages that are smaller than a node. */
export function ordersDiffer(layout: Sizes, cluster: Pick<NodeGroup, 'gpusPerNode' | 'links'>): boolean {
  const { tensor, context, pipeline, data } = layout;
  const gpus = tensor * context * pipeline * data;
  return pipeline > 1 && data > 1 && tensor * context < joinedGpus(cluster) && gpus > joinedGpus(cluster);
}

/** Where the ranks lie that hold the same parameters: replicas and contexts. */
interface ReplicaLinks {
  /** All of a group reach each other without the network. */
  readonly joined: boolean;
  /** Groups that share the network of the GPUs that a node or NVLink joins. */
  readonly sharing: number;
}

/** @param ranks of a group. */
export function replicaLinks(
  layout: Sizes,
  cluster: Pick<NodeGroup, 'gpusPerNode' | 'links'>,
  order: RankOrder,
  ranks: number,
): ReplicaLinks {
  const { tensor, context, pipeline } = layout;
  const joinedTogether = joinedGpus(cluster);
  const stages = order === 'tp-cp-ep-pp-dp' ? pipeline : 1;
  const joined = tensor * ranks * stages <= joinedTogether;
  if (stages === 1) return { joined, sharing: Math.min(tensor, joinedTogether) };
  const contexts = Math.max(1, Math.min(context, Math.floor(joinedTogether / tensor)));
  const replicas = Math.max(1, Math.floor(joinedTogether / (tensor * context * stages)));
  return { joined, sharing: Math.max(1, joinedTogether / (contexts * replicas)) };
}
