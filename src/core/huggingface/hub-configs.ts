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

/** What all sizes of gpt-oss share. */
export const gptOss = {
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

const mpt = {
  model_type: 'mpt',
  expansion_ratio: 4,
  vocab_size: 50432,
  no_bias: true,
  learned_pos_emb: false,
  attn_config: { alibi: true },
};
const gptNeo = { model_type: 'gpt_neo', vocab_size: 50257, max_position_embeddings: 2048, window_size: 256 };

function gpt2Config(layers: number, hidden: number, heads: number): object {
  return { model_type: 'gpt2', n_layer: layers, n_embd: hidden, n_head: heads, n_positions: 1024, vocab_size: 50257 };
}

/** Models of Hugging Face's hub that share their kind with few others: the fields of their config.json that say sizes, by name. */
export const hubConfigs: Readonly<Record<string, object>> = {
  gpt2: gpt2Config(12, 768, 12),
  'gpt2-medium': gpt2Config(24, 1024, 16),
  'gpt2-large': gpt2Config(36, 1280, 20),
  'gpt2-xl': gpt2Config(48, 1600, 25),
  'mixtral-8x7b': mixtralConfig([32, 4096, 32, 14336, 32000]),
  'mixtral-8x22b': mixtralConfig([56, 6144, 48, 16384, 32768]),
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
  'qwen3.5-0.8b': {
    ...qwen35,
    num_hidden_layers: 24,
    hidden_size: 1024,
    num_attention_heads: 8,
    num_key_value_heads: 2,
    intermediate_size: 3584,
    linear_num_value_heads: 16,
    tie_word_embeddings: true,
  },
  'qwen3.5-2b': {
    ...qwen35,
    num_hidden_layers: 24,
    hidden_size: 2048,
    num_attention_heads: 8,
    num_key_value_heads: 2,
    intermediate_size: 6144,
    linear_num_value_heads: 16,
    tie_word_embeddings: true,
  },
  'qwen3.5-27b': {
    ...qwen35,
    num_hidden_layers: 64,
    hidden_size: 5120,
    num_attention_heads: 24,
    num_key_value_heads: 4,
    intermediate_size: 17408,
    linear_num_value_heads: 48,
  },
  'qwen3.5-122b-a10b': {
    ...qwen35Experts,
    num_hidden_layers: 48,
    hidden_size: 3072,
    num_attention_heads: 32,
    num_experts: 256,
    num_experts_per_tok: 8,
    moe_intermediate_size: 1024,
    shared_expert_intermediate_size: 1024,
    linear_num_value_heads: 64,
  },
  'qwen3.5-4b': {
    ...qwen35,
    num_hidden_layers: 32,
    hidden_size: 2560,
    num_attention_heads: 16,
    num_key_value_heads: 4,
    intermediate_size: 9216,
    linear_num_value_heads: 32,
    tie_word_embeddings: true,
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
  'gemma-2b': gemmaConfig([18, 2048, 8, 1, 16384]),
  'gemma-1.1-2b': gemmaConfig([18, 2048, 8, 1, 16384]),
  'gemma-7b': gemmaConfig([28, 3072, 16, 16, 24576]),
  'gemma-1.1-7b': gemmaConfig([28, 3072, 16, 16, 24576]),
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
  'gemma-2-2b': gemma2Config([26, 2304, 8, 4, 9216, 256]),
  'gemma-2-9b': gemma2Config([42, 3584, 16, 8, 14336, 256]),
  'gemma-2-27b': gemma2Config([46, 4608, 32, 16, 36864, 128]),
  'phi-3-mini-4k': phi3Config([32, 3072, 32, 32, 8192, 32064]),
  'phi-3-mini-128k': phi3Config([32, 3072, 32, 32, 8192, 32064]),
  'phi-3.5-mini': phi3Config([32, 3072, 32, 32, 8192, 32064]),
  'phi-4': phi3Config([40, 5120, 40, 10, 17920, 100352]),
  'smollm-135m': plainConfig('llama', [30, 576, 9, 3, 64, 1536, 49152, true]),
  'smollm-360m': plainConfig('llama', [32, 960, 15, 5, 64, 2560, 49152, true]),
  'smollm-1.7b': plainConfig('llama', [24, 2048, 32, 32, 64, 8192, 49152, true]),
  'smollm2-135m': plainConfig('llama', [30, 576, 9, 3, 64, 1536, 49152, true], 8192),
  'smollm2-360m': plainConfig('llama', [32, 960, 15, 5, 64, 2560, 49152, true], 8192),
  'smollm2-1.7b': plainConfig('llama', [24, 2048, 32, 32, 64, 8192, 49152, true], 8192),
  'smolvlm-2.2b': plainConfig('llama', [24, 2048, 32, 32, 64, 8192, 49155, false], 16384),
  'smolvlm-256m': plainConfig('llama', [30, 576, 9, 3, 64, 1536, 49280, false], 8192),
  'smolvlm-500m': plainConfig('llama', [32, 960, 15, 5, 64, 2560, 49280, false], 8192),
  'smollm3-3b': plainConfig('smollm3', [36, 2048, 16, 4, 128, 11008, 128256, true]),
  'olmo-7b-0724': plainConfig('olmo', [32, 4096, 32, 32, 128, 11008, 50304, false], 4096),
  'olmo-1.7-7b': plainConfig('olmo', [32, 4096, 32, 32, 128, 11008, 50304, false], 4096),
  'olmo-1b-0724': plainConfig('olmo', [16, 2048, 16, 16, 128, 8192, 50304, true], 4096),
  'olmo-2-0425-1b': plainConfig('olmo2', [16, 2048, 16, 16, 128, 8192, 100352, false], 4096),
  'olmo-2-1124-7b': plainConfig('olmo2', [32, 4096, 32, 32, 128, 11008, 100352, false], 4096),
  'olmo-2-1124-13b': plainConfig('olmo2', [40, 5120, 40, 40, 128, 13824, 100352, false], 4096),
  'olmo-2-0325-32b': plainConfig('olmo2', [64, 5120, 40, 8, 128, 27648, 100352, false], 4096),
  'falcon3-7b': plainConfig('llama', [28, 3072, 12, 4, 256, 23040, 131072, false], 32768),
  'falcon3-10b': plainConfig('llama', [40, 3072, 12, 4, 256, 23040, 131072, false], 32768),
  'mistral-7b-of-2023': plainConfig('mistral', [32, 4096, 32, 8, 128, 14336, 32000, false]),
  'ministral-3-3b': plainConfig('ministral3', [26, 3072, 32, 8, 128, 9216, 131072, true], 262144),
  'ministral-3-8b': plainConfig('ministral3', [34, 4096, 32, 8, 128, 14336, 131072, false], 262144),
  'ministral-3-14b': plainConfig('ministral3', [40, 5120, 32, 8, 128, 16384, 131072, false], 262144),
  'olmo-3-7b': { ...plainConfig('olmo3', [32, 4096, 32, 32, 128, 11008, 100278, false]), sliding_window: 4096 },
  'olmo-3-32b': { ...plainConfig('olmo3', [64, 5120, 40, 8, 128, 27648, 100278, false]), sliding_window: 4096 },
  'olmo-hybrid-7b': plainConfig('olmo_hybrid', [32, 3840, 30, 30, 128, 11008, 100352, false]),
  'mpt-30b': { ...mpt, n_layers: 48, d_model: 7168, n_heads: 64, max_seq_len: 8192 },
  'falcon-7b': {
    model_type: 'falcon',
    num_hidden_layers: 32,
    hidden_size: 4544,
    num_attention_heads: 71,
    multi_query: true,
    vocab_size: 65024,
  },
  'gpt-neo-1.3b': {
    ...gptNeo,
    num_layers: 24,
    hidden_size: 2048,
    num_heads: 16,
    attention_types: [[['global', 'local'], 12]],
  },
  'falcon3-1b': plainConfig('llama', [18, 2048, 8, 4, 256, 8192, 131072, false], 4096),
  'falcon3-3b': plainConfig('llama', [22, 3072, 12, 4, 256, 9216, 131072, false], 32768),
  'mpt-7b': { ...mpt, n_layers: 32, d_model: 4096, n_heads: 32, max_seq_len: 2048 },
  'gpt-neo-125m': {
    ...gptNeo,
    num_layers: 12,
    hidden_size: 768,
    num_heads: 12,
    attention_types: [[['global', 'local'], 6]],
  },
  'codellama-7b': plainConfig('llama', [32, 4096, 32, 32, 128, 11008, 32016, false], 16384),
  'codellama-13b': plainConfig('llama', [40, 5120, 40, 40, 128, 13824, 32016, false], 16384),
  'deepseek-r1-distill-llama-8b': plainConfig('llama', [32, 4096, 32, 8, 128, 14336, 128256, false], 131072),
  'deepseek-r1-distill-llama-70b': plainConfig('llama', [80, 8192, 64, 8, 128, 28672, 128256, false], 131072),
  'gemma-3-270m': plainConfig('gemma3_text', [18, 640, 4, 1, 256, 2048, 262144, true]),
  'gemma-3-1b': plainConfig('gemma3_text', [26, 1152, 4, 1, 256, 6912, 262144, true]),
  'gemma-3-4b': plainConfig('gemma3_text', [34, 2560, 8, 4, 256, 10240, 262208, true]),
  'gemma-3-12b': plainConfig('gemma3_text', [48, 3840, 16, 8, 256, 15360, 262208, true]),
  'gemma-3-27b': plainConfig('gemma3_text', [62, 5376, 32, 16, 128, 21504, 262208, true]),
  'glm-4-9b-0414': plainConfig('glm4', [40, 4096, 32, 2, 128, 13696, 151552, false]),
  'glm-4.5-air': {
    ...plainConfig('glm4_moe', [46, 4096, 96, 8, 128, 10944, 151552, false]),
    n_routed_experts: 128,
    num_experts_per_tok: 8,
    n_shared_experts: 1,
    moe_intermediate_size: 1408,
    first_k_dense_replace: 1,
    attention_bias: true,
    num_nextn_predict_layers: 0,
  },
};

/** Layers, hidden size, heads, key/value heads, size of a head, feed-forward width, vocabulary, and whether embedding and head are one. */
export type Dense = readonly [number, number, number, number, number, number, number, boolean];

function plainConfig(type: string, sizes: Dense, positions?: number): object {
  return denseConfig(type, sizes, positions === undefined ? {} : { max_position_embeddings: positions });
}

/** The config.json of a dense model, with further keys. */
export function denseConfig(type: string, [layers, hidden, heads, groups, headDim, ffn, vocab, tied]: Dense, also: object): object {
  return {
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
  };
}

/** @param sizes layers, hidden size, heads, key/value heads, feed-forward width, vocabulary. */
function phi3Config([layers, hidden, heads, groups, ffn, vocab]: readonly [number, number, number, number, number, number]): object {
  return plainConfig('phi3', [layers, hidden, heads, groups, hidden / heads, ffn, vocab, false]);
}

/** @param sizes layers, hidden size, heads, key/value heads, feed-forward width. */
function gemmaConfig([layers, hidden, heads, groups, ffn]: readonly [number, number, number, number, number]): object {
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
function gemma2Config([layers, hidden, heads, groups, ffn, headDim]: readonly [number, number, number, number, number, number]): object {
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
function mixtralConfig([layers, hidden, heads, ffn, vocab]: readonly [number, number, number, number, number]): object {
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
