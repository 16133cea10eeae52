import { formatCount } from '../../format';
import { layerGroups } from '../../model/layers';
import type { ModelSpec } from '../../model/spec';

/** The model in flags of Megatron-LM (`megatron/training/arguments.py`, 0.9 to 0.15); what they have no word for is in `modelGaps`. */
export function modelFlags(model: ModelSpec): readonly string[] {
  const { layers, hidden, heads, kvHeads, headDim, ffn, vocab, experts, denseFfn } = model;
  const isLatent = hasLatent(model);
  const isBiased = model.attentionOutputBias || model.mlpBias;
  return [
    ...[`--num-layers ${layers}`, `--hidden-size ${hidden}`, `--num-attention-heads ${heads}`],
    ...when(!isLatent && kvHeads !== heads, '--group-query-attention', `--num-query-groups ${kvHeads}`),
    ...when(!isLatent && headDim * heads !== hidden, `--kv-channels ${headDim}`),
    ...latentFlags(model),
    `--ffn-hidden-size ${experts === null ? ffn : (denseFfn ?? ffn)}`,
    ...when(model.gatedMlp, '--swiglu'),
    ...expertFlags(model),
    `--position-embedding-type ${{ learned: 'learned_absolute', rotary: 'rope', none: 'none' }[model.positions]}`,
    ...when(model.norm === 'rmsnorm', '--normalization RMSNorm'),
    ...when(!isBiased, '--disable-bias-linear'),
    ...when(model.qkvBias && !isBiased, '--add-qkv-bias'),
    ...when(model.qkNorm, '--qk-layernorm'),
    ...when(!model.tiedEmbeddings, '--untie-embeddings-and-output-weights'),
    ...when(vocab > 0, `--vocab-size ${vocab}`),
    ...when((model.mtpLayers ?? 0) > 0, `--mtp-num-layers ${model.mtpLayers ?? 0}`),
  ];
}

/** What of a model Megatron's flags leave out, in words. */
export function modelGaps(model: ModelSpec): readonly string[] {
  const { normsPerLayer = 2, normParameters, layerKinds = [] } = model;
  const hasWindow = layerKinds.some(({ window }) => window !== null);
  const isPartlyBiased = (model.attentionOutputBias || model.mlpBias) && !(model.attentionOutputBias && model.mlpBias && model.qkvBias);
  return [
    ...when(hasWindow, 'attention windows'),
    ...when(isPartlyBiased, 'biases in some matrices only'),
    ...when(normsPerLayer !== 2, `${formatCount(normsPerLayer)} norms a layer`),
    ...when(normParameters !== undefined, 'norms without their usual parameters'),
    ...when(model.qkNormAcrossHeads === true, 'norms of queries and keys across heads'),
    ...when(model.headBias === true, 'the bias of the head'),
    ...when(model.embeddingNorm === true, 'the norm of the embedding'),
    ...when(model.attentionSinks === true, 'attention sinks'),
    ...when(model.experts?.sharedGate === true, 'the gate of the shared experts'),
    ...when(model.experts?.routerBias === true, "the router's bias"),
  ];
}

function when(is: boolean, ...words: readonly string[]): readonly string[] {
  return is ? words : [];
}

function hasLatent({ latent }: ModelSpec): boolean {
  return latent !== undefined && latent !== null;
}

function latentFlags({ latent }: ModelSpec): readonly string[] {
  if (latent === undefined || latent === null) return [];
  const { qRank, kvRank, nopeHeadDim, ropeHeadDim, vHeadDim } = latent;
  return [
    '--multi-latent-attention',
    ...when(qRank !== null, `--q-lora-rank ${String(qRank)}`),
    ...[`--kv-lora-rank ${kvRank}`, `--qk-head-dim ${nopeHeadDim}`, `--qk-pos-emb-head-dim ${ropeHeadDim}`, `--v-head-dim ${vHeadDim}`],
  ];
}

function expertFlags(model: ModelSpec): readonly string[] {
  const { experts, ffn } = model;
  if (experts === null) return [];
  const groups = layerGroups(model).map(({ kind, layers }) => `[${kind.feedForward === 'experts' ? 1 : 0}]*${layers}`);
  const hasDense = layerGroups(model).some(({ kind }) => kind.feedForward === 'dense');
  const shared = experts.sharedFfn ?? 0;
  return [
    ...[`--num-experts ${experts.count}`, `--moe-router-topk ${experts.active}`, `--moe-ffn-hidden-size ${ffn}`],
    ...when(shared > 0, `--moe-shared-expert-intermediate-size ${shared}`),
    ...when(hasDense, `--moe-layer-freq "(${groups.join('+')})"`),
    ...['--moe-grouped-gemm', '--moe-token-dispatcher-type alltoall'],
  ];
}
