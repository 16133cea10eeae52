import type { ChunkMemory } from './chunk-memory';

/** Named parts of a stage's peak, in the order they are stacked. */
export const memoryParts = [
  'weights',
  'gradients',
  'optimizer',
  'dummyGradients',
  'activations',
  'keysValues',
  'logits',
  'keptForWeights',
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
  /** Row of the schedule's operation during which the peak is, -1 without operations: at its start in the timeline of that schedule, `startMs[peakRow]`. */
  readonly peakRow: number;
  /** Most work units (slices, in a sliced schedule) between the start of their forward and the end of their whole backward at once; once for each chunk they are on. */
  readonly unitsInFlight: number;
}

export interface MemoryProfile {
  /** Which framework's habits were counted. */
  readonly runtime: string;
  readonly stages: readonly StageMemory[];
  /** What units hold on each chunk, for curves over time (`liveCurve`). */
  readonly chunks: readonly ChunkMemory[];
  /** The card's memory. */
  readonly capacityBytes: number;
  /** Kept free for the CUDA context, NCCL buffers and fragmentation: a plan fits when peak + margin <= capacity. */
  readonly marginBytes: number;
  readonly marginBecause: string;
}
