import { joinedGpus, type ClusterSpec, type LinkSpec, type NodeGroup } from '../domain/cluster';
import type { Layout } from '../domain/request';

const GBps = 1e9;

/** All-reduce bus bandwidth inside a node for a group of `ranks`, bytes per second: the measured group size at or above it. */
export function nodeBusBandwidth(links: LinkSpec, ranks: number): number {
  const { intraNodeBusGBps } = links;
  return (ranks <= 2 ? intraNodeBusGBps[2] : ranks <= 4 ? intraNodeBusGBps[4] : intraNodeBusGBps[8]) * GBps;
}

/** Network bandwidth of a node that is really reached, bytes per second. */
export function networkBandwidth(links: LinkSpec): number {
  return links.nicGBps * links.nicEfficiency * GBps;
}

/**
 * Network bandwidth of a node that collectives between nodes reach, bytes per second. Over TCP it is less than what one GPU that sends
 * reaches: the slowest of all sockets decides when a collective ends (docs/model/time.md, Collectives).
 */
export function collectiveBandwidth({ links, gpusPerNode }: Pick<ClusterSpec, 'links' | 'gpusPerNode'>): number {
  const { nicGBps, nicEfficiency, nicSharedEfficiency = nicEfficiency } = links;
  return nicGBps * (gpusPerNode > 1 ? nicSharedEfficiency : nicEfficiency) * GBps;
}

/**
 * Network bandwidth that collectives leave the GPUs with that a node or NVLink joins, bytes per second: of all nodes of an NVL72 rack,
 * since what crosses between racks may leave by the card of any GPU of the group.
 */
export function joinedBandwidth(cluster: Pick<ClusterSpec, 'links' | 'gpusPerNode'>): number {
  return (collectiveBandwidth(cluster) * joinedGpus(cluster)) / cluster.gpusPerNode;
}

/**
 * Seconds of a ring all-reduce of `bytes` over `ranks`: 2 (r-1)/r bytes / bandwidth + lat0 + lat1 log2 r. A group that leaves the GPUs that
 * a node or NVLink joins runs at the node's network bandwidth with twice the latency. Source: straight-line fits to NCCL tables
 * (docs/model/time.md, Collectives).
 */
export function allReduceSeconds(bytes: number, ranks: number, cluster: Pick<ClusterSpec, 'links' | 'gpusPerNode'>): number {
  if (ranks <= 1) return 0;
  const { links } = cluster;
  const latency = (links.allReduceLatencyUs.base + links.allReduceLatencyUs.perDoubling * Math.log2(ranks)) * 1e-6;
  const volume = (2 * (ranks - 1) * bytes) / ranks;
  return ranks > joinedGpus(cluster)
    ? volume / collectiveBandwidth(cluster) + 2 * latency
    : volume / nodeBusBandwidth(links, ranks) + latency;
}

/**
 * What a step of NCCL's rings takes, µs: `hwLatencies` of its Simple protocol (src/graph/tuning.cc of NVIDIA/nccl at 5067397c), as it
 * counts them for all-gathers and reduce-scatters.
 */
const ringStepUs = { inside: 3.4, between: 14 } as const;

/**
 * Seconds until the first bytes have gone once round `ranks` that lie on `nodes`: an all-gather's or a reduce-scatter's latency, half an
 * all-reduce's. It grows with the ranks, not with their logarithm as fits to small groups do. Assumed of broadcasts, whose bytes go the
 * same way; for them NCCL counts one step where channels are alike, else one between nodes for every rank (docs/model/time.md). FSDP's
 * collectives take `shardStepSeconds` of sharding.ts a rank instead, which was measured of them.
 */
export function ringLatencySeconds(ranks: number, nodes: number): number {
  return 1e-6 * ((ranks - nodes) * ringStepUs.inside + (nodes - 1) * ringStepUs.between);
}

/** Seconds of an all-gather or a reduce-scatter whose full tensor has `bytes`: half an all-reduce, since it is one of its two phases. */
export function gatherSeconds(bytes: number, ranks: number, cluster: Pick<ClusterSpec, 'links' | 'gpusPerNode'>): number {
  return allReduceSeconds(bytes, ranks, cluster) / 2;
}

/**
 * Seconds of an all-to-all in which each of `ranks`, lying `stride` GPUs apart, sends `bytes`, its own share included. Inside a node as an
 * all-gather, which moves as much;
 * a larger group shares the node's network with its neighbours, at twice the latency.
 */
export function allToAllSeconds(bytes: number, ranks: number, stride: number, cluster: Pick<ClusterSpec, 'links' | 'gpusPerNode'>): number {
  const { links, gpusPerNode } = cluster;
  const joined = joinedGpus(cluster);
  if (ranks * stride <= joined) return gatherSeconds(bytes, ranks, cluster);
  if (ranks <= 1) return 0;
  const inside = Math.max(1, Math.floor(joined / stride));
  const latency = (links.allReduceLatencyUs.base + links.allReduceLatencyUs.perDoubling * Math.log2(ranks)) * 1e-6;
  return (gpusPerNode * bytes * (ranks - inside)) / ranks / collectiveBandwidth(cluster) + latency;
}

/**
 * Bandwidth of a ring that gathers or scatters what `ranks` replicas share out, each on its own tensor-parallel rank, bytes per second: the
 * bus where they lie together, else the slower of the bus and the node's network, over the groups that pass through one node.
 */
export function shardBandwidth(
  { layout, cluster }: { readonly layout: Pick<Layout, 'tensor'>; readonly cluster: NodeGroup },
  ranks: number,
): number {
  const bus = nodeBusBandwidth(cluster.links, ranks);
  if (layout.tensor * ranks <= joinedGpus(cluster)) return bus;
  return Math.min(bus, joinedBandwidth(cluster) / Math.min(layout.tensor, joinedGpus(cluster)));
}

/**
 * Bandwidth of a ring over `groups` groups of HSDP, whose ranks have the same shard, bytes per second: `shards` ranks of a group on each
 * tensor-parallel rank lie next to each other and share the network of their node, one ring each.
 *
 * @param shards of a group, at least 1.
 */
export function groupBandwidth(
  { layout, cluster }: { readonly layout: Pick<Layout, 'tensor'>; readonly cluster: NodeGroup },
  shards: number,
  groups: number,
): number {
  const bus = nodeBusBandwidth(cluster.links, groups);
  const joined = joinedGpus(cluster);
  const apart = layout.tensor * shards;
  if (apart * groups <= joined) return bus;
  return Math.min(bus, joinedBandwidth(cluster) / Math.min(apart, joined));
}

/**
 * Share of an overlapped collective that still costs time, since it shares memory and SMs with compute. It lies between the values that
 * golden rows with exposed and with hidden collectives give (`docs/model/time.md`, Sharded weights).
 */
export const contention = 0.4;

/** Exposed seconds of a collective that overlaps with compute: what lasts longer, and what the two take from each other. */
export function exposedSeconds(collective: number, compute: number): number {
  return Math.max(0, collective - compute) + contention * Math.min(collective, compute);
}
