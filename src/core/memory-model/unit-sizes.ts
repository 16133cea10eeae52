import { elementBytes } from '../domain/number-formats';
import { expertTensorSize } from '../model/parameters';
import { attentionHeads, headTokens, stackTokens } from '../model/stacks';
import type { LayerKind } from '../domain/model';
import type { WorkUnit } from '../schedules/schedule';
import { softmaxCopyBytes } from './plain-modules';
import type { MemoryInputs } from '../domain/request';

/*
 * How much of a work unit one rank has: tokens, rows of experts, hidden states, scores of attention.
 */

/** A unit, whose tokens are the source's, as layers of a stack see it: the decoder's work on the target. */
export function stackUnit({ training }: Pick<MemoryInputs, 'training'>, unit: WorkUnit, kind: Pick<LayerKind, 'stack'>): WorkUnit {
  return kind.stack === 'decoder' ? { ...unit, tokens: stackTokens(training, kind, unit.tokens) } : unit;
}

/** A unit as the head sees it. */
export function headUnit({ model, training }: MemoryInputs, unit: WorkUnit): WorkUnit {
  return model.stacks === undefined ? unit : { ...unit, tokens: headTokens(model, training, unit.tokens) };
}

/** Tokens of a work unit on one context-parallel rank. */
export function localTokens({ layout }: Pick<MemoryInputs, 'layout'>, unit: WorkUnit): number {
  return (unit.batch * unit.tokens) / layout.context;
}

/** Sequence parallelism splits what lies outside attention and feed-forward over the tensor-parallel ranks. */
export function hiddenShare({ training, layout }: MemoryInputs): number {
  return training.sequenceParallel ? 1 / layout.tensor : 1;
}

/** Bytes of the hidden states of a unit on one rank, as they cross from layer to layer. */
export function boundaryBytes(inputs: MemoryInputs, unit: WorkUnit): number {
  return elementBytes(inputs.training) * localTokens(inputs, unit) * inputs.model.hidden * hiddenShare(inputs);
}

/**
 * Visits to experts per token of a rank: sent by the rank, which sequence parallelism gives a share of the tokens, and received by it,
 * gathered over the ranks that share an expert.
 */
export function visits(inputs: MemoryInputs, active: number): { readonly sent: number; readonly rows: number } {
  const { training, layout } = inputs;
  const sent = active * hiddenShare(inputs);
  return { sent, rows: training.sequenceParallel ? sent * expertTensorSize(layout) : sent };
}

/**
 * Saved attention scores of one layer without fused attention, of a unit's tokens for `keys` tokens: softmax output, and with dropout its
 * mask and output.
 */
export function scoreBytes(inputs: MemoryInputs, kind: LayerKind, unit: WorkUnit, keys: number): number {
  if (inputs.training.attention === 'flash') return 0;
  const element = elementBytes(inputs.training);
  return scoreCells(inputs, kind, unit, keys) * ((inputs.training.dropout ? 2 * element + 1 : element) + softmaxCopyBytes(inputs));
}

/** Cells of the attention matrices of one layer on one rank: heads x queries x keys. */
export function scoreCells({ model, layout }: MemoryInputs, kind: LayerKind, unit: WorkUnit, keys: number): number {
  return (unit.batch * attentionHeads(model, kind).heads * unit.tokens * keys) / layout.tensor / layout.context;
}
