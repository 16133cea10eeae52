/** Parts of a layer that can be recomputed without the rest, as Megatron-LM names them (`--recompute-modules`, core 0.15). */
export const recomputeModules = ['core_attn', 'layernorm', 'mla_up_proj', 'mlp', 'moe', 'moe_act', 'shared_experts'] as const;
export type RecomputeModule = (typeof recomputeModules)[number];

/**
 * What is computed again: nothing; named modules; whole layers; under `op` every second GEMM and what is element-wise, and under `every`
 * each `recomputeEvery`-th layer whole (TorchTitan's `selective_ac_option`: `op` or a number).
 */
export const recomputeModes = ['none', 'selective', 'full', 'op', 'every'] as const;
type RecomputeMode = (typeof recomputeModes)[number];

/** Which parts of a layer are computed again in backward instead of kept. */
export interface Recompute {
  readonly recompute: RecomputeMode;
  /**
   * Under `full`: this many layers of each chunk, which is a stage without virtual ones (Megatron-LM's block method counts in its
   * `TransformerBlock`, one per virtual stage); absent: all.
   */
  readonly recomputeLayers?: number;
  /**
   * Under `full`: layers that are recomputed together, from the input of the first (Megatron-LM's uniform method with more than one layer);
   * absent: 1.
   */
  readonly recomputeGroup?: number;
  /** Under `selective`: what is recomputed; absent: only the attention core. */
  readonly recomputeModules?: readonly RecomputeModule[];
  /** Under `every`: the period, in layers; absent: 2. */
  readonly recomputeEvery?: number;
}

/** Whether `module` is recomputed without the rest of its layer. */
export function isRecomputed({ recompute, recomputeModules: named }: Recompute, module: RecomputeModule): boolean {
  return recompute === 'selective' && (named === undefined ? module === 'core_attn' : named.includes(module));
}

/** A chunk as far as what is recomputed of it goes. */
interface RecomputedChunk {
  readonly layers: number;
}

/** Layers of a chunk that are recomputed whole. */
export function wholeLayers({ recompute, recomputeLayers, recomputeEvery = 2 }: Recompute, { layers }: RecomputedChunk): number {
  if (recompute === 'every') return Math.floor(layers / recomputeEvery);
  return recompute === 'full' ? Math.min(layers, recomputeLayers ?? layers) : 0;
}

/** Inputs kept of `whole` layers of a chunk that are recomputed whole: one a group. */
export function keptInputs({ recomputeGroup = 1 }: Recompute, whole: number): number {
  return Math.ceil(whole / recomputeGroup);
}
