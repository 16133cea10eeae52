import { getNodeValue } from 'jsonc-parser';
import { byDefault, from, type Located, type LocatedFields } from '../domain/located';
import { routerScores, type ModelDetails } from '../domain/settings/model-details';
import { own } from '../records';
import type { WrittenModel } from '../run/written-model';
import { sentence } from '../sentence';
import {
  activationAliases,
  activationKeys,
  classDetailsAlways,
  classRouters,
  noRopeInterval,
  noRopeInWholeLayers,
  usualActivationKeys,
} from './detail-families';
import { classDefault, readFlag, mapped, readNumber, objectIn, readWord } from './lenient-members';
import { sharesDropped } from './training';
import { located, type Members, type Source } from './members';

type LocatedDetails = { readonly [K in keyof ModelDetails]?: Located<NonNullable<ModelDetails[K]>> | undefined };

/** Facts of a model, in addition to its config, that decide its details. */
interface ModelContext {
  readonly model: LocatedFields<WrittenModel>;
  /** Latent attention, whose scale follows from its sizes and its rotary positions. */
  readonly isLatent: boolean;
  /** Tokens visit only some groups of experts. */
  readonly isGrouped: boolean;
  /** Layers without a window, in a model where some layers have one. */
  readonly wholeLayers: readonly number[];
}

/**
 * What makes a model another one of equal sizes, as its config and its class set it. No plan depends on it, so a value of another type than
 * expected is left out, not refused.
 */
export function detailsIn(
  source: Source,
  context: ModelContext,
): { readonly [K in keyof ModelDetails]: Located<NonNullable<ModelDetails[K]>> } {
  const { model } = context;
  const found: LocatedDetails = {
    ...networkDetails(source),
    ...positionDetails(source, context),
    ...multipliers(source, model),
    ...(model.experts.value === null ? {} : routerDetails(source, context)),
  };
  return Object.fromEntries(Object.entries(found).filter(([, detail]) => detail !== undefined));
}

function networkDetails(source: Source): LocatedDetails {
  const dropped = sharesDropped(source);
  const words = own(activationKeys, source.family.configClass) ?? usualActivationKeys;
  const written = readWord(source, words) ?? readWord(source, ['name'], objectIn(source, 'ffn_act_fn'));
  const projection = readWord(source, ['feed_forward_proj']);
  const activation =
    mapped(projection, (name) => (name === 'gated-gelu' ? 'gelu_new' : name.replace(/^gated-/, ''))) ??
    ofClass(source, 'activation') ??
    written ??
    classDefault(source, 'activation', 'hidden_act');
  return {
    activation: mapped(activation, (name) => own(activationAliases, name) ?? name),
    activationClamp: readNumber(source, ['swiglu_limit']),
    gluOffset: ofClass(source, 'gluOffset'),
    initStd: readNumber(source, ['initializer_range', 'init_std']) ?? classDefault(source, 'initStd', 'initializer_range'),
    hiddenDropoutShare: above0(dropped.hidden),
    attentionDropoutShare: above0(dropped.attention),
    normPlacement: normPlacement(source),
    normResidual: readFlag(source, ['apply_residual_connection_post_layernorm']) ?? ofClass(source, 'normResidual'),
    residualWeights: factors(source, 'MiniMaxConfig', residualKeys),
    branchMultipliers: factors(source, 'FalconH1Config', branchKeys),
    normUnitOffset: ofClass(source, 'normUnitOffset'),
    parallelResidual: parallelResidual(source),
  };
}

function normPlacement(source: Source): Located<NonNullable<ModelDetails['normPlacement']>> | undefined {
  const isBefore = readFlag(source, ['do_layer_norm_before']);
  // a switch of Molmo 2
  const isAfter = readFlag(source, ['norm_after']);
  if (isAfter?.value === true) return from(isAfter, 'output');
  return isBefore?.value === false ? from(isBefore, 'post') : ofClass(source, 'normPlacement');
}

/** A share of 0 is that of a model without one. */
function above0(share: Located<number> | undefined): Located<number> | undefined {
  return share !== undefined && share.value > 0 ? share : undefined;
}

