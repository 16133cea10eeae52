import { keyValueHeadsPerRank, paddedVocab } from '../model/parameters';
import { layerGroups, layersByKind } from '../model/layers';
import type { ModelSpec } from '../domain/model';
import type { LayerShape } from '../domain/profile';
import { sentence, type Sentence } from '../sentence';

/**
 * Why no profile of one layer stands for `model`, as a clause: its layers differ, or have parts that a shape cannot describe.
 * @returns null when one does.
 */
export function unlikeOneLayer(model: ModelSpec): Sentence | null {
  if (model.latent) return sentence`a profile knows no latent attention`;
  if (model.state !== undefined) return sentence`a profile does not support SSM or linear-attention layers`;
  if (model.outputGate === true) return sentence`a profile knows no gate of the attention output`;
  if ((model.experts?.sharedFfn ?? 0) > 0) return sentence`a profile knows no shared experts`;
  return layersByKind(layerGroups(model)).length > 1 ? sentence`its layers differ, and a profile is of one of them` : null;
}

/**
 * The share of `model` that one of `tensor` ranks holds: heads / t, feed-forward / t, padded vocabulary / t; and of its experts, one of
 * `expert` ranks.
 */
export function rankLayerShape(model: ModelSpec, tensor: number, expert = 1): LayerShape {
  return {
    hidden: model.hidden,
    heads: model.heads / tensor,
    kvHeads: keyValueHeadsPerRank(model, tensor),
    headDim: model.headDim,
    ffn: model.ffn / tensor,
    gatedMlp: model.gatedMlp,
    norm: model.norm,
    rotary: model.positions === 'rotary',
    qkvBias: model.qkvBias,
    attentionOutputBias: model.attentionOutputBias,
    mlpBias: model.mlpBias,
    qkNorm: model.qkNorm,
    experts: model.experts === null ? null : { count: model.experts.count / expert, active: model.experts.active },
    vocab: model.vocab === 0 ? 0 : paddedVocab(model.vocab, tensor) / tensor,
    learnedPositions: model.positions === 'learned',
  };
}
