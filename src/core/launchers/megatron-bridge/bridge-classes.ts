import { own } from '../../records';
/** Layers, hidden size, heads, query groups and feed-forward width. */
type Sizes = readonly [layers: number, hidden: number, heads: number, groups: number, ffn: number];

const llama2: Readonly<Record<string, Sizes>> = {
  Llama2ModelProvider7B: [32, 4096, 32, 32, 11008],
  Llama2ModelProvider13B: [40, 5120, 40, 40, 13824],
  Llama2ModelProvider70B: [80, 8192, 64, 8, 28672],
};
const llama3: Readonly<Record<string, Sizes>> = {
  Llama3ModelProvider8B: [32, 4096, 32, 8, 14336],
  Llama3ModelProvider70B: [80, 8192, 64, 8, 28672],
  Llama31ModelProvider8B: [32, 4096, 32, 8, 14336],
  Llama31ModelProvider70B: [80, 8192, 64, 8, 28672],
  Llama31ModelProvider405B: [126, 16384, 128, 8, 53248],
  Llama32ModelProvider1B: [16, 2048, 32, 8, 8192],
  Llama32ModelProvider3B: [28, 3072, 24, 8, 8192],
};
/** Those of Llama's tokenizers: the classes leave the vocabulary to the tokenizer that is loaded. */
const vocabularies = { llama2: 32000, llama3: 128256 };

/**
 * Sizes of one of Megatron-Bridge's classes of Llama models (`models/llama/llama_provider.py`, 2025), as the text of a HuggingFace config;
 * null for a class that is not known here.
 */
export function bridgeClassConfig(name: string): string | null {
  const family = Object.hasOwn(llama2, name) ? 'llama2' : 'llama3';
  const sizes = family === 'llama2' ? own(llama2, name) : own(llama3, name);
  if (sizes === undefined) return null;
  const [layers, hidden, heads, groups, ffn] = sizes;
  return JSON.stringify({
    model_type: 'llama',
    num_hidden_layers: layers,
    hidden_size: hidden,
    num_attention_heads: heads,
    num_key_value_heads: groups,
    intermediate_size: ffn,
    vocab_size: vocabularies[family],
    tie_word_embeddings: name.startsWith('Llama32'),
    max_position_embeddings: family === 'llama2' ? 4096 : name.startsWith('Llama3M') ? 8192 : 131072,
  });
}
