import type { SliceRuntime } from '../slice-runtime';

/** Sea AI Lab's: equal slices in the order of Seq1F1B, on the legacy models. */
export const zeroBubble: SliceRuntime = {
  id: 'zero-bubble',
  name: 'zero-bubble-pipeline-parallelism',
  source:
    'sail-sg/zero-bubble-pipeline-parallelism at 39f2c186: megatron/training/arguments.py 418 to 422 and 1564, megatron/core/pipeline_parallel/zerobubble/scheduler/seq1f1b.py',
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
    ...Object.fromEntries(
      [
        ...(['account-for-embedding-in-pipeline-split', 'account-for-loss-in-pipeline-split', 'cp-comm-type'] as const),
        ...(['decoder-first-pipeline-num-layers', 'decoder-last-pipeline-num-layers', 'pipeline-model-parallel-layout'] as const),
        ...([
          'cpu-offloading-num-layers',
          'cuda-graph-impl',
          'cuda-graph-scope',
          'fp8-param-gather',
          'fp8-recipe',
          'fp4-format',
          'grad-reduce-in-bf16',
          'hybrid-layer-pattern',
        ] as const),
        ...(['moe-ffn-hidden-size', 'moe-layer-freq', 'mtp-num-layers', 'multi-latent-attention', 'recompute-modules'] as const),
        ...(['rope-scaling-factor', 'use-rope-scaling'] as const),
      ].map((flag) => [flag, null]),
    ),
  },
  limits: ['context', 'experts'],
  splitsFile: null,
};