/** Factors of a layer's input and of what is added to it. */
const residualKeys = ['full_attn', 'linear_attn', 'mlp'].flatMap((part) => [`${part}_alpha_factor`, `${part}_beta_factor`]);

const branchKeys =
  'attention_in_multiplier key_multiplier attention_out_multiplier ssm_in_multiplier ssm_multipliers ssm_out_multiplier mlp_multipliers'.split(
    ' ',
  );

/** Numbers and entries of lists, 1 where one is not set; undefined where all are 1. */
function factors(source: Source, configClass: string, keys: readonly string[]): Located<readonly number[]> | undefined {
  const { document, members, family } = source;
  const first = keys.map((key) => members.get(key)).find((member) => member !== undefined);
  if (family.configClass !== configClass || first === undefined) return undefined;
  const found = keys.flatMap((key) => {
    const { value } = members.get(key) ?? {};
    const entries: readonly unknown[] = value?.children?.map((entry): unknown => entry.value) ?? [value?.value];
    return entries.map((entry) => (typeof entry === 'number' ? entry : 1));
  });
  return found.every((factor) => factor === 1) ? undefined : located(document, first, found);
}

/** Falcon's new decoder is parallel whatever its switch. */
function parallelResidual(source: Source): Located<boolean> | undefined {
  const isNew = readFlag(source, ['new_decoder_architecture']);
  return isNew?.value === true
    ? isNew
    : (readFlag(source, ['use_parallel_residual', 'parallel_attn']) ?? ofClass(source, 'parallelResidual'));
}

function positionDetails(source: Source, { model, isLatent, wholeLayers }: ModelContext): LocatedDetails {
  const { positions, headDim, layers } = model;
  const attention = objectIn(source, 'attn_config');
  const alibi = readFlag(source, ['alibi']) ?? readFlag(source, ['alibi'], attention) ?? ofClass(source, 'alibi');
  return {
    ...(positions.value === 'rotary' && {
      rotaryInterleaved: readFlag(source, ['rope_interleave']) ?? ofClass(source, 'rotaryInterleaved'),
      localRotaryBase: localBase(source),
      noRopeLayers: noRopeLayers(source, layers.value, wholeLayers),
    }),
    ...(positions.value === 'none' && { alibi, ...(alibi?.value === true && { alibiRange: alibiRange(source) }) }),
    ...(isLatent ? {} : { attentionScale: attentionScale(source, headDim.value) }),
    attentionTemperature: attentionTemperature(source),
    attentionChunk: isLlama4(source) ? llama4Chunk(source) : undefined,
    attentionByLayer: readFlag(source, ['scale_attn_by_inverse_layer_idx']),
    qkL2Norm: isLlama4(source) ? (readFlag(source, ['use_qk_norm']) ?? llama4Default(source, true)) : undefined,
    qkvClip: readNumber(source, ['clip_qkv']) ?? readNumber(source, ['clip_qkv'], attention),
    attentionSoftCap: readNumber(source, ['attn_logit_softcapping']),
    logitSoftCap: readNumber(source, ['final_logit_softcapping']),
  };
}

/** MPT's slopes of ALiBi are powers of 2 down to 2 to the minus 8, unless its config has another exponent. */
function alibiRange(source: Source): Located<number> | undefined {
  const exponent = readNumber(source, ['alibi_bias_max'], objectIn(source, 'attn_config'));
  return exponent?.value === 8 ? undefined : exponent;
}

function isLlama4({ family }: Source): boolean {
  return family.configClass === 'Llama4TextConfig';
}

function llama4Default<T>({ family }: Source, value: T): Located<T> {
  return byDefault(value, sentence`${family.configClass} default`);
}

/** Null means attention over the whole sequence. */
function llama4Chunk(source: Source): Located<number> | undefined {
  if (source.members.get('attention_chunk_size')?.value.type === 'null') return undefined;
  return readNumber(source, ['attention_chunk_size']) ?? llama4Default(source, 8192);
}

