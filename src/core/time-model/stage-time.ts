import { replicaLinks } from '../cluster/boundaries';
import { elementBytes } from '../domain/number-formats';
import { mtpDepths, projectionParameters } from '../model/multi-token-prediction';
import { layerGroups, layersByKind, usualKind, type LayerGroup } from '../model/layers';
import { adapterParameters } from '../model/adapters';
import { isTrained } from '../domain/adapter';
import { rankOrderOf, runtimeOf } from '../domain/runtime';
import { wholeLayers } from '../domain/recompute';
import { expertReplicas, paddedVocab, rankExpertParameters, rankMatrixParameters } from '../model/parameters';
import { allReduceSeconds, collectiveBandwidth, contention, nodeBusBandwidth } from './collectives';
import { pipelineLinkSeconds, sendLatencySeconds } from './boundary';
import { shardedWaits, shardsEachPass } from './sharding';
import { mtpSeconds, type EndSeconds } from './mtp-time';
import { cachedBySlice, cachedByTokens, layerTime } from './layer-time';
import { headTokens } from '../model/stacks';
import { deviceRates, type CostInputs } from './rates';
import { addOperation, addProduct, emptyTally } from './tally';
import type { SliceCost, SliceTime } from '../domain/slice-cost';

/** Which end of the pipeline a stage is. With one stage it is both. */
export interface StageEnds {
  readonly first: boolean;
  readonly last: boolean;
  /** The decoder of an encoder-decoder model begins here. */
  readonly decoderStart?: boolean;
  /** Its layers by kind, in order; absent: all alike. */
  readonly groups?: readonly LayerGroup[];
  /** Part of the head and the loss that it has, where they are spread over stages; absent: all on the last. */
  readonly headShare?: number;
  /** Layers of it that are recomputed whole; absent: as many as of every chunk. */
  readonly recomputed?: number;
}

/**
 * Cost of a slice on one stage: its layers, the embedding on the first and the head on the last. Recompute `full` adds the layers' forward
 * to backward, `selective` the forward of the named modules. Weight gradients are their GEMMs and their accumulation; recompute,
 * collectives and everything else of backward comes before the input's gradient.
 *
 * @param layers layers of the stage; may be fractional where a schedule divides evenly only on average.
 */
export function stageCost(inputs: CostInputs, layers: number, ends: StageEnds): SliceCost {
  const kinds = layersByKind(ends.groups ?? [{ kind: usualKind(inputs.model), layers }]).map((group) => ({
    layers: group.layers,
    time: layerTime(inputs, group.kind),
  }));
  /** Share of the layers that are recomputed whole. */
  const whole = layers === 0 ? 0 : wholeLayers(inputs.training, { ...ends, layers }) / layers;
  const none: EndSeconds = { forward: 0, backward: 0, weight: 0 };
  const atEnds = (batch: number, tokens: number): EndSeconds => {
    const localTokens = (batch * tokens) / inputs.layout.context;
    const targetTokens = (batch * headTokens(inputs.model, inputs.training, tokens)) / inputs.layout.context;
    const first = ends.first ? startSeconds(inputs, localTokens) : none;
    const turn = ends.decoderStart === true ? embeddingSeconds(inputs, targetTokens) / 2 : 0;
    const last =
      ends.headShare !== undefined ? spreadTail(inputs, targetTokens, ends) : ends.last ? tailSeconds(inputs, targetTokens) : none;
    return {
      forward: first.forward + turn + last.forward,
      backward: first.backward + turn + last.backward,
      weight: first.weight + last.weight,
    };
  };
  const isInner = !ends.first && !ends.last && ends.decoderStart !== true && (ends.headShare ?? 0) === 0;
  const endSeconds = isInner
    ? () => none
    : inputs.model.stacks === undefined
      ? cachedByTokens((tokens) => atEnds(1, tokens))
      : cachedBySlice(atEnds);
  const waitsForSends = runtimeOf(inputs.training).sends === 'blocking';
  const waits = shardedWaits(inputs, ends.groups ?? [{ kind: usualKind(inputs.model), layers }], ends);
  return (batch, tokens, context, documents): SliceTime => {
    const end = endSeconds(batch, tokens);
    let { forward, backward, weight } = end;
    let issueWait = 0;
    for (const kind of kinds) {
      const one = kind.time(batch, tokens, context, documents);
      const again = one.forward * whole + one.selective * (1 - whole);
      forward += kind.layers * one.forward;
      backward += kind.layers * (one.backward + again);
      weight += kind.layers * one.weight;
      issueWait += kind.layers * one.idleOnFloor;
    }
    const wait = waits?.(forward, backward);
    return {
      forwardMs: 1e3 * (forward + (wait?.forward ?? 0)),
      backwardMs: 1e3 * (backward + (wait?.backward ?? 0)),
      backwardWeightMs: 1e3 * weight,
      ...(waitsForSends ? { issueWaitMs: 1e3 * issueWait } : {}),
    };
  };
}

