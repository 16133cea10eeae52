import type { ModelEnds } from '../../../core/model/ends';
import { layerParameters } from '../../../core/model/parameters';
import type { ModelSpec } from '../../../core/domain/model';

/** A model whose layers can freeze one after another. */
export interface ElasticModel {
  readonly spec: ModelSpec;
  readonly ends: ModelEnds;
}

export type UnitKind = 'embedding' | 'attention' | 'feed-forward' | 'norm' | 'head';

/** A part of the model that no cut divides: what lies between two residual additions, or an end. */
export interface Unit {
  readonly kind: UnitKind;
  /** Layer it belongs to, from 0; null at the ends. */
  readonly layer: number | null;
  /** Elements. */
  readonly parameters: number;
}

/**
 * The model as PipeTransformer cuts it: the embedding, attention and feed-forward of every layer each with their norm, the final norm
 * (where there is one) and the head. A boundary may lie between any two of them, which is after a residual addition: never inside a skip
 * connection (arXiv 2102.03161, section 3.2).
 */
export function elasticUnits({ spec, ends }: ElasticModel): Unit[] {
  const attention = sublayerParameters(spec, 'attention');
  const feedForward = sublayerParameters(spec, 'feed-forward');
  return [
    { kind: 'embedding', layer: null, parameters: ends.embeddingParameters },
    ...Array.from({ length: spec.layers }, (_, layer): Unit[] => [
      { kind: 'attention', layer, parameters: attention },
      { kind: 'feed-forward', layer, parameters: feedForward },
    ]).flat(),
    ...(ends.normParameters > 0 ? [{ kind: 'norm', layer: null, parameters: ends.normParameters } as const] : []),
    { kind: 'head', layer: null, parameters: ends.headParameters },
  ];
}

/** Units that leave the pipeline with `frozenLayers`: the layers and the embedding below them. */
export function frozenUnits(frozenLayers: number): number {
  return frozenLayers === 0 ? 0 : 1 + 2 * frozenLayers;
}

function sublayerParameters(model: ModelSpec, kind: 'attention' | 'feed-forward'): number {
  const { qkv, attentionOutput, mlpUp, mlpDown, normsAndBiases } = layerParameters(model);
  const { hidden, heads, kvHeads, headDim } = model;
  const norm = hidden * (model.norm === 'layernorm' ? 2 : 1);
  const attentionExtras =
    norm +
    (model.qkvBias ? (heads + 2 * kvHeads) * headDim : 0) +
    (model.attentionOutputBias ? hidden : 0) +
    (model.qkNorm ? 2 * headDim : 0);
  return kind === 'attention' ? qkv + attentionOutput + attentionExtras : mlpUp + mlpDown + normsAndBiases - attentionExtras;
}
