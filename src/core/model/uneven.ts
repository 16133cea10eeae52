import { embeddingParameters, layerParameters } from './parameters';
import type { ModelSpec } from './spec';

/** Multi-head latent attention (DeepSeek-V2, section 2.1): ranks of the compressed queries and of keys and values, and head sizes. */
export interface LatentAttention {
  /** null: queries are not compressed. */
  readonly qRank: number | null;
  readonly kvRank: number;
  readonly nopeHeadDim: number;
  readonly ropeHeadDim: number;
  readonly vHeadDim: number;
}

/** A decoder whose layers planning cannot take as equal. */
export interface UnevenModel {
  /** Sizes of a layer with experts; `ffn` of one expert. */
  readonly model: ModelSpec;
  /** Layers without experts, and their feed-forward width. */
  readonly denseLayers: number;
  readonly denseFfn: number;
  /** Width of the experts that all tokens share, together; 0: none. */
  readonly sharedFfn: number;
  /** The shared experts are weighed by a gate of one column (Qwen2-MoE). */
  readonly sharedGate: boolean;
  readonly latent: LatentAttention | null;
}

/** All parameters, tied embeddings counted once. Source: the weight shapes of the DeepSeek-V2, DeepSeek-V3, Qwen2-MoE and Llama 4 classes of transformers. */
export function unevenParameterCount(uneven: UnevenModel): number {
  const { model, denseLayers, denseFfn, sharedFfn, sharedGate, latent } = uneven;
  const { qkv, attentionOutput, mlpUp, mlpDown, router, normsAndBiases } = layerParameters(model);
  const matrices = model.gatedMlp ? 3 : 2;
  const attention = latent === null ? qkv + attentionOutput : latentParameters(model, latent);
  const sparse = mlpUp + mlpDown + router + matrices * model.hidden * sharedFfn + (sharedGate ? model.hidden : 0);
  const dense = matrices * model.hidden * denseFfn;
  const finalNorm = model.hidden * (model.norm === 'layernorm' ? 2 : 1);
  const head = model.tiedEmbeddings ? 0 : model.vocab * model.hidden;
  return (
    model.layers * (attention + normsAndBiases) +
    (model.layers - denseLayers) * sparse +
    denseLayers * dense +
    finalNorm +
    embeddingParameters(model) +
    head
  );
}

function latentParameters({ hidden, heads }: ModelSpec, { qRank, kvRank, nopeHeadDim, ropeHeadDim, vHeadDim }: LatentAttention): number {
  const queries = heads * (nopeHeadDim + ropeHeadDim);
  const q = qRank === null ? hidden * queries : hidden * qRank + qRank + qRank * queries;
  const kv = hidden * (kvRank + ropeHeadDim) + kvRank + kvRank * heads * (nopeHeadDim + vHeadDim);
  return q + kv + heads * vHeadDim * hidden;
}
