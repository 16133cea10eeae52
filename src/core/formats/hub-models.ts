import type { ModelOfLauncher } from './launcher';

/** Layers, hidden size, heads, key/value heads, size of a head, feed-forward width, vocabulary, and whether embedding and head are one. */
type Dense = readonly [number, number, number, number, number, number, number, boolean];

const llama: Readonly<Record<string, Dense>> = {
  'llama-3.2-1b': [16, 2048, 32, 8, 64, 8192, 128256, true],
  'llama-3.2-3b': [28, 3072, 24, 8, 128, 8192, 128256, true],
  'llama-2-7b': [32, 4096, 32, 32, 128, 11008, 32000, false],
  'llama-2-13b': [40, 5120, 40, 40, 128, 13824, 32000, false],
  'llama-2-70b': [80, 8192, 64, 8, 128, 28672, 32000, false],
  'llama-3-8b': [32, 4096, 32, 8, 128, 14336, 128256, false],
  'llama-3-70b': [80, 8192, 64, 8, 128, 28672, 128256, false],
  'llama-3.1-405b': [126, 16384, 128, 8, 128, 53248, 128256, false],
  'llama-3.1-8b': [32, 4096, 32, 8, 128, 14336, 128256, false],
  'llama-3.1-70b': [80, 8192, 64, 8, 128, 28672, 128256, false],
  'llama-3.3-70b': [80, 8192, 64, 8, 128, 28672, 128256, false],
  'deepseek-llm-7b': [30, 4096, 32, 32, 128, 11008, 102400, false],
  'deepseek-coder-6.7b': [32, 4096, 32, 32, 128, 11008, 32256, false],
};

const qwen2: Readonly<Record<string, Dense>> = {
  'qwen2-0.5b': [24, 896, 14, 2, 64, 4864, 151936, true],
  'qwen2-1.5b': [28, 1536, 12, 2, 128, 8960, 151936, true],
  'qwen2-7b': [28, 3584, 28, 4, 128, 18944, 152064, false],
  'qwen2-72b': [80, 8192, 64, 8, 128, 29568, 152064, false],
  'deepseek-r1-distill-qwen-1.5b': [28, 1536, 12, 2, 128, 8960, 151936, false],
  'deepseek-r1-distill-qwen-7b': [28, 3584, 28, 4, 128, 18944, 152064, false],
  'deepseek-r1-distill-qwen-14b': [48, 5120, 40, 8, 128, 13824, 152064, false],
  'deepseek-r1-distill-qwen-32b': [64, 5120, 40, 8, 128, 27648, 152064, false],
  'qwen2.5-0.5b': [24, 896, 14, 2, 64, 4864, 151936, true],
  'qwen2.5-1.5b': [28, 1536, 12, 2, 128, 8960, 151936, true],
  'qwen2.5-3b': [36, 2048, 16, 2, 128, 11008, 151936, true],
  'qwen2.5-7b': [28, 3584, 28, 4, 128, 18944, 152064, false],
  'qwen2.5-14b': [48, 5120, 40, 8, 128, 13824, 152064, false],
  'qwen2.5-32b': [64, 5120, 40, 8, 128, 27648, 152064, false],
  'qwen2.5-72b': [80, 8192, 64, 8, 128, 29568, 152064, false],
};

const qwen3: Readonly<Record<string, Dense>> = {
  'qwen3-0.6b': [28, 1024, 16, 8, 128, 3072, 151936, true],
  'qwen3-1.7b': [28, 2048, 16, 8, 128, 6144, 151936, true],
  'qwen3-4b': [36, 2560, 32, 8, 128, 9728, 151936, true],
  'qwen3-8b': [36, 4096, 32, 8, 128, 12288, 151936, false],
  'qwen3-14b': [40, 5120, 40, 8, 128, 17408, 151936, false],
  'qwen3-32b': [64, 5120, 64, 8, 128, 25600, 151936, false],
};

/** Experts of a layer, of a token, and the width of one. */
const qwen3Experts: Readonly<Record<string, readonly [dense: Dense, experts: number, active: number, width: number]>> = {
  'qwen3-30b-a3b': [[48, 2048, 32, 4, 128, 6144, 151936, false], 128, 8, 768],
  'qwen3-235b-a22b': [[94, 4096, 64, 4, 128, 12288, 151936, false], 128, 8, 1536],
};

