import { replicaLinks } from '../cluster/boundaries';
import { joinedGpus } from '../domain/cluster';
import { elementBytes, narrowBytes } from '../domain/number-formats';
import type { TrainingSpec } from '../domain/request';
import { resolveRankOrder, runtimeProfile } from '../domain/runtime';
import { reducesAfterBackward } from '../domain/runtime-habits';
import { adapterParameters, headAdapterParameters } from '../model/adapters';
import { layerGroups, layersByKind, type LayerGroup } from '../model/layers';
import { normParameters } from '../model/norms';
import { mtpDepths, projectionParameters } from '../model/multi-token-prediction';
import { largestOfLayers, largestOnHead, noTensors } from '../model/largest-tensors';
import {
  expertReplicas,
  paddedVocab,
  rankExpertParameters,
  rankMatrixParameters,
  shardRanks,
  updatesWholeTensors,
  upProjections,
} from '../model/parameters';
import { allReduceSeconds, contention, groupBandwidth, joinedBandwidth, nodeBusBandwidth, ringLatencySeconds } from './collectives';
import type { CostInputs } from './rates';
import { shardsEachPass } from './sharding';
import { maximum } from '../numbers';

/** Layers of a stage by kind; absent: as those of the whole model on average. */
export interface StageLayers {
  readonly layers: number;
  readonly groups?: readonly LayerGroup[];
}

/** Parameters that one rank updates, the ranks that hold the same, and the elements of the largest tensor (`LargestTensors`). */
interface LocalPart {
  readonly parameters: number;
  readonly ranks: number;
  readonly largest: number;
}

/**
 * Parameters that one rank of an inner stage updates, each part with the ranks that hold the same: its layers' share and, as a bound for
 * the end stages, one vocabulary matrix (two and the projections where the last stage predicts further tokens); apart from them its
 * experts, which fewer replicas have.
 */
export function localParameters({ model, training, layout }: CostInputs, { layers, groups }: StageLayers): readonly LocalPart[] {
  const kinds = layersByKind(groups ?? layerGroups(model));
  const share = groups === undefined ? layers / model.layers : 1;
  const vocabulary = (paddedVocab(model.vocab, layout.tensor) * model.hidden) / layout.tensor;
  const ranks = layout.data * layout.context;
  const { adapter } = training;
  const layerKinds = kinds.map(({ kind }) => kind);
  const largest = updatesWholeTensors(training) ? largestOfLayers(model, layerKinds, layout, adapter) : noTensors;
  if (adapter !== undefined) {
    const adapters = (part: 'shared' | 'experts'): number =>
      share * sumBy(kinds, (group) => group.layers * adapterParameters(model, adapter, group.kind, layout)[part]);
    const experts = adapters('experts');
    const saved = (adapter.saved ?? []).length > 0 ? vocabulary : 0;
    const onHead = headAdapterParameters(model, adapter) / layout.tensor;
    return [
      {
        parameters: adapters('shared') + saved + onHead,
        ranks,
        largest: Math.max(largest.shared, saved, largestOnHead(model, adapter) / layout.tensor),
      },
      ...(experts > 0 ? [{ parameters: experts, ranks: expertReplicas(layout), largest: largest.experts }] : []),
    ];
  }
  const experts = share * sumBy(kinds, (group) => group.layers * rankExpertParameters(model, layout, group.kind));
  const matrices = share * sumBy(kinds, (group) => group.layers * rankMatrixParameters(model, layout, group.kind));
  const depths = mtpDepths(model);
  const mtp = depths === 0 ? 0 : (depths * projectionParameters(model)) / layout.tensor + (model.tiedEmbeddings ? 0 : vocabulary);
  return [
    { parameters: matrices - experts + vocabulary + mtp, ranks, largest: Math.max(largest.shared, vocabulary) },
    ...(experts > 0 ? [{ parameters: experts, ranks: expertReplicas(layout), largest: largest.experts }] : []),
  ];
}

/** A share of the exchanged bytes, 0 to 1, and the compute time that it can hide behind, ms. */
interface OverlapWindow {
  readonly share: number;
  readonly ms: number;
}

/** The compute that exchanges of one stage can hide behind. */
export interface OverlapWindows {
  /** Of the weights, what the first forward of the step needs, which all others wait for. */
  readonly weights: OverlapWindow;
  /** Of the gradients, what is still to come when the last backward of a chunk starts, from then to the end of the pipeline. */
  readonly gradients: readonly OverlapWindow[];
}