/** The same where the head and the loss are spread over stages: a part of them, and on the last stage what further tokens take. */
function spreadTail(inputs: CostInputs, localTokens: number, { last, headShare = 0 }: StageEnds): EndSeconds {
  const parts = headShare > 0 ? Math.round(1 / headShare) : 1;
  const exchange = spreadHeadSeconds(inputs, localTokens, parts);
  const head = headShare > 0 ? headSeconds(inputs, localTokens, parts) : { forward: 0, backward: 0, weight: 0 };
  const mtp = last ? mtpSeconds(inputs, localTokens, embeddingSeconds(inputs, localTokens), head) : { forward: 0, backward: 0, weight: 0 };
  return {
    forward: head.forward + exchange + mtp.forward,
    backward: head.backward + exchange + mtp.backward,
    weight: head.weight + mtp.weight,
  };
}

/**
 * What a head that is spread over `parts` stages exchanges either way, seconds: the hidden states go from the last stage to all, the
 * gradient comes back as a sum, and so do the largest logit, the sum of exponentials and the label's logit of each token, in fp32.
 */
export function spreadHeadSeconds(inputs: CostInputs, localTokens: number, parts: number): number {
  if (parts <= 1 || inputs.model.vocab === 0) return 0;
  const bytes = (elementBytes(inputs.training) * inputs.model.hidden + 3 * 4) * localTokens;
  return pipelineLinkSeconds(inputs, bytes) + (parts - 1) * sendLatencySeconds;
}

/** The head, and multi-token prediction without its layers. */
function tailSeconds(inputs: CostInputs, localTokens: number): EndSeconds {
  const head = headSeconds(inputs, localTokens);
  const mtp = mtpSeconds(inputs, localTokens, embeddingSeconds(inputs, localTokens), head);
  return { forward: head.forward + mtp.forward, backward: head.backward + mtp.backward, weight: head.weight + mtp.weight };
}

/**
 * Share of a layer's time that the issue floor adds, 0..1, for whole sequences of `batch`: of the usual layer, or of all where some have a
 * state.
 */
export function floorShare(inputs: CostInputs, batch: number, tokens: number): number {
  const { model } = inputs;
  const groups = model.state === undefined ? [{ kind: usualKind(model), layers: 1 }] : layersByKind(layerGroups(model));
  let idle = 0;
  let all = 0;
  for (const { kind, layers } of groups) {
    const one = layerTime(inputs, kind)(batch, tokens, 0);
    idle += layers * one.idleOnFloor;
    all += layers * (one.forward + one.backward);
  }
  return idle / all;
}

/**
 * What comes before the first layer: the embedding, or the convolutions over sound, which take it in as spectra of twice as many points.
 */
function startSeconds(inputs: CostInputs, localTokens: number): { forward: number; backward: number; weight: number } {
  const melBins = inputs.model.stacks?.melBins;
  if (melBins === undefined) {
    const half = embeddingSeconds(inputs, localTokens) / 2;
    return { forward: half, backward: isTrained(inputs.training, 'embedding') ? half : 0, weight: 0 };
  }
  const { hidden } = inputs.model;
  const rates = deviceRates(inputs);
  const sum = emptyTally();
  addProduct(sum, rates, [2 * localTokens, hidden, 3 * melBins]);
  addProduct(sum, rates, [localTokens, hidden, 3 * hidden]);
  for (const rows of [2 * localTokens, localTokens])
    addOperation(sum, rates.floor, rates.traffic(4 * rows * hidden), rates.traffic(6 * rows * hidden));
  return sum;
}