/** Models that see or hear, by the language model that they have. */
const languageModels: Readonly<Record<string, string>> = {
  'qwen2.5-vl-3b': 'qwen2.5-3b',
  'qwen2.5-vl-7b': 'qwen2.5-7b',
  'qwen2.5-vl-32b': 'qwen2.5-32b',
  'qwen2.5-vl-72b': 'qwen2.5-72b',
  'qwen3-vl-2b': 'qwen3-1.7b',
  'qwen3-vl-4b': 'qwen3-4b',
  'qwen3-vl-8b': 'qwen3-8b',
  'qwen3-vl-32b': 'qwen3-32b',
  'qwen3-vl-30b-a3b': 'qwen3-30b-a3b',
  'qwen3-vl-235b-a22b': 'qwen3-235b-a22b',
  'qwen2.5-omni-7b': 'qwen2.5-7b',
  'nemotron-3-nano-omni-30b-a3b-reasoning': 'nvidia-nemotron-3-nano-30b-a3b',
  'qwen3.5-9b': 'qwen3.5-9b',
  'qwen3.5-35b-a3b': 'qwen3.5-35b-a3b',
  'qwen3.5-397b-a17b': 'qwen3.5-397b-a17b',
};

const mistral: Readonly<Record<string, Dense>> = {
  'mistral-7b': [32, 4096, 32, 8, 128, 14336, 32768, false],
  'mistral-nemo-2407': [40, 5120, 32, 8, 128, 14336, 131072, false],
};

const latent = {
  kv_lora_rank: 512,
  qk_nope_head_dim: 128,
  qk_rope_head_dim: 64,
  v_head_dim: 128,
  tie_word_embeddings: false,
  moe_layer_freq: 1,
};

/** Layers, hidden size, heads, dense width, vocabulary; experts: all, of a token, shared, width; rank of queries and first dense layers. */
type Latent = readonly [number, number, number, number, number, number, number, number, number, number | null, number];

/** DeepSeek-V2's and V3's kind of model. */
const latents: Readonly<Record<string, readonly [type: string, sizes: Latent]>> = {
  'deepseek-v2': ['deepseek_v2', [60, 5120, 128, 12288, 102400, 160, 6, 2, 1536, 1536, 1]],
  'deepseek-v2-lite': ['deepseek_v2', [27, 2048, 16, 10944, 102400, 64, 6, 2, 1408, null, 1]],
  'deepseek-v3': ['deepseek_v3', [61, 7168, 128, 18432, 129280, 256, 8, 1, 2048, 1536, 3]],
  'deepseek-r1': ['deepseek_v3', [61, 7168, 128, 18432, 129280, 256, 8, 1, 2048, 1536, 3]],
  'moonlight-16b-a3b': ['deepseek_v3', [27, 2048, 16, 11264, 163840, 64, 6, 2, 1408, null, 1]],
  'kimi-k2': ['deepseek_v3', [61, 7168, 64, 18432, 163840, 384, 8, 1, 2048, 1536, 1]],
};

const glm5 = {
  model_type: 'glm_moe_dsa',
  num_hidden_layers: 78,
  hidden_size: 6144,
  num_attention_heads: 64,
  num_key_value_heads: 64,
  intermediate_size: 12288,
  vocab_size: 154880,
  q_lora_rank: 2048,
  kv_lora_rank: 512,
  qk_nope_head_dim: 192,
  qk_rope_head_dim: 64,
  v_head_dim: 256,
  n_routed_experts: 256,
  num_experts_per_tok: 8,
  n_shared_experts: 1,
  moe_intermediate_size: 2048,
  first_k_dense_replace: 3,
  num_nextn_predict_layers: 0,
  tie_word_embeddings: false,
};

const gptOss = {
  model_type: 'gpt_oss',
  hidden_size: 2880,
  intermediate_size: 2880,
  num_attention_heads: 64,
  num_key_value_heads: 8,
  head_dim: 64,
  num_experts_per_tok: 4,
  vocab_size: 201088,
  tie_word_embeddings: false,
};

