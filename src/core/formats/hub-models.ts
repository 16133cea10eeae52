/** Layers, hidden size, heads, key/value heads, size of a head, feed-forward width, vocabulary, and whether embedding and head are one. */
type Dense = readonly [number, number, number, number, number, number, number, boolean];

const llama: Readonly<Record<string, Dense>> = {
  'llama-3.2-1b': [16, 2048, 32, 8, 64, 8192, 128256, true],
  'llama-3.2-3b': [28, 3072, 24, 8, 128, 8192, 128256, true],
  'llama-3.1-8b': [32, 4096, 32, 8, 128, 14336, 128256, false],
  'llama-3.1-70b': [80, 8192, 64, 8, 128, 28672, 128256, false],
  'llama-3.3-70b': [80, 8192, 64, 8, 128, 28672, 128256, false],
};

const qwen2: Readonly<Record<string, Dense>> = {
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

/**
 * Sizes of a model of Hugging Face's hub by its name (`Qwen/Qwen2.5-7B-Instruct`), as the text of its config.json; null for one that is not
 * known here. Those are named that launchers' examples train; of their variants only the ones with the same sizes.
 */
export function hubModel(name: string): string | null {
  const own = /^(?:meta-llama|Qwen)\/([\w.-]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const base = own
    .replace(/^meta-/, '')
    .replace(/^(qwen2\.5)-math-(1\.5b|7b|72b)/, '$1-$2')
    .replace(/-(?:instruct|base|thinking)?(?:-2507)?$/, '');
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
  return dense('llama', llama) ?? dense('qwen2', qwen2) ?? dense('qwen3', qwen3);
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
