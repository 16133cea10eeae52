import type { Plan } from '../../planner/plan';
import { slowdownText } from '../../planner/explain/slower';
import { sentence, type Sentence } from '../../sentence';

/** A value of terapipe.json. */
export type SetValue = string | number | boolean | readonly string[];

/** A change of settings of terapipe.json. */
export interface Change {
  /** Dotted key and value; several where one follows from another; none where no setting of a file sets it. */
  readonly sets: readonly (readonly [key: string, value: SetValue])[];
  /** `Recompute all layers`. */
  readonly label: Sentence;
}

/** A change with which a step fits that does not fit as it is: planned, not estimated. */
export interface Remedy extends Change {
  readonly iterationMs: number;
  /** Time for as many tokens, over that of the plan as it is, less 1: 0.03 is 3 % slower. */
  readonly slower: number;
  /**
   * The plan with it, only its chosen candidate and not drawn, since it crosses threads; null: the plan as it is, by another of its
   * candidates.
   */
  readonly plan: Plan | null;
}

/** `Recompute all layers: fits, 31 % slower`. */
export function remedyText({ label, slower }: Pick<Remedy, 'label' | 'slower'>): Sentence {
  return sentence`${label}: fits, ${slowdownText(slower)}`;
}
