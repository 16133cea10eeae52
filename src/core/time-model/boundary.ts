import { sendingGpus, someStagesJoined, stagesJoined } from '../cluster/boundaries';
import { joinedGpus } from '../domain/cluster';
import { elementBytes } from '../domain/number-formats';
import { resolveRankOrder, runtimeProfile } from '../domain/runtime';
import { interpolated } from '../measured-profile/fit';
import { gatherSeconds, networkBandwidth, nodeBusBandwidth } from './collectives';
import type { CostInputs } from './rates';
import { gpusUsed } from '../domain/request';

/** Which stages a boundary lies between. */
interface BoundaryPlace {
  /** What the receiver is predicted from, where it is on nodes of another kind: the slower of both networks counts. */
  readonly to?: CostInputs;
  /** Whether both stages reach each other without the network; absent: as the whole pipeline does, all replicas. */
  readonly joined?: boolean;
}

export const sendLatencySeconds = 20e-6;

/** Time to send a boundary of `batch * tokens` hidden states to another stage, one way, ms, as the runtime sends. */
export function boundaryMs(inputs: CostInputs, batch: number, tokens: number, place: BoundaryPlace = {}): number {
  const measured = measuredBoundary(inputs, batch, tokens, place);
  if (measured !== null) return measured;
  const { sendsWhole, awaitedMessages } = runtimeProfile(inputs.training);
  if (awaitedMessages !== undefined) return awaitedBoundary(inputs, batch, tokens, awaitedMessages, place);
  return (sendsWhole ? terapipeBoundary : megatronBoundary)(inputs, batch, tokens, place);
}

/** A send as it was measured where the plan trains: of every rank to the one with its place in the next stage. Null where none was. */
function measuredBoundary(inputs: CostInputs, batch: number, tokens: number, { to = inputs, joined }: BoundaryPlace): number | null {
  const { sends } = inputs.cluster.links;
  const times = (joined ?? allJoined(inputs, to)) ? sends?.joined : sends?.network;
  if (times === undefined || times === null) return null;
  const bytes = boundaryBytes(inputs, batch, tokens) / (inputs.training.sequenceParallel ? inputs.layout.tensor : 1);
  return interpolated(times.bytes, times.ms, bytes) * Math.max(1, bytes / (times.bytes.at(-1) ?? bytes));
}

/** What lies between two stages of a pipeline on nodes of one kind, counted from 0. */
export function boundaryBetween(inputs: CostInputs, from: number, to: number): Pick<BoundaryPlace, 'joined'> {
  return { joined: stagesJoined(inputs.layout, inputs.cluster, resolveRankOrder(inputs), from, to) };
}

/** The least that a boundary of the pipeline takes, ms. */
export function leastBoundaryMs(inputs: CostInputs, batch: number, tokens: number): number {
  const over = boundaryMs(inputs, batch, tokens);
  if (!someStagesJoined(inputs.layout, inputs.cluster, resolveRankOrder(inputs))) return over;
  return Math.min(over, boundaryMs(inputs, batch, tokens, { joined: true }));
}

/** As Megatron-LM sends: split over the tensor-parallel ranks, whose parts are gathered over the receiver's links. */
export function megatronBoundary(inputs: CostInputs, batch: number, tokens: number, { to = inputs, joined }: BoundaryPlace = {}): number {
  const { layout } = inputs;
  const bytes = boundaryBytes(inputs, batch, tokens);
  const node = nodeBusBandwidth(to.cluster.links, to.cluster.gpusPerNode);
  const gather = layout.tensor > 1 && !inputs.training.sequenceParallel ? bytes / node : 0;
  return 1e3 * (pipelineLinkSeconds(inputs, bytes, { to, ...(joined === undefined ? {} : { joined }) }) + sendLatencySeconds + gather);
}

/**
 * Moving bytes that the tensor-parallel ranks of a stage share from one stage to another, seconds, without latency: over the links of a
 * node, or over its network, which the GPUs of a node that send at once share.
 */
export function pipelineLinkSeconds(
  inputs: CostInputs,
  bytes: number,
  { to = inputs, joined = allJoined(inputs, to) }: BoundaryPlace = {},
): number {
  const { layout, cluster } = inputs;
  if (joined) return bytes / layout.tensor / nodeBusBandwidth(to.cluster.links, to.cluster.gpusPerNode);
  return (bytes * sendingGpus(layout, cluster, resolveRankOrder(inputs))) / layout.tensor / slowerNetwork(inputs, to);
}

/**
 * As TeraPipe's runtime sends: the last tensor-parallel rank of a stage sends the boundary whole to the first of the next, a copy for each
 * replica on the node, which hands it on to its node's others, and the sender waits, ms (zhuohan123/terapipe, `forward_step` of
 * test_transformer_terapipe.py).
 */
export function terapipeBoundary(
  inputs: CostInputs,
  batch: number,
  tokens: number,
  { to = inputs, joined = allJoined(inputs, to) }: BoundaryPlace = {},
): number {
  const { layout, cluster } = inputs;
  const bytes = boundaryBytes(inputs, batch, tokens);
  const copies = Math.max(1, sendingGpus(layout, cluster, resolveRankOrder(inputs)) / layout.tensor);
  const seconds = joined ? bytes / nodeBusBandwidth(to.cluster.links, 2) : (copies * bytes) / slowerNetwork(inputs, to);
  const { tensor } = layout;
  const handedOn =
    tensor > 1 ? bytes / nodeBusBandwidth(to.cluster.links, to.cluster.gpusPerNode) + gatherSeconds(0, tensor, to.cluster) : 0;
  return 1e3 * (seconds + handedOn + sendLatencySeconds);
}

/**
 * As nanotron sends, ms: every tensor-parallel rank sends what it holds, its share of the sequence or all of it, in messages that the hosts
 * of both stages wait for one by one; a stage receives as many from its other neighbour before or after, in which it computes nothing,
 * either (huggingface/nanotron, `P2P` of parallel/pipeline_parallel/p2p.py, `run_communication` of state.py).
 */
function awaitedBoundary(inputs: CostInputs, batch: number, tokens: number, messages: number, place: BoundaryPlace): number {
  const { layout, training } = inputs;
  const bytes = boundaryBytes(inputs, batch, tokens) * (training.sequenceParallel ? 1 : layout.tensor);
  return 2e3 * (pipelineLinkSeconds(inputs, bytes, place) + messages * sendLatencySeconds);
}

/** Whether all stages on this kind of node are joined without the network. */
function allJoined(from: CostInputs, to: CostInputs): boolean {
  const { layout, cluster } = from;
  return from === to && gpusUsed(layout) <= joinedGpus(cluster);
}

function slowerNetwork(from: CostInputs, to: CostInputs): number {
  return Math.min(networkBandwidth(from.cluster.links), networkBandwidth(to.cluster.links));
}

function boundaryBytes({ model, training, layout }: CostInputs, batch: number, tokens: number): number {
  return (elementBytes(training) * batch * tokens * model.hidden) / layout.context;
}