/** Models of the same hybrid: Mamba-2 (M), a feed-forward network (-) or experts (E), attention (*). */
const nemotron = {
  model_type: 'nemotron_h',
  mamba_head_dim: 64,
  mamba_num_heads: 64,
  n_groups: 8,
  ssm_state_size: 128,
  conv_kernel: 4,
  expand: 2,
  head_dim: 128,
  vocab_size: 131072,
  tie_word_embeddings: false,
};
const nano30b = {
  ...nemotron,
  hidden_size: 2688,
  num_hidden_layers: 52,
  hybrid_override_pattern: 'MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME',
  num_attention_heads: 32,
  num_key_value_heads: 2,
  intermediate_size: 1856,
  moe_intermediate_size: 1856,
  moe_shared_expert_intermediate_size: 3712,
  n_routed_experts: 128,
  num_experts_per_tok: 6,
  n_shared_experts: 1,
};

const nanoV2 = {
  ...nemotron,
  mamba_num_heads: 128,
  mamba_head_dim: 80,
  num_attention_heads: 40,
  num_key_value_heads: 8,
};

/** Gated DeltaNet, each fourth layer with attention. */
const qwen35 = {
  model_type: 'qwen3_5_text',
  head_dim: 256,
  vocab_size: 248320,
  full_attention_interval: 4,
  linear_num_key_heads: 16,
  linear_key_head_dim: 128,
  linear_value_head_dim: 128,
  linear_conv_kernel_dim: 4,
  tie_word_embeddings: false,
};
const qwen35Experts = { ...qwen35, model_type: 'qwen3_5_moe_text', num_key_value_heads: 2 };

function gpt2Of(layers: number, hidden: number, heads: number): object {
  return { model_type: 'gpt2', n_layer: layers, n_embd: hidden, n_head: heads, n_positions: 1024, vocab_size: 50257 };
}

/** Models that are of no table. */
const others: Readonly<Record<string, object>> = {
  gpt2: gpt2Of(12, 768, 12),
  'gpt2-medium': gpt2Of(24, 1024, 16),
  'gpt2-large': gpt2Of(36, 1280, 20),
  'gpt2-xl': gpt2Of(48, 1600, 25),
  'mixtral-8x7b': mixtralOf([32, 4096, 32, 14336, 32000]),
  'mixtral-8x22b': mixtralOf([56, 6144, 48, 16384, 32768]),
  'nvidia-nemotron-3-super-120b-a12b': {
    ...nemotron,
    mamba_num_heads: 128,
    hidden_size: 4096,
    num_hidden_layers: 88,
    hybrid_override_pattern: 'MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME',
    num_attention_heads: 32,
    num_key_value_heads: 2,
    intermediate_size: 2688,
    moe_intermediate_size: 2688,
    moe_latent_size: 1024,
    moe_shared_expert_intermediate_size: 5376,
    n_routed_experts: 512,
    num_experts_per_tok: 22,
    n_shared_experts: 1,
  },
  'nvidia-nemotron-nano-9b-v2': {
    ...nanoV2,
    hidden_size: 4480,
    intermediate_size: 15680,
    num_hidden_layers: 56,
    hybrid_override_pattern: 'M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-',
  },
  'nvidia-nemotron-nano-12b-v2': {
    ...nanoV2,
    hidden_size: 5120,
    intermediate_size: 20480,
    num_hidden_layers: 62,
    hybrid_override_pattern: 'M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M-',
  },
  'qwen3.5-9b': {
    ...qwen35,
    num_hidden_layers: 32,
    hidden_size: 4096,
    num_attention_heads: 16,
    num_key_value_heads: 4,
    intermediate_size: 12288,
    linear_num_value_heads: 32,
  },
  'qwen3.5-35b-a3b': {
    ...qwen35Experts,
    num_hidden_layers: 40,
    hidden_size: 2048,
    num_attention_heads: 16,
    num_experts: 256,
    num_experts_per_tok: 8,
    moe_intermediate_size: 512,
    shared_expert_intermediate_size: 512,
    linear_num_value_heads: 32,
  },
  'qwen3.5-397b-a17b': {
    ...qwen35Experts,
    num_hidden_layers: 60,
    hidden_size: 4096,
    num_attention_heads: 32,
    num_experts: 512,
    num_experts_per_tok: 10,
    moe_intermediate_size: 1024,
    shared_expert_intermediate_size: 1024,
    linear_num_value_heads: 64,
  },
  'glm-5': glm5,
  'glm-5.1': glm5,
  'gpt-oss-20b': { ...gptOss, num_hidden_layers: 24, num_local_experts: 32 },
  'gpt-oss-120b': { ...gptOss, num_hidden_layers: 36, num_local_experts: 128 },
  'nvidia-nemotron-3-nano-30b-a3b': nano30b,
  'gemma-2b': gemmaOf([18, 2048, 8, 1, 16384]),
  'gemma-1.1-2b': gemmaOf([18, 2048, 8, 1, 16384]),
  'gemma-7b': gemmaOf([28, 3072, 16, 16, 24576]),
  'gemma-1.1-7b': gemmaOf([28, 3072, 16, 16, 24576]),
  'seed-oss-36b': {
    model_type: 'seed_oss',
    num_hidden_layers: 64,
    hidden_size: 5120,
    num_attention_heads: 80,
    num_key_value_heads: 8,
    head_dim: 128,
    intermediate_size: 27648,
    vocab_size: 155136,
    attention_bias: true,
    tie_word_embeddings: false,
  },
  'gemma-2-2b': gemma2Of([26, 2304, 8, 4, 9216, 256]),
  'gemma-2-9b': gemma2Of([42, 3584, 16, 8, 14336, 256]),
  'gemma-2-27b': gemma2Of([46, 4608, 32, 16, 36864, 128]),
};

