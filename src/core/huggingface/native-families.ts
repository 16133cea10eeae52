import { llamaAlways, noBias, plainHeads, routedKeys, untied, variantOf, type Family } from './family';
import { deepseekV3 } from './expert-families';
import { llama } from './llama-families';

const nativeKeys = { layers: ['n_layers'], hidden: ['dim'], heads: ['n_heads'] } as const;

/**
 * Models as the repositories that made them write their sizes, without a model_type: Llama's `params.json` (meta-llama/llama,
 * `ModelArgs` of `llama/model.py`), DeepSeek's `inference/configs` (deepseek-ai/DeepSeek-V3, `ModelArgs` of `inference/model.py`) and
 * open_lm's `model_configs` (mlfoundations/open_lm, `Params` of `open_lm/model.py`). Their names here are ours.
 */
export const nativeFamilies = {
  'llama-params': variantOf(
    llama,
    'ModelArgs of Llama',
    { layers: 32, hidden: 4096, heads: 32, kvHeads: null, ffn: null, vocab: 32000, maxPositions: 2048, ...untied },
    { keys: { ...nativeKeys, kvHeads: ['n_kv_heads'] } },
  ),
  'deepseek-params': variantOf(
    deepseekV3,
    'ModelArgs of DeepSeek',
    {
      layers: 27,
      hidden: 2048,
      heads: 16,
      kvHeads: null,
      ffn: 10944,
      vocab: 102400,
      maxPositions: 16384,
      experts: { count: 64, active: 6, ffn: 1408 },
      ...untied,
    },
    {
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
    },
  ),
  'open-lm': {
    configClass: 'Params of open_lm',
    keys: {
      ...nativeKeys,
      hidden: ['hidden_dim'],
      vocab: ['vocab_size'],
      tiedEmbeddings: ['weight_tying'],
      maxPositions: ['seq_len'],
    },
    defaults: { layers: 8, hidden: 512, heads: 8, ffn: null, vocab: 50432, maxPositions: 2048, ...plainHeads, ...untied, ...noBias },
    always: llamaAlways,
    traits: { qkNormAcrossHeads: true },
  },
} as const satisfies Readonly<Record<string, Family>>;
