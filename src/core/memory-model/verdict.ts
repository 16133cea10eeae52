import { formatBytes, formatUsage } from '../format';
import { sentence, type Sentence } from '../sentence';
import { mostCrowdedStage, tightestStage, type StageMemory, type StagePeakMemory } from './profile';

/*
 * Whether a step fits the memory of its GPUs, and the words for it. There is one limit, the usable memory of a GPU: the memory it has less
 * what is kept free. Everything that reports whether something fits asks here.
 */

/** The CUDA context and NCCL's buffers, bytes: 0.5 to 2 GiB on real runs. */
export const contextBytes = 2 ** 30;
/** Mean of max_reserved over max_allocated on all measured B200 ranks, which lie between 1.01 and 1.09. */
export const fragmentation = 0.05;

/**
 * The least fragmentation that was measured. The allocator frees cached blocks before it runs out of memory (`release_cached_blocks` of
 * c10/cuda/CUDACachingAllocator.cpp), so a step that needs more than is usable may still run; one that does not fit even with this does
 * not.
 */
export const leastFragmentation = 0.01;

type MarginInputs = Pick<StageMemory, 'capacityBytes' | 'usableBytes' | 'growsSegments'>;

/** Why this margin of a GPU's memory is kept free. */
export function marginBecause({ capacityBytes, usableBytes, growsSegments }: MarginInputs): Sentence {
  if (growsSegments === true) {
    const kept = formatBytes(capacityBytes - (1 + leastFragmentation) * usableBytes);
    return sentence`${kept} for the CUDA context, NCCL and a segment, and 1 % of the tensors, as segments expand`;
  }
  const kept = formatBytes(capacityBytes - (1 + fragmentation) * usableBytes);
  return sentence`${kept} for the CUDA context and NCCL buffers, and 5 % of the tensors for the allocator's fragmentation`;
}

/** The highest peak of tensors that fits a GPU, bytes. @param outsideBytes bytes outside the allocator. */
export function usablePeakBytes(capacityBytes: number, outsideBytes = contextBytes): number {
  return (capacityBytes - outsideBytes) / (1 + fragmentation);
}

/**
 * The highest peak of tensors that may still run, bytes: with the least fragmentation that was measured.
 * @param outsideBytes bytes outside the allocator.
 */
export function mostPeakBytes(capacityBytes: number, outsideBytes: number): number {
  return (capacityBytes - outsideBytes) / (1 + leastFragmentation);
}

/**
 * A stage's peak, the usable bytes of its GPU (absent: the usual share), the most that may run (absent: the usable bytes), and what the
 * allocator has to give back (absent: nothing).
 */
type Limited = Pick<StageMemory, 'peakBytes' | 'capacityBytes'> & Partial<Pick<StageMemory, 'usableBytes' | 'mostBytes' | 'crowdedBytes'>>;

/** Whether a stage's peak stays within the usable memory of its GPU. */
export function stageFits({ peakBytes, capacityBytes, usableBytes = usablePeakBytes(capacityBytes) }: Limited): boolean {
  return peakBytes <= usableBytes;
}

/** Whether every stage stays within the usable memory of its GPU. */
export function fitsMemory({ stages }: { readonly stages: readonly Limited[] }): boolean {
  return stages.every(stageFits);
}

/** Whether a step fits, by how much, and on which stage that is decided. Bytes. */
export interface MemoryVerdict {
  readonly fits: boolean;
  /**
   * It may fit or not: it needs some of what is kept free for fragmentation, of which a run may need less; or its tensors fit, but not with
   * the blocks that the allocator keeps.
   */
  readonly tight: boolean;
  /** Of that stage: what the allocator has to give back for the step to run (`StageMemory`). */
  readonly crowdedBytes: number;
  /** The stage with the least memory left on its GPU, from 0, and the number of stages. */
  readonly stage: number;
  readonly stages: number;
  /** Its GPU, where stages are on different ones. */
  readonly gpu?: string;
  /** Of that stage: its peak, the highest peak that fits, and its GPU's memory. */
  readonly peakBytes: number;
  readonly usableBytes: number;
  readonly capacityBytes: number;
  /** A file sets that its allocator grows its segments. */
  readonly growsSegments?: true;
  /** `usableBytes - peakBytes`: negative where it does not fit. */
  readonly roomBytes: number;
}

