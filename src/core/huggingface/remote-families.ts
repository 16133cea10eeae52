import { bertKeys, llamaKeys, tied, variantOf, type Family } from './family';
import { qwen3Moe } from './expert-families';
import { llama, qwen2 } from './llama-families';

const withBias = { ...llamaKeys, qkvBias: ['bias'], attentionOutputBias: ['bias'] } as const;

/**
 * Families whose classes lie next to their weights on the hub, not in transformers. Source: the modelling files of the repositories named,
 * and the counts of their weights, which the tests hold.
 */
export const remoteFamilies = {
  // baichuan-inc/Baichuan2-7B-Base
  baichuan: variantOf(llama, 'BaichuanConfig', { vocab: 125696, maxPositions: 4096 }, { keys: llamaKeys }),
  // THUDM/chatglm3-6b
  chatglm: variantOf(
    llama,
    'ChatGLMConfig',
    { layers: 28, kvHeads: 2, headDim: 128, ffn: 13696, vocab: 65024, maxPositions: 8192, qkvBias: true },
    {
      keys: {
        ...bertKeys,
        layers: ['num_layers'],
        kvHeads: ['multi_query_group_num'],
        headDim: ['kv_channels'],
        ffn: ['ffn_hidden_size'],
        vocab: ['padded_vocab_size', 'vocab_size'],
        maxPositions: ['seq_length'],
        qkvBias: ['add_qkv_bias'],
      },
    },
  ),
  // deepseek-ai/deepseek-moe-16b-base
  deepseek: variantOf(
    qwen3Moe,
    'DeepseekConfig',
    {
      layers: 28,
      heads: 16,
      kvHeads: 16,
      ffn: 10944,
      vocab: 102400,
      maxPositions: 4096,
      experts: { count: 64, active: 6, ffn: 1408 },
    },
    {
      always: llama.always,
      extras: { sharedExperts: 2, firstDenseLayers: 1 },
    },
  ),
  // internlm/internlm-7b, internlm/internlm2-7b
  internlm: variantOf(llama, 'InternLMConfig', { vocab: 103168, qkvBias: true, attentionOutputBias: true }, { keys: withBias }),
  internlm2: variantOf(llama, 'InternLM2Config', { kvHeads: 8, ffn: 14336, vocab: 92544, maxPositions: 32768 }, { keys: withBias }),
  // openbmb/MiniCPM-2B-sft-bf16
  minicpm: variantOf(llama, 'MiniCPMConfig', { layers: 40, hidden: 2304, heads: 36, ffn: 5760, vocab: 122753, ...tied }),
  // allenai/Molmo-7B-D-0924, whose words of images are only in the embedding
  molmo: variantOf(
    qwen2,
    'MolmoConfig',
    { layers: 28, hidden: 3584, heads: 28, kvHeads: 4, ffn: 18944, vocab: 152064, maxPositions: 4096 },
    {
      keys: { ...llamaKeys, qkvBias: ['qkv_bias'] },
      small: ({ hidden }) => ({ model: 128 * hidden }),
      window: { when: 'flag', tokens: null },
    },
  ),
  // Qwen/Qwen-7B
  qwen: variantOf(llama, 'QWenConfig', { ffn: 11008, vocab: 151936, maxPositions: 8192, qkvBias: true }, { keys: bertKeys }),
  // 01-ai/Yi-6B as first published
  Yi: variantOf(llama, 'YiConfig', { kvHeads: 4, vocab: 64000, maxPositions: 4096 }, { keys: llamaKeys }),
} as const satisfies Readonly<Record<string, Family>>;
