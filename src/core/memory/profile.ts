/** Named parts of a stage's peak, in the order they are stacked. */
export const memoryParts = [
  'weights',
  'gradients',
  'optimizer',
  'dummyGradients',
  'activations',
  'keysValues',
  'logits',
  'backwardOperation',
] as const;
export type MemoryPart = (typeof memoryParts)[number];

/** Peak memory of one stage (of one GPU in it), bytes; the parts add up to `peakBytes`. */
export interface StageMemory {
  readonly stage: number;
  readonly parts: Readonly<Record<MemoryPart, number>>;
  readonly peakBytes: number;
  /** The operation whose working set makes the peak, in words: `head backward`, `activation backward`, ... */
  readonly peakOperation: string;
  /** Alive all the time: weights, gradients, optimizer, dummy gradients. */
  readonly staticBytes: number;
  /** Saved from the forward of each work unit to its backward: one entry per unit of the schedule, for the live curve. */
  readonly unitBytes: Float64Array;
  /** Most work units (slices, in a sliced schedule) between the start of their forward and the end of their backward at once. */
  readonly unitsInFlight: number;
}

export interface MemoryProfile {
  /** Which framework's habits were counted. */
  readonly runtime: string;
  readonly stages: readonly StageMemory[];
  /** The card's memory. */
  readonly capacityBytes: number;
  /** Kept free for the CUDA context, NCCL buffers and fragmentation: a plan fits when peak + margin <= capacity. */
  readonly marginBytes: number;
  readonly marginBecause: string;
}
