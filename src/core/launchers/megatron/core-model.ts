import type { LaunchSettings } from '../writing/launch-settings';
import { fieldsSeverity, type ModelGap } from '../writing/remarks';
import type { ModelSpec, RopeScaling } from '../../domain/model';
import { yamlNumber } from '../../languages/yaml/number';
import { sentence, type Sentence } from '../../sentence';
import { hybridLetters, isDeltaHybrid } from './hybrid-flags';
import { isFixedLlama3, scalingText } from './attention-parts';
import { isOther, mixedLayers } from './expert-parts';
import { hasLatent, isBiased } from './model-part';
import { modelParts } from './model-flags';
import { own } from '../../records';

/** A key of Megatron Core's `TransformerConfig` or of Megatron-Bridge's providers, and its value as YAML. */
type Rows = readonly (readonly [key: string, value: string])[];

/**
 * A model in keys of Megatron-Bridge's `GPTModelProvider`, `HybridModelProvider` and Megatron Core's `TransformerConfig` and
 * `MLATransformerConfig` (Megatron-Bridge at 067f987d, Megatron-LM at d98e8a64). A recipe has values of its own for what a file leaves out,
 * so all of them are written; what no key expresses is in `coreModelGaps`.
 */
export function coreModel(model: ModelSpec): Rows {
  return [...layerRows(model), ...headRows(model), ...positionRows(model), ...networkRows(model), ...expertRows(model), ...endRows(model)];
}

function layerRows(model: ModelSpec): Rows {
  const { layers, hidden, state, layerKinds = [] } = model;
  const letters = hybridLetters(model);
  const windows = layerKinds.flatMap(({ window }) => window ?? []);
  const isWindowed = layerKinds.map(({ window }) => window !== null);
  return [
    ...(letters === null ? [['num_layers', String(layers)] as const] : [['hybrid_layer_pattern', `"${letters}"`] as const]),
    ['hidden_size', String(hidden)],
    ...(state !== undefined && letters !== null
      ? rows({
          is_hybrid_model: true,
          mamba_num_heads: state.heads,
          mamba_head_dim: state.headDim,
          mamba_state_dim: state.stateDim,
          mamba_num_groups: state.groups,
        })
      : []),
    ...(state !== undefined && isDeltaHybrid(model)
      ? rows({
          experimental_attention_variant: 'gated_delta_net',
          linear_attention_freq: layerKinds.map(({ mixer }) => mixer === 'state'),
          linear_num_value_heads: state.heads,
          linear_value_head_dim: state.headDim,
          linear_num_key_heads: state.groups,
          linear_key_head_dim: state.stateDim,
          linear_conv_kernel_dim: state.convolution,
        })
      : []),
    ...(windows[0] === undefined ? [] : ([['window_size', `[${windows[0] - 1}, 0]`]] as const)),
    ...(windows.length > 0 && isWindowed.includes(false) ? rows({ window_attn_skip_freq: isWindowed }) : []),
  ];
}

function headRows(model: ModelSpec): Rows {
  const { heads, kvHeads, headDim, latent, qkNorm, attentionSinks, outputGate, details = {} } = model;
  return [
    ['num_attention_heads', String(heads)],
    ...(latent === undefined || latent === null
      ? rows({ num_query_groups: kvHeads, kv_channels: headDim })
      : rows({
          multi_latent_attention: true,
          q_lora_rank: latent.qRank,
          kv_lora_rank: latent.kvRank,
          qk_head_dim: latent.nopeHeadDim,
          qk_pos_emb_head_dim: latent.ropeHeadDim,
          v_head_dim: latent.vHeadDim,
        })),
    ...rows({
      // in latent attention the norms of compressed queries, keys and values
      qk_layernorm: qkNorm || hasLatent(model),
      softmax_type: attentionSinks === true ? 'learnable' : undefined,
      attention_output_gate: outputGate === true ? true : undefined,
      softmax_scale: details.attentionScale,
      // fields of the providers of Gemma
      attn_logit_softcapping: details.attentionSoftCap,
      final_logit_softcapping: details.logitSoftCap,
    }),
  ];
}

