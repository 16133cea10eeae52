import { layersByKind } from '../model/layers';
import {
  attentionWidths,
  embeddingParameters,
  expertReplicas,
  expertsOf,
  finalNormParameters,
  layerParameters,
  paddedVocab,
  rankExpertParameters,
  rankMatrixParameters,
} from '../model/parameters';
import { optimizerBytes } from '../model/optimizer';
import type { Layout } from '../planner/request';
import type { WorkUnit } from '../schedule/schedule';
import {
  boundaryBytes,
  elementBytes,
  groupsOf,
  hiddenShare,
  keptGroups,
  layerKeptBytes,
  layerWorkingSets,
  localTokens,
  type MemoryInputs,
  type StageShape,
  type WorkingSet,
} from './layer-tensors';

export type { MemoryInputs, StageShape, WorkingSet } from './layer-tensors';

export const runtimeName = 'Megatron-LM with Transformer Engine';

/** Parameters of one rank of the stage but for its experts, and its experts' own. An untied head, or the last stage's copy of a tied embedding, counts on the last stage. */
function rankParameters(inputs: MemoryInputs, stage: StageShape): { readonly shared: number; readonly experts: number } {
  const { model, layout } = inputs;
  const { tensor, pipeline } = layout;
  const padding = (paddedVocab(model.vocab, tensor) - model.vocab) * model.hidden;
  let shared = 0;
  let experts = 0;
  for (const { kind, layers } of layersByKind(groupsOf(model, stage))) {
    const routed = rankExpertParameters(model, layout, kind);
    experts += layers * routed;
    shared += layers * (rankMatrixParameters(model, layout, kind) - routed + layerParameters(model, kind).normsAndBiases);
  }
  if (stage.first && model.vocab > 0) shared += (embeddingParameters(model) + padding) / tensor;
  if (stage.last) shared += finalNormParameters(model);
  if (stage.last && model.vocab > 0 && !(model.tiedEmbeddings && pipeline === 1)) shared += (model.vocab * model.hidden + padding) / tensor;
  return { shared, experts };
}

export interface StaticBytes {
  readonly weights: number;
  readonly gradients: number;
  readonly optimizer: number;
  /** Transformer Engine >= 2.3, and Megatron-LM's head with it: one dummy weight gradient per distinct weight shape, whatever the number of layers. */
  readonly dummyGradients: number;
  /** Of the matrix libraries: 32 MiB for Transformer Engine's cuBLAS, as much for PyTorch's where a head or a router uses it, and 4 x 32 MiB for grouped GEMMs (Hopper and later). */
  readonly workspaces: number;
}

/** Bytes that are always there on one rank. */
export function staticBytes(inputs: MemoryInputs, stage: StageShape): StaticBytes {
  const { training, layout } = inputs;
  const { shared, experts } = rankParameters(inputs, stage);
  const element = elementBytes(training);
  const shards = layout.data * layout.context;
  const expertShards = expertReplicas(layout);
  /** Bytes a parameter, divided from a ZeRO stage on over the replicas that hold the same ones. */
  const held = (bytes: number, fromStage: number): number => {
    const sharded = training.zeroStage >= fromStage;
    return bytes * shared * (sharded ? 1 / shards : 1) + bytes * experts * (sharded ? 1 / expertShards : 1);
  };
  const master = training.precision === 'fp32' ? 0 : 4;
  const state = training.optimizer === 'none' ? 0 : master + optimizerBytes[training.optimizer].state;
  return {
    weights: held(element, 3),
    gradients: held(training.fp32Gradients ? 4 : element, 2),
    optimizer: training.offloadOptimizer === true ? 0 : held(state, 1),
    dummyGradients: element * distinctParameters(inputs, stage),
    workspaces: workspaceBytes(inputs, stage),
  };
}

/** Weights of each distinct shape once: the experts of a layer are alike, layers of one kind too, and a router is no module of Transformer Engine. */
function distinctParameters({ model, layout }: MemoryInputs, stage: StageShape): number {
  const kinds = new Map(groupsOf(model, stage).map(({ kind, layers }) => [layers > 0 ? kind.feedForward : '', kind]));
  kinds.delete('');
  let attention = 0;
  let networks = 0;
  const alike = new Set<number>();
  for (const kind of kinds.values()) {
    const { attentionOutput, compression, qkv, router } = layerParameters(model, kind);
    const { query, key, value } = attentionWidths(model, layout.tensor);
    const routed = rankExpertParameters(model, layout, kind);
    attention = (model.latent ? qkv / layout.tensor : model.hidden * (query + key + value)) + compression + attentionOutput / layout.tensor;
    const dense = rankMatrixParameters(model, layout, kind) - router - routed - attention;
    const one = (routed * layout.expert) / (expertsOf(model, kind)?.count ?? 1);
    for (const size of [dense, one]) alike.add(size);
  }
  for (const size of alike) networks += size;
  const head = stage.last && model.vocab > 0 ? (paddedVocab(model.vocab, layout.tensor) * model.hidden) / layout.tensor : 0;
  return attention + networks + head;
}

const workspace = 32 * 2 ** 20;
/** Streams over which Transformer Engine spreads the GEMMs of a rank's experts. */
const groupedStreams = 4;

