import { encoderEnds } from '../../model/ends';
import { layerMatrixParameters, layerParameters, parameterCount } from '../../model/parameters';
import { unevenParameterCount, type LatentAttention } from '../../model/uneven';
import { isFamily } from '../families';
import type { Facts } from '../facts';
import { isAttention } from './read-facts';
import type { Run } from '../run';
import { modelSpecOf } from '../written-model';

/** Parameters of a run's model, elements, tied embeddings counted once; null for kinds of models whose weights are not counted (encoders with decoders, layers that are not attention, types we do not know). */
export function parametersOf({ model, facts = {}, unplanned, encoder }: Run): number | null {
  const spec = modelSpecOf(model);
  if (encoder !== undefined) {
    const ends = encoderEnds(spec, encoder);
    const layer = layerMatrixParameters(spec) + layerParameters(spec).normsAndBiases;
    return ends.embeddingParameters + spec.layers * layer + ends.normParameters + ends.headParameters;
  }
  if (unplanned === undefined) return parameterCount(spec);
  const latent = latentOf(facts);
  const hasShared = facts.sharedExperts !== undefined || facts.sharedExpertFfn !== undefined;
  const counted = facts.latentAttention === undefined ? hasShared : latent !== null;
  const others = facts.hybridPattern !== undefined || facts.attentionKinds?.value.some((kind) => !isAttention(kind)) === true;
  if (!counted || others || !isFamily(model.modelType.value)) return null;
  return unevenParameterCount({
    model: spec,
    denseLayers: spec.experts === null ? spec.layers : denseLayers(facts, spec.layers),
    denseFfn: model.ffn.value,
    sharedFfn: facts.sharedExpertFfn?.value ?? (facts.sharedExperts?.value ?? 0) * spec.ffn,
    sharedGate: facts.sharedExpertFfn !== undefined,
    latent,
  });
}

function latentOf({ latentAttention, qLoraRank, kvLoraRank, qkNopeHeadDim, qkRopeHeadDim, vHeadDim }: Facts): LatentAttention | null {
  if (latentAttention === undefined || !kvLoraRank || !qkNopeHeadDim || !qkRopeHeadDim || !vHeadDim) return null;
  return {
    qRank: qLoraRank?.value ?? null,
    kvRank: kvLoraRank.value,
    nopeHeadDim: qkNopeHeadDim.value,
    ropeHeadDim: qkRopeHeadDim.value,
    vHeadDim: vHeadDim.value,
  };
}

/** Layers without experts: the first ones, those listed, and those between every so many. */
function denseLayers(facts: Facts, layers: number): number {
  const listed = new Set(facts.denseLayers?.value);
  const first = facts.firstDenseLayers?.value ?? 0;
  const step = Math.max(1, facts.decoderSparseStep?.value ?? 1);
  const frequency = Math.max(1, Number(facts.moeLayerFrequency?.value ?? 1));
  let dense = 0;
  for (let layer = 0; layer < layers; layer += 1)
    if (layer < first || listed.has(layer) || (layer + 1) % step !== 0 || layer % frequency !== 0) dense += 1;
  return dense;
}
