import { noSuchFlags } from '../no-such-flags';
import type { SliceRuntime } from '../slice-runtime';

/** Flags of Megatron-LM's newer versions that Megatron-LM of 2023 has none of: its argparse stops at them. */
export const newerFlags: SliceRuntime['lacks'] = {
  'context-parallel-size': '1',
  'expert-model-parallel-size': '1',
  'expert-tensor-parallel-size': '1',
  'attention-backend': 'flash',
  'num-virtual-stages-per-pipeline-rank': '1',
  'rotary-base': '10000',
  ...noSuchFlags(
    // taken, and read only with Transformer Engine: norms stay LayerNorm
    'normalization',
    'account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split add-qkv-bias attention-output-gate cp-comm-type',
    'cpu-offloading-num-layers cross-entropy-loss-fusion cuda-graph-impl cuda-graph-scope decoder-first-pipeline-num-layers',
    'decoder-last-pipeline-num-layers experimental-attention-variant fp4-format fp8-param-gather fp8-recipe grad-reduce-in-bf16',
    'hybrid-layer-pattern hybrid-override-pattern is-hybrid-model kv-lora-rank linear-attention-freq linear-conv-kernel-dim',
    'linear-key-head-dim linear-num-key-heads linear-num-value-heads linear-value-head-dim mamba-head-dim mamba-num-groups',
    'mamba-num-heads mamba-state-dim moe-ffn-hidden-size moe-flex-dispatcher-backend moe-grouped-gemm moe-latent-size moe-layer-freq',
    'moe-router-group-topk moe-router-num-groups moe-router-topk moe-shared-expert-intermediate-size moe-token-dispatcher-type',
    'mtp-num-layers multi-latent-attention no-check-for-nan-in-loss-and-grad overlap-grad-reduce overlap-moe-expert-parallel-comm',
    'overlap-param-gather pipeline-model-parallel-layout q-lora-rank qk-head-dim qk-layernorm qk-pos-emb-head-dim recompute-modules',
    'rope-scaling-factor spec tp-comm-overlap use-rope-scaling use-tp-pp-dp-mapping v-head-dim',
    'activation-func-clamp-value glu-linear-offset moe-router-enable-expert-bias moe-router-pre-softmax moe-router-score-function',
    'moe-router-topk-scaling-factor moe-shared-expert-gate no-rope-freq quick-geglu rotary-scaling-factor softmax-type',
    'window-attn-skip-freq window-size',
    'moe-aux-loss-coeff moe-router-load-balancing-type moe-z-loss-coeff rotary-interleaved',
  ),
};

/** Token slices over Megatron-LM of 2023, as its authors published them first. */
export const seq1f1b: SliceRuntime = {
  id: 'seq1f1b',
  name: 'thunlp/Seq1F1B',
  version: 'thunlp/Seq1F1B at 68934661',
  source:
    'as MayDomine/Seq1F1B at f54b286c: megatron/arguments.py 254 (width of a gated feed-forward), 732 and 734, megatron/core/pipeline_parallel/sp_utils.py 119, megatron/model/transformer.py 855',
  on: null,
  splits: { flag: 'pipe-sp-splits', usual: 1 },
  rule: { flag: 'pipe-sp-strategy', words: { average: 'average', 'equal-work': 'uniform_comp' }, usual: 'average' },
  lengths: null,
  needs: [{ flag: 'use-flash-attn', word: null }],
  lacks: newerFlags,
  spells: { 'norm-epsilon': 'layernorm-epsilon' },
  takes: {
    'tokenizer-type': ['GPTSentencePieceTokenizer', 'SentencePieceTokenizer', 'GPT2BPETokenizer', 'NullTokenizer'],
    'position-embedding-type': ['learned_absolute', 'rope'],
  },
  limits: ['context', 'experts', 'unfused', 'gated-width'],
  hardware: null,
};
