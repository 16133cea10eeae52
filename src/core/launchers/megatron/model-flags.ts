import { layerGroups } from '../../model/layers';
import { sublayers } from '../../model/mixers';
import { llama3Scaling, megatronDefaultValues, rotaryDefaults } from './megatron-defaults';
import { ropeScalingSizes, type LayerKind, type ModelSpec, type RopeScaling } from '../../domain/model';
import { formatCount } from '../../format';
import { sentence, type Sentence } from '../../sentence';

/**
 * The model in flags of Megatron-LM (`megatron/training/arguments.py`, 0.9 to 0.15); what they have no word for is in `modelGaps`.
 * @param isPatterned another setting gives the kinds of the layers, and with them their number.
 */
export function modelFlags(model: ModelSpec, isPatterned = false): readonly string[] {
  const { layers, hidden, heads, kvHeads, headDim, ffn, vocab, experts, denseFfn } = model;
  const isLatent = hasLatent(model);
  const isBiased = model.attentionOutputBias || model.mlpBias;
  return [
    ...when(!isPatterned, `--num-layers ${layers}`),
    `--hidden-size ${hidden}`,
    `--num-attention-heads ${heads}`,
    ...stateFlags(model, isPatterned),
    ...when(!isLatent && kvHeads !== heads, '--group-query-attention', `--num-query-groups ${kvHeads}`),
    ...when(!isLatent && headDim * heads !== hidden, `--kv-channels ${headDim}`),
    ...latentFlags(model),
    `--ffn-hidden-size ${experts === null ? ffn : (denseFfn ?? ffn)}`,
    ...when(model.gatedMlp, '--swiglu'),
    ...expertFlags(model),
    `--position-embedding-type ${{ learned: 'learned_absolute', rotary: 'rope', none: 'none' }[model.positions]}`,
    ...rotaryFlags(model),
    ...when(model.norm === 'rmsnorm', '--normalization RMSNorm'),
    ...when(model.normEpsilon !== undefined, `--norm-epsilon ${model.normEpsilon ?? 0}`),
    ...when(!isBiased, '--disable-bias-linear'),
    ...when(model.qkvBias && !isBiased, '--add-qkv-bias'),
    ...when(model.qkNorm, '--qk-layernorm'),
    ...when(!model.tiedEmbeddings, '--untie-embeddings-and-output-weights'),
    ...when(vocab > 0, `--vocab-size ${vocab}`),
    ...when((model.mtpLayers ?? 0) > 0, `--mtp-num-layers ${model.mtpLayers ?? 0}`),
  ];
}

/** What of a model Megatron's flags leave out, in words. */
export function modelGaps(model: ModelSpec): readonly Sentence[] {
  const { normsPerLayer = 2, normParameters, layerKinds = [] } = model;
  const hasWindow = layerKinds.some(({ window }) => window !== null);
  const isPartlyBiased = (model.attentionOutputBias || model.mlpBias) && !(model.attentionOutputBias && model.mlpBias && model.qkvBias);
  return [
    ...rotaryGaps(model),
    ...when(
      model.normEpsilon === undefined && isOfConfig(model),
      sentence`the epsilon of its norms, which the config does not give (Megatron-LM takes ${megatronDefaultValues.normEpsilon})`,
    ),
    ...when(hasWindow, sentence`attention windows`),
    ...when(
      model.state !== undefined && hybridLetters(model) === null && !isDeltaHybrid(model),
      sentence`its SSM or linear-attention layers: the flags would train another model`,
    ),
    ...when(isPartlyBiased, sentence`biases in some matrices only`),
    ...when(normsPerLayer !== 2, sentence`${normsPerLayer} norms a layer`),
    ...when(normParameters !== undefined, sentence`norms without their usual parameters`),
    ...when(model.qkNormAcrossHeads === true, sentence`norms of queries and keys across heads`),
    ...when(model.headBias === true, sentence`the bias of the head`),
    ...when(model.embeddingNorm === true, sentence`the norm of the embedding`),
    ...when(model.attentionSinks === true, sentence`attention sinks`),
    ...when(model.experts?.sharedGate === true, sentence`the gate of the shared experts`),
    ...when(model.experts?.routerBias === true, sentence`the router's bias`),
  ];
}

/** A model that a file describes, not sizes given inline, which no other file trains. */
function isOfConfig({ modelType }: ModelSpec): boolean {
  return modelType !== 'custom';
}

/** `--rotary-base` is an integer (`megatron/training/arguments.py`). */
function rotaryFlags({ positions, rotary: { base, share, scaling } = {} }: ModelSpec): readonly string[] {
  if (positions !== 'rotary') return [];
  return [
    ...when(base !== undefined && Number.isInteger(base), `--rotary-base ${base ?? 0}`),
    ...when(share !== undefined && share < 1, `--rotary-percent ${share ?? 1}`),
    ...(scaling === undefined ? [] : (scalingFlags(scaling) ?? [])),
  ];
}

