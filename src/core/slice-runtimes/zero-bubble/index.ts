import { noSuchFlags } from '../no-such-flags';
import type { SliceRuntime } from '../slice-runtime';

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
    ...noSuchFlags(
      'qk-layernorm',
      // refused with legacy models (megatron/training/arguments.py 314)
      'overlap-param-gather',
      'account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split attention-output-gate cp-comm-type',
      'cpu-offloading-num-layers cuda-graph-impl cuda-graph-scope decoder-first-pipeline-num-layers decoder-last-pipeline-num-layers',
      'experimental-attention-variant fp4-format fp8-param-gather fp8-recipe grad-reduce-in-bf16 hybrid-layer-pattern is-hybrid-model',
      'kv-lora-rank linear-attention-freq linear-conv-kernel-dim linear-key-head-dim linear-num-key-heads linear-num-value-heads',
      'linear-value-head-dim mamba-head-dim mamba-num-groups mamba-num-heads mamba-state-dim moe-ffn-hidden-size',
      'moe-flex-dispatcher-backend moe-latent-size moe-layer-freq moe-router-group-topk moe-router-num-groups',
      'moe-shared-expert-intermediate-size mtp-num-layers multi-latent-attention overlap-moe-expert-parallel-comm',
      'pipeline-model-parallel-layout q-lora-rank qk-head-dim qk-pos-emb-head-dim recompute-modules rope-scaling-factor',
      'use-rope-scaling v-head-dim',
      'activation-func-clamp-value glu-linear-offset moe-router-enable-expert-bias moe-router-pre-softmax moe-router-score-function',
      'moe-router-topk-scaling-factor moe-shared-expert-gate no-rope-freq quick-geglu rotary-scaling-factor softmax-type',
      'window-attn-skip-freq window-size',
    ),
  },
  spells: {},
  takes: {},
  limits: ['context', 'experts', 'tied', 'unfused'],
  hardware: null,
};
