import { own } from '../records';
import { denseConfig, hubConfigs, type Dense } from './hub-configs';
import { denseModel, denseNames } from './hub-dense';
import { expertConfigs } from './hub-experts';
import { mixedConfigs } from './hub-mixed';

/** T5 and Flan-T5 by their plain names, as the fields of the config.json of each on Hugging Face's hub. */
const t5Configs: Readonly<Record<string, object>> = {
  't5-small': t5Config([6, 512, 8, 2048, 64]),
  't5-base': t5Config([12, 768, 12, 3072, 64]),
  't5-large': t5Config([24, 1024, 16, 4096, 64]),
  't5-3b': t5Config([24, 1024, 32, 16384, 128]),
  't5-11b': t5Config([24, 1024, 128, 65536, 128]),
  'flan-t5-small': t5Config([8, 512, 6, 1024, 64], true),
  'flan-t5-base': t5Config([12, 768, 12, 2048, 64], true),
  'flan-t5-large': t5Config([24, 1024, 16, 2816, 64], true),
  'flan-t5-xl': t5Config([24, 2048, 32, 5120, 64], true),
  'flan-t5-xxl': t5Config([24, 4096, 64, 10240, 64], true),
};

/** @param sizes layers of each stack, width, heads, feed-forward width, elements of a head. */
function t5Config([layers, hidden, heads, ffn, headDim]: readonly [number, number, number, number, number], isGated = false): object {
  return {
    model_type: 't5',
    num_layers: layers,
    num_decoder_layers: layers,
    d_model: hidden,
    num_heads: heads,
    d_ff: ffn,
    d_kv: headDim,
    vocab_size: 32128,
    feed_forward_proj: isGated ? 'gated-gelu' : 'relu',
    tie_word_embeddings: !isGated,
  };
}

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
  'qwen2-audio-7b': [32, 4096, 32, 32, 128, 11008, 156032, false],
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
const deepseekV3: Latent = [61, 7168, 128, 18432, 129280, 256, 8, 1, 2048, 1536, 3];
const latents: Readonly<Record<string, readonly [type: string, sizes: Latent]>> = {
  'deepseek-v2': ['deepseek_v2', [60, 5120, 128, 12288, 102400, 160, 6, 2, 1536, 1536, 1]],
  'deepseek-v2-lite': ['deepseek_v2', [27, 2048, 16, 10944, 102400, 64, 6, 2, 1408, null, 1]],
  'deepseek-v3': ['deepseek_v3', deepseekV3],
  'deepseek-r1': ['deepseek_v3', deepseekV3],
  'moonlight-16b-a3b': ['deepseek_v3', [27, 2048, 16, 11264, 163840, 64, 6, 2, 1408, null, 1]],
  'deepseek-v3.1': ['deepseek_v3', deepseekV3],
  'deepseek-v3.2': ['deepseek_v32', deepseekV3],
  'kimi-k2': ['deepseek_v3', [61, 7168, 64, 18432, 163840, 384, 8, 1, 2048, 1536, 1]],
};

/** The names that `hubSizes` knows. */
export const sizedModels: readonly string[] = [
  ...[qwen3Experts, latents, hubConfigs, expertConfigs, mixedConfigs, t5Configs, mistral, llama, qwen2, qwen3].flatMap((table) =>
    Object.keys(table),
  ),
  ...denseNames,
];

/**
 * Sizes of a language model by its name in lower case, without its owner, as the fields of its config.json; null for an unknown one.
 * Positions and norms are those of `hubPositions`.
 */
export function hubSizes(name: string): object | null {
  const sparse = own(qwen3Experts, name);
  const ranked = own(latents, name);
  const other = denseModel(name);
  if (sparse !== undefined) return sparseConfig(sparse);
  if (ranked !== undefined) return latentConfig(...ranked);
  if (other !== undefined) return denseConfig(...other, other[0] === 'opt' ? { ffn_dim: other[1][5] } : {});
  return (
    own(hubConfigs, name) ??
    own(expertConfigs, name) ??
    own(mixedConfigs, name) ??
    own(t5Configs, name) ??
    knownDense('mistral', own(mistral, name)) ??
    knownDense('llama', own(llama, name)) ??
    knownDense('qwen2', own(qwen2, name.replace('-math-', '-'))) ??
    knownDense('qwen3', own(qwen3, name))
  );
}

function knownDense(type: string, sizes: Dense | undefined): object | null {
  return sizes === undefined ? null : denseConfig(type, sizes, {});
}

function sparseConfig([sizes, experts, active, width]: (typeof qwen3Experts)[string]): object {
  return denseConfig('qwen3_moe', sizes, {
    num_experts: experts,
    num_experts_per_tok: active,
    moe_intermediate_size: width,
    decoder_sparse_step: 1,
  });
}

function latentConfig(type: string, [layers, hidden, heads, ffn, vocab, experts, active, shared, width, queryRank, dense]: Latent): object {
  return {
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
  };
}