/**
 * Embedding look-up and its gradient, with the tensor-parallel all-reduce: 12 bytes per element of the hidden states, both directions
 * together, seconds.
 */
export function embeddingSeconds(inputs: CostInputs, localTokens: number): number {
  const { model } = inputs;
  if (model.vocab === 0) return 0;
  const traffic = deviceRates(inputs).traffic(12 * localTokens * model.hidden);
  return traffic + endCollectiveSeconds(inputs, localTokens);
}

/**
 * All-reduce of `localTokens` rows of hidden states, seconds: after the embedding, whose rows tensor-parallel ranks share, and of the
 * head's gradient to its input.
 */
export function endCollectiveSeconds({ model, training, layout, cluster }: CostInputs, localTokens: number): number {
  return allReduceSeconds(elementBytes(training) * localTokens * model.hidden, layout.tensor, cluster);
}

/**
 * Head: logits GEMM forward, two backward (`weight` is the one for the weights), the loss's traffic over the logits (26 bytes an element,
 * 12 fused), and an all-reduce, seconds. `parts`: of one of this many stages that it is spread over.
 */
export function headSeconds(inputs: CostInputs, localTokens: number, parts = 1): EndSeconds {
  const { model, layout, training } = inputs;
  if (model.vocab === 0) return { forward: 0, backward: 0, weight: 0 };
  const { gemm, traffic, floor } = deviceRates(inputs);
  const h = model.hidden;
  const ranks = layout.tensor * parts;
  const columns = paddedVocab(model.vocab, ranks) / ranks;
  const loss = traffic((training.fusedCrossEntropy ? 12 : 26) * localTokens * columns);
  const exchange = endCollectiveSeconds(inputs, localTokens);
  const weight = isTrained(training, 'head') ? Math.max(gemm(h, columns, localTokens), floor) : 0;
  return {
    forward: Math.max(gemm(localTokens, columns, h), floor) + loss / 2,
    backward: Math.max(gemm(localTokens, h, columns), floor) + weight + loss / 2 + exchange,
    weight,
  };
}

/** Layers of a stage, and of which kinds; absent: as those of the whole model on average. */
export interface StageLayers {
  readonly layers: number;
  readonly groups?: readonly LayerGroup[];
}

/**
 * Parameters that one rank of an inner stage updates, each part with the ranks that hold the same: its layers' share and, as a bound for
 * the end stages, one vocabulary matrix (two and the projections where the last stage predicts further tokens); apart from them its
 * experts, which fewer replicas have.
 */
export function localParameters(
  { model, training, layout }: CostInputs,
  { layers, groups }: StageLayers,
): readonly { readonly parameters: number; readonly ranks: number }[] {
  const kinds = layersByKind(groups ?? layerGroups(model));
  const share = groups === undefined ? layers / model.layers : 1;
  const vocabulary = (paddedVocab(model.vocab, layout.tensor) * model.hidden) / layout.tensor;
  const ranks = layout.data * layout.context;
  const { adapter } = training;
  if (adapter !== undefined) {
    const adapters = (part: 'shared' | 'experts'): number =>
      share * sumOf(kinds, (group) => group.layers * adapterParameters(model, adapter, group.kind, layout)[part]);
    const experts = adapters('experts');
    return [
      { parameters: adapters('shared') + ((adapter.saved ?? []).length > 0 ? vocabulary : 0), ranks },
      ...(experts > 0 ? [{ parameters: experts, ranks: expertReplicas(layout) }] : []),
    ];
  }
  const experts = share * sumOf(kinds, (group) => group.layers * rankExpertParameters(model, layout, group.kind));
  const matrices = share * sumOf(kinds, (group) => group.layers * rankMatrixParameters(model, layout, group.kind));
  const depths = mtpDepths(model);
  const mtp = depths === 0 ? 0 : (depths * projectionParameters(model)) / layout.tensor + (model.tiedEmbeddings ? 0 : vocabulary);
  return [
    { parameters: matrices - experts + vocabulary + mtp, ranks },
    ...(experts > 0 ? [{ parameters: experts, ranks: expertReplicas(layout) }] : []),
  ];
}

