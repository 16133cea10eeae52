import { adapterParameters, headAdapterParameters } from '../model/adapters';
import { largestOfLayers, largestOnHead, noTensors, type LargestTensors } from '../model/largest-tensors';
import { layersByKind } from '../model/layers';
import { embeddingNormParameters, finalNormParameters } from '../model/norms';
import { mtpDepths, mtpNormParameters, projectionParameters } from '../model/multi-token-prediction';
import {
  embeddingParameters,
  expertReplicas,
  fullestShards,
  layerExperts,
  layerParameters,
  paddedVocab,
  rankExpertParameters,
  rankMatrixParameters,
  updatesWholeTensors,
} from '../model/parameters';
import { stackParameters } from '../model/stacks';
import { isTrained } from '../domain/adapter';
import { layerGroups, resolveHeadShare, type StageContents } from './layer-tensors';
import type { LayerKind } from '../domain/model';
import type { MemoryInputs } from '../domain/request';
import { maximum } from '../numbers';

/*
 * What a rank of a stage holds of the model's parameters, and what is kept for each of them.
 */

/**
 * Parameters of one rank of the stage except for its experts, and its experts' own. An untied head, or the last stage's copy of a tied
 * embedding, counts on the last stage.
 */
function rankParameters(inputs: MemoryInputs, stage: StageContents): { readonly shared: number; readonly experts: number } {
  const { model, layout } = inputs;
  const { tensor } = layout;
  const padding = (paddedVocab(model.vocab, tensor) - model.vocab) * model.hidden;
  let shared = 0;
  let experts = 0;
  for (const { kind, layers } of layersByKind(layerGroups(model, stage))) {
    const routed = rankExpertParameters(model, layout, kind);
    experts += layers * routed;
    shared += layers * (rankMatrixParameters(model, layout, kind) - routed + layerParameters(model, kind).normsAndBiases);
  }
  if (model.stacks !== undefined) shared += startParameters(inputs, stage, padding);
  else if (stage.first && model.vocab > 0) shared += (embeddingParameters(model) + padding) / tensor;
  if (stage.first) shared += model.smallParameters?.model ?? 0;
  if (stage.last) shared += finalNormParameters(model) + mtpRankParameters(inputs, stage, padding);
  if (stage.encoderEnd === true) shared += finalNormParameters(model);
  const head = resolveHeadShare(stage);
  if (head > 0 && model.vocab > 0 && !(model.tiedEmbeddings && head === 1 && (stage.first || stage.decoderStart === true)))
    shared += (head * (model.vocab * model.hidden + padding)) / tensor;
  return { shared, experts };
}

/**
 * What the stacks of an encoder-decoder model begin with, on one rank: on a stage where both do, they share the word embedding, which
 * elsewhere each has a copy of.
 */
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

/** Parameters of the MTP depths without their layers: projections, norms, and a copy of the embedding where the last stage has none. */
function mtpRankParameters({ model, layout }: MemoryInputs, { first }: StageContents, padding: number): number {
  const depths = mtpDepths(model);
  if (depths === 0) return 0;
  const embedding = first || model.tiedEmbeddings ? 0 : (model.vocab * model.hidden + padding) / layout.tensor;
  return depths * (projectionParameters(model) / layout.tensor + mtpNormParameters(model)) + embedding;
}

/** Parameters of a rank, and over how many ranks they may be sharded. */
export interface RankParameters {
  readonly shared: number;
  readonly experts: number;
  readonly shards: number;
  readonly expertShards: number;
}

/** Bytes that are always present on one rank. */
export interface StaticBytes {
  readonly weights: number;
  readonly gradients: number;
  readonly optimizer: number;
  /**
   * Transformer Engine >= 2.3, and Megatron-LM's head with it: one dummy weight gradient per distinct weight shape, whatever the number of
   * layers.
   */
  readonly dummyGradients: number;
  /** Workspaces of the matrix libraries, weights gathered for the layers in use, buckets of the gradient all-reduce. */
  readonly workspaces: number;
}

/** All that a rank of a stage holds except for adapters. */
export function heldParameters(inputs: MemoryInputs, stage: StageContents): RankParameters {
  return withShards(inputs, rankParameters(inputs, stage), largestTensors(inputs, stage));
}

