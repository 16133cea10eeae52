import type { ChunkMemory } from './chunk-memory';
import type { Sentence } from '../sentence';

/** Named parts of a stage's peak, in the order they are stacked. */
export const memoryParts = [
  'weights',
  'gradients',
  'optimizer',
  'dummyGradients',
  'workspaces',
  'activations',
  'keysValues',
  'logits',
  'keptForWeights',
  'backwardOperation',
] as const;
export type MemoryPart = (typeof memoryParts)[number];

/** The `peakOperation` of a peak in the optimizer's step, whose bytes are in the part `backwardOperation`. */
export const optimizerStepName = 'optimizer step';

/** The GPU of a stage. */
interface StageGpu {
  readonly name: string;
  readonly memoryBytes: number;
}

/** Memory of every GPU, bytes; or the GPU of each stage, where stages are on different GPUs. */
export type GpuMemory = number | readonly StageGpu[];

/** Memory of a stage's GPU, bytes. @throws Error for a stage without a GPU. */
export function gpuCapacity(gpuMemory: GpuMemory, stage: number): number {
  if (typeof gpuMemory === 'number') return gpuMemory;
  const gpu = gpuMemory[stage];
  if (gpu === undefined) throw new Error(`stage ${stage} has no GPU`);
  return gpu.memoryBytes;
}

/** Peak memory of one stage (of one GPU in it), bytes: tensors (torch's `max_allocated`); the parts add up to `peakBytes`. */
export interface StageMemory {
  readonly stage: number;
  readonly parts: Readonly<Record<MemoryPart, number>>;
  readonly peakBytes: number;
  /** Memory of its GPU, and the GPU's name where stages are on different ones. */
  readonly capacityBytes: number;
  readonly gpu?: string;
  /** The highest peak that fits it. */
  readonly usableBytes: number;
  /** The highest peak that may run on it (`mostPeakBytes`); the same where what the runtime leaves unused was not measured. */
  readonly mostBytes: number;
  /**
   * What PyTorch's allocator reserves (`max_reserved`): the peak, what fragmentation leaves unused, and blocks that other moments of a step
   * need.
   */
  readonly reservedBytes: number;
  /**
   * What the allocator would reserve beyond what its GPU has, 0 where it has enough: this much of what is cached has to be given back for
   * the step to run. 0 under runtimes whose blocks are not counted one by one, or that set expandable segments.
   */
  readonly crowdedBytes: number;
  /** A file sets that the allocator grows its segments, so that little is kept free for fragmentation. */
  readonly growsSegments?: true;
  /** GPU memory in use, as `nvidia-smi` shows it: what is reserved, the CUDA context and NCCL's buffers. */
  readonly inUseBytes: number;
  /** The operation whose working set makes the peak, in words: `head backward`, `activation backward`, ... */
  readonly peakOperation: string;
  /** Alive all the time: weights, gradients, optimizer, dummy gradients, workspaces. */
  readonly staticBytes: number;
  /**
   * Row of the schedule's operation during which the peak is, -1 without operations: at its start in the timeline of that schedule,
   * `startMs[peakRow]`.
   */
  readonly peakRow: number;
  /**
   * Most work units (slices, in a sliced schedule) between the start of their forward and the end of their whole backward at once; once for
   * each chunk they are on.
   */
  readonly unitsInFlight: number;
  /** Most bytes of its activations in host memory at once, of one rank. */
  readonly hostBytes: number;
}

/** What the verdict on a stage is made of. */
export type StagePeakMemory = Pick<
  StageMemory,
  'stage' | 'gpu' | 'peakBytes' | 'capacityBytes' | 'usableBytes' | 'mostBytes' | 'growsSegments' | 'crowdedBytes'
>;

export interface MemoryProfile {
  /** Which framework's habits were counted. */
  readonly runtime: string;
  readonly stages: readonly StageMemory[];
  /** What units hold on each chunk, for curves over time (`liveCurve`). */
  readonly chunks: readonly ChunkMemory[];
  /** Memory of the GPU: that of the tightest stage, where stages are on different GPUs. */
  readonly capacityBytes: number;
  /** Kept free for the CUDA context, NCCL's buffers and fragmentation: the step fits when peak + margin <= capacity (`memoryVerdict`). */
  readonly marginBytes: number;
  readonly marginBecause: Sentence;
}

/** The stage whose allocator has to give back most; undefined where none has to. */
export function mostCrowdedStage<T extends Pick<StageMemory, 'crowdedBytes'>>(stages: readonly T[]): T | undefined {
  return stages.reduce<T | undefined>((most, stage) => (stage.crowdedBytes > (most?.crowdedBytes ?? 0) ? stage : most), undefined);
}

/** The stage with the least memory left on its GPU; undefined without stages. Where all GPUs are alike, the one with the highest peak. */
export function tightestStage<T extends Pick<StageMemory, 'usableBytes' | 'peakBytes'>>(stages: readonly T[]): T | undefined {
  const room = ({ usableBytes, peakBytes }: T): number => usableBytes - peakBytes;
  return stages.reduce<T | undefined>((least, stage) => (least === undefined || room(stage) < room(least) ? stage : least), undefined);
}
