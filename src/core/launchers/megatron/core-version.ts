/**
 * Flags that Megatron-LM takes since a release of its core after 0.11, by its minor number; with a value where older releases take the flag
 * without it. 0.11 is the oldest that takes our scripts: older ones have no `--attention-backend`. From the argparse of each release, which
 * `test/witness/accepted.ts` gives our scripts.
 */
const flagsOfRelease: readonly (readonly [minor: number, flags: readonly string[]])[] = [
  [
    12,
    [
      'cuda-graph-scope',
      'fp8-recipe',
      'grad-reduce-in-bf16',
      'is-hybrid-model',
      'mamba-head-dim',
      'mamba-num-groups',
      'mamba-state-dim',
      'moe-token-dispatcher-type flex',
      'mtp-num-layers',
      'optimizer-cpu-offload',
      'recompute-modules',
    ],
  ],
  [
    13,
    ['fp8-recipe blockwise', 'mamba-num-heads', 'moe-apply-probs-on-input', 'no-rope-freq', 'pipeline-model-parallel-layout', 'qk-l2-norm'],
  ],
  [14, ['overlap-moe-expert-parallel-comm', 'rope-type']],
  [
    15,
    [
      'activation-func-clamp-value',
      'cuda-graph-impl',
      'fp4-format',
      'glu-linear-offset',
      'quick-geglu',
      'softmax-type',
      'window-attn-skip-freq',
      'window-size',
    ],
  ],
  [
    16,
    [
      'attention-output-gate',
      'cpu-offloading-num-layers',
      'cuda-graph-scope attn',
      'experimental-attention-variant',
      'fine-grained-activation-offloading',
      'linear-attention-freq',
      'moe-flex-dispatcher-backend',
      'moe-latent-size',
      'moe-shared-expert-gate',
    ],
  ],
  [17, ['hybrid-layer-pattern']],
  [18, ['cuda-graph-impl full_iteration', 'position-embedding-type yarn']],
  [19, ['no-yarn-correction-range-round-to-int', 'yarn-beta-fast', 'yarn-beta-slow', 'yarn-original-max-position-embeddings']],
];

const oldestMinor = 11;

const minorOfFlag = new Map(flagsOfRelease.flatMap(([minor, flags]) => flags.map((flag) => [flag, minor] as const)));

/**
 * The minor number of the oldest release of Megatron-LM's core that takes all these flags: 13 of 0.13.
 * @param flags as a script has them, with their values.
 */
export function oldestCore(flags: readonly string[]): number {
  const minors = flags.flatMap((flag) => {
    const [name = '', value = ''] = flag.replace(/^--/, '').split(' ');
    return [name, `${name} ${value}`].map((key) => minorOfFlag.get(key) ?? oldestMinor);
  });
  return Math.max(oldestMinor, ...minors);
}
