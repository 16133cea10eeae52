import { keyValueHeadsPerRank, paddedVocab } from '../model/parameters';
import { layerGroups, layersByKind } from '../model/layers';
import type { ModelSpec } from '../model/spec';

/** One Transformer layer and the two ends of the model as one rank of a tensor-parallel group runs them: what a profile is of. Counts are of the rank. */
export interface LayerShape {
  /** Width of the residual stream, not divided. */
  readonly hidden: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  /** Feed-forward width; of one expert when there are experts. */
  readonly ffn: number;
  /** SiLU(gate) * up, as SwiGLU; otherwise GELU. */
  readonly gatedMlp: boolean;
  readonly norm: 'layernorm' | 'rmsnorm';
  readonly rotary: boolean;
  readonly qkvBias: boolean;
  readonly attentionOutputBias: boolean;
  readonly mlpBias: boolean;
  /** RMSNorm of each head of q and k. */
  readonly qkNorm: boolean;
  /** Routed experts held by the rank and how many each token visits; null for a dense layer. */
  readonly experts: { readonly count: number; readonly active: number } | null;
  /** Columns of the head and rows of the embedding; 0: the model has neither. */
  readonly vocab: number;
  /** The embedding adds a learned position table. */
  readonly learnedPositions: boolean;
}

/**
 * Why no profile of one layer stands for `model`, as a clause: its layers differ, or have parts that a shape has no word for.
 * @returns null when one does.
 */
export function unlikeOneLayer(model: ModelSpec): string | null {
  if (model.latent) return 'a profile knows no latent attention';
  if (model.state !== undefined) return 'a profile knows no layers that hand on a state (Mamba, linear attention)';
  if (model.outputGate === true) return 'a profile knows no gate of the attention output';
  if ((model.experts?.sharedFfn ?? 0) > 0) return 'a profile knows no shared experts';
  return layersByKind(layerGroups(model)).length > 1 ? 'its layers differ, and a profile is of one of them' : null;
}

/** The share of `model` that one of `tensor` ranks holds: heads / t, feed-forward / t, padded vocabulary / t; and of its experts, one of `expert` ranks. */
export function layerShapeOf(model: ModelSpec, tensor: number, expert = 1): LayerShape {
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
