import { rankPeers, rankGroups, type PlacedRank, type RankGroup } from '../../../src/core/cluster/rank-groups';
import { chosenCandidate, type Plan } from '../../../src/core/planner/plan';
import { meanParts } from '../../../src/core/planner/explain/step-part-names';

/** Links that a group's ranks talk over: inside a node (or what NVLink joins), and the network. */
export type LinkClass = 'node' | 'network';

/** What the ranks of one kind of group take of a step to talk to each other. */
export interface GroupLoad {
  /** Several where the model gives only their sum: collectives inside layers. */
  readonly kinds: readonly RankGroup[];
  /** Mean of all stages; null where times are measured, which do not distinguish collectives inside layers. */
  readonly ms: number | null;
  /** Of the step. */
  readonly share: number | null;
}

/** Kinds of groups of more than one rank. */
export function groupKinds({ request: { layout } }: Plan): readonly RankGroup[] {
  return rankGroups.filter((kind) => layout[kind] > 1);
}

/** What each kind of group takes of the step of the plan, by the model's own figures. */
export function groupLoads(plan: Plan): readonly GroupLoad[] {
  const candidate = chosenCandidate(plan);
  const kinds = groupKinds(plan);
  const { iterationMs, gradientExchangeMs, hiddenExchangeMs = 0 } = candidate;
  const parts = plan.partsByStage === null ? null : meanParts(plan.partsByStage);
  const load = (of: readonly RankGroup[], ms: number | null): GroupLoad[] =>
    of.length === 0 ? [] : [{ kinds: of, ms, share: ms === null ? null : ms / iterationMs }];
  return [
    ...load(
      kinds.filter((kind) => kind !== 'pipeline' && kind !== 'data'),
      parts?.exchange ?? null,
    ),
    ...load(
      kinds.filter((kind) => kind === 'pipeline'),
      parts?.send ?? null,
    ),
    ...load(
      kinds.filter((kind) => kind === 'data'),
      gradientExchangeMs + hiddenExchangeMs,
    ),
  ];
}

/** The links between a rank and those that it talks to. */
export function peerLinks(rank: PlacedRank, peers: readonly PlacedRank[]): ReadonlySet<LinkClass> {
  return new Set(peers.map((peer) => (peer.domain === rank.domain ? 'node' : 'network')));
}

/** Over which links each kind of group talks, as of one rank of each place on the first node. */
export function linksOfKind(ranks: readonly PlacedRank[], kind: RankGroup): ReadonlySet<LinkClass> {
  const first = ranks.filter(({ node }) => node === ranks[0]?.node);
  return new Set(first.flatMap((rank) => [...peerLinks(rank, rankPeers(ranks, rank, kind))]));
}

/** Share of the step that the ranks of the first nodes talk over each of their links; null where a part of it is not known. */
export function nodeLoads(
  ranks: readonly PlacedRank[],
  loads: readonly GroupLoad[],
  mostNodes: number,
): ReadonlyMap<number, Readonly<Record<LinkClass, number | null>>> {
  const byGroup = indexed(ranks);
  const sums = new Map<number, Record<LinkClass, number | null>>();
  const ofNodes = new Map<number, PlacedRank[]>();
  for (const rank of ranks) {
    const own = ofNodes.get(rank.node);
    if (own !== undefined) own.push(rank);
    else if (ofNodes.size < mostNodes) ofNodes.set(rank.node, [rank]);
  }
  for (const [node, own] of [...ofNodes].sort(([a], [b]) => a - b)) {
    const sum: Record<LinkClass, number | null> = { node: 0, network: 0 };
    for (const { kinds, share } of loads) {
      const used = new Set(
        kinds.flatMap((kind) => own.flatMap((rank) => [...peerLinks(rank, rankPeers(byGroup(kind, rank.groups[kind]), rank, kind))])),
      );
      // A collective that leaves the node runs at the network's speed; a send takes the link to each neighbour.
      const links: readonly LinkClass[] = kinds.includes('pipeline') ? [...used] : used.has('network') ? ['network'] : [...used];
      for (const link of links) sum[link] = share === null || sum[link] === null ? null : sum[link] + share;
    }
    sums.set(node, sum);
  }
  return sums;
}

/** Ranks of one group, found without going through all. */
function indexed(ranks: readonly PlacedRank[]): (kind: RankGroup, group: number) => readonly PlacedRank[] {
  const known = new Map<string, PlacedRank[]>();
  for (const rank of ranks)
    for (const kind of rankGroups) {
      const key = `${kind} ${rank.groups[kind]}`;
      const members = known.get(key);
      if (members === undefined) known.set(key, [rank]);
      else members.push(rank);
    }
  return (kind, group) => known.get(`${kind} ${group}`) ?? [];
}