/** `attn_scale` of Llama 4, in its layers without rotary positions; `llama_4_scaling_beta` of Ministral 3, in all. */
function attentionTemperature(source: Source): Located<number> | undefined {
  if (isLlama4(source))
    return readFlag(source, ['attn_temperature_tuning'])?.value === false
      ? undefined
      : (readNumber(source, ['attn_scale']) ?? llama4Default(source, 0.1));
  const names = ['rope_parameters', 'rope_scaling'];
  return names.map((name) => readNumber(source, ['llama_4_scaling_beta'], objectIn(source, name))).find((beta) => beta !== undefined);
}

/** Undefined where layers with a window have the positions of the others, base and scaling; the older key, where they have no base. */
function localBase(source: Source): Located<number> | undefined {
  const parameters = objectIn(source, 'rope_parameters');
  const [whole, nested] = [objectIn(source, 'full_attention', parameters), objectIn(source, 'sliding_attention', parameters)];
  const base = readNumber(source, ['rope_theta'], nested);
  if (base === undefined) return readNumber(source, ['rope_local_base_freq']);
  return samePositions(whole, nested) ? undefined : base;
}

/** Equal whatever their order; positions without a kind are not scaled. */
function samePositions(one: Members, other: Members): boolean {
  const valueIn = (members: Members, key: string): string => {
    const node = members.get(key)?.value;
    const value: unknown = node === undefined ? null : getNodeValue(node);
    return JSON.stringify(value ?? (key === 'rope_type' ? 'default' : null));
  };
  return [...one.keys(), ...other.keys()].every((key) => valueIn(one, key) === valueIn(other, key));
}

/** The scale of attention, unless it is 1 / sqrt(head size). */
function attentionScale(source: Source, headDim: number): Located<number> | undefined {
  const usual = headDim ** -0.5;
  const isScaled = readFlag(source, ['scale_attn_weights']);
  const scale =
    ofClass(source, 'attentionScale') ??
    readNumber(source, ['attention_multiplier']) ??
    readNumber(source, ['softmax_scale'], objectIn(source, 'attn_config')) ??
    mapped(readNumber(source, ['query_pre_attn_scalar']), (scalar) => scalar ** -0.5) ??
    (isScaled?.value === false ? from(isScaled, 1) : undefined);
  return scale === undefined || Math.abs(scale.value - usual) < 1e-9 ? undefined : scale;
}

/** Layers without rotary positions; undefined where all have them. */
function noRopeLayers(source: Source, layers: number, wholeLayers: readonly number[]): Located<readonly number[]> | undefined {
  const found = layersWithoutRope(source, layers, wholeLayers);
  return found === undefined || found.value.length === 0 ? undefined : found;
}

/** Listed as 0, else the last of each period, or those without a window. */
function layersWithoutRope(source: Source, layers: number, wholeLayers: readonly number[]): Located<readonly number[]> | undefined {
  const { members, document, family } = source;
  const indices = Array.from({ length: layers }, (_, layer) => layer);
  const listed = members.get('no_rope_layers');
  const entries: readonly unknown[] = listed?.value.children?.map(({ value }): unknown => value as unknown) ?? [];
  if (listed !== undefined && entries.length > 0) {
    const without = indices.filter((layer) => entries[layer] === 0);
    return located(document, listed, without);
  }
  const interval = own(noRopeInterval, family.configClass);
  if (interval !== undefined) {
    const period =
      readNumber(source, ['no_rope_layer_interval']) ??
      byDefault(interval, sentence`${family.configClass} default: no_rope_layer_interval ${interval}`);
    return mapped(period, (count) => indices.filter((layer) => (layer + 1) % count === 0));
  }
  return noRopeInWholeLayers.has(family.configClass)
    ? byDefault(wholeLayers, sentence`${family.configClass}: layers that attend to the whole sequence have none`)
    : undefined;
}