/** @param sizes layers, hidden size, heads, key/value heads, feed-forward width. */
function gemmaOf([layers, hidden, heads, groups, ffn]: readonly [number, number, number, number, number]): object {
  return {
    model_type: 'gemma',
    num_hidden_layers: layers,
    hidden_size: hidden,
    num_attention_heads: heads,
    num_key_value_heads: groups,
    head_dim: 256,
    intermediate_size: ffn,
    vocab_size: 256000,
    tie_word_embeddings: true,
  };
}

/** @param sizes layers, hidden size, heads, key/value heads, feed-forward width, size of a head. */
function gemma2Of([layers, hidden, heads, groups, ffn, headDim]: readonly [number, number, number, number, number, number]): object {
  return {
    model_type: 'gemma2',
    num_hidden_layers: layers,
    hidden_size: hidden,
    num_attention_heads: heads,
    num_key_value_heads: groups,
    intermediate_size: ffn,
    head_dim: headDim,
    vocab_size: 256000,
    tie_word_embeddings: true,
  };
}

/** @param sizes layers, hidden size, heads, width of an expert, vocabulary. */
function mixtralOf([layers, hidden, heads, ffn, vocab]: readonly [number, number, number, number, number]): object {
  return {
    model_type: 'mixtral',
    num_hidden_layers: layers,
    hidden_size: hidden,
    num_attention_heads: heads,
    num_key_value_heads: 8,
    intermediate_size: ffn,
    num_local_experts: 8,
    num_experts_per_tok: 2,
    vocab_size: vocab,
    tie_word_embeddings: false,
  };
}

/** Who publishes the models of these tables under their own names. */
const owners =
  /^(?:(?:meta-llama|Qwen|ByteDance-Seed|deepseek-ai|moonshotai|openai|mistralai|nvidia|google|zai-org)\/|(?:openai-community\/)?(?=gpt2))([\w.-]+)$/i;

/** A model of Hugging Face's hub by its name, or by that of a folder (`~/models/Qwen2.5-7B-Instruct`), whose files are not here. */
export function modelOfHub(name: string): ModelOfLauncher {
  const folder = /^(?:[~.]*\/.*\/|[~.]*\/)([\w.-]+)\/?$/.exec(name.slice(0, 1000))?.[1];
  if (folder !== undefined) return { name: folder, home: 'preset', config: sizesOf(plainName(folder)) };
  return { name, home: 'hub', config: hubModel(name), ...(Object.hasOwn(languageModels, baseOf(name)) && { isPart: true }) };
}

