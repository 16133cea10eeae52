import { llamaAlways, makeFamily, routedKeys, deriveFamily, type Family } from './family';
import { deepseekV3 } from './expert-families';
import { llama } from './llama-families';

const nativeKeys = { layers: ['n_layers'], hidden: ['dim'], heads: ['n_heads'] } as const;

/**
 * Models as the repositories that made them write their sizes, without a model_type: Llama's `params.json` (meta-llama/llama,
 * `ModelArgs` of `llama/model.py`), DeepSeek's `inference/configs` (deepseek-ai/DeepSeek-V3, `ModelArgs` of `inference/model.py`) and
 * open_lm's `model_configs` (mlfoundations/open_lm, `Params` of `open_lm/model.py`). Their names here are ours.
 */
export const nativeFamilies = {
  'llama-params': deriveFamily(llama, 'ModelArgs of Llama', { keys: { ...nativeKeys, kvHeads: ['n_kv_heads'] } }),
  'deepseek-params': deriveFamily(deepseekV3, 'ModelArgs of DeepSeek', {
    keys: {
      ...nativeKeys,
      ...routedKeys,
      ffn: ['inter_dim'],
      vocab: ['vocab_size'],
      maxPositions: ['max_seq_len'],
      activeExperts: ['n_activated_experts'],
      expertFfn: ['moe_inter_dim'],
    },
    extras: {
      kvLoraRank: 512,
      qLoraRank: 0,
      qkNopeHeadDim: 128,
      qkRopeHeadDim: 64,
      vHeadDim: 128,
      sharedExperts: 2,
      firstDenseLayers: 1,
    },
  }),
  'open-lm': makeFamily('Params of open_lm', {
    keys: {
      ...nativeKeys,
      hidden: ['hidden_dim'],
      vocab: ['vocab_size'],
      tiedEmbeddings: ['weight_tying'],
      maxPositions: ['seq_len'],
    },
    always: llamaAlways,
    traits: { qkNormAcrossHeads: true },
  }),
} as const satisfies Readonly<Record<string, Family>>;
