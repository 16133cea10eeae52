import { own } from '../records';
import type { Dense } from './hub-configs';

/** Layers, hidden size, heads, feed-forward width, vocabulary, of a model whose heads have keys and values of their own. */
type Plain = readonly [layers: number, hidden: number, heads: number, ffn: number, vocab: number];

function plain([layers, hidden, heads, ffn, vocab]: Plain, tied = false): Dense {
  return [layers, hidden, heads, heads, hidden / heads, ffn, vocab, tied];
}

/** A model of the GPT kind: four times its width between the products. */
function fourfold(layers: number, hidden: number, heads: number, vocab: number, tied: boolean): Dense {
  return plain([layers, hidden, heads, 4 * hidden, vocab], tied);
}

/**
 * Dense models by their plain names, with the type of their config.json and its sizes. Source: the config.json of each on Hugging Face's
 * hub; the tests hold the counts of parameters to those of its pages.
 */
const denseModels: Readonly<Record<string, Readonly<Record<string, Dense>>>> = {
  llama: {
    'llama-7b': plain([32, 4096, 32, 11008, 32000]),
    'llama-13b': plain([40, 5120, 40, 13824, 32000]),
    'llama-30b': plain([60, 6656, 52, 17920, 32000]),
    'llama-65b': plain([80, 8192, 64, 22016, 32000]),
    'tinyllama-1.1b': [22, 2048, 32, 4, 64, 5632, 32000, false],
    'llama-3.1-tulu-3-8b': [32, 4096, 32, 8, 128, 14336, 128264, false],
    'llama-3.1-tulu-3-70b': [80, 8192, 64, 8, 128, 28672, 128264, false],
    'yi-6b': [32, 4096, 32, 4, 128, 11008, 64000, false],
    'yi-34b': [60, 7168, 56, 8, 128, 20480, 64000, false],
    'seed-coder-8b': [32, 4096, 32, 8, 128, 14336, 155136, false],
    'tiny-random-llamaforcausallm': plain([2, 16, 4, 64, 32000]),
    // a decoder of Llama's kind that attends to both sides
    'llada-8b': plain([32, 4096, 32, 12288, 126464]),
  },
  qwen2: {
    'qwen1.5-0.5b': plain([24, 1024, 16, 2816, 151936], true),
    'qwen1.5-1.8b': plain([24, 2048, 16, 5504, 151936]),
    'qwen1.5-4b': plain([40, 2560, 20, 6912, 151936]),
    'qwen1.5-7b': plain([32, 4096, 32, 11008, 151936]),
    'qwen1.5-14b': plain([40, 5120, 40, 13696, 152064]),
    'qwen1.5-32b': [64, 5120, 40, 8, 128, 27392, 152064, false],
    'qwen1.5-72b': plain([80, 8192, 64, 24576, 152064]),
  },
  qwen3: {
    'qwen3-embedding-0.6b': [28, 1024, 16, 8, 128, 3072, 151669, true],
    'qwen3-embedding-4b': [36, 2560, 32, 8, 128, 9728, 151665, true],
    'qwen3-embedding-8b': [36, 4096, 32, 8, 128, 12288, 151665, true],
    'qwen3-reranker-0.6b': [28, 1024, 16, 8, 128, 3072, 151669, true],
    'qwen3-reranker-4b': [36, 2560, 32, 8, 128, 9728, 151669, true],
    'qwen3-reranker-8b': [36, 4096, 32, 8, 128, 12288, 151669, true],
  },
  mistral: {
    'mistral-small-24b-2501': [40, 5120, 32, 8, 128, 32768, 131072, false],
    'devstral-small-2-24b-2512': [40, 5120, 32, 8, 128, 32768, 131072, false],
  },
  gpt_neox: {
    'pythia-14m': fourfold(6, 128, 4, 50304, false),
    'pythia-70m': fourfold(6, 512, 8, 50304, false),
    'pythia-160m': fourfold(12, 768, 12, 50304, false),
    'pythia-410m': fourfold(24, 1024, 16, 50304, false),
    'pythia-1b': fourfold(16, 2048, 8, 50304, false),
    'pythia-1.4b': fourfold(24, 2048, 16, 50304, false),
    'pythia-2.8b': fourfold(32, 2560, 32, 50304, false),
    'pythia-6.9b': fourfold(32, 4096, 32, 50432, false),
    'pythia-12b': fourfold(36, 5120, 40, 50688, false),
    'gpt-neox-20b': fourfold(44, 6144, 64, 50432, false),
  },
  opt: {
    'opt-125m': fourfold(12, 768, 12, 50272, true),
    'opt-1.3b': fourfold(24, 2048, 32, 50272, true),
    'opt-2.7b': fourfold(32, 2560, 32, 50272, true),
    'opt-6.7b': fourfold(32, 4096, 32, 50272, true),
    'opt-13b': fourfold(40, 5120, 40, 50272, true),
    'opt-30b': fourfold(48, 7168, 56, 50272, true),
    'opt-66b': fourfold(64, 9216, 72, 50272, true),
  },
  bloom: {
    'bloom-560m': fourfold(24, 1024, 16, 250880, true),
    'bloom-1b1': fourfold(24, 1536, 16, 250880, true),
    'bloom-1b7': fourfold(24, 2048, 16, 250880, true),
    'bloom-3b': fourfold(30, 2560, 32, 250880, true),
    'bloom-7b1': fourfold(30, 4096, 32, 250880, true),
    bloom: fourfold(70, 14336, 112, 250880, true),
  },
  phi: { 'phi-2': fourfold(32, 2560, 32, 51200, false) },
  phi3: {
    'phi-3-medium-4k': [40, 5120, 40, 10, 128, 17920, 32064, false],
    'phi-4-mini': [32, 3072, 24, 8, 128, 8192, 200064, true],
  },
  starcoder2: {
    'starcoder2-3b': [30, 3072, 24, 2, 128, 12288, 49152, true],
    'starcoder2-7b': [32, 4608, 36, 4, 128, 18432, 49152, true],
    'starcoder2-15b': [40, 6144, 48, 4, 128, 24576, 49152, false],
  },
  olmo: {
    'olmo-7b': plain([32, 4096, 32, 11008, 50304]),
    'olmo-1b': plain([16, 2048, 16, 8192, 50304], true),
    'olmo-1.7-1b': plain([16, 2048, 16, 8192, 50304], true),
  },
  glm: { 'glm-4-9b': [40, 4096, 32, 2, 128, 13696, 151552, false] },
  glm4: { 'glm-4-32b-0414': [61, 6144, 48, 2, 128, 23040, 151552, false] },
  granite: {
    'granite-3.3-2b': [40, 2048, 32, 8, 64, 8192, 49159, true],
    'granite-3.3-8b': [40, 4096, 32, 8, 128, 12800, 49159, true],
  },
  cohere2: { 'c4ai-command-r7b-12-2024': [32, 4096, 32, 8, 128, 14336, 256000, true] },
  nemotron: { 'nemotron-mini-4b': [32, 3072, 24, 8, 128, 9216, 256000, false] },
  ernie4_5: { 'ernie-4.5-0.3b': [18, 1024, 16, 2, 128, 3072, 103424, true] },
  baichuan: {
    'baichuan2-7b': plain([32, 4096, 32, 11008, 125696]),
    'baichuan2-13b': plain([40, 5120, 40, 13696, 125696]),
  },
  internlm2: {
    'internlm2-1_8b': [24, 2048, 16, 8, 128, 8192, 92544, false],
    'internlm2-7b': [32, 4096, 32, 8, 128, 14336, 92544, false],
    'internlm2-20b': [48, 6144, 48, 8, 128, 16384, 92544, false],
  },
};

const byName: ReadonlyMap<string, readonly [type: string, sizes: Dense]> = new Map(
  Object.keys(denseModels).flatMap((type) =>
    Object.entries(own(denseModels, type) ?? {}).map(([name, sizes]) => [name, [type, sizes]] as const),
  ),
);

export const denseNames: readonly string[] = [...byName.keys()];

/** Type and sizes of a dense model by its plain name. */
export function denseModel(name: string): readonly [type: string, sizes: Dense] | undefined {
  return byName.get(name);
}
