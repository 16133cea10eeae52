import { bertKeys, llamaKeys, deriveFamily, type Family } from './family';
import { qwen3Moe } from './expert-families';
import { llama, qwen2 } from './llama-families';

const withBias = { ...llamaKeys, qkvBias: ['bias'], attentionOutputBias: ['bias'] } as const;

/**
 * Families whose classes lie next to their weights on the hub, not in transformers. Source: the modelling files of the repositories named,
 * and the counts of their weights, which the tests hold.
 */
export const remoteFamilies = {
  // baichuan-inc/Baichuan2-7B-Base
  baichuan: deriveFamily(llama, 'BaichuanConfig', { keys: llamaKeys }),
  // THUDM/chatglm3-6b
  chatglm: deriveFamily(llama, 'ChatGLMConfig', {
    defaults: { qkvBias: true },
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
  }),
  // deepseek-ai/deepseek-moe-16b-base
  deepseek: deriveFamily(qwen3Moe, 'DeepseekConfig', { always: llama.always, extras: { sharedExperts: 2, firstDenseLayers: 1 } }),
  // internlm/internlm-7b, internlm/internlm2-7b
  internlm: deriveFamily(llama, 'InternLMConfig', { defaults: { qkvBias: true, attentionOutputBias: true }, keys: withBias }),
  internlm2: deriveFamily(llama, 'InternLM2Config', { keys: withBias }),
  // openbmb/MiniCPM-2B-sft-bf16
  minicpm: deriveFamily(llama, 'MiniCPMConfig'),
  // allenai/Molmo-7B-D-0924, whose words of images are only in the embedding
  molmo: deriveFamily(qwen2, 'MolmoConfig', {
    keys: { ...llamaKeys, qkvBias: ['qkv_bias'] },
    small: ({ hidden }) => ({ model: 128 * hidden }),
    window: { when: 'flag', tokens: null },
  }),
  // Qwen/Qwen-7B
  qwen: deriveFamily(llama, 'QWenConfig', { defaults: { qkvBias: true }, keys: bertKeys }),
  // 01-ai/Yi-6B as first published
  Yi: deriveFamily(llama, 'YiConfig', { keys: llamaKeys }),
} as const satisfies Readonly<Record<string, Family>>;
