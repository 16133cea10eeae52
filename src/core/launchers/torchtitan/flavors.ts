import { hubModel } from '../../huggingface/hub-models';
import { gptOss as gptOssOfHub } from '../../huggingface/hub-configs';
import { llama4 as llama4OfHub } from '../../huggingface/hub-experts';
import type { ModelDetails } from '../../domain/settings/model-details';
import { own } from '../../records';
import { closest } from '../../suggest';

/** A model by the keys of its HuggingFace config. */
type Sizes = Readonly<Record<string, string | number | boolean | null | Readonly<Record<string, string | number>>>>;

const llama3: Sizes = {
  model_type: 'llama',
  num_key_value_heads: 8,
  vocab_size: 128256,
  max_position_embeddings: 131072,
  tie_word_embeddings: false,
  rms_norm_eps: 1e-5,
  rope_theta: 500_000,
  // whatever the version of Llama 3 (torchtitan/models/llama3/model/model.py 64 at v0.2.2)
  rope_scaling: { rope_type: 'llama3', factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 },
};
const qwen3: Sizes = {
  model_type: 'qwen3',
  num_key_value_heads: 8,
  head_dim: 128,
  vocab_size: 151936,
  max_position_embeddings: 4096,
  tie_word_embeddings: false,
  rms_norm_eps: 1e-6,
  rope_theta: 1_000_000,
};
const qwen3Moe: Sizes = {
  ...qwen3,
  model_type: 'qwen3_moe',
  num_key_value_heads: 4,
  num_experts: 128,
  num_experts_per_tok: 8,
  decoder_sparse_step: 1,
  norm_topk_prob: true,
};
const llama4: Sizes = { ...llama4OfHub, rope_theta: 500_000, rms_norm_eps: 1e-5 };
const deepseek: Sizes = {
  model_type: 'deepseek_v3',
  tie_word_embeddings: false,
  max_position_embeddings: 16384,
  num_nextn_predict_layers: 0,
  kv_lora_rank: 512,
  qk_nope_head_dim: 128,
  qk_rope_head_dim: 64,
  v_head_dim: 128,
  first_k_dense_replace: 1,
  moe_layer_freq: 1,
  rms_norm_eps: 1e-5,
  rope_theta: 10_000,
};

/** Tokens visit experts of any group, unlike those of DeepSeek-V3. */
const ungrouped: Sizes = { n_group: 1, topk_group: 1 };

/** Yarn of DeepSeek-V3. */
function yarn(mscale: number): Sizes {
  const range = { original_max_position_embeddings: 4096, beta_fast: 32, beta_slow: 1 };
  return { rope_scaling: { type: 'yarn', factor: 40, ...range, mscale, mscale_all_dim: mscale } };
}

function llama(layers: number, hidden: number, heads: number, ffn: number): Sizes {
  return { ...llama3, num_hidden_layers: layers, hidden_size: hidden, num_attention_heads: heads, intermediate_size: ffn };
}

function qwen(base: Sizes, layers: number, hidden: number, heads: number, ffn: number): Sizes {
  const width = base === qwen3Moe ? { moe_intermediate_size: ffn } : { intermediate_size: ffn };
  return { ...base, num_hidden_layers: layers, hidden_size: hidden, num_attention_heads: heads, ...width };
}

function deepseekSizes(layers: number, hidden: number, heads: number, ffn: number, vocab: number): Sizes {
  return {
    ...deepseek,
    num_hidden_layers: layers,
    hidden_size: hidden,
    num_attention_heads: heads,
    intermediate_size: ffn,
    vocab_size: vocab,
  };
}

function routed(count: number, active: number, shared: number, ffn: number): Sizes {
  return { n_routed_experts: count, num_experts_per_tok: active, n_shared_experts: shared, moe_intermediate_size: ffn };
}

const gptOss: Sizes = {
  ...gptOssOfHub,
  max_position_embeddings: 131072,
  rms_norm_eps: 1e-5,
  rope_theta: 150_000,
  rope_scaling: { rope_type: 'yarn', factor: 32, original_max_position_embeddings: 4096, beta_fast: 32, beta_slow: 1 },
};

const tied: Sizes = { tie_word_embeddings: true };
const shallow: Sizes = { vocab_size: 2048 };

/**
 * The registry of TorchTitan's models (`__init__.py of each`, from 2025-04 to 2026-05) by `model.name` and `model.flavor`. Endings such as
 * `_flex` or `_irope` choose how attention is computed and are left off before the look-up.
 */
