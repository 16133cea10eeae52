import { narrowBytes, elementBytes } from '../spec/number-formats';
import { layersByKind } from '../model/layers';
import { optimizerBytes } from '../spec/optimizer';
import { stateMatrixParameters, stateOf } from '../model/mixers';
import {
  embeddingParameters,
  expertReplicas,
  expertsOf,
  layerParameters,
  paddedVocab,
  rankExpertParameters,
  rankMatrixParameters,
  rankProjections,
} from '../model/parameters';
import { embeddingNormParameters, finalNormParameters } from '../model/norms';
import { mtpDepths, mtpNormParameters, projectionParameters } from '../model/multi-token-prediction';
import { runtimeOf } from '../spec/runtime';
import { stackParameters } from '../model/stacks';
import { groupsOf, type StageContents } from './layer-tensors';
import type { MemoryInputs } from './memory-inputs';

/** Parameters of one rank of the stage but for its experts, and its experts' own. An untied head, or the last stage's copy of a tied embedding, counts on the last stage. */
function rankParameters(inputs: MemoryInputs, stage: StageContents): { readonly shared: number; readonly experts: number } {
  const { model, layout } = inputs;
  const { tensor } = layout;
  const padding = (paddedVocab(model.vocab, tensor) - model.vocab) * model.hidden;
  let shared = 0;
  let experts = 0;
  for (const { kind, layers } of layersByKind(groupsOf(model, stage))) {
    const routed = rankExpertParameters(model, layout, kind);
    experts += layers * routed;
    shared += layers * (rankMatrixParameters(model, layout, kind) - routed + layerParameters(model, kind).normsAndBiases);
  }
  if (model.stacks !== undefined) shared += startParameters(inputs, stage, padding);
  else if (stage.first && model.vocab > 0) shared += (embeddingParameters(model) + padding) / tensor;
  if (stage.last) shared += finalNormParameters(model) + mtpRankParameters(inputs, stage, padding);
  if (stage.encoderEnd === true) shared += finalNormParameters(model);
  if (stage.last && model.vocab > 0 && !(model.tiedEmbeddings && (stage.first || stage.decoderStart === true)))
    shared += (model.vocab * model.hidden + padding) / tensor;
  return { shared, experts };
}

/** What the stacks of an encoder-decoder model begin with, on one rank: on a stage where both do, they share the word embedding, which elsewhere each has a copy of. */
function startParameters({ model, layout }: MemoryInputs, { first, decoderStart = false }: StageContents, padding: number): number {
  const words = (model.vocab * model.hidden + padding) / layout.tensor;
  const reads = first && model.stacks?.melBins === undefined;
  const target = decoderStart ? embeddingParameters(model) - model.vocab * model.hidden + embeddingNormParameters(model) : 0;
  return (
    (model.vocab > 0 && (reads || decoderStart) ? words : 0) +
    (first ? stackParameters(model, 'encoder') : 0) +
    (decoderStart ? stackParameters(model, 'decoder') + target : 0)
  );
}

/** Parameters of the MTP depths beside their layers: projections, norms, and a copy of the embedding where the last stage has none. */
function mtpRankParameters({ model, layout }: MemoryInputs, { first }: StageContents, padding: number): number {
  const depths = mtpDepths(model);
  if (depths === 0) return 0;
  const embedding = first || model.tiedEmbeddings ? 0 : (model.vocab * model.hidden + padding) / layout.tensor;
  return depths * (projectionParameters(model) / layout.tensor + mtpNormParameters(model)) + embedding;
}

export interface StaticBytes {
  readonly weights: number;
  readonly gradients: number;
  readonly optimizer: number;
  /** Transformer Engine >= 2.3, and Megatron-LM's head with it: one dummy weight gradient per distinct weight shape, whatever the number of layers. */
  readonly dummyGradients: number;
  /** Workspaces of the matrix libraries, weights gathered for the layers in use, buckets of the gradient all-reduce. */
  readonly workspaces: number;
}

/** All that is always there. */
export function totalBytes({ weights, gradients, optimizer, dummyGradients, workspaces }: StaticBytes): number {
  return weights + gradients + optimizer + dummyGradients + workspaces;
}