const everythingHides: OverlapWindows = { weights: { share: 0, ms: 0 }, gradients: [] };

/**
 * Gradient exchange between replicas as far as the step waits for it, ms. Distributed optimizer (`zeroStage` >= 1): scatter of the
 * gradients, gather of the weights; otherwise an all-reduce. Across nodes the groups that pass through one node share its network: one for
 * each tensor-parallel rank, or for each GPU where the stages of a pipeline lie together. Overlapped, the gradients of a bucket leave as
 * soon as the last micro-batch's backward has made them, and weights come as the first forward asks for them (Megatron-LM's
 * `--overlap-grad-reduce` and `--overlap-param-gather`): what lasts longer than its window is waited for, one bucket always, and of what is
 * hidden what it takes from the compute (`contention`).
 *
 * @param windows left out, long enough for everything.
 */
export function gradientExchangeTime(inputs: CostInputs, stage: StageLayers, windows: OverlapWindows = everythingHides): number {
  const { layout, training, cluster } = inputs;
  const all = layout.data * layout.context;
  if (all <= 1) return 0;
  const element = elementBytes(training);
  const sharded = training.zeroStage >= 1;
  const inGroup = (ranks: number): number => (sharded ? shardRanks(ranks, training) : ranks);
  const ranks = inGroup(all);
  const parts = localParameters(inputs, stage).map((part) => ({
    parameters: part.parameters,
    ranks: inGroup(part.ranks),
    all: part.ranks,
  }));
  const inPasses = shardsEachPass(inputs);
  if (inPasses.weights) return 0;
  if (updatesWholeTensors(training)) return tensorExchangeMs(inputs, stage, windows);
  const { reducesWhole, hasBucketsOfDdp = false } = runtimeProfile(training);
  const overlaps = training.overlapGradReduce === true && !reducesAfterBackward(training);
  const isScattered = sharded && !(reducesWhole === 'always' || (layout.pipeline > 1 && reducesWhole === 'on pipelines'));
  const gradient = training.gradAccumulationFp32 && (sharded || hasBucketsOfDdp) ? 4 : element;
  const scattered = inPasses.gradients ? 0 : isScattered ? gradient : 2 * gradient;
  const bus = nodeBusBandwidth(cluster.links, ranks);
  const { joined: inNode, sharing } = replicaLinks(layout, cluster, resolveRankOrder(inputs), ranks);
  const bandwidth = inNode ? bus : Math.min(bus, joinedBandwidth(cluster) / sharing);
  const volume = sumBy(parts, (part) => ((part.ranks - 1) / part.ranks) * part.parameters);
  const bucket = maximum(
    parts.map(
      (part) =>
        ((part.ranks - 1) / part.ranks) *
        Math.min(part.parameters, hasBucketsOfDdp ? bucketBytesOfDdp / gradient : bucketParameters(ranks)),
    ),
  );
  const groupsMs = inPasses.gradients
    ? 0
    : sumBy(parts, (part) => betweenGroupsMs(inputs, part.ranks, part.all, gradient * part.parameters));
  const waitedMs = (bytes: number, overlaps: boolean | undefined, within: readonly OverlapWindow[], apartMs = 0): number =>
    exposedMs((1e3 * bytes * volume) / bandwidth + apartMs, (1e3 * bytes * bucket) / bandwidth, overlaps, within);
  return (
    waitedMs(scattered, overlaps, windows.gradients, groupsMs) +
    waitedMs(sharded ? gatheredBytes(training) : 0, training.overlapParamGather, [windows.weights]) +
    (inNode ? 1e3 * allReduceSeconds(0, ranks, cluster) : 0)
  );
}

/** What a step waits for of an exchange of `ms`: all, or where it overlaps what lasts longer than its windows, a bucket, and contention. */
function exposedMs(ms: number, bucketMs: number, overlaps: boolean | undefined, within: readonly OverlapWindow[]): number {
  if (overlaps !== true) return ms;
  const waited = Math.max(bucketMs, maximum(within.map((one) => one.share * ms - one.ms)));
  return waited + contention * Math.max(0, ms - waited);
}

/**
 * The same where the optimizer's shards are whole tensors: gradients are all-reduced in buckets over all replicas, and each rank with
 * tensors broadcasts their weights to its group, one call after the other. So the latency of a ring counts for every call
 * (`_partition_param_list`, `_reduce_and_copy` and `broadcast_params` of internlm/solver/optimizer/hybrid_zero_optim.py of
 * InternLM/InternEvo at c628a8c8).
 */