function positionRows(model: ModelSpec): Rows {
  const { positions, rotary: { base, share = 1, scaling } = {}, details = {}, layers } = model;
  if (positions !== 'rotary') return rows({ position_embedding_type: positions === 'learned' ? 'learned_absolute' : 'none' });
  const isYarn = scaling?.kind === 'yarn' && !hasLatent(model) && scalingRows(model, scaling) !== null;
  return [
    ...rows({
      position_embedding_type: isYarn ? 'yarn' : 'rope',
      rotary_base: base,
      rotary_percent: share,
      rotary_interleaved: hasLatent(model) ? undefined : details.rotaryInterleaved === true,
      no_rope_freq:
        details.noRopeLayers === undefined
          ? undefined
          : Array.from({ length: layers }, (_, layer) => details.noRopeLayers?.includes(layer) === true),
      // latent attention has yarn unless it is set
      rope_type: hasLatent(model) ? (scaling?.kind === 'yarn' ? 'yarn' : 'rope') : undefined,
    }),
    ...(scaling === undefined ? [] : (scalingRows(model, scaling) ?? [])),
  ];
}

/** Null where no keys have the scaling. */
function scalingRows(model: ModelSpec, scaling: RopeScaling): Rows | null {
  const { kind, factor = 1, originalPositions, betaFast, betaSlow, mscale, mscaleAllDim, attentionFactor, isUnrounded } = scaling;
  if (hasLatent(model))
    return kind !== 'yarn' || attentionFactor !== undefined || isUnrounded === true
      ? null
      : rows({
          rotary_scaling_factor: factor,
          original_max_position_embeddings: originalPositions,
          beta_fast: betaFast,
          beta_slow: betaSlow,
          mscale,
          mscale_all_dim: mscaleAllDim,
        });
  if (kind === 'yarn' && attentionFactor === undefined)
    return rows({
      yarn_rotary_scaling_factor: factor,
      yarn_original_max_position_embeddings: originalPositions,
      yarn_beta_fast: betaFast,
      yarn_beta_slow: betaSlow,
      yarn_mscale: mscale,
      yarn_mscale_all_dim: mscaleAllDim,
      yarn_correction_range_round_to_int: isUnrounded !== true,
    });
  if (kind === 'linear') return rows({ seq_len_interpolation_factor: factor });
  return kind === 'llama3' && isFixedLlama3(scaling) ? rows({ rope_scaling: true, rope_scaling_factor: factor }) : null;
}

/** Names of activations in `megatron.bridge.utils.activation_map`. */
const activations: Readonly<Record<string, string>> = {
  silu: 'silu',
  gelu: 'gelu',
  relu: 'relu',
  relu2: 'squared_relu',
  quick_gelu: 'quick_gelu',
  gelu_pytorch_tanh: 'fast_gelu',
};

function networkRows(model: ModelSpec): Rows {
  const { ffn, denseFfn, experts, gatedMlp, norm, normEpsilon, qkvBias, details = {} } = model;
  const { activation = '' } = details;
  return rows({
    ffn_hidden_size: experts === null ? ffn : (denseFfn ?? ffn),
    gated_linear_unit: gatedMlp,
    activation_func: own(activations, activation),
    // the fusion computes GELU's tanh form
    bias_activation_fusion: activation === 'gelu' && !gatedMlp && isBiased(model) ? false : undefined,
    activation_func_clamp_value: details.activationClamp,
    glu_linear_offset: details.gluOffset,
    normalization: norm === 'rmsnorm' ? 'RMSNorm' : 'LayerNorm',
    layernorm_epsilon: normEpsilon,
    layernorm_zero_centered_gamma: details.normUnitOffset === true,
    add_bias_linear: isBiased(model),
    add_qkv_bias: qkvBias && !isBiased(model),
  });
}