/** The verdict on a peak of one stage, which is the one with the least room. */
export function verdictOfPeak({
  peakBytes,
  capacityBytes,
  usableBytes = usablePeakBytes(capacityBytes),
  mostBytes = usableBytes,
  crowdedBytes = 0,
  ...where
}: Limited & Pick<MemoryVerdict, 'stage' | 'stages' | 'gpu'>): MemoryVerdict {
  const fits = stageFits({ peakBytes, capacityBytes, usableBytes });
  const tight = fits ? crowdedBytes > 0 : peakBytes <= mostBytes;
  return { ...where, fits, tight, crowdedBytes, peakBytes, usableBytes, capacityBytes, roomBytes: usableBytes - peakBytes };
}

/**
 * The verdict on a step: that of the stage with the least memory left on its GPU; where all stages fit, of the one whose cached blocks are
 * the most that has to be given back, if any.
 */
export function memoryVerdict({ stages }: { readonly stages: readonly StagePeakMemory[] }): MemoryVerdict {
  const deciding = (fitsMemory({ stages }) ? mostCrowdedStage(stages) : undefined) ?? tightestStage(stages);
  const {
    stage = 0,
    peakBytes = 0,
    capacityBytes = 0,
    usableBytes = 0,
    mostBytes = 0,
    crowdedBytes = 0,
    growsSegments,
    gpu,
  } = deciding ?? {};
  return verdictOfPeak({
    peakBytes,
    capacityBytes,
    usableBytes,
    mostBytes,
    crowdedBytes,
    stage,
    stages: stages.length,
    ...(growsSegments === true && { growsSegments }),
    ...(gpu === undefined ? {} : { gpu }),
  });
}

/** Whether a step fits, or may fit. */
export function mayFit({ fits, tight }: Pick<MemoryVerdict, 'fits' | 'tight'>): boolean {
  return fits || tight;
}

/** `fits`, `may not fit` or `does not fit`. */
export function verdictWord({ fits, tight }: Pick<MemoryVerdict, 'fits' | 'tight'>): Sentence {
  return tight ? sentence`may not fit` : fits ? sentence`fits` : sentence`does not fit`;
}

/** `76.3 / 74.8 GiB`: the peak and what is usable. */
export function usedText({ peakBytes, usableBytes }: Pick<MemoryVerdict, 'peakBytes' | 'usableBytes'>): string {
  return formatUsage(peakBytes, usableBytes);
}

/**
 * `fits, 3.2 GiB free`, `may not fit: uses 0.5 GiB of the safety margin`, `may not fit: 3.2 GiB free, but cached blocks need 0.5 GiB more
 * than there is` or `does not fit, 1.5 GiB over`.
 */
export function verdictText({
  fits,
  tight,
  roomBytes,
  crowdedBytes,
}: Pick<MemoryVerdict, 'fits' | 'tight' | 'roomBytes' | 'crowdedBytes'>): Sentence {
  if (fits && tight)
    return sentence`may not fit: ${formatBytes(roomBytes)} free, but cached blocks need ${formatBytes(crowdedBytes)} more than there is`;
  if (fits) return sentence`fits, ${formatBytes(roomBytes)} free`;
  const over = formatBytes(-roomBytes);
  return tight ? sentence`may not fit: uses ${over} of the safety margin` : sentence`does not fit, ${over} over`;
}

/** `Stage 0 of 2 needs 76.3 GiB, and 74.8 GiB are usable: does not fit, 1.5 GiB over`. */
export function verdictSentence(verdict: MemoryVerdict): Sentence {
  const { stage, stages, gpu, peakBytes, usableBytes } = verdict;
  const [peak, usable] = [formatBytes(peakBytes), formatBytes(usableBytes)];
  if (gpu !== undefined)
    return sentence`Stage ${stage} of ${stages}, on ${gpu}, needs ${peak}, and ${usable} are usable: ${verdictText(verdict)}`;
  return sentence`Stage ${stage} of ${stages} needs ${peak}, and ${usable} are usable: ${verdictText(verdict)}`;
}

/** What usable means: `4.8 GiB of 79.6 GiB GPU memory is kept free: 1 GiB for the CUDA context ...`. */
export function limitText(verdict: MarginInputs): Sentence {
  const { capacityBytes, usableBytes } = verdict;
  const reason = marginBecause(verdict);
  return sentence`${formatBytes(capacityBytes - usableBytes)} of ${formatBytes(capacityBytes)} GPU memory is kept free: ${reason}`;
}
