import type { TextRange } from '../../core/domain/located';
import type { ElasticPlan } from '../../features/elastic/core/plan';
import type { Plan } from '../../core/planner/plan';
import type { Translate } from '../../core/sentence';

/** A hover as plain text: the face makes markdown of it. */
export interface HoverText {
  readonly range: TextRange;
  /** What the value means; of a cell of a schedule what it does. */
  readonly title: string;
  readonly lines: readonly string[];
}

/** What one value means for the pipeline: a sentence, and what follows from it in this plan. */
export interface Explanation {
  readonly meaning: (t: Translate) => string;
  /** Lines with numbers of the plan; none when the plan has nothing to add. */
  readonly derived?: (plan: Plan, t: Translate) => readonly string[];
  /** The same of a run that freezes layers. */
  readonly elastic?: (plan: ElasticPlan, t: Translate) => readonly string[];
}
