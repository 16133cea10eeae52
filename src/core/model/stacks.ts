import { embeddingNormParameters } from './norms';
import type { LayerKind, ModelSpec, Stack, Stacks } from '../domain/model';

/** What files that give no more than the sizes of an encoder-decoder model leave open: as Megatron-LM's T5 (`megatron/core/models/T5`). */
export const usualStacks: Omit<Stacks, 'encoderLayers'> = { maxSourcePositions: null, sourcePositions: 'shared', finalNorms: true };

/** The kinds of the layers of an encoder-decoder model, the encoder's first. */
export function stackKinds(encoderLayers: number, layers: number): LayerKind[] {
  return Array.from({ length: layers }, (_, layer) => ({
    feedForward: 'dense',
    window: null,
    stack: layer < encoderLayers ? 'encoder' : 'decoder',
  }));
}

/** Tokens of a sequence that a layer works on: in the decoder of an encoder-decoder model the target's, where `tokens` is the source's. */
export function stackTokens(
  { decoderSequenceLength }: { readonly decoderSequenceLength?: number },
  { stack }: Pick<LayerKind, 'stack'>,
  tokens: number,
): number {
  return stack === 'decoder' ? (decoderSequenceLength ?? tokens) : tokens;
}

/** Tokens of a sequence that the head sees. */
export function headTokens(
  { stacks }: Pick<ModelSpec, 'stacks'>,
  training: { readonly decoderSequenceLength?: number },
  tokens: number,
): number {
  return stacks === undefined ? tokens : stackTokens(training, { stack: 'decoder' }, tokens);
}

/** Heads of a layer's attention, and the size of one. */
export function attentionHeads(
  { heads, headDim, stacks }: ModelSpec,
  { stack }: Pick<LayerKind, 'stack'>,
): { readonly heads: number; readonly headDim: number } {
  const own = stack === 'decoder' ? (stacks?.decoderHeads ?? heads) : heads;
  return { heads: own, headDim: (heads * headDim) / own };
}

/** Parameters of one bias of attention scores by distance. */
export function relativeBiasParameters(model: ModelSpec, kind: Pick<LayerKind, 'stack'>): number {
  return (model.stacks?.relativeBias?.buckets ?? 0) * attentionHeads(model, kind).heads;
}

/**
 * Parameters that a stack begins with in addition to the word embedding and, in the decoder, the learned positions: those of the source,
 * the encoder's norm of the embedding, its convolutions, a bias by distance.
 */
export function stackParameters(model: ModelSpec, stack: Stack): number {
  const { stacks, hidden } = model;
  if (stacks === undefined) return 0;
  const { relativeBias, melBins } = stacks;
  const bias = relativeBias?.everyLayer === false ? relativeBiasParameters(model, { stack }) : 0;
  if (stack === 'decoder') return bias;
  const convolutions = melBins === undefined ? 0 : 3 * (melBins + hidden) * hidden + 2 * hidden;
  const norm = melBins === undefined ? embeddingNormParameters(model) : 0;
  return sourcePositionRows(model) * hidden + norm + bias + convolutions;
}

/** Rows of the encoder's own table of learned positions. */
function sourcePositionRows({ positions, stacks, unusedPositions = 0 }: ModelSpec): number {
  const rows = positions === 'learned' && stacks?.sourcePositions === 'own' ? stacks.maxSourcePositions : null;
  return rows === null ? 0 : rows + unusedPositions;
}