/** What a rank holds of its parameters, and over how many ranks it may be divided. */
interface Held {
  readonly shared: number;
  readonly experts: number;
  readonly shards: number;
  readonly expertShards: number;
}

/** Bytes that are always there on one rank. */
export function staticBytes(inputs: MemoryInputs, stage: StageContents): StaticBytes {
  const { layout, training } = inputs;
  const held = { ...rankParameters(inputs, stage), shards: layout.data * layout.context, expertShards: expertReplicas(layout) };
  const bytes = { megatron: megatronBytes, torchtitan: titanBytes, fsdp1: titanBytes, deepspeed: deepspeedBytes }[runtimeOf(training).id](
    inputs,
    stage,
    held,
  );
  return training.offloadOptimizer === true ? { ...bytes, optimizer: 0 } : bytes;
}

/** Bytes a parameter, divided over the replicas that hold the same ones or not. */
function heldBytes({ shared, experts, shards, expertShards }: Held, bytes: number, sharded: boolean): number {
  return bytes * (sharded ? shared / shards + experts / expertShards : shared + experts);
}

/** Master weights and the optimizer's state, bytes a parameter. */
function stateBytes({ training }: MemoryInputs): number {
  const master = training.precision === 'fp32' ? 0 : 4;
  return training.optimizer === 'none' ? 0 : master + optimizerBytes[training.optimizer].state;
}

function megatronBytes(inputs: MemoryInputs, stage: StageContents, held: Held): StaticBytes {
  const { training } = inputs;
  const element = elementBytes(training);
  return {
    weights: heldBytes(held, element, training.zeroStage >= 3) + narrowWeights(inputs, stage),
    gradients: heldBytes(held, training.gradAccumulationFp32 ? 4 : element, training.zeroStage >= 2),
    optimizer: heldBytes(held, stateBytes(inputs), training.zeroStage >= 1),
    dummyGradients: element * distinctParameters(inputs, stage),
    workspaces: workspaceBytes(inputs, stage) + (training.zeroStage >= 3 ? 2 * element * layerOfRank(inputs, stage) : 0),
  };
}

/**
 * Copies of the layers' weights in a narrow format, along rows and along columns, which Transformer Engine keeps from the first micro-batch of a step to its end (its weight workspaces; `--fp8-param-gather` would take
 * them for the weights themselves). The router is no module of it.
 */
function narrowWeights({ model, training, layout }: MemoryInputs, stage: StageContents): number {
  if (training.gemmPrecision === undefined) return 0;
  const matrices = groupsOf(model, stage).reduce(
    (sum, { kind, layers }) => sum + layers * (rankMatrixParameters(model, layout, kind) - layerParameters(model, kind).router),
    0,
  );
  return 2 * narrowBytes[training.gemmPrecision] * matrices;
}

/**
 * TorchTitan (`fully_shard` on every layer): weights, gradients and states in fp32, all sharded. Gathered in the training precision are the layer in use and the next, with one layer's gradient in it and in fp32 for the scatter; on a
 * pipeline everything stays gathered and gradients add up whole in fp32 until the last micro-batch (`reshard_after_forward` and `set_requires_gradient_sync` as TorchTitan sets them).
 */
function titanBytes(inputs: MemoryInputs, stage: StageContents, held: Held): StaticBytes {
  const { training, layout } = inputs;
  const element = elementBytes(training);
  const state = training.optimizer === 'none' ? 0 : optimizerBytes[training.optimizer].state;
  const alone = held.shards === 1;
  const piped = heldBytes(held, element + 4, false);
  const inUse = (2 * element + element + 4) * layerOfRank(inputs, stage);
  return {
    weights: heldBytes(held, 4, true),
    gradients: heldBytes(held, 4, true),
    optimizer: heldBytes(held, state, true),
    dummyGradients: 0,
    workspaces: alone ? 0 : layout.pipeline > 1 ? piped : inUse,
  };
}

/** Elements of DeepSpeed's default buckets: `reduce_bucket_size` (twice, as exchanges overlap) and `allgather_bucket_size`; and of stage 3's `stage3_max_live_parameters`. */
const bucketElements = 5e8;
const liveElements = 1e9;

