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
};

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