function workspaceBytes({ model, layout }: MemoryInputs, stage: StageShape): number {
  const routed = groupsOf(model, stage).some(({ kind, layers }) => layers > 0 && expertsOf(model, kind) !== null);
  const head = stage.last && model.vocab > 0;
  const grouped = routed && (model.experts?.count ?? 0) > layout.expert;
  return workspace * (1 + (head || routed ? 1 : 0) + (grouped ? groupedStreams : 0));
}

/** Bytes saved by the forward of one work unit until its backward, on one rank of the stage. */
export interface SavedBytes {
  readonly activations: number;
  /** Contiguous keys and values kept for the later slices of the same sequences; 0 for whole sequences. */
  readonly keysValues: number;
  /** Logits and the final norm's input and output, on the last stage; freed by the head's backward, before the layers'. */
  readonly logits: number;
}

export function savedBytes(inputs: MemoryInputs, stage: StageShape, unit: WorkUnit, sliced: boolean): SavedBytes {
  const tokens = localTokens(inputs, unit);
  const { model, training, layout } = inputs;
  const element = elementBytes(training);
  const layers = keptGroups(inputs, stage).reduce((sum, group) => sum + group.layers * layerKeptBytes(inputs, unit, group), 0);
  const hasHead = stage.last && model.vocab > 0;
  const finalNorm = hasHead ? 2 * boundaryBytes(inputs, unit) : 0;
  const vocab = paddedVocab(model.vocab, layout.tensor) / layout.tensor;
  return {
    activations: interleavingFactor(layout) * layers,
    keysValues: sliced ? stage.layers * keyValueBytes(inputs, tokens) : 0,
    logits: hasHead ? finalNorm + tokens * vocab * (training.fusedCrossEntropy ? element : element + 8) : 0,
  };
}

/** Interleaved 1F1B starts further ahead: 1 + (p-1)/(p v) of the activations of plain 1F1B (arXiv 2205.05198, section 4.2.1). */
function interleavingFactor({ pipeline, virtualStages }: Layout): number {
  return virtualStages > 1 ? 1 + (pipeline - 1) / (pipeline * virtualStages) : 1;
}

/** Keys and values of `tokens` tokens in one layer. */
export function keyValueBytes({ model, training, layout }: MemoryInputs, tokens: number): number {
  const { key, value } = attentionWidths(model, layout.tensor);
  return elementBytes(training) * (key + value) * tokens;
}

/** The operations of a stage's layers that can make the peak: in the forward of a work unit and in its backward, each with what it holds besides the saved tensors of the whole stage. */
export function layerOperations(
  inputs: MemoryInputs,
  stage: StageShape,
  unit: WorkUnit,
): { readonly forward: readonly WorkingSet[]; readonly backward: readonly WorkingSet[] } {
  const forward: WorkingSet[] = [];
  const backward: WorkingSet[] = [];
  const held = heldBoundaries(inputs, stage, unit);
  let later = 0;
  const seen = new Set<string>();
  for (const group of keptGroups(inputs, stage).reverse()) {
    const name = `${group.kind.feedForward} ${String(group.whole)}`;
    if (!seen.has(name)) {
      const sets = layerWorkingSets(inputs, unit, group);
      const beside = (extra: number) => (set: WorkingSet) => ({ ...set, bytes: set.bytes + extra - later });
      forward.push(...sets.forward.map(beside(held.forward)));
      backward.push(...sets.backward.map(beside(held.backward)));
      seen.add(name);
    }
    later += group.layers * layerKeptBytes(inputs, unit, group);
  }
  return { forward, backward };
}

/**
 * Boundaries that Megatron-LM's schedule still names: the gradient it sent last until the next one is there, on every stage but the first, and in forward the gradient it received last, on every stage
 * but the last.
 */
function heldBoundaries(inputs: MemoryInputs, stage: StageShape, unit: WorkUnit): { readonly forward: number; readonly backward: number } {
  const boundary = inputs.layout.pipeline > 1 ? boundaryBytes(inputs, unit) : 0;
  return { forward: (stage.first ? 0 : boundary) + (stage.last ? 0 : boundary), backward: stage.first ? 0 : boundary };
}

/**
 * The head's backward: gradient of its input and, with sequence parallelism, the input gathered over tensor-parallel ranks and the rank's share of the gradient. Zero bytes where there is no head.
 */
export function headBackward(inputs: MemoryInputs, stage: StageShape, unit: WorkUnit): WorkingSet {
  const { model, training, layout } = inputs;
  const hidden = elementBytes(training) * localTokens(inputs, unit) * model.hidden;
  const gathered = layout.tensor > 1 && training.sequenceParallel ? hidden * (1 + hiddenShare(inputs)) : 0;
  const held = heldBoundaries(inputs, stage, unit).backward;
  return { name: 'head backward', bytes: stage.last && model.vocab > 0 ? hidden + gathered + held : 0 };
}

/** The embedding's gradient, at the end of a work unit's backward, when its saved tensors are already free. */
export function embeddingBackwardBytes({ model, training, layout }: MemoryInputs, stage: StageShape): number {
  if (!stage.first || model.vocab === 0) return 0;
  return (elementBytes(training) * paddedVocab(model.vocab, layout.tensor) * model.hidden) / layout.tensor;
}
