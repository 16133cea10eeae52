import { sentence } from '../../sentence';
import { amount, flag, text, valueOf } from './rules';
import type { ReadValues, SettingTable } from './setting';

/** Norms of the outputs of attention and feed-forward (OLMo 2), or of the sum with their input (the first Transformer). */
type NormPlacement = 'output' | 'post';

/** How a router makes scores of its logits. */
export const routerScores = ['softmax', 'sigmoid', 'sqrtsoftplus'] as const;

/**
 * What makes two models of equal sizes different models though neither time nor memory depends on it, by the names of Transformers' configs
 * and Megatron-LM's arguments. Activation, initial std, score function, normalisation and load-balancing loss of the router: absent where
 * the file does not give them. The others are absent where the model has none: no cap, a multiplier of 1, a scale of 1 / sqrt(head size),
 * norms of the inputs of attention and feed-forward.
 */
export const modelDetails = {
  activation: {
    read: text,
    meaning: sentence`Activation of the feed-forward block, by Transformers' name; all take the same time and memory.`,
  },
  activationClamp: { read: amount, meaning: sentence`Limit that the inputs of the activation are clamped to.` },
  gluOffset: { read: amount, meaning: sentence`Added to the linear half of a gated activation.` },
  initStd: { read: amount, meaning: sentence`Standard deviation of the weights before training.` },
  hiddenDropoutShare: { read: amount, meaning: sentence`Share of hidden states that the model's config drops out in training.` },
  attentionDropoutShare: {
    read: amount,
    meaning: sentence`Share of attention's probabilities that the model's config drops out in training.`,
  },
  normPlacement: {
    read: valueOf<NormPlacement>(),
    meaning: sentence`Where the norms of a layer are, if not before attention and feed-forward.`,
  },
  normResidual: { read: flag, meaning: sentence`Outputs are added to the normed input of attention and feed-forward, not to the input.` },
  residualWeights: {
    read: valueOf<readonly number[]>(),
    meaning: sentence`Factors of a layer's input and of what is added to it, by kind of layer (MiniMax).`,
  },
  branchMultipliers: {
    read: valueOf<readonly number[]>(),
    meaning: sentence`Multipliers within attention, SSM and feed-forward (Falcon-H1).`,
  },
  normUnitOffset: { read: flag, meaning: sentence`Norms multiply by 1 + weight (Gemma), so that a weight of 0 does nothing.` },
  parallelResidual: { read: flag, meaning: sentence`Attention and feed-forward read the same input, and both outputs are added to it.` },
  rotaryInterleaved: { read: flag, meaning: sentence`Rotary positions rotate neighbours, not the two halves of a head.` },
  localRotaryBase: { read: amount, meaning: sentence`RoPE base of layers with sliding windows, where it differs from that of the others.` },
  /** By index. */
  noRopeLayers: { read: valueOf<readonly number[]>(), meaning: sentence`Layers without rotary positions among layers with them.` },
  alibi: { read: flag, meaning: sentence`Attention scores fall with distance (ALiBi).` },
  alibiRange: { read: amount, meaning: sentence`Exponent of ALiBi's least slope, where it is not 8 (MPT).` },
  attentionScale: { read: amount, meaning: sentence`Scale of attention scores, where it is not 1 / sqrt(head size).` },
  attentionChunk: { read: amount, meaning: sentence`Tokens of the chunks that layers with rotary positions attend within (Llama 4).` },
  attentionByLayer: { read: flag, meaning: sentence`Attention scores are divided by the number of their layer, too (a switch of GPT-2).` },
  attentionTemperature: {
    read: amount,
    meaning: sentence`Factor of the logarithm by which queries grow with their position (Llama 4, Ministral 3).`,
  },
  qkL2Norm: { read: flag, meaning: sentence`Queries and keys with rotary positions have an L2 norm, without weights (Llama 4).` },
  qkvClip: { read: amount, meaning: sentence`Limit that queries, keys and values are clamped to (DBRX, OLMo).` },
  attentionSoftCap: { read: amount, meaning: sentence`Soft cap of attention scores.` },
  logitSoftCap: { read: amount, meaning: sentence`Soft cap of the logits.` },
  embeddingMultiplier: { read: amount, meaning: sentence`Multiplier of the embedding.` },
  residualMultiplier: { read: amount, meaning: sentence`Multiplier of what attention and feed-forward add to their input.` },
  logitMultiplier: { read: amount, meaning: sentence`Multiplier of the logits.` },
  routerScore: {
    read: valueOf<(typeof routerScores)[number]>(),
    meaning: sentence`Function that turns the router's logits into scores.`,
  },
  routerNormalised: { read: flag, meaning: sentence`Whether the scores of the chosen experts are normalised to a sum of 1.` },
  routerScaling: { read: amount, meaning: sentence`Multiplier of the scores of the chosen experts.` },
  routerExpertBias: {
    read: flag,
    meaning: sentence`A bias of each expert balances the load instead of a loss; it only affects the choice.`,
  },
  routerInputScaling: { read: flag, meaning: sentence`Scores multiply the input of the experts, not their output.` },
  /** Where tokens visit only some groups. */
  routerGroupBest: { read: amount, meaning: sentence`A group is chosen by the sum of this many best scores in it.` },
  routerAuxLoss: { read: amount, meaning: sentence`Coefficient of the load-balancing loss.` },
  routerSequenceLoss: { read: flag, meaning: sentence`The load-balancing loss is computed for each sequence, not for the batch.` },
  routerJitter: { read: amount, meaning: sentence`The router's input is multiplied by random factors within this distance of 1.` },
  routerZLoss: { read: amount, meaning: sentence`Coefficient of the z loss of the router's logits.` },
} as const satisfies SettingTable;

/** The values of one model. */
export type ModelDetails = Partial<ReadValues<typeof modelDetails>>;

/** Whether a value is the same as none: false, a multiplier of 1. That scores are not normalised is a value of its own. */
export function isNoDetail(name: keyof ModelDetails, value: ModelDetails[keyof ModelDetails]): boolean {
  return (value === false && name !== 'routerNormalised') || (value === 1 && /Multiplier|Scaling/.test(name));
}

export const detailNames = Object.keys(modelDetails) as (keyof ModelDetails)[];
