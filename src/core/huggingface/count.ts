import { encoderEnds } from '../model/ends';
import { layerMatrixParameters, layerParameters, parameterCount } from '../model/parameters';
import type { Run } from '../run/run';
import { familyOfModel } from './families';
import { toModelSpec } from '../run/written-model';
import { maximum, minimum } from '../numbers';

/** The settings of a run that decide how many parameters its model has. */
type Counted = Pick<Run, 'model' | 'traits'> & { readonly [K in 'unplanned' | 'encoder']?: Run[K] | undefined };

/**
 * Parameters of a run's model, elements, tied embeddings counted once; null for kinds of models whose weights are not counted (encoders
 * with decoders, layers that are not attention, types we do not know).
 */
export function countModelParameters({ model, traits, unplanned, encoder }: Counted): number | null {
  const spec = toModelSpec(model, traits);
  if (encoder !== undefined) {
    const ends = encoderEnds(spec, encoder);
    const layer = layerMatrixParameters(spec) + layerParameters(spec).normsAndBiases;
    return ends.embeddingParameters + spec.layers * layer + ends.normParameters + ends.headParameters;
  }
  return unplanned === undefined ? parameterCount(spec) : null;
}

/**
 * Least and most parameters of a model whose type is not known, elements: with and without a gate in its feed-forward networks, and with
 * embedding and head tied or not unless the files set it. Null for models that are known, and for those that are not counted.
 */
export function countParameterRange(run: Counted): readonly [least: number, most: number] | null {
  const { model, traits, unplanned } = run;
  if (unplanned !== undefined || familyOfModel(model.modelType)?.assumed !== true) return null;
  const spec = toModelSpec(model, traits);
  const ties = model.tiedEmbeddings.source.kind === 'default' ? [true, false] : [spec.tiedEmbeddings];
  const counts = [true, false].flatMap((gatedMlp) => ties.map((tiedEmbeddings) => parameterCount({ ...spec, gatedMlp, tiedEmbeddings })));
  return [minimum(counts), maximum(counts)];
}