function tensorExchangeMs(inputs: CostInputs, stage: StageLayers, windows: OverlapWindows): number {
  const { layout, training, cluster } = inputs;
  const element = elementBytes(training);
  const gradient = training.gradAccumulationFp32 ? 4 : element;
  const joinedTogether = joinedGpus(cluster);
  const parts = localParameters(inputs, stage).filter(({ parameters, ranks }) => parameters > 0 && ranks > 1);
  /** Of `bytes` once round `ranks`, and the latency of each of `calls`. */
  const ringMs = (ranks: number, bytes: number, calls: number): number => {
    const { joined, sharing } = replicaLinks(layout, cluster, resolveRankOrder(inputs), ranks);
    const bus = nodeBusBandwidth(cluster.links, ranks);
    const bandwidth = joined ? bus : Math.min(bus, joinedBandwidth(cluster) / sharing);
    const nodes = joined ? 1 : Math.ceil(ranks / Math.max(1, joinedTogether / sharing));
    return 1e3 * ((((ranks - 1) / ranks) * bytes) / bandwidth + calls * ringLatencySeconds(ranks, nodes));
  };
  const reduceMs = (parameters: number, ranks: number): number =>
    2 * ringMs(ranks, gradient * parameters, Math.ceil(parameters / tensorBucketParameters));
  const reduced = sumBy(parts, ({ parameters, ranks }) => reduceMs(parameters, ranks));
  const bucket = maximum(parts.map(({ parameters, ranks }) => reduceMs(Math.min(parameters, tensorBucketParameters), ranks)));
  const broadcast = sumBy(parts, ({ parameters, ranks }) => {
    const group = shardRanks(ranks, training);
    return group === 1 ? 0 : ringMs(group, element * parameters, Math.min(group, tensorCount(inputs, stage)));
  });
  return (
    exposedMs(reduced, bucket, training.overlapGradReduce, windows.gradients) +
    exposedMs(broadcast, 0, training.overlapParamGather, [windows.weights])
  );
}

/** Tensors of a stage: the matrices, norms and biases of its layers, and those of the vocabulary. */
function tensorCount({ model }: CostInputs, { layers }: StageLayers): number {
  const matrices = 2 + upProjections(model) + 1;
  const norms = (model.normsPerLayer ?? 2) * normParameters(model);
  const biases = [model.qkvBias, model.attentionOutputBias, model.mlpBias].filter((has) => has).length;
  return Math.round(layers * (matrices + norms + biases)) + 2;
}

/**
 * All-reduce of the gradients' shards over groups that repeat them (HSDP; instances of Megatron-LM's distributed optimizer), ms.
 *
 * @param bytes of all the gradients; `ranks` of the `all` that have them are in a group.
 */
function betweenGroupsMs({ layout, cluster, ...inputs }: CostInputs, ranks: number, all: number, bytes: number): number {
  const groups = all / ranks;
  if (groups <= 1) return 0;
  const stages = resolveRankOrder({ layout, ...inputs }) === 'tp-cp-ep-pp-dp' ? layout.pipeline : 1;
  const bandwidth = groupBandwidth({ layout: { tensor: layout.tensor * stages }, cluster }, ranks, groups);
  return (1e3 * 2 * (groups - 1) * bytes) / groups / ranks / bandwidth;
}

/** Bytes of a parameter that the optimizer's shards gather: one where weights stay in FP8 (Megatron-LM's `--fp8-param-gather`). */
function gatheredBytes(training: TrainingSpec): number {
  return training.fp8ParamGather === true && training.gemmPrecision === 'fp8' ? narrowBytes('fp8') : elementBytes(training);
}

/** A bucket of PyTorch's DistributedDataParallel by default (`bucket_cap_mb`). */
const bucketBytesOfDdp = 25 * 2 ** 20;

/** Parameters in one bucket of InternEvo's all-reduce, as its configs set it (`reduce_bucket_size`). */
const tensorBucketParameters = 512 * 2 ** 20;

/** Parameters in one gradient bucket of Megatron-LM by default (`DistributedDataParallel`). */
function bucketParameters(ranks: number): number {
  return Math.max(40e6, 1e6 * ranks);
}

function sumBy<T>(parts: readonly T[], value: (part: T) => number): number {
  return parts.reduce((sum, part) => sum + value(part), 0);
}