/** So much of what is exchanged has this long, ms. */
interface TimeFor {
  /** 0..1. */
  readonly share: number;
  readonly ms: number;
}

/** What exchanges of one stage can overlap with. */
export interface OverlappedCollectives {
  /** Of the weights, what the first forward of the step needs, which all others wait for. */
  readonly weights: TimeFor;
  /** Of the gradients, what is still to come when the last backward of a chunk starts, from then to the end of the pipeline. */
  readonly gradients: readonly TimeFor[];
}

const nothingWaits: OverlappedCollectives = { weights: { share: 0, ms: 0 }, gradients: [] };

/**
 * Gradient exchange between replicas as far as the step waits for it, ms. Distributed optimizer (`zeroStage` >= 1): scatter of the
 * gradients, gather of the weights; otherwise an all-reduce. Across nodes the groups that pass through one node share its network: one for
 * each tensor-parallel rank, or for each GPU where the stages of a pipeline lie together. Overlapped, the gradients of a bucket leave as
 * soon as the last micro-batch's backward has made them, and weights come as the first forward asks for them (Megatron-LM's
 * `--overlap-grad-reduce` and `--overlap-param-gather`): what lasts longer than `beside` hides is waited for, one bucket always, and of
 * what is hidden what it takes from the compute (`contention`).
 *
 * @param beside what runs meanwhile; left out, more than enough.
 */
export function gradientCollectives(inputs: CostInputs, stage: StageLayers, beside: OverlappedCollectives = nothingWaits): number {
  const { layout, training, cluster } = inputs;
  const ranks = layout.data * layout.context;
  if (ranks <= 1) return 0;
  const parts = localParameters(inputs, stage);
  const element = elementBytes(training);
  const sharded = training.zeroStage >= 1;
  const inPasses = shardsEachPass(inputs);
  if (inPasses.weights) return 0;
  const isScattered = sharded && !(layout.pipeline > 1 && runtimeOf(training).reducesWhole);
  const isReplicated = runtimeOf(training).id === 'ddp';
  const gradient = training.gradAccumulationFp32 && (sharded || isReplicated) ? 4 : element;
  const scattered = inPasses.gradients ? 0 : isScattered ? gradient : 2 * gradient;
  const { joined: inNode, sharing } = replicaLinks(layout, cluster, rankOrderOf(inputs), ranks);
  const bandwidth = inNode ? nodeBusBandwidth(cluster.links, ranks) : collectiveBandwidth(cluster) / sharing;
  const volume = sumOf(parts, (part) => ((part.ranks - 1) / part.ranks) * part.parameters);
  const bucket = Math.max(
    ...parts.map(
      (part) =>
        ((part.ranks - 1) / part.ranks) * Math.min(part.parameters, isReplicated ? bucketBytesOfDdp / gradient : bucketParameters(ranks)),
    ),
  );
  const waitedMs = (bytes: number, overlaps: boolean | undefined, beside: readonly TimeFor[]): number => {
    const ms = (1e3 * bytes * volume) / bandwidth;
    if (overlaps !== true) return ms;
    const waited = Math.max((1e3 * bytes * bucket) / bandwidth, ...beside.map((one) => one.share * ms - one.ms));
    return waited + contention * Math.max(0, ms - waited);
  };
  return (
    waitedMs(scattered, training.overlapGradReduce, beside.gradients) +
    waitedMs(sharded ? element : 0, training.overlapParamGather, [beside.weights]) +
    (inNode ? 1e3 * allReduceSeconds(0, ranks, cluster) : 0)
  );
}

/** A bucket of PyTorch's DistributedDataParallel by default (`bucket_cap_mb`). */
const bucketBytesOfDdp = 25 * 2 ** 20;

/** Parameters in one gradient bucket of Megatron-LM by default (`DistributedDataParallel`). */
function bucketParameters(ranks: number): number {
  return Math.max(40e6, 1e6 * ranks);
}

function sumOf<T>(parts: readonly T[], value: (part: T) => number): number {
  return parts.reduce((sum, part) => sum + value(part), 0);
}