function withShards(
  { layout, training }: MemoryInputs,
  held: Pick<RankParameters, 'shared' | 'experts'>,
  largest: LargestTensors,
): RankParameters {
  const over = (part: keyof LargestTensors, ranks: number): number =>
    fullestShards(training, { parameters: held[part], ranks, largest: largest[part] });
  return { ...held, shards: over('shared', layout.data * layout.context), expertShards: over('experts', expertReplicas(layout)) };
}

/** The largest tensors of a rank of the stage, with its share of the vocabulary where it has one. */
function largestTensors({ model, layout, training }: MemoryInputs, stage: StageContents): LargestTensors {
  if (!updatesWholeTensors(training)) return noTensors;
  const layers = largestOfLayers(model, stageKinds(model, stage), layout);
  const words = (paddedVocab(model.vocab, layout.tensor) * model.hidden) / layout.tensor;
  const copies = [
    (stage.first && model.stacks?.melBins === undefined) || stage.decoderStart === true ? 1 : 0,
    stage.last && mtpDepths(model) > 0 && !model.tiedEmbeddings ? 1 : 0,
    resolveHeadShare(stage),
  ];
  const projection = stage.last && mtpDepths(model) > 0 ? projectionParameters(model) / layout.tensor : 0;
  return { ...layers, shared: Math.max(layers.shared, projection, words * maximum(copies)) };
}

/** Kinds of the layers that a stage has. */
function stageKinds(model: MemoryInputs['model'], stage: StageContents): LayerKind[] {
  return layerGroups(model, stage).flatMap(({ kind, layers }) => (layers > 0 ? [kind] : []));
}

/** The parameters of a rank that have gradients and optimizer states: all, or the adapters and copies of what is saved whole. */
export function trainedParameters(inputs: MemoryInputs, stage: StageContents): RankParameters {
  const { model, training, layout } = inputs;
  const { adapter } = training;
  if (adapter === undefined) return heldParameters(inputs, stage);
  let layers = 0;
  let experts = 0;
  for (const group of layersByKind(layerGroups(model, stage))) {
    const trained = adapterParameters(model, adapter, group.kind, layout);
    layers += group.layers * trained.shared;
    experts += group.layers * trained.experts;
  }
  const words = (paddedVocab(model.vocab, layout.tensor) * model.hidden) / layout.tensor;
  const saved =
    (stage.first && isTrained(training, 'embedding') ? words : 0) + (isTrained(training, 'head') ? resolveHeadShare(stage) * words : 0);
  const onHead = (resolveHeadShare(stage) * headAdapterParameters(model, adapter)) / layout.tensor;
  const trained = { shared: layers + saved + onHead, experts };
  if (!updatesWholeTensors(training)) return withShards(inputs, trained, noTensors);
  const tensors = largestOfLayers(model, stageKinds(model, stage), layout, adapter);
  const head = resolveHeadShare(stage) > 0 ? largestOnHead(model, adapter) / layout.tensor : 0;
  return withShards(inputs, trained, { ...tensors, shared: Math.max(tensors.shared, Math.min(saved, words), head) });
}

/** Bytes a parameter, divided over the replicas that hold the same ones or not. */
export function heldBytes({ shared, experts, shards, expertShards }: RankParameters, bytes: number, sharded: boolean): number {
  return bytes * (sharded ? shared / shards + experts / expertShards : shared + experts);
}

/** Of what a rank holds the matrices of the layers: without embedding, head, router, norms and biases. */
export function layerMatrices({ model, layout }: MemoryInputs, stage: StageContents, held: RankParameters): RankParameters {
  let shared = 0;
  let experts = 0;
  for (const { kind, layers } of layersByKind(layerGroups(model, stage))) {
    const routed = layerExperts(model, kind) === null ? 0 : rankExpertParameters(model, layout, kind);
    experts += layers * routed;
    shared += layers * (rankMatrixParameters(model, layout, kind) - routed - layerParameters(model, kind).router);
  }
  return { ...held, shared, experts };
}

/** Parameters of the largest layer that a rank of the stage has. */
export function layerOfRank({ model, layout }: MemoryInputs, stage: StageContents): number {
  return Math.max(
    0,
    maximum(layerGroups(model, stage).map(({ kind, layers }) => (layers > 0 ? rankMatrixParameters(model, layout, kind) : 0))),
  );
}
