import { flagsSinceCore13, noSuchFlags, type SliceRuntime } from '../slice-runtime';

/** Sea AI Lab's: equal slices in the order of Seq1F1B, on the legacy models. */
export const zeroBubble: SliceRuntime = {
  id: 'zero-bubble',
  name: 'sail-sg/zero-bubble',
  version: 'sail-sg/zero-bubble-pipeline-parallelism at 39f2c186',
  source:
    'megatron/training/arguments.py 418 to 422 and 1564, megatron/core/zbpp_utils.py 73 (tied embeddings), megatron/core/pipeline_parallel/zerobubble/scheduler/seq1f1b.py, megatron/legacy/model',
  on: null,
  splits: { flag: 'num-seq-splits', usual: 1 },
  rule: null,
  lengths: null,
  needs: [
    { flag: 'use-flash-attn', word: null },
    { flag: 'transformer-impl', word: 'local' },
    { flag: 'use-legacy-models', word: null },
  ],
  lacks: {
    'attention-backend': 'flash',
    'expert-tensor-parallel-size': '1',
    'num-virtual-stages-per-pipeline-rank': '1',
    // taken, and not read by the legacy models (megatron/legacy/model/language_model.py 383)
    'rotary-base': '10000',
    ...flagsSinceCore13,
    ...noSuchFlags(
      // taken, and not read by the legacy models
      'qk-layernorm',
      // refused with legacy models (megatron/training/arguments.py 314)
      'overlap-param-gather',
      'account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split cp-comm-type cuda-graph-scope',
      'decoder-first-pipeline-num-layers decoder-last-pipeline-num-layers fp8-param-gather fp8-recipe grad-reduce-in-bf16',
      'is-hybrid-model kv-lora-rank mamba-head-dim mamba-num-groups mamba-state-dim moe-ffn-hidden-size moe-layer-freq',
      'moe-router-enable-expert-bias moe-router-group-topk moe-router-num-groups moe-router-pre-softmax moe-router-score-function',
      'moe-router-topk-scaling-factor moe-shared-expert-intermediate-size mscale mscale-all-dim mtp-num-layers',
      'multi-latent-attention q-lora-rank qk-head-dim qk-pos-emb-head-dim recompute-modules rope-scaling-factor',
      'rotary-scaling-factor use-rope-scaling v-head-dim',
    ),
  },
  spells: {},
  takes: { 'position-embedding-type': ['learned_absolute', 'rope', 'none'] },
  limits: ['context', 'experts', 'tied', 'unfused'],
  hardware: null,
};
