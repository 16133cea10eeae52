import { isTrained } from '../domain/adapter';
import { elementBytes } from '../domain/number-formats';
import { mtpDepths } from '../model/multi-token-prediction';
import { hasAttention, stateBytes, layerStateMixer } from '../model/mixers';
import { attentionWidths, paddedVocab } from '../model/parameters';
import { runtimeProfile } from '../domain/runtime';
import type { LayerKind } from '../domain/model';
import type { Layout, MemoryInputs } from '../domain/request';
import type { WorkUnit } from '../schedules/schedule';
import {
  hasStack,
  layerGroups,
  resolveHeadShare,
  activationGroups,
  layerKeptBytes,
  layerWorkingSets,
  relativeBiasBytes,
  type StageContents,
  type WorkingSet,
} from './layer-tensors';
import { unitLayers, type LayerRuns, type UnitLayer } from './unit-layers';
import { boundaryBytes, headUnit, hiddenShare, localTokens, stackUnit } from './unit-sizes';
import { logitBytes } from './loss';
import { normCopyBytes } from './plain-modules';
import { headAdapterSaved } from './adapter-tensors';
import { layerExchangeBytes, rootExchangeBytes } from './fsdp';
import { maximum } from '../numbers';
import { append } from '../records';

export type { StageContents } from './layer-tensors';

/** Bytes saved by the forward of one work unit until its backward, on one rank of the stage. */
interface SavedBytes {
  readonly activations: number;
  /** Contiguous keys and values, and states, kept for the later slices of the same sequences; 0 for whole sequences. */
  readonly keysValues: number;
  /**
   * Logits and the final norm's input and output, on the last stage, once more for each further token that is predicted; freed by the
   * head's backward, before the layers'.
   */
  readonly logits: number;
}

/**
 * Bytes that a rank of a stage keeps of one work unit until its backward; `sliced`: also the keys and values for later slices.
 * `layers`: kept by all its layers, where that is known.
 */
export function savedBytes(
  inputs: MemoryInputs,
  stage: StageContents,
  unit: WorkUnit,
  sliced: boolean,
  layers = layersKept(inputs, stage, unit),
): SavedBytes {
  const { model, training, layout } = inputs;
  const element = elementBytes(training);
  const head = hasHead(inputs, stage);
  const depths = stage.last ? mtpDepths(model) : 0;
  const predicted = headUnit(inputs, unit);
  const boundary = boundaryBytes(inputs, predicted);
  // spread over stages, the head takes what it is broadcast, and the norm is only on the last
  const read = isTrained(training, 'head') ? 1 : headAdapterSaved(model, training);
  const finalNorm = !head ? 0 : stage.last ? (1 + read + normCopyBytes(inputs) / element) * boundary : boundary;
  const vocab = paddedVocab(model.vocab, layout.tensor) / layout.tensor;
  return {
    activations: layers + embeddingAndHeadBytes(inputs, stage, unit),
    keysValues: sliced ? stageKeyValueBytes(inputs, stage, unit) + stageStateBytes(inputs, stage, unit) : 0,
    logits: head ? (1 + depths) * (finalNorm + resolveHeadShare(stage) * localTokens(inputs, predicted) * vocab * logitBytes(inputs)) : 0,
  };
}

/** Kept by all layers of a stage. */
function layersKept(inputs: MemoryInputs, stage: StageContents, unit: WorkUnit): number {
  return activationGroups(inputs, stage).reduce((sum, group) => sum + group.layers * layerKeptBytes(inputs, unit, group), 0);
}

/**
 * Saved in addition to what each layer saves: of each depth that predicts a further token the embedding and the two normed tensors that are
 * projected, and what layers share.
 */
export function embeddingAndHeadBytes(inputs: MemoryInputs, stage: StageContents, unit: WorkUnit): number {
  const depths = stage.last ? mtpDepths(inputs.model) : 0;
  return depths * 3 * boundaryBytes(inputs, headUnit(inputs, unit)) + sharedByLayers(inputs, stage, unit) + sentBytes(inputs, stage, unit);
}

/**
 * What a stage sent on: the pipelines of DeepSpeed (`pipe_buffers['outputs']` of deepspeed/runtime/pipe/engine.py) and PyTorch (`fwd_cache`
 * of torch/distributed/pipelining/stage.py) keep it until the micro-batch's backward, Megatron-LM frees it (`deallocate_pipeline_outputs`).
 */
function sentBytes(inputs: MemoryInputs, stage: StageContents, unit: WorkUnit): number {
  return runtimeProfile(inputs.training).id !== 'megatron' && inputs.layout.pipeline > 1 && !stage.last ? boundaryBytes(inputs, unit) : 0;
}

