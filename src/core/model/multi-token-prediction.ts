import { finalNormParameters } from './norms';
import { layerMatrixParameters, layerParameters } from './parameters';
import { sameKind, usualKind, type LayerGroup } from './layers';
import type { LayerKind, ModelSpec } from '../domain/model';

/*
 * Multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2): at each depth the hidden states and the embedding of the next token
 * are normed, joined and projected to the hidden size, and run through one more layer, a norm and the head, whose matrix and that of the
 * embedding are the model's own. Megatron-LM (`multi_token_prediction`, core 0.12 on) builds all depths on the last stage, with the layer
 * of the last one's kind, and a copy of the embedding there; it projects with a column-parallel matrix whose output is gathered.
 */

/** Depths of the model. */
export function mtpDepths({ mtpLayers = 0 }: ModelSpec): number {
  return mtpLayers;
}

/** Kind of the layer of every depth: that of the model's last layer. */
function mtpLayerKind(model: ModelSpec): LayerKind {
  return model.layerKinds?.at(-1) ?? usualKind(model);
}

/** Elements of the projection of one depth, whole. */
export function projectionParameters({ hidden }: ModelSpec): number {
  return 2 * hidden * hidden;
}

/** Norm parameters of one depth outside its layer: of the embedding, of the hidden states, and the last one. */
export function mtpNormParameters(model: ModelSpec): number {
  return 3 * finalNormParameters(model);
}

/** Parameters of all depths, embedding and head not counted again. */
export function mtpParameters(model: ModelSpec): number {
  const kind = mtpLayerKind(model);
  const layer = layerMatrixParameters(model, kind) + layerParameters(model, kind).normsAndBiases;
  return mtpDepths(model) * (layer + projectionParameters(model) + mtpNormParameters(model));
}

/** A stage with the layers of all depths, if it is the last. */
export function withMtpLayers<T extends { readonly layers: number; readonly last: boolean; readonly groups?: readonly LayerGroup[] }>(
  model: ModelSpec,
  stage: T,
): T {
  const layers = mtpDepths(model);
  if (!stage.last || layers === 0) return stage;
  const own = { kind: mtpLayerKind(model), layers };
  const end = stage.groups?.at(-1);
  const groups =
    stage.groups === undefined
      ? {}
      : {
          groups:
            end !== undefined && sameKind(end.kind, own.kind)
              ? [...stage.groups.slice(0, -1), { ...end, layers: end.layers + layers }]
              : [...stage.groups, own],
        };
  return { ...stage, layers: stage.layers + layers, ...groups };
}
