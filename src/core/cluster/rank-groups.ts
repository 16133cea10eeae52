import { joinedGpus, type ClusterSpec } from '../domain/cluster';
import type { RankOrder } from '../domain/runtime';
import type { Layout } from '../domain/request';
import { nodeGroups } from './groups';
import { minimum } from '../numbers';

/** Kinds of parallelism whose ranks talk to each other, those that talk most first. */
export const rankGroups = ['tensor', 'context', 'expert', 'pipeline', 'data'] as const;
export type RankGroup = (typeof rankGroups)[number];

/** Where a rank runs, and what it holds. All count from 0. */
export interface PlacedRank {
  readonly rank: number;
  /** Over all groups of nodes. */
  readonly node: number;
  /** On its node. */
  readonly gpu: number;
  /** GPUs of one number reach each other without the network. */
  readonly domain: number;
  /** Its place in its group of each kind; of `pipeline`: its stage. */
  readonly places: Readonly<Record<RankGroup, number>>;
  /** Equal for the ranks of one group of each kind. */
  readonly groups: Readonly<Record<RankGroup, number>>;
}

/**
 * The ranks of a layout in their order: tensor ranks lie next to each other, then those of a context; beyond that replicas before stages,
 * or stages before replicas. Expert groups are cut over the replicas and contexts of a stage, as Megatron-LM does. On groups of nodes each
 * stage takes the next GPUs of its group.
 */
export function placeRanks(layout: Layout, cluster: ClusterSpec, order: RankOrder): readonly PlacedRank[] {
  const { tensor, context, data, pipeline, expert } = layout;
  const expertTensor = layout.expertTensor ?? tensor;
  const ofStage = tensor * context * data;
  const taken = nodeGroups(cluster).map(() => 0);
  const stageStarts = Array.from({ length: pipeline }, (_, stage) => {
    const group = layout.stageNodeGroups?.[stage] ?? 0;
    const start = taken[group] ?? 0;
    taken[group] = start + ofStage;
    return { group, start };
  });
  const firstNodes = nodeGroups(cluster).reduce<number[]>((first, { nodes }) => [...first, (first.at(-1) ?? 0) + nodes], [0]);
  return Array.from({ length: ofStage * pipeline }, (_, rank): PlacedRank => {
    const inner = tensor * context;
    const [innerPlace, outer] = [rank % inner, Math.floor(rank / inner)];
    const isMixed = cluster.groups !== undefined;
    const stagesFirst = order === 'tp-cp-ep-pp-dp' && !isMixed;
    const stage = stagesFirst ? outer % pipeline : Math.floor(outer / data);
    const replica = stagesFirst ? Math.floor(outer / pipeline) : outer % data;
    const { group, start } = isMixed ? (stageStarts[stage] ?? { group: 0, start: 0 }) : { group: 0, start: stage * ofStage };
    const { gpusPerNode, links } = nodeGroups(cluster)[group] ?? cluster;
    const index = stagesFirst ? rank : start + replica * inner + innerPlace;
    const [tensorPlace, contextPlace] = [innerPlace % tensor, Math.floor(innerPlace / tensor)];
    const inStage = replica * inner + innerPlace;
    const expertPlace = Math.floor(inStage / expertTensor) % expert;
    const firstNode = firstNodes[group] ?? 0;
    return {
      rank,
      node: firstNode + Math.floor(index / gpusPerNode),
      gpu: index % gpusPerNode,
      domain: firstNode + Math.floor(index / joinedGpus({ gpusPerNode, links })),
      places: { tensor: tensorPlace, context: contextPlace, expert: expertPlace, pipeline: stage, data: replica },
      groups: {
        tensor: (stage * data + replica) * context + contextPlace,
        context: (stage * data + replica) * tensor + tensorPlace,
        expert: (stage * ofStage + Math.floor(inStage / (expertTensor * expert))) * expertTensor + (inStage % expertTensor),
        pipeline: replica * inner + innerPlace,
        data: stage * inner + innerPlace,
      },
    };
  });
}

/** Stages that have their first GPU on one node. */
export interface StageNode {
  /** That of the first replica. */
  readonly node: number;
  /** On how many nodes its replicas lie, that one included. */
  readonly nodes: number;
  /** At least two, ascending. */
  readonly stages: readonly number[];
}

/** The nodes that hold several stages, by their first stage. A stage over several nodes counts to the first; none is on two nodes here. */
export function stageNodes(ranks: readonly PlacedRank[]): readonly StageNode[] {
  const firsts = new Map<number, Map<number, number>>();
  for (const { places, node } of ranks) {
    const ofStage = firsts.get(places.pipeline) ?? new Map<number, number>();
    firsts.set(places.pipeline, ofStage);
    ofStage.set(places.data, Math.min(node, ofStage.get(places.data) ?? Infinity));
  }
  const byNode = new Map<number, { readonly stages: number[]; readonly nodes: Set<number> }>();
  for (const [stage, ofStage] of [...firsts].sort(([a], [b]) => a - b)) {
    const node = minimum(ofStage.values());
    const known = byNode.get(node) ?? { stages: [], nodes: new Set<number>() };
    byNode.set(node, known);
    known.stages.push(stage);
    for (const each of ofStage.values()) known.nodes.add(each);
  }
  return [...byNode]
    .filter(([, { stages }]) => stages.length > 1)
    .map(([node, { stages, nodes }]) => ({ node, nodes: nodes.size, stages }));
}

/** The peers of a rank in its group of a kind: the neighbouring stages, or all others. */
export function rankPeers(ranks: readonly PlacedRank[], { rank, places, groups }: PlacedRank, kind: RankGroup): readonly PlacedRank[] {
  return ranks.filter(
    (other) =>
      other.rank !== rank &&
      other.groups[kind] === groups[kind] &&
      (kind !== 'pipeline' || Math.abs(other.places.pipeline - places.pipeline) === 1),
  );
}
