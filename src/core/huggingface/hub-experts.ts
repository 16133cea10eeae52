import { denseConfig, type Dense } from './hub-configs';

/** Experts of a layer, of a token, width of one; shared experts and leading dense layers, where there are any. */
interface Routed {
  readonly experts: number;
  readonly active: number;
  readonly width: number;
  readonly shared?: number;
  readonly dense?: number;
}

function routed(type: string, sizes: Dense, { experts, active, width, shared, dense }: Routed, also: object = {}): object {
  return denseConfig(type, sizes, {
    n_routed_experts: experts,
    num_experts: experts,
    num_experts_per_tok: active,
    moe_intermediate_size: width,
    ...(shared !== undefined && { n_shared_experts: shared }),
    ...(dense !== undefined && { first_k_dense_replace: dense }),
    ...also,
  });
}

/** GLM-4.5, 4.6 and 4.7 of the large size. */
const glm45 = routed(
  'glm4_moe',
  [92, 5120, 96, 8, 128, 12288, 151552, false],
  { experts: 160, active: 8, width: 1536, shared: 1, dense: 3 },
  { attention_bias: true, use_qk_norm: true, num_nextn_predict_layers: 0 },
);

const minimaxM2 = {
  model_type: 'minimax_m2',
  num_hidden_layers: 62,
  hidden_size: 3072,
  num_attention_heads: 48,
  num_key_value_heads: 8,
  head_dim: 128,
  intermediate_size: 1536,
  num_local_experts: 256,
  num_experts_per_tok: 8,
  vocab_size: 200064,
  tie_word_embeddings: false,
};

/** Of Scout and Maverick. */
export const llama4 = {
  model_type: 'llama4_text',
  num_hidden_layers: 48,
  hidden_size: 5120,
  num_attention_heads: 40,
  num_key_value_heads: 8,
  head_dim: 128,
  intermediate_size: 8192,
  intermediate_size_mlp: 16384,
  num_experts_per_tok: 1,
  vocab_size: 202048,
  tie_word_embeddings: false,
};

/** Ling's sizes (`bailing_moe_v2`) as a type of transformers with the same layers has them: norms of heads' queries and keys. */
const lingMini = routed('dots1', [20, 2048, 16, 4, 128, 5120, 157184, false], { experts: 256, active: 8, width: 512, shared: 1, dense: 1 });

/**
 * Models with experts by their plain names: the fields of their config.json that say sizes. Source: the config.json of each on Hugging
 * Face's hub; the tests hold the counts of parameters to those of its pages.
 */
