/** T5 and Flan-T5 by their plain names, as the fields of the config.json of each on Hugging Face's hub. */
export const t5Configs: Readonly<Record<string, object>> = {
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
