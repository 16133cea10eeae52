/**
 * docs/model/slicing.md, Stages that differ. Pipelines whose stages differ by a factor: slice i takes `factors[s] * ms[i]` on stage s.
 * Slices go through all stages in one order (a permutation flow shop), so the time of a whole plan is its longest path: along the slices on
 * one stage, over to the next stages at some slice, on along the slices, and so on.
 */

/** `sum` times the sum of all slices plus `slowest` times the slowest one. */
export interface Objective {
  readonly sum: number;
  readonly slowest: number;
}

/** Factors that differ by less than this share are equal. */
const sameFactor = 1e-12;

/**
 * Eq. 5 for stages that differ. With R the largest factor, no path is longer than R times the sum plus (sum of factors - R) times the
 * slowest slice: leave each stage before the largest out of the one at which it is left, and each after it out of the one at which it is
 * entered, and one operation per slice remains. A path that changes all stages at the slowest slice is that long when the first and the
 * last stage both have factor R (equal stages, or both ends the heaviest).
 */
export function flowShopObjective(factors: readonly number[]): Objective {
  const largest = largestFactor(factors);
  return { sum: largest, slowest: factors.reduce((total, factor) => total + factor, 0) - largest };
}

/** Whether `flowShopObjective` is the time itself, not only an upper bound on it. */
export function formulaIsExact(factors: readonly number[]): boolean {
  const largest = largestFactor(factors) * (1 - sameFactor);
  return (factors[0] ?? 0) >= largest && (factors.at(-1) ?? 0) >= largest;
}

/**
 * Lower bounds on the time of any plan by its sum and its slowest slice: paths that stay on the larger end, or on the largest stage, or
 * change all stages at the slowest slice.
 */
export function flowShopBounds(factors: readonly number[]): readonly Objective[] {
  const largest = largestFactor(factors);
  const at = factors.indexOf(largest);
  const between = (from: number, to: number): Objective => {
    const least = Math.min(factors[from] ?? 0, factors[to] ?? 0);
    const sum = factors.slice(from, to + 1).reduce((total, factor) => total + factor, 0);
    return { sum: least, slowest: sum - least };
  };
  return [between(0, factors.length - 1), between(0, at), between(at, factors.length - 1), { sum: largest, slowest: 0 }];
}

/**
 * The stages on which a longest path may stay for more than one slice: those not overshadowed on both sides by stages at least as slow.
 * Where one is, staying on one of these instead is never shorter. The first and the last stage are always among them.
 */
export function stayingStages(factors: readonly number[]): number[] {
  const ahead = risingFrom(factors);
  const behind = risingFrom(factors.toReversed()).reverse();
  return factors.flatMap((_, stage) => (ahead[stage] === true || behind[stage] === true ? [stage] : []));
}

/** For every factor whether it is larger than all before it. */
function risingFrom(factors: readonly number[]): boolean[] {
  let most = 0;
  return factors.map((factor) => {
    const rises = factor > most;
    if (rises) most = factor;
    return rises;
  });
}

function largestFactor(factors: readonly number[]): number {
  return factors.reduce((most, factor) => Math.max(most, factor), 0);
}

/** How a longest path grows slice by slice, kept for the stages on which it may stay. */
export interface PathGrowth {
  /** Entries of a state: the longest path to each of these stages, ms, 0 before the first slice. */
  readonly size: number;
  /** Factor of staying on each of them, ascending with the stages. */
  readonly stay: Float64Array;
  /** Factors of entering each from the one before: of all stages between, and itself. */
  readonly enter: Float64Array;
  /** Writes the state after one more slice of `ms` to `next`. */
  readonly grow: (state: Float64Array, ms: number, next: Float64Array) => void;
}

export function pathGrowth(factors: readonly number[]): PathGrowth {
  const stages = stayingStages(factors);
  const stay = Float64Array.from(stages, (stage) => factors[stage] ?? 0);
  const enter = Float64Array.from(stages, (stage, index) =>
    factors.slice(index === 0 ? 0 : (stages[index - 1] ?? 0) + 1, stage + 1).reduce((sum, factor) => sum + factor, 0),
  );
  return {
    size: stages.length,
    stay,
    enter,
    grow: (state, ms, next) => {
      let before = 0;
      for (let index = 0; index < stay.length; index++) {
        const stayed = (state[index] ?? 0) + (stay[index] ?? 0) * ms;
        const entered = before + (enter[index] ?? 0) * ms;
        before = stayed > entered ? stayed : entered;
        next[index] = before;
      }
    },
  };
}

/** When the last stage is done with slices of these times in this order, ms. O(slices x stages that matter). */
export function flowShopMs(times: Iterable<number>, factors: readonly number[]): number {
  const { size, grow } = pathGrowth(factors);
  const state = new Float64Array(size);
  for (const ms of times) grow(state, ms, state);
  return state[size - 1] ?? 0;
}