/**
 * Saved once for all layers of a stage: the encoder's output, which every decoder layer reads, and T5's bias by distance of each stack that
 * it has.
 */
function sharedByLayers(inputs: MemoryInputs, stage: StageContents, unit: WorkUnit): number {
  const { stacks } = inputs.model;
  if (stacks === undefined) return 0;
  const output = hasStack(stage, 'decoder') ? boundaryBytes(inputs, unit) : 0;
  if (stacks.relativeBias?.everyLayer !== false) return output;
  return (['encoder', 'decoder'] as const)
    .filter((stack) => hasStack(stage, stack))
    .reduce((sum, stack) => sum + relativeBiasBytes(inputs, { stack }, stackUnit(inputs, unit, { stack })), output);
}

/**
 * How many times the activations of plain 1F1B interleaved 1F1B holds on stage r, for where its order is not at hand: it starts 2 (p - r -
 * 1) + (v - 1) p chunks ahead (Megatron-LM), so holds
 * p + (p - 1 - 2 r) / v micro-batches instead of p - r. On stage 0 that is 1 + (p-1)/(p v) (arXiv 2205.05198, section 4.2.1).
 */
export function interleavingFactor({ pipeline, virtualStages }: Layout, stage: number, microBatches: number): number {
  if (virtualStages === 1) return 1;
  const held = pipeline + (pipeline - 1 - 2 * stage) / virtualStages;
  return Math.min(microBatches, held) / Math.min(microBatches, pipeline - stage);
}

/** Contiguous keys and values of a unit in all layers of a stage that attend. */
export function stageKeyValueBytes(inputs: MemoryInputs, stage: StageContents, unit: WorkUnit): number {
  return layersWith(inputs, stage, hasAttention) * keyValueBytes(inputs, localTokens(inputs, unit));
}

/**
 * The states that a unit starts from in all layers of a stage that have one, which their backward reads again. A layer holds at most one
 * gradient of a state at a time, too little to count.
 */
function stageStateBytes(inputs: MemoryInputs, stage: StageContents, unit: WorkUnit): number {
  const { model, training, layout } = inputs;
  if (model.state === undefined) return 0;
  const states = stateBytes(model.state, layout.tensor * layout.context, unit.batch, elementBytes(training));
  return layersWith(inputs, stage, (kind) => layerStateMixer(model, kind) !== null) * states;
}

function layersWith({ model }: MemoryInputs, stage: StageContents, has: (kind: LayerKind) => boolean): number {
  return layerGroups(model, stage).reduce((sum, { kind, layers }) => sum + (has(kind) ? layers : 0), 0);
}

/** Keys and values of `tokens` tokens in one layer. */
export function keyValueBytes({ model, training, layout }: MemoryInputs, tokens: number): number {
  const { key, value } = attentionWidths(model, layout.tensor);
  return elementBytes(training) * (key + value) * tokens;
}

/**
 * Activations in transfer to or from the host, in addition to those that stay on the GPU. Transformer Engine spreads the copies over all
 * layers and starts each when the previous one is done. In backward, the next layer's activations are thus on the GPU while others still
 * wait; a layer that was offloaded itself has both (`AsyncDoubleBufferGroupOffloadHandler`, 1.x).
 */
export function bytesOnTheWay({ alike }: LayerRuns<UnitLayer>, { offloaded }: UnitLayer): number {
  const largest = Math.max(0, maximum(alike.filter((layer) => layer.offloaded).map(({ waiting }) => waiting)));
  return offloaded ? 2 * largest : largest;
}

/**
 * The operations of a stage's layers that can make the peak: in the forward of a work unit and in its backward, each with what it holds in
 * addition to the saved tensors of the whole stage.
 */
export function layerOperations(
  inputs: MemoryInputs,
  stage: StageContents,
  unit: WorkUnit,
  runs: LayerRuns<UnitLayer> = unitLayers(inputs, stage, unit),
): { readonly forward: readonly WorkingSet[]; readonly backward: readonly WorkingSet[] } {
  const forward: WorkingSet[] = [];
  const backward: WorkingSet[] = [];
  const held = heldBoundaries(inputs, stage, unit);
  const exchanged = layerExchangeBytes(inputs, stage);
  let later = 0;
  const seen = new Set<UnitLayer>();
  for (let run = runs.which.length - 1; run >= 0; run--) {
    const layer = runs.alike[runs.which[run] ?? 0];
    if (layer === undefined) continue;
    if (!seen.has(layer)) {
      const sets = layerWorkingSets(inputs, layer);
      const moving = bytesOnTheWay(runs, layer);
      const atBusiest = (extra: number) => (set: WorkingSet) => ({ ...set, bytes: set.bytes + moving + extra - later });
      append(forward, sets.forward.map(atBusiest(held.forward)));
      if (layer.offloaded) forward.push(atBusiest(held.forward)({ name: 'copy to the host', bytes: 0 }));
      append(backward, sets.backward.map(atBusiest(held.backward + exchanged)));
      seen.add(layer);
    }
    later += (runs.layers[run] ?? 0) * layer.kept;
  }
  const mtp = mtpEmbeddingBytes(inputs, stage);
  if (mtp > 0) backward.push({ name: 'embedding backward', bytes: mtp + held.backward });
  return { forward, backward };
}

