import type { MegatronFork } from '../fork';

/** Huawei's MindSpeed-LLM (once ModelLink) on MindSpeed, for Ascend NPUs: patches over Megatron Core. */
export const mindspeed: MegatronFork = {
  name: 'MindSpeed-LLM',
  source: 'Ascend/MindSpeed-LLM at c77308a1, Ascend/MindSpeed at 028de58c',
  signs: {
    flags: [
      'num-layer-list',
      'noop-layers',
      'first-k-dense-replace',
      'schedules-method',
      'enable-seq1f1b',
      'context-parallel-algo',
      'use-fused-rmsnorm',
      'use-fused-swiglu',
      'use-fused-rotary-pos-emb',
      'use-fused-ring-attention-update',
      'use-cp-send-recv-overlap',
      'reuse-fp32-param',
      'swap-attention',
      'recompute-activation-function',
      'enable-recompute-layers-per-pp-rank',
      'tokenizer-not-use-fast',
      'moe-permutation-async-comm',
      'moe-tp-extend-ep',
      'use-ascend-coc',
      'use-ascend-mc2',
      'no-shared-storage',
      'optimize-recompute-communication-level',
    ],
    text: /\b(?:MindSpeed|ModelLink|mindspeed_llm|modellink)\b|PYTORCH_NPU_ALLOC_CONF|NPUS_PER_NODE/,
    repository: /MindSpeed|ModelLink/i,
  },
  choices: {},
  // recompute of activation functions and swapped attention take the number of layers too (mindspeed/arguments.py 774)
  traits: { ignoresLoneRecompute: false },
};
