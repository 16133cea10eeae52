import type { CancelSignal } from '../../errors';
import type { PassGraph } from './pass-graph';

/**
 * How every sequence of a batch is to be cut, all alike, so that a schedule of a given kind ends first. Times in ms, lengths in tokens
 * (docs/model/slicing.md, The makespan as it is).
 */
export interface MakespanProblem {
  readonly tokens: number;
  /** Slices end at multiples of this many tokens; the last one takes the rest. */
  readonly unit: number;
  /** Slices of a sequence at most. */
  readonly mostSlices: number;
  /** Fewest tokens of a slice, but of the last one where a broken unit is left; one unit where left out. */
  readonly minimumTokens?: number;
  /** How many times a slice has: forward, backward, ... of each stage that differs from others. */
  readonly times: number;
  /** Writes the times of a slice of `tokens` tokens after `context` into `out`. Pure, finite, never negative; need not grow. */
  readonly writeTimes: (tokens: number, context: number, out: Float64Array) => void;
  /** Contexts between which all times are affine in the context; left out: nothing is known, and every slice is asked for. */
  readonly contextKinks?: readonly number[];
  /** The operations of the schedule with this many slices of a sequence; null where it cannot run. */
  readonly buildGraph: (slices: number) => PassGraph | null;
  /** Whether the memory of a cut fits; left out: always. */
  readonly fits?: (lengths: readonly number[]) => boolean;
  /** False for numbers of slices that are not searched, and that the bound knows nothing about. Left out: all are. */
  readonly mayFit?: (slices: number) => boolean;
  /** Cuts that the answer must not be slower than: those of others' rules. Rules that end elsewhere than at units are taken as they are. */
  readonly known?: readonly (readonly number[])[];
}

/** How far the search may go. */
export interface SearchLimits {
  /** Times computed and operations timed, all together, about; a bound on work and so the same on every machine. */
  readonly mostSteps: number;
  /** Share of the makespan at which the gap is small enough; 0: only a proof is. */
  readonly tolerance?: number;
  /** Look only for cuts that end before this, ms. */
  readonly belowMs?: number | undefined;
  /** Gets the steps that were taken, whether a cut was found or not. */
  readonly onSteps?: ((steps: number) => void) | undefined;
  /** A deadline from outside: asked every few milliseconds. */
  readonly isOver?: (() => boolean) | undefined;
  readonly signal?: CancelSignal | undefined;
}

/** The best cut found, and what no cut is faster than. */
export interface MakespanSolution {
  readonly lengths: readonly number[];
  readonly makespanMs: number;
  /** Of all cuts into the numbers of slices looked through, whether they fit memory or not. */
  readonly lowerBoundMs: number;
  /** The bound meets the makespan, up to rounding of sums. */
  readonly exact: boolean;
  /** Parts of the space that were bounded. */
  readonly parts: number;
  readonly steps: number;
}
