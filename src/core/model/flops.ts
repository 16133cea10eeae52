import { layerGroups, sumOverGroups } from './layers';
import { activeMatrixParameters, attendedKeys, attentionWidths, layerMatrixParameters, modelFlopsPerSequence } from './parameters';
import { isTrained } from '../domain/adapter';
import type { LayerKind, ModelSpec } from '../domain/model';
import type { TrainingSpec } from '../domain/request';
import { activeAdapterParameters, headAdapterParameters } from './adapters';
import { headTokens, stackTokens } from './stacks';

/** Lengths of one sequence, tokens; the second is the target's of an encoder-decoder model. */
export interface SequenceLengths {
  readonly sequenceLength: number;
  readonly decoderSequenceLength?: number;
}

/**
 * FLOPs of one sequence as `modelFlopsPerSequence` counts them, without gradients of frozen weights and with adapters; those of an
 * encoder-decoder model for both its lengths.
 */
export function sequenceFlops(model: ModelSpec, training: SequenceLengths & Pick<TrainingSpec, 'adapter'>): number {
  const { hidden, vocab, stacks } = model;
  const { sequenceLength: source } = training;
  if (stacks === undefined) return modelFlopsPerSequence(model, source) - frozenFlops(model, training);
  const layers = sumOverGroups(layerGroups(model), (kind) => stackLayerFlops(model, kind, training));
  const convolutions = stacks.melBins === undefined ? 0 : 6 * source * 3 * hidden * (2 * stacks.melBins + hidden);
  return layers + convolutions + 6 * vocab * hidden * headTokens(model, training, source);
}

/** FLOPs that training adapters saves of a sequence: 2 a token and frozen weight, less 6 for each parameter of the adapters. */
function frozenFlops(model: ModelSpec, training: SequenceLengths & Pick<TrainingSpec, 'adapter'>): number {
  const { adapter, sequenceLength } = training;
  if (adapter === undefined) return 0;
  const ofLayers = sumOverGroups(
    layerGroups(model),
    (kind) => 2 * activeMatrixParameters(model, kind) - 6 * activeAdapterParameters(model, adapter, kind),
  );
  const ofHead = (isTrained(training, 'head') ? 0 : 2 * model.vocab * model.hidden) - 6 * headAdapterParameters(model, adapter);
  return sequenceLength * (ofLayers + ofHead);
}

/**
 * FLOPs of one layer of an encoder-decoder model for one sequence, forward and backward: in the encoder every token attends to all; of the
 * decoder, keys and values of attention to the encoder's output are made of the source's tokens, all else of the target's.
 */
export function stackLayerFlops(model: ModelSpec, kind: LayerKind, training: SequenceLengths): number {
  const { query, key, value, output } = attentionWidths(model, 1);
  const { sequenceLength: source } = training;
  const tokens = stackTokens(training, kind, source);
  const isDecoder = kind.stack === 'decoder';
  const pairs = isDecoder ? attendedKeys(tokens, 0, null) + tokens * source : tokens * tokens;
  const ofSource = isDecoder ? model.hidden * (key + value) : 0;
  return 6 * (tokens * (layerMatrixParameters(model, kind) - ofSource) + source * ofSource) + 6 * (query + output) * pairs;
}