function expertRows(model: ModelSpec): Rows {
  const { experts, ffn, details = {} } = model;
  if (experts === null) return [];
  const { routerScore, routerNormalised, routerAuxLoss, routerSequenceLoss, routerExpertBias } = details;
  return rows({
    num_moe_experts: experts.count,
    moe_router_topk: experts.active,
    moe_router_num_groups: experts.groups?.count,
    moe_router_group_topk: experts.groups?.active,
    moe_ffn_hidden_size: ffn,
    moe_latent_size: experts.latent,
    moe_shared_expert_intermediate_size: (experts.sharedFfn ?? 0) > 0 ? experts.sharedFfn : undefined,
    moe_shared_expert_gate: experts.sharedGate === true ? true : undefined,
    moe_layer_freq: mixedLayers(model) ?? undefined,
    moe_grouped_gemm: true,
    moe_router_score_function: routerScore,
    moe_router_pre_softmax: isOther(routerScore) || routerNormalised === undefined ? undefined : !routerNormalised,
    moe_router_topk_scaling_factor: details.routerScaling,
    moe_router_enable_expert_bias: routerExpertBias === true && isOther(routerScore) ? true : undefined,
    moe_apply_probs_on_input: details.routerInputScaling === true && experts.active === 1 ? true : undefined,
    moe_router_load_balancing_type:
      routerSequenceLoss === true ? 'seq_aux_loss' : routerAuxLoss === undefined ? undefined : routerAuxLoss > 0 ? 'aux_loss' : 'none',
    moe_aux_loss_coeff: routerAuxLoss,
    moe_input_jitter_eps: details.routerJitter,
    moe_z_loss_coeff: details.routerZLoss,
  });
}

function endRows({ tiedEmbeddings, vocab, mtpLayers = 0, details = {} }: ModelSpec): Rows {
  return rows({
    share_embeddings_and_output_weights: tiedEmbeddings,
    vocab_size: vocab > 0 ? vocab : undefined,
    mtp_num_layers: mtpLayers > 0 ? mtpLayers : undefined,
    init_method_std: details.initStd,
  });
}

type Value = number | string | boolean | null | readonly boolean[] | undefined;

/** What has no value is left out. */
function rows(values: Readonly<Record<string, Value>>): Rows {
  return Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[key, yamlText(value)] as const]));
}

function yamlText(value: Exclude<Value, undefined>): string {
  if (typeof value === 'object' && value !== null) return `[${value.map((is) => (is ? 1 : 0)).join(', ')}]`;
  return typeof value === 'number' ? yamlNumber(value) : String(value);
}

/** Fields that Megatron-LM's flags express less fully than the keys. */
const otherwise = new Set([
  'rotary.base',
  'rotary.scaling',
  'gatedMlp',
  'details.attentionScale',
  'details.attentionSoftCap',
  'details.logitSoftCap',
]);

/** What the keys do not express, for a message. @param name of the launcher. */
export function coreModelGaps({ model, sequenceLength }: LaunchSettings, name: string): readonly ModelGap[] {
  const { activation } = model.details ?? {};
  const scaling = model.positions === 'rotary' ? model.rotary?.scaling : undefined;
  const gap = (fields: readonly string[], what: Sentence | null): readonly ModelGap[] =>
    what === null
      ? []
      : [
          {
            fields,
            severity: fieldsSeverity(fields),
            what,
            reason: sentence`${name} cannot express ${what}: this file trains another model`,
          },
        ];
  return [
    ...modelParts
      .filter(({ fields }) => !fields.some((field) => otherwise.has(field)))
      .flatMap(({ fields, lacks }) => gap(fields, lacks?.(model) ?? null)),
    ...gap(
      ['rotary.scaling'],
      scaling === undefined || scalingRows(model, scaling) !== null ? null : sentence`its RoPE scaling (${scalingText(scaling)})`,
    ),
    ...gap(
      ['details.activation'],
      activation === undefined || Object.hasOwn(activations, activation) ? null : sentence`its activation (${activation})`,
    ),
    ...gap(
      ['maxPositions'],
      model.positions === 'learned' && model.maxPositions !== sequenceLength
        ? sentence`${model.maxPositions ?? 0} learned positions, of which it has as many as tokens (${sequenceLength})`
        : null,
    ),
  ];
}
