import { maximum } from '../../numbers';
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

/** What a script has together, or has without another flag, that releases before one refuse. */
interface RefusedBefore {
  readonly minor: number;
  /** Flags, one with its value. */
  readonly flags: readonly string[];
  /** A flag, or one with its value, with which they take it. */
  readonly without?: string;
}

/** From `validate_args`, `TransformerConfig` and `PipelineParallelLayerLayout` of each release. */
const refusedBefore: readonly RefusedBefore[] = [
  { minor: 12, flags: ['num-experts', 'account-for-loss-in-pipeline-split'] },
  { minor: 12, flags: ['num-experts', 'account-for-embedding-in-pipeline-split'] },
  // "multi_latent_attention does not support apply_rope_fusion", which is on
  { minor: 13, flags: ['multi-latent-attention'] },
  // the layers between divide by no stages
  {
    minor: 13,
    flags: ['pipeline-model-parallel-size 2', 'decoder-first-pipeline-num-layers', 'decoder-last-pipeline-num-layers'],
  },
  { minor: 14, flags: ['mtp-num-layers', 'context-parallel-size'], without: 'context-parallel-size 1' },
  { minor: 14, flags: ['mtp-num-layers', 'pipeline-model-parallel-layout'] },
  // "Bias is not supported for MoE"
  { minor: 15, flags: ['num-experts'], without: 'disable-bias-linear' },
  // "Currently GroupedGEMM for MoE only supports bf16 dtype."
  { minor: 16, flags: ['moe-grouped-gemm', 'fp16'] },
  // "Model Spec must be None when using MoEs"
  { minor: 16, flags: ['num-experts', 'spec'] },
];

const oldestMinor = 11;

const minorOfFlag = new Map(flagsOfRelease.flatMap(([minor, flags]) => flags.map((flag) => [flag, minor] as const)));

/** Flags by their names, and with their values. */
function namedFlags(flags: readonly string[]): ReadonlySet<string> {
  return new Set(
    flags.flatMap((flag) => {
      const [name = '', value = ''] = flag.replace(/^--/, '').split(' ');
      return [name, `${name} ${value}`];
    }),
  );
}

/**
 * The minor number of the oldest release of Megatron-LM's core whose argparse has each of these flags.
 * @param flags some of a script's, which may have others.
 */
export function oldestCoreWith(flags: readonly string[]): number {
  return Math.max(oldestMinor, maximum([...namedFlags(flags)].map((key) => minorOfFlag.get(key) ?? oldestMinor)));
}

/**
 * The minor number of the oldest release of Megatron-LM's core that takes all these flags: 13 of 0.13.
 * @param flags all of a script, with their values.
 */
export function oldestCore(flags: readonly string[]): number {
  const written = namedFlags(flags);
  const together = refusedBefore.filter(
    ({ flags: all, without }) => all.every((flag) => written.has(flag)) && (without === undefined || !written.has(without)),
  );
  return Math.max(oldestCoreWith(flags), maximum(together.map(({ minor }) => minor)));
}