/** Granite divides logits by `logits_scaling`, MiniCPM by the hidden size over `dim_model_base`; its depth divides what layers add. */
function multipliers(source: Source, { hidden, layers }: LocatedFields<WrittenModel>): LocatedDetails {
  const isScaled = readFlag(source, ['scale_embedding', 'mup_enabled']);
  const root = Math.sqrt(hidden.value);
  const isGemma = /^(Vault)?Gemma\d?(Text)?Config$/.test(source.family.configClass);
  return {
    embeddingMultiplier: isGemma
      ? byDefault(root, sentence`${source.family.configClass}: the square root of the hidden size`)
      : isScaled?.value === true
        ? from(isScaled, root)
        : readNumber(source, ['embedding_multiplier', 'scale_emb']),
    residualMultiplier:
      readNumber(source, ['residual_multiplier']) ??
      mapped(readNumber(source, ['scale_depth']), (depth) => depth / Math.sqrt(layers.value)),
    logitMultiplier:
      mapped(readNumber(source, ['logits_scaling']), (divisor) => 1 / divisor) ??
      mapped(readNumber(source, ['dim_model_base']), (base) => base / hidden.value) ??
      readNumber(source, ['logit_scale', 'output_multiplier', 'lm_head_multiplier']),
  };
}

function routerDetails(source: Source, { isGrouped }: ModelContext): LocatedDetails {
  const { family } = source;
  const router = own(classRouters, family.configClass) ?? {};
  const ofRouter = <K extends keyof ModelDetails>(name: K): Located<NonNullable<ModelDetails[K]>> | undefined => {
    const value = router[name];
    return value === undefined ? undefined : byDefault(value, sentence`hard-coded in ${family.configClass}`);
  };
  const score = readWord(source, ['scoring_func', 'score_func', 'expert_selection_fn']);
  const method = readWord(source, ['topk_method']);
  const network = objectIn(source, 'ffn_config');
  // Phi-3.5-MoE chooses experts by SparseMixer
  const isSoftmax = family.assumed !== true && family.configClass !== 'PhimoeConfig';
  return {
    routerScore:
      mapped(score, (name) => routerScores.find((known) => known === name)) ??
      ofRouter('routerScore') ??
      (isSoftmax ? byDefault('softmax', sentence`${family.configClass}: softmax`) : undefined),
    routerNormalised: readFlag(source, ['norm_topk_prob', 'route_norm']) ?? dbrxNormalised(source, network) ?? ofRouter('routerNormalised'),
    routerScaling: readNumber(source, ['routed_scaling_factor', 'route_scale', 'router_scaling_factor', 'moe_router_scale']),
    routerExpertBias: method === undefined ? ofRouter('routerExpertBias') : from(method, method.value === 'noaux_tc'),
    routerInputScaling: ofRouter('routerInputScaling'),
    // DeepSeek-V2 ranks groups by their best expert, DeepSeek-V3 and what follows it by their best two
    routerGroupBest: isGrouped ? byDefault(family.configClass === 'DeepseekV2Config' ? 1 : 2, sentence`${family.configClass}`) : undefined,
    routerAuxLoss:
      readNumber(source, ['router_aux_loss_coef', 'aux_loss_alpha', 'moe_aux_loss_coeff', 'load_balance_coeff'], source.members, 0) ??
      readNumber(source, ['moe_loss_weight'], network, 0),
    routerSequenceLoss: readFlag(source, ['seq_aux']),
    routerJitter: readNumber(source, ['router_jitter_noise']) ?? readNumber(source, ['moe_jitter_eps'], network),
    routerZLoss: readNumber(source, ['router_z_loss_coef', 'moe_z_loss_coeff']),
  };
}

/** DBRX divides scores by their norm of this order; null leaves them as they are. */
function dbrxNormalised({ document }: Source, network: Members): Located<boolean> | undefined {
  const order = network.get('moe_normalize_expert_weights');
  return order?.value.type === 'null' ? located(document, order, false) : undefined;
}

/** What every model of the class has. */
function ofClass<K extends keyof ModelDetails>({ family }: Source, name: K): Located<NonNullable<ModelDetails[K]>> | undefined {
  const value = own(classDetailsAlways, family.configClass)?.[name];
  return value === undefined ? undefined : byDefault(value, sentence`hard-coded in ${family.configClass}`);
}
