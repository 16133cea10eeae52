import { encoderEnds } from '../../model/ends';
import { layerMatrixParameters, layerParameters, parameterCount } from '../../model/parameters';
import type { Run } from '../run';
import { modelSpecOf } from '../written-model';

/**
 * Parameters of a run's model, elements, tied embeddings counted once; null for kinds of models whose weights are not counted (encoders
 * with decoders, layers that are not attention, types we do not know).
 */
export function parametersOf({ model, traits, unplanned, encoder }: Run): number | null {
  const spec = modelSpecOf(model, traits);
  if (encoder !== undefined) {
    const ends = encoderEnds(spec, encoder);
    const layer = layerMatrixParameters(spec) + layerParameters(spec).normsAndBiases;
    return ends.embeddingParameters + spec.layers * layer + ends.normParameters + ends.headParameters;
  }
  return unplanned === undefined ? parameterCount(spec) : null;
}