const registry: Readonly<Record<string, Readonly<Record<string, Sizes>>>> = {
  llama3: {
    debugmodel: { ...llama(6, 256, 16, 768), ...shallow, num_key_value_heads: 16 },
    '1B': { ...llama(16, 2048, 32, 8192), ...tied },
    '3B': { ...llama(28, 3072, 24, 8192), ...tied },
    '8B': llama(32, 4096, 32, 14336),
    '70B': llama(80, 8192, 64, 28672),
    '405B': llama(126, 16384, 128, 53248),
  },
  llama4: {
    debugmodel: {
      ...llama4,
      ...shallow,
      hidden_size: 256,
      num_hidden_layers: 6,
      num_attention_heads: 16,
      num_key_value_heads: 16,
      head_dim: 16,
      intermediate_size: 512,
      intermediate_size_mlp: 768,
      num_local_experts: 8,
      interleave_moe_layer_step: 2,
    },
    '17bx16e': { ...llama4, num_local_experts: 16, interleave_moe_layer_step: 1, max_position_embeddings: 10485760 },
    '17bx128e': { ...llama4, num_local_experts: 128, interleave_moe_layer_step: 2, max_position_embeddings: 1048576 },
  },
  qwen3: {
    debugmodel: { ...qwen(qwen3, 8, 256, 16, 3072), ...shallow, ...tied },
    '0.6B': { ...qwen(qwen3, 28, 1024, 16, 3072), ...tied },
    '1.7B': { ...qwen(qwen3, 28, 2048, 16, 6144), ...tied },
    '4B': { ...qwen(qwen3, 36, 2560, 32, 9728), ...tied },
    '8B': qwen(qwen3, 36, 4096, 32, 12288),
    '14B': qwen(qwen3, 40, 5120, 40, 17408),
    '32B': qwen(qwen3, 64, 5120, 64, 25600),
    debugmodel_moe: { ...qwen(qwen3Moe, 8, 256, 16, 768), ...shallow, num_key_value_heads: 8, num_experts: 64 },
    '30B-A3B': { ...qwen(qwen3Moe, 48, 2048, 32, 768), max_position_embeddings: 262144 },
    '235B-A22B': { ...qwen(qwen3Moe, 94, 4096, 64, 1536), rope_theta: 5_000_000 },
  },
  gpt_oss: {
    debugmodel: { ...gptOss, ...shallow, hidden_size: 256, num_hidden_layers: 4, num_local_experts: 8 },
    '20B': { ...gptOss, num_hidden_layers: 24, num_local_experts: 32 },
    '120B': { ...gptOss, num_hidden_layers: 36, num_local_experts: 128 },
  },
  deepseek_v3: {
    debugmodel: { ...deepseekSizes(6, 256, 16, 1024, 2048), ...routed(8, 3, 2, 256), ...ungrouped, q_lora_rank: null, ...yarn(0.7) },
    '16B': { ...deepseekSizes(27, 2048, 16, 10944, 102400), ...routed(64, 6, 2, 1408), ...ungrouped, q_lora_rank: null, ...yarn(0.7) },
    '236B': {
      ...deepseekSizes(60, 5120, 128, 12288, 102400),
      ...routed(160, 6, 2, 1536),
      q_lora_rank: 1536,
      n_group: 8,
      topk_group: 3,
      ...yarn(1),
    },
    '671B': {
      ...deepseekSizes(61, 7168, 128, 18432, 129280),
      ...routed(256, 8, 1, 2048),
      ...yarn(1),
      q_lora_rank: 1536,
      first_k_dense_replace: 3,
      n_group: 8,
      topk_group: 4,
    },
  },
};

/** A bias of each expert balances the load, no loss (`load_balance_coeff`, torchtitan/models/moe/moe.py). */
const balanced: ModelDetails = { routerAuxLoss: 0, routerExpertBias: true };
const softmax: ModelDetails = { ...balanced, routerScore: 'softmax', routerNormalised: false };

/**
 * In what models of TorchTitan differ from those of their sizes in Transformers, by `model.name`, and some flavors from those. Llama 3
 * rotates neighbours, and its adapter permutes the heads of Hugging Face's weights both ways (`state_dict_adapter.py`): it is that model.
 */
const details: Readonly<Record<string, ModelDetails>> = {
  llama4: { rotaryInterleaved: true, ...balanced },
  'qwen3 debugmodel_moe': balanced,
  'qwen3 30B-A3B': balanced,
  'qwen3 235B-A22B': balanced,
  gpt_oss: balanced,
  deepseek_v3: { ...balanced, routerScore: 'sigmoid', routerNormalised: true, routerScaling: 2.5 },
  'deepseek_v3 debugmodel': { ...softmax, routerScaling: 1 },
  'deepseek_v3 16B': { ...softmax, routerScaling: 1 },
  'deepseek_v3 236B': { ...softmax, routerScaling: 16 },
};

/** In what a flavor differs from the model of its sizes in Transformers. */
export function flavorDetails(name: string, flavor: string): ModelDetails {
  const known = registeredFlavor(name, flavor);
  return own(details, `${name} ${known ?? ''}`) ?? own(details, name) ?? {};
}

/** The flavour of a model that a misspelt one is closest to, as `70B` to `70b`; null for none. */
export function closestFlavor(name: string, flavor: string): string | null {
  return Object.hasOwn(registry, name) ? closest(flavor, Object.keys(own(registry, name) ?? {})) : null;
}

/** The model and flavour that the name of a file means: `deepseek_v3_16b`, `llama3.1_70B`; null for none of the registry. */
export function flavorOfPreset(file: string): readonly [name: string, flavor: string] | null {
  const [, name = '', size = ''] = /^(.+?)(?:\.\d)?_(\d[\w.-]*)$/.exec(file.replace(/\.ya?ml$/, '')) ?? [];
  if (!Object.hasOwn(registry, name)) return null;
  const flavor = Object.keys(own(registry, name) ?? {}).find((each) => each.toLowerCase() === size.toLowerCase());
  return flavor === undefined ? null : [name, flavor];
}

/**
 * Sizes of a flavour of TorchTitan's registry, or of the model of the hub that an experiment names, as the text of a HuggingFace config;
 * null for one that is neither.
 */
export function flavorConfig(name: string, flavor: string): string | null {
  if (flavor.includes('/')) return hubModel(flavor);
  const known = registeredFlavor(name, flavor);
  return known === null ? null : JSON.stringify(own(own(registry, name) ?? {}, known));
}

/** The name by which a flavor is in the registry above. */
function registeredFlavor(name: string, flavor: string): string | null {
  const flavors = own(registry, name);
  const bare = flavor.replace(/_(?:flex|varlen|irope|fused_qkv|non_fused_qkv)(?:_attn)?$/, '');
  return [flavor, bare, bare.replace(/(\d)b$/, '$1B')].find((each) => flavors !== undefined && Object.hasOwn(flavors, each)) ?? null;
}
