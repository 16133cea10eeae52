import type { Scheme } from '../domain/scheme';
import type { PlanRequest } from '../domain/request';
import type { KeptFree } from '../memory-model/search-margin';
import type { MemoryVerdict } from '../memory-model/verdict';
import type { CostProvenance } from '../domain/slice-cost';
import type { StepPart } from '../planner/explain/step-part-names';
import type { SearchPoint } from './known';
import type { MeasuredChoices } from './search-problem';
import type { SearchCounts } from './search';
import type { SearchKey } from '../domain/layout-choices';
import type { Sentence, Value } from '../sentence';

export { stepPartNames, stepParts, type StepPart } from '../planner/explain/step-part-names';

/** Whether layouts of an answer keep memory free that predictions may be off by, and whether its best does. */
export interface KeptFreeAnswer extends KeptFree {
  /**
   * `launched`: the files' own layout keeps less, and is faster than those that keep this much. `tight`: no layout keeps this much, or only
   * ones that are slower by more than times are known.
   */
  readonly best: 'keeps' | 'launched' | 'tight';
  /** Of `tight`: the time of the fastest that keeps this much over that of the best; null or absent where none does. */
  readonly slowdown?: number | null;
}

/** One layout with what is predicted of it. Times in ms, memory of the worst stage in bytes. */
export interface FoundPlan {
  readonly point: SearchPoint;
  /** `1F1B`, `interleaved 1F1B, 4 virtual stages`, `TeraPipe, 8 slices`, `TeraPipe, solved slices`. */
  readonly name: Value;
  readonly scheme: Scheme;
  readonly iterationMs: number;
  readonly peakBytes: number;
  readonly fits: boolean;
  readonly verdict: MemoryVerdict;
  readonly bubbleRate: number;
  readonly tokensPerSecond: number;
  readonly mfu: number;
  /** Within the error bar of the best. */
  readonly tie: boolean;
  /** They add up to `iterationMs`. */
  readonly parts: Readonly<Record<StepPart, number>>;
}

/** A layout that is not the best, and why, in a sentence. */
export interface RunnerUp {
  readonly plan: FoundPlan;
  readonly why: Sentence;
}

/** A faster layout that does not fit in memory: what it takes and needs at least, and both in a sentence. */
export interface NotFitting {
  readonly layout: Sentence;
  readonly iterationMs: number;
  readonly peakBytes: number;
  readonly why: Sentence;
}

/** A change to the machine or to what is fixed, and the best layout with it, searched again. */
export interface Improvement {
  /** `twice the network bandwidth`. */
  readonly change: Sentence;
  /** How this was found: a search of its own over the same choices. */
  readonly method: 'search';
  /** Null when nothing fits, or no layout uses those GPUs. */
  readonly plan: FoundPlan | null;
  /** Tokens per second over those of the fastest that was found (`fastestFound`); 1 when nothing is gained. */
  readonly speedup: number;
  /** The change with its gain, as a sentence. */
  readonly summary: Sentence;
}

/** What a search answers. */
export interface SearchResult {
  readonly request: PlanRequest;
  readonly gpus: number;
  readonly fixed: readonly SearchKey[];
  /** What measured times fix beyond that; null for predicted times. */
  readonly measured: MeasuredChoices | null;
  /**
   * Of the fastest that fits and those that tie with it (`sameTime`), the one with the least memory; when none fits, the one with the least
   * memory.
   */
  readonly best: FoundPlan;
  /**
   * The layout that the files launch, whether it fits or is in the space or not; null where they do not give it whole, or it has too many
   * operations to simulate.
   */
  readonly launched: FoundPlan | null;
  /** Step time against peak memory, fastest first: none is both slower and larger than another. */
  readonly paretoFront: readonly FoundPlan[];
  /** The fastest that fits of each schedule, fastest first. */
  readonly perSchedule: readonly FoundPlan[];
  readonly runnersUp: readonly RunnerUp[];
  readonly notFitting: readonly NotFitting[];
  /** Most helpful first; empty when not asked for. */
  readonly improvements: readonly Improvement[];
  /** What layouts keep free of each GPU's memory; null where nothing beyond what all keep. */
  readonly keptFree: KeptFreeAnswer | null;
  readonly cost: CostProvenance;
  /** No layout of the space (with slices that are equal, or solved for each) is faster than this; proved: the fastest is this fast. */
  readonly lowerBoundMs: number;
  readonly proved: boolean;
  readonly counts: SearchCounts;
}

/** The fastest layout that was found and fits; the best where none does. */
export function fastestFound({ best, paretoFront }: Pick<SearchResult, 'best' | 'paretoFront'>): FoundPlan {
  return (best.fits ? paretoFront[0] : undefined) ?? best;
}

/** How much slower the fastest that was found may be than the fastest layout there could be, as a share: 0 when proved. */
export function optimalityGap(result: SearchResult): number {
  return Math.max(0, fastestFound(result).iterationMs / result.lowerBoundMs - 1);
}