/** Null where Megatron-LM's flags do not have the scaling. */
function scalingFlags(scaling: RopeScaling): readonly string[] | null {
  const { kind, factor = 1 } = scaling;
  if (kind === 'linear' && Number.isInteger(factor)) return [`--rotary-seq-len-interpolation-factor ${factor}`];
  const isFixed = ropeScalingSizes.every((size) => size === 'factor' || scaling[size] === llama3Scaling[size]);
  return kind === 'llama3' && isFixed ? ['--use-rope-scaling', `--rope-scaling-factor ${factor}`] : null;
}

function rotaryGaps(model: ModelSpec): readonly Sentence[] {
  const { positions, rotary: { base, scaling } = {} } = model;
  if (positions !== 'rotary') return [];
  return [
    ...when(
      base === undefined && isOfConfig(model),
      sentence`its rotary base, which the config does not give (Megatron-LM takes ${formatCount(rotaryDefaults.rotaryBase)})`,
    ),
    ...when(base !== undefined && !Number.isInteger(base), sentence`its rotary base ${base ?? 0}: Megatron-LM takes a whole number`),
    ...when(
      scaling !== undefined && scalingFlags(scaling) === null,
      sentence`its RoPE scaling (${scaling?.kind ?? ''}): the flags train another model`,
    ),
  ];
}

/**
 * The pattern of a model whose layers are Mamba-2, attention or a feed-forward network in turn, as Megatron-LM builds them; null for
 * others.
 */
export function hybridLetters({ state, layers, layerKinds = [] }: ModelSpec): string | null {
  if (state?.kind !== 'mamba2' || state.convolution !== 4 || !state.convolutionBias || state.projectionBias) return null;
  if (layerKinds.length !== layers || layerKinds.some((kind) => sublayers(kind) !== 1 || kind.mixer === 'both')) return null;
  const layerLetter = ({ mixer, feedForward }: LayerKind): string =>
    mixer === 'state' ? 'M' : mixer !== 'none' ? '*' : feedForward === 'experts' ? 'E' : '-';
  return layerKinds.map(layerLetter).join('');
}

/**
 * Whether its layers are attention or Gated DeltaNet, each with a feed-forward network: `--experimental-attention-variant` of core 0.16.
 */
function isDeltaHybrid({ state, layerKinds = [] }: ModelSpec): boolean {
  return (
    state?.kind === 'gated-delta-net' &&
    layerKinds.every(({ mixer = 'attention', feedForward }) => feedForward !== 'none' && (mixer === 'attention' || mixer === 'state'))
  );
}

function stateFlags(model: ModelSpec, isPatterned: boolean): readonly string[] {
  const { state } = model;
  const letters = hybridLetters(model);
  if (state !== undefined && letters !== null)
    return [
      ...when(!isPatterned, `--hybrid-override-pattern "${letters}"`),
      '--is-hybrid-model',
      '--spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec',
      `--mamba-num-heads ${state.heads}`,
      `--mamba-head-dim ${state.headDim}`,
      `--mamba-state-dim ${state.stateDim}`,
      `--mamba-num-groups ${state.groups}`,
    ];
  if (state === undefined || !isDeltaHybrid(model)) return [];
  const runs = layerGroups({
    ...model,
    layerKinds: (model.layerKinds ?? []).map(({ mixer = 'attention' }) => ({ feedForward: 'dense', window: null, mixer })),
  });
  return [
    '--experimental-attention-variant gated_delta_net',
    `--linear-attention-freq "(${runs.map(({ kind, layers }) => `[${kind.mixer === 'state' ? 1 : 0}]*${layers}`).join('+')})"`,
    `--linear-num-value-heads ${state.heads}`,
    `--linear-value-head-dim ${state.headDim}`,
    `--linear-num-key-heads ${state.groups}`,
    `--linear-key-head-dim ${state.stateDim}`,
    `--linear-conv-kernel-dim ${state.convolution}`,
    ...when(model.outputGate === true, '--attention-output-gate'),
  ];
}

function when<T>(is: boolean, ...words: readonly T[]): readonly T[] {
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
    `--kv-lora-rank ${kvRank}`,
    `--qk-head-dim ${nopeHeadDim}`,
    `--qk-pos-emb-head-dim ${ropeHeadDim}`,
    `--v-head-dim ${vHeadDim}`,
  ];
}

function expertFlags(model: ModelSpec): readonly string[] {
  const { experts, ffn } = model;
  if (experts === null) return [];
  const groups = layerGroups(model).map(({ kind, layers }) => `[${kind.feedForward === 'experts' ? 1 : 0}]*${layers}`);
  const hasDense = layerGroups(model).some(({ kind }) => kind.feedForward === 'dense') && hybridLetters(model) === null;
  const shared = experts.sharedFfn ?? 0;
  return [
    `--num-experts ${experts.count}`,
    `--moe-router-topk ${experts.active}`,
    ...(experts.groups === undefined
      ? []
      : [`--moe-router-num-groups ${experts.groups.count}`, `--moe-router-group-topk ${experts.groups.active}`]),
    `--moe-ffn-hidden-size ${ffn}`,
    ...when(experts.latent !== undefined, `--moe-latent-size ${experts.latent ?? 0}`),
    ...when(shared > 0, `--moe-shared-expert-intermediate-size ${shared}`),
    ...when(hasDense, `--moe-layer-freq "(${groups.join('+')})"`),
    '--moe-grouped-gemm',
  ];
}
