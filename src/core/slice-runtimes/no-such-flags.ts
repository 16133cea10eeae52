/** Flags that a runtime does not know, in lines of names: no value of them is as good as none. */
export function noSuchFlags(...lines: readonly string[]): Readonly<Record<string, null>> {
  return Object.fromEntries(lines.flatMap((line) => line.split(' ')).map((flag) => [flag, null]));
}

/** Flags that Megatron-LM has had since core 0.13: forks of an earlier version know none of them. */
export const flagsSinceCore13 = {
  'num-distributed-optimizer-instances': '1',
  ...noSuchFlags(
    'activation-func-clamp-value attention-output-gate cpu-offloading-num-layers cuda-graph-impl experimental-attention-variant fp4-format',
    'glu-linear-offset hybrid-layer-pattern linear-attention-freq linear-conv-kernel-dim linear-key-head-dim linear-num-key-heads',
    'linear-num-value-heads linear-value-head-dim mamba-num-heads moe-apply-probs-on-input moe-flex-dispatcher-backend moe-latent-size',
    'moe-shared-expert-gate no-rope-freq no-yarn-correction-range-round-to-int overlap-moe-expert-parallel-comm',
    'pipeline-model-parallel-layout quick-geglu softmax-type window-attn-skip-freq window-size yarn-beta-fast yarn-beta-slow',
    'yarn-original-max-position-embeddings',
  ),
};