/**
 * Sizes of a model of Hugging Face's hub by its name (`Qwen/Qwen2.5-7B-Instruct`), as the text of its config.json; null for one that is not
 * known here. Those are named that launchers' examples train; of their variants only the ones with the same sizes.
 */
export function hubModel(name: string): string | null {
  return sizesOf(baseOf(name));
}

/** The name without its owner and what says nothing of sizes; empty for that of another owner. */
function baseOf(name: string): string {
  return plainName(owners.exec(name)?.[1] ?? '');
}

/** A name without what says nothing of sizes. */
function plainName(name: string): string {
  return name
    .toLowerCase()
    .replace(/^meta-/, '')
    .replace(/^(qwen2\.5)-math-(1\.5b|7b|72b)/, '$1-$2')
    .replace(/^(qwen2\.5)-coder-(0\.5b|1\.5b|3b|7b|14b|32b)/, '$1-$2')
    .replace(/^(mistral-nemo)-(?:instruct|base)/, '$1')
    .replace(/(?:-(?:instruct|base|thinking|chat|hf|it|bf16|fp8|2507|0324|0528|0905|v0\.[13]))+$/, '');
}

/** The same by the name that files of launchers have for it: `llama3.1_70B.yaml`, `qwen3_32b_pretrain_config`. */
export function familiarModel(name: string): string | null {
  const base = name
    .slice(0, 200)
    .toLowerCase()
    .replace(/\.ya?ml$/, '')
    .replace(/_(?:pretrain|finetune|sft|peft|lora|config)(?:_.*)?$/, '')
    .replaceAll('_', '-')
    .replace(/^llama(\d)\.?(\d?)(?=-)/, (_, major: string, minor: string) => `llama-${major}${minor === '' ? '' : `.${minor}`}`)
    .replace(/^qwen(\d)(\d)(?=-)/, 'qwen$1.$2');
  return sizesOf(base);
}

function sizesOf(name: string): string | null {
  const base = (Object.hasOwn(languageModels, name) ? languageModels[name] : undefined) ?? name;
  const dense = (type: string, table: Readonly<Record<string, Dense>>): string | null =>
    Object.hasOwn(table, base) ? configOf(type, table[base]) : null;
  const sparse = Object.hasOwn(qwen3Experts, base) ? qwen3Experts[base] : undefined;
  if (sparse !== undefined) {
    const [sizes, experts, active, width] = sparse;
    return configOf('qwen3_moe', sizes, {
      num_experts: experts,
      num_experts_per_tok: active,
      moe_intermediate_size: width,
      decoder_sparse_step: 1,
    });
  }
  const ranked = Object.hasOwn(latents, base) ? latents[base] : undefined;
  if (ranked !== undefined) return latentOf(...ranked);
  if (Object.hasOwn(others, base)) return JSON.stringify(others[base]);
  return dense('mistral', mistral) ?? dense('llama', llama) ?? dense('qwen2', qwen2) ?? dense('qwen3', qwen3);
}

function configOf(type: string, sizes: Dense | undefined, also: object = {}): string | null {
  if (sizes === undefined) return null;
  const [layers, hidden, heads, groups, headDim, ffn, vocab, tied] = sizes;
  return JSON.stringify({
    model_type: type,
    num_hidden_layers: layers,
    hidden_size: hidden,
    num_attention_heads: heads,
    num_key_value_heads: groups,
    head_dim: headDim,
    intermediate_size: ffn,
    vocab_size: vocab,
    tie_word_embeddings: tied,
    ...also,
  });
}

function latentOf(type: string, [layers, hidden, heads, ffn, vocab, experts, active, shared, width, queryRank, dense]: Latent): string {
  return JSON.stringify({
    ...latent,
    model_type: type,
    num_hidden_layers: layers,
    hidden_size: hidden,
    num_attention_heads: heads,
    num_key_value_heads: heads,
    intermediate_size: ffn,
    vocab_size: vocab,
    n_routed_experts: experts,
    num_experts_per_tok: active,
    n_shared_experts: shared,
    moe_intermediate_size: width,
    q_lora_rank: queryRank,
    first_k_dense_replace: dense,
    num_nextn_predict_layers: 0,
  });
}
