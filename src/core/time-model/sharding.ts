import { adapterParameters, headAdapterParameters } from '../model/adapters';
import { layersByKind, type LayerGroup } from '../model/layers';
import { frozenBytes } from '../domain/adapter';
import { expertReplicas, paddedVocab, rankExpertParameters, rankMatrixParameters, shardRanks } from '../model/parameters';
import { elementBytes } from '../domain/number-formats';
import type { Layout, TrainingSpec } from '../domain/request';
import { exposedSeconds, groupBandwidth, shardBandwidth } from './collectives';
import type { CostInputs } from './rates';

/** Seconds that a pass of one micro-batch waits for collectives of sharded weights and gradients. */
interface ShardedWaits {
  readonly forward: number;
  readonly backward: number;
}

/**
 * Whether weights (ZeRO 3, FSDP) are gathered and gradients (ZeRO 2 too) scattered in every micro-batch. On a pipeline FSDP2 keeps what it
 * gathered until the step ends, and DeepSpeed's pipeline engine has neither.
 */
export function shardsEachPass({
  training,
  layout,
}: {
  readonly training: Pick<TrainingSpec, 'zeroStage'>;
  readonly layout: Pick<Layout, 'data' | 'context' | 'pipeline'>;
}): {
  readonly weights: boolean;
  readonly gradients: boolean;
} {
  const apart = layout.data * layout.context > 1 && layout.pipeline === 1;
  return { weights: apart && training.zeroStage >= 3, gradients: apart && training.zeroStage >= 2 };
}

/**
 * Exposed seconds of collectives that overlap with compute layer by layer. It is assumed that nothing hides `ofLayer`, those of one layer;
 * what FSDP2 gathers first is its root, the vocabulary.
 */
function waited(collectives: number, ofLayer: number, compute: number): number {
  return exposedSeconds(collectives, compute) + ofLayer;
}

/**
 * Collectives of the layers of one stage in one pass: gathering all weights, scattering all gradients and, with HSDP, adding up the shards
 * of its groups, seconds.
 */
interface ShardedCollectives {
  readonly gather: number;
  readonly scatter: number;
}

/**
 * What forward and backward of a micro-batch on a stage wait for gathers of its weights and scatters of its gradients. Null where nothing
 * is exchanged in a pass.
 *
 * @param ends whether it has the embedding and the head, gathered as layers of their own.
 */
export function shardedWaits(
  inputs: CostInputs,
  groups: readonly LayerGroup[],
  ends: { readonly first: boolean; readonly last: boolean },
): ((forward: number, backward: number) => ShardedWaits) | null {
  const { weights, gradients } = shardsEachPass(inputs);
  if (!gradients) return null;
  const all = passCollectives(shardedCollectives(inputs, groups, ends), weights);
  const ofLayer = largestLayer(inputs, groups, weights);
  return (forward, backward) => ({
    forward: waited(all.forward, ofLayer.forward, forward),
    backward: waited(all.backward, ofLayer.backward, backward),
  });
}

/**
 * Collectives of the layer that has most of them, seconds. With the mean instead, a small layer more would make a step of large ones
 * shorter.
 */
function largestLayer(inputs: CostInputs, groups: readonly LayerGroup[], weights: boolean): PassCollectives {
  let [forward, backward] = [0, 0];
  for (const group of layersByKind(groups)) {
    if (group.layers <= 0) continue;
    const ofKind = passCollectives(shardedCollectives(inputs, [group], { first: false, last: false }), weights);
    forward = Math.max(forward, ofKind.forward / group.layers);
    backward = Math.max(backward, ofKind.backward / group.layers);
  }
  return { forward, backward };
}

/** Seconds of the collectives of a pass of one micro-batch, hidden or not. */
type PassCollectives = ShardedWaits;

/** Collectives of a forward and of a backward, seconds: weights are gathered in both or in none. */
function passCollectives({ gather, scatter }: ShardedCollectives, weights: boolean): PassCollectives {
  const gathered = weights ? gather : 0;
  return { forward: gathered, backward: gathered + scatter };
}

function shardedCollectives(
  inputs: CostInputs,
  groups: readonly LayerGroup[],
  ends: { readonly first: boolean; readonly last: boolean },
): ShardedCollectives {
  const { model, training, layout } = inputs;
  let gather = 0;
  let scatter = 0;
  const { adapter } = training;
  const element = elementBytes(training);
  /** `trained` of the parameters have gradients; the others take `frozen` bytes each. */
  const add = (parameters: number, replicas: number, times: number, trained = parameters, frozen = element): void => {
    if (parameters === 0) return;
    const ranks = shardRanks(replicas, training);
    if (trained > 0 && replicas > ranks)
      scatter += times * betweenGroups(inputs, ranks, replicas / ranks, trained * gradientBytes(training));
    if (ranks <= 1) return;
    const bandwidth = shardBandwidth(inputs, ranks);
    const latency = shardStepSeconds * (ranks - 1);
    const share = (ranks - 1) / ranks;
    gather += times * ((share * (element * trained + frozen * (parameters - trained))) / bandwidth + latency);
    if (trained > 0) scatter += times * ((share * trained * gradientBytes(training)) / bandwidth + latency);
  };
  const replicas = layout.data * layout.context;
  for (const { kind, layers } of layersByKind(groups)) {
    const experts = rankExpertParameters(model, layout, kind);
    const others = rankMatrixParameters(model, layout, kind) - experts;
    if (adapter === undefined) {
      add(others, replicas, layers);
      add(experts, expertReplicas(layout), layers);
    } else {
      const trained = adapterParameters(model, adapter, kind, layout);
      add(others + trained.shared, replicas, layers, trained.shared, frozenBytes(adapter, element));
      add(experts + trained.experts, expertReplicas(layout), layers, trained.experts, frozenBytes(adapter, element));
    }
  }
  const vocabulary = (paddedVocab(model.vocab, layout.tensor) * model.hidden) / layout.tensor;
  const matrices = (ends.first ? 1 : 0) + (ends.last && !(ends.first && model.tiedEmbeddings) ? 1 : 0);
  const isWhole = adapter === undefined || (adapter.saved ?? []).length > 0;
  add(vocabulary, replicas, matrices, isWhole ? vocabulary : 0);
  if (ends.last) add(headAdapterParameters(model, adapter) / layout.tensor, replicas, 1);
  return { gather, scatter };
}

/**
 * All-reduce of the gradients' shards over the groups of HSDP, seconds: FSDP2 starts it as soon as those of a layer are scattered
 * (`foreach_reduce` of torch/distributed/fsdp/_fully_shard of PyTorch 2.6).
 *
 * @param bytes of all the gradients, before they are scattered over `shards` ranks.
 */
function betweenGroups(inputs: CostInputs, shards: number, groups: number, bytes: number): number {
  const volume = (2 * (groups - 1) * bytes) / groups / shards;
  return volume / groupBandwidth(inputs, shards, groups) + 2 * shardStepSeconds * (groups - 1);
}

/** Bytes a gradient is reduced in. */
function gradientBytes(training: TrainingSpec): number {
  return training.gradAccumulationFp32 ? 4 : elementBytes(training);
}

/**
 * What each further rank adds to a ring all-gather or reduce-scatter, seconds: MPT-1b of 128 to 512 GPUs (docs/model/time.md, Collectives).
 */
const shardStepSeconds = 3.5e-6;
