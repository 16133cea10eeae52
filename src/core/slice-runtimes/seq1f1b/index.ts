import type { SliceRuntime } from '../slice-runtime';

/** Flags of Megatron-LM's newer versions that Megatron-LM of 2023 has none of: its argparse stops at them. */
const newerFlags: SliceRuntime['lacks'] = {
  'context-parallel-size': '1',
  'expert-model-parallel-size': '1',
  'expert-tensor-parallel-size': '1',
  'attention-backend': 'flash',
  'num-virtual-stages-per-pipeline-rank': '1',
  'norm-epsilon': '0.00001',
  'rotary-base': '10000',
  ...Object.fromEntries(
    [
      ...([
        'account-for-embedding-in-pipeline-split',
        'account-for-loss-in-pipeline-split',
        'add-qkv-bias',
        'cp-comm-type',
        'cross-entropy-loss-fusion',
      ] as const),
      ...(['cpu-offloading-num-layers', 'cuda-graph-impl', 'cuda-graph-scope', 'no-check-for-nan-in-loss-and-grad'] as const),
      ...(['decoder-first-pipeline-num-layers', 'decoder-last-pipeline-num-layers', 'pipeline-model-parallel-layout'] as const),
      ...([
        'fp4-format',
        'fp8-param-gather',
        'fp8-recipe',
        'grad-reduce-in-bf16',
        'hybrid-layer-pattern',
        'hybrid-override-pattern',
        'is-hybrid-model',
        'spec',
      ] as const),
      ...(['moe-router-topk', 'moe-ffn-hidden-size', 'moe-grouped-gemm', 'moe-layer-freq', 'moe-token-dispatcher-type'] as const),
      ...(['mtp-num-layers', 'multi-latent-attention', 'overlap-grad-reduce', 'overlap-param-gather', 'qk-layernorm'] as const),
      ...(['normalization', 'rope-scaling-factor', 'use-rope-scaling'] as const),
      ...(['recompute-modules', 'experimental-attention-variant'] as const),
    ].map((flag) => [flag, null]),
  ),
};

/** Token slices over Megatron-LM of 2023, as its authors published them first. */
export const seq1f1b: SliceRuntime = {
  id: 'seq1f1b',
  name: 'Seq1F1B',
  source:
    'thunlp/Seq1F1B at 68934661 (as MayDomine/Seq1F1B at f54b286c): megatron/arguments.py 732 and 734, megatron/core/pipeline_parallel/sp_utils.py 119, megatron/model/transformer.py 855',
  on: null,
  splits: { flag: 'pipe-sp-splits', usual: 1 },
  rule: { flag: 'pipe-sp-strategy', words: { average: 'average', 'equal-work': 'uniform_comp' } },
  lengths: null,
  needs: [{ flag: 'use-flash-attn', word: null }],
  lacks: newerFlags,
  limits: ['context', 'experts'],
  splitsFile: 'megatron/core/pipeline_parallel/sp_utils.py',
};