/**
 * Boundary tensors that Megatron-LM's schedule still references: on every stage but the first, the gradient it sent last, until the next
 * one is computed; in forward, on every stage but the last, the gradient it received last.
 */
export function heldBoundaries(
  inputs: MemoryInputs,
  stage: StageContents,
  unit: WorkUnit,
): { readonly forward: number; readonly backward: number } {
  const isPiped = inputs.layout.pipeline > 1;
  const into =
    isPiped && !stage.first ? crossingBytes(inputs, unit, stage.groups?.[0]?.kind.stack === 'decoder' && stage.decoderStart !== true) : 0;
  const out = isPiped && !stage.last ? crossingBytes(inputs, unit, stage.groups?.at(-1)?.kind.stack === 'decoder') : 0;
  // the gradient of the encoder's output, which adds up from layer to layer
  const shared = hasStack(stage, 'decoder') ? boundaryBytes(inputs, unit) : 0;
  return { forward: into + out, backward: into + shared };
}

/** Bytes that cross from one stage to the next: hidden states, and inside the decoder those of the target with the encoder's output. */
function crossingBytes(inputs: MemoryInputs, unit: WorkUnit, isInDecoder: boolean): number {
  const source = boundaryBytes(inputs, unit);
  return isInDecoder ? source + boundaryBytes(inputs, stackUnit(inputs, unit, { stack: 'decoder' })) : source;
}

export const headBackwardName = 'head backward';

/**
 * The head's backward: gradient of its input and, with sequence parallelism, the input gathered over tensor-parallel ranks and the rank's
 * share of the gradient. Zero bytes where there is no head.
 */
export function headBackward(inputs: MemoryInputs, stage: StageContents, unit: WorkUnit): WorkingSet {
  const { model, training, layout } = inputs;
  const hidden = elementBytes(training) * localTokens(inputs, headUnit(inputs, unit)) * model.hidden;
  const gathered = layout.tensor > 1 && training.sequenceParallel ? hidden * (1 + hiddenShare(inputs)) : 0;
  const held = heldBoundaries(inputs, stage, unit).backward + headAdapterLogits(inputs, stage, unit);
  return { name: headBackwardName, bytes: hasHead(inputs, stage) ? hidden + gathered + held : 0 };
}

/**
 * What the adapter of the head makes in addition to the logits: its output and that scaled, before their sum (`result + lora_B(lora_A(x)) *
 * scaling` of peft, as torchtune). In backward one of them is the scaled gradient. Taken at the head's backward, where more is held.
 */
function headAdapterLogits(inputs: MemoryInputs, stage: StageContents, unit: WorkUnit): number {
  const { model, training, layout } = inputs;
  if (training.adapter?.onHead !== true) return 0;
  const columns = (resolveHeadShare(stage) * paddedVocab(model.vocab, layout.tensor)) / layout.tensor;
  return 2 * elementBytes(training) * localTokens(inputs, headUnit(inputs, unit)) * columns;
}

/** Whether a stage makes the logits. */
export function hasHead({ model }: MemoryInputs, stage: StageContents): boolean {
  return resolveHeadShare(stage) > 0 && model.vocab > 0;
}

/**
 * The gradient of the last stage's own embedding, which multi-token prediction uses, while the layers before still wait for their backward.
 */
function mtpEmbeddingBytes({ model, training, layout }: MemoryInputs, stage: StageContents): number {
  if (!stage.last || mtpDepths(model) === 0 || model.vocab === 0) return 0;
  return (elementBytes(training) * paddedVocab(model.vocab, layout.tensor) * model.hidden) / layout.tensor;
}

/** The embedding's gradient, at the end of a work unit's backward, when its saved tensors are already free. */
export function embeddingBackwardBytes({ model, training, layout }: MemoryInputs, stage: StageContents): number {
  const isThere = (stage.first && model.stacks?.melBins === undefined) || stage.decoderStart === true;
  if (!isThere || model.vocab === 0 || !isTrained(training, 'embedding')) return 0;
  const exchanged = rootExchangeBytes({ model, training, layout }, stage);
  return exchanged > 0 ? exchanged : (elementBytes(training) * paddedVocab(model.vocab, layout.tensor) * model.hidden) / layout.tensor;
}
