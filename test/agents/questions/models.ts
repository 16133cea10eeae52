/** Sizes of a decoder as its config.json has them. */
interface Decoder {
  readonly model_type: string;
  readonly architectures: readonly string[];
  readonly num_hidden_layers: number;
  readonly hidden_size: number;
  readonly intermediate_size: number;
  readonly num_attention_heads: number;
  readonly num_key_value_heads: number;
  readonly head_dim?: number;
  readonly vocab_size: number;
  readonly max_position_embeddings: number;
  readonly tie_word_embeddings: boolean;
  readonly num_local_experts?: number;
  readonly num_experts?: number;
  readonly moe_intermediate_size?: number;
  readonly num_experts_per_tok?: number;
}

type Sizes = readonly [layers: number, hidden: number, ffn: number, heads: number, kvHeads: number, vocab: number, positions: number];

function decoder(
  type: string,
  name: string,
  [layers, hidden, ffn, heads, kvHeads, vocab, positions]: Sizes,
  more: Partial<Decoder> = {},
): Decoder {
  return {
    model_type: type,
    architectures: [`${name}ForCausalLM`],
    num_hidden_layers: layers,
    hidden_size: hidden,
    intermediate_size: ffn,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    vocab_size: vocab,
    max_position_embeddings: positions,
    tie_word_embeddings: false,
    ...more,
  };
}

const llama = (...sizes: Sizes): Decoder => decoder('llama', 'Llama', sizes);

/** Public models, sizes of their config.json. */
export const models = {
  tinyLlama: llama(22, 2048, 5632, 32, 4, 32_000, 2048),
  llama2At7B: llama(32, 4096, 11_008, 32, 32, 32_000, 4096),
  llama2At13B: llama(40, 5120, 13_824, 40, 40, 32_000, 4096),
  llama1At30B: llama(60, 6656, 17_920, 52, 52, 32_000, 2048),
  llama2At70B: llama(80, 8192, 28_672, 64, 8, 32_000, 4096),
  llama3At8B: llama(32, 4096, 14_336, 32, 8, 128_256, 8192),
  llama3At70B: llama(80, 8192, 28_672, 64, 8, 128_256, 8192),
  llama3At405B: llama(126, 16_384, 53_248, 128, 8, 128_256, 131_072),
  mistral7B: decoder('mistral', 'Mistral', [32, 4096, 14_336, 32, 8, 32_000, 32_768]),
  mixtral8x7B: decoder('mixtral', 'Mixtral', [32, 4096, 14_336, 32, 8, 32_000, 32_768], { num_local_experts: 8, num_experts_per_tok: 2 }),
  qwen2At7B: decoder('qwen2', 'Qwen2', [28, 3584, 18_944, 28, 4, 152_064, 131_072]),
  qwen2At500M: decoder('qwen2', 'Qwen2', [24, 896, 4864, 14, 2, 151_936, 32_768], { tie_word_embeddings: true }),
  qwen3At30B: decoder('qwen3_moe', 'Qwen3Moe', [48, 2048, 6144, 32, 4, 151_936, 40_960], {
    head_dim: 128,
    num_experts: 128,
    num_experts_per_tok: 8,
    moe_intermediate_size: 768,
  }),
} as const;

export type ModelName = keyof typeof models;

/** Input of a tool: the model's config.json as a text. */
export function asConfig(name: ModelName): { readonly text: string; readonly name: string } {
  return { text: JSON.stringify(models[name], null, 2), name: 'config.json' };
}

/** Parameters by hand: two embeddings (one if tied), attention, a gated feed-forward network or experts with a router, norms. */
export function countParameters(name: ModelName): number {
  const model: Decoder = models[name];
  const { hidden_size: hidden, num_attention_heads: heads, num_key_value_heads: kvHeads, num_hidden_layers: layers } = model;
  const head = model.head_dim ?? hidden / heads;
  const biases = model.model_type === 'qwen2' ? (heads + 2 * kvHeads) * head : 0;
  const headNorms = model.model_type === 'qwen3_moe' ? 2 * head : 0;
  const attention = hidden * head * (2 * heads + 2 * kvHeads) + biases + headNorms;
  const experts = model.num_local_experts ?? model.num_experts ?? 0;
  const expert = 3 * hidden * (model.moe_intermediate_size ?? model.intermediate_size);
  const feedForward = experts === 0 ? expert : experts * expert + hidden * experts;
  return (model.tie_word_embeddings ? 1 : 2) * model.vocab_size * hidden + layers * (attention + feedForward + 2 * hidden) + hidden;
}

const gib = 2 ** 30;

/** GiB of `bytes` for each parameter of a model, over `ranks` that share it. */
export function stateGib(name: ModelName, bytes: number, ranks = 1): number {
  return (countParameters(name) * bytes) / ranks / gib;
}
