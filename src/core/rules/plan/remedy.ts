import { formatPercent } from '../../format';
import type { Plan } from '../../planner/plan';
import { sentence, type Sentence } from '../../sentence';

/** A change of settings of terapipe.json. */
export interface Change {
  /** Dotted key and value; two where one follows from the other; none where no file can say it. */
  readonly sets: readonly (readonly [key: string, value: string | number | boolean])[];
  /** `Recompute all layers`. */
  readonly label: Sentence;
}

/** A change with which a step fits that does not fit as it is: planned, not estimated. */
export interface Remedy extends Change {
  readonly iterationMs: number;
  /** Time for as many tokens, over that of the plan as it is, less 1: 0.03 is 3 % slower. */
  readonly slower: number;
  /**
   * The plan with it, its chosen candidate alone and not drawn, since it crosses threads; null: the plan as it is, by another of its
   * candidates.
   */
  readonly plan: Plan | null;
}

/** `Recompute all layers: fits, +31 %`. */
export function remedyText({ label, slower }: Remedy): Sentence {
  const cost =
    slower >= 0.005 ? `+${formatPercent(slower)}` : slower <= -0.005 ? sentence`${formatPercent(-slower)} faster` : sentence`as fast`;
  return sentence`${label}: fits, ${cost}`;
}