export const expertConfigs: Readonly<Record<string, object>> = {
  'qwen3-next-80b-a3b': {
    ...denseConfig('qwen3_next', [48, 2048, 16, 2, 256, 5120, 151936, false], {
      num_experts: 512,
      num_experts_per_tok: 10,
      moe_intermediate_size: 512,
      shared_expert_intermediate_size: 512,
      decoder_sparse_step: 1,
      full_attention_interval: 4,
      linear_num_key_heads: 16,
      linear_key_head_dim: 128,
      linear_value_head_dim: 128,
      linear_conv_kernel_dim: 4,
      linear_num_value_heads: 32,
    }),
  },
  'qwen3-coder-480b-a35b': routed('qwen3_moe', [62, 6144, 96, 8, 128, 8192, 151936, false], { experts: 160, active: 8, width: 2560 }),
  'qwen3-omni-30b-a3b': routed('qwen3_moe', [48, 2048, 32, 4, 128, 768, 152064, false], { experts: 128, active: 8, width: 768 }),
  'qwen1.5-moe-a2.7b': routed(
    'qwen2_moe',
    [24, 2048, 16, 16, 128, 5632, 151936, false],
    { experts: 60, active: 4, width: 1408 },
    { shared_expert_intermediate_size: 5632, decoder_sparse_step: 1 },
  ),
  'qwen2-57b-a14b': routed(
    'qwen2_moe',
    [28, 3584, 28, 4, 128, 18944, 151936, false],
    { experts: 64, active: 8, width: 2560 },
    { shared_expert_intermediate_size: 20480, decoder_sparse_step: 1 },
  ),
  'olmoe-1b-7b-0924': denseConfig('olmoe', [16, 2048, 16, 16, 128, 1024, 50304, false], { num_experts: 64, num_experts_per_tok: 8 }),
  'glm-4.5': glm45,
  'glm-4.6': { ...glm45 },
  'glm-4.7': { ...glm45 },
  'glm-4.7-flash': {
    ...routed(
      'glm4_moe_lite',
      [47, 2048, 20, 20, 256, 10240, 154880, false],
      { experts: 64, active: 4, width: 1536, shared: 1, dense: 1 },
      { q_lora_rank: 768, kv_lora_rank: 512, qk_nope_head_dim: 192, qk_rope_head_dim: 64, v_head_dim: 256 },
    ),
    head_dim: undefined,
    num_nextn_predict_layers: 0,
  },
  'minimax-m2': minimaxM2,
  'minimax-m2.1': minimaxM2,
  'minimax-m2.5': minimaxM2,
  'minimax-m2.7': minimaxM2,
  'ling-mini-2.0': lingMini,
  'llada2.0-mini': lingMini,
  'llada2.1-mini': lingMini,
  'ling-flash-2.0': routed('dots1', [32, 4096, 32, 4, 128, 9216, 157184, false], {
    experts: 256,
    active: 8,
    width: 1024,
    shared: 1,
    dense: 1,
  }),
  // NVIDIA-NeMo/Automodel, components/models/hy_mt2/config.py
  'hy-mt2-30b-a3b': routed(
    'hy_v3',
    [48, 2048, 32, 4, 128, 6912, 120832, false],
    { experts: 128, active: 8, width: 768, dense: 1 },
    { num_shared_experts: 1 },
  ),
  'hy3-preview': routed(
    'hy_v3',
    [80, 4096, 64, 8, 128, 13312, 120832, false],
    { experts: 192, active: 8, width: 1536, dense: 1 },
    { num_shared_experts: 1 },
  ),
  'minimax-m3': {
    model_type: 'minimax_m3_vl_text',
    num_hidden_layers: 60,
    hidden_size: 6144,
    num_attention_heads: 64,
    num_key_value_heads: 4,
    head_dim: 128,
    intermediate_size: 3072,
    dense_intermediate_size: 12288,
    shared_intermediate_size: 3072,
    num_local_experts: 128,
    num_experts_per_tok: 4,
    mlp_layer_types: [...Array<string>(3).fill('dense'), ...Array<string>(57).fill('sparse')],
    vocab_size: 200064,
    tie_word_embeddings: false,
  },
  'mistral-small-4-119b-2603': {
    ...routed(
      'mistral4',
      [36, 4096, 32, 32, 128, 12288, 131072, false],
      { experts: 128, active: 4, width: 2048, shared: 1, dense: 0 },
      { q_lora_rank: 1024, kv_lora_rank: 256, qk_nope_head_dim: 64, qk_rope_head_dim: 64, v_head_dim: 128 },
    ),
    head_dim: undefined,
  },
  'llama-4-scout-17b-16e': { ...llama4, num_local_experts: 16, interleave_moe_layer_step: 1 },
  'llama-4-maverick-17b-128e': { ...llama4, num_local_experts: 128, interleave_moe_layer_step: 2 },
  'ernie-4.5-21b-a3b': denseConfig('ernie4_5_moe', [28, 2560, 20, 4, 128, 12288, 103424, true], {
    moe_num_experts: 64,
    moe_k: 6,
    moe_intermediate_size: 1536,
    moe_num_shared_experts: 2,
    moe_layer_start_index: 1,
  }),
  dbrx: {
    model_type: 'dbrx',
    n_layers: 40,
    d_model: 6144,
    n_heads: 48,
    max_seq_len: 32768,
    vocab_size: 100352,
    tie_word_embeddings: false,
    attn_config: { kv_n_heads: 8, clip_qkv: 8, rope_theta: 500_000 },
    ffn_config: { ffn_hidden_size: 10752, moe_num_experts: 16, moe_top_k: 4 },
  },
};