/** DeepSpeed: weights and gradients in the training precision; from stage 1 on the states divided, with an fp32 copy of the rank's share of the gradients, and buckets of its default sizes. */
function deepspeedBytes(inputs: MemoryInputs, _stage: StageContents, held: Held): StaticBytes {
  const { training } = inputs;
  const element = elementBytes(training);
  const parameters = held.shared + held.experts;
  const sharded = training.zeroStage >= 1;
  const copy = sharded && training.precision !== 'fp32' ? 4 : 0;
  const buckets = training.zeroStage >= 1 ? element * 3 * Math.min(bucketElements, parameters) : 0;
  const live = training.zeroStage >= 3 ? element * Math.min(liveElements, parameters) : 0;
  return {
    weights: heldBytes(held, element, training.zeroStage >= 3),
    gradients: heldBytes(held, element, training.zeroStage >= 2),
    optimizer: heldBytes(held, stateBytes(inputs) + copy, sharded),
    dummyGradients: 0,
    workspaces: buckets + live,
  };
}

/** Parameters of the largest layer that a rank of the stage has. */
function layerOfRank({ model, layout }: MemoryInputs, stage: StageContents): number {
  return Math.max(0, ...groupsOf(model, stage).map(({ kind, layers }) => (layers > 0 ? rankMatrixParameters(model, layout, kind) : 0)));
}

/** Weights of each distinct shape once: the experts of a layer are alike, layers of one kind too, and a router is no module of Transformer Engine. */
function distinctParameters({ model, layout }: MemoryInputs, stage: StageContents): number {
  const kinds = new Map(
    groupsOf(model, stage).map(({ kind, layers }) => [
      layers > 0 ? `${kind.stack ?? ''} ${kind.feedForward} ${kind.mixer ?? 'attention'}` : '',
      kind,
    ]),
  );
  kinds.delete('');
  let attention = 0;
  let states = 0;
  let networks = 0;
  let crossed = 0;
  const alike = new Set<number>();
  for (const kind of kinds.values()) {
    const { attentionOutput, compression, cross, router } = layerParameters(model, kind);
    const state = stateOf(model, kind);
    const routed = rankExpertParameters(model, layout, kind);
    const ofAttention = rankProjections(model, layout.tensor, kind) + compression + attentionOutput / layout.tensor;
    const ofState = state === null ? 0 : stateMatrixParameters(model, state, layout.tensor);
    const ofCross = cross === 0 ? 0 : rankProjections(model, layout.tensor, kind);
    crossed = Math.max(crossed, ofCross);
    const crossing = cross === 0 ? 0 : ofCross + attentionOutput / layout.tensor;
    const dense = rankMatrixParameters(model, layout, kind) - router - routed - ofAttention - ofState - crossing;
    const one = (routed * layout.expert) / (expertsOf(model, kind)?.count ?? 1);
    attention = Math.max(attention, ofAttention);
    states = Math.max(states, ofState);
    for (const size of [dense, one]) alike.add(size);
  }
  for (const size of alike) networks += size;
  const head = stage.last && model.vocab > 0 ? (paddedVocab(model.vocab, layout.tensor) * model.hidden) / layout.tensor : 0;
  const projection = stage.last && mtpDepths(model) > 0 ? projectionParameters(model) / layout.tensor : 0;
  return attention + states + crossed + networks + head + projection;
}

/** 32 MiB for Transformer Engine's cuBLAS, as much for PyTorch's where a head or a router uses it, and 4 x 32 MiB for grouped GEMMs (Hopper and later). */
const workspace = 32 * 2 ** 20;
/** Streams over which Transformer Engine spreads the GEMMs of a rank's experts. */
const groupedStreams = 4;

function workspaceBytes({ model, layout }: MemoryInputs, stage: StageContents): number {
  const routed = groupsOf(model, stage).some(({ kind, layers }) => layers > 0 && expertsOf(model, kind) !== null);
  const head = stage.last && model.vocab > 0;
  const grouped = routed && (model.experts?.count ?? 0) > layout.expert;
  return workspace * (1 + (head || routed ? 1 : 0) + (grouped ? groupedStreams : 0));
}
