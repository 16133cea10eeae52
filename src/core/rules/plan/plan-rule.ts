import type { Run } from '../../formats/run';
import type { Finding } from '../../findings';
import type { Plan } from '../../planner/plan';
import type { Remedy } from './remedies';

/** A rule about what only planning knows: settings that no launcher has, what was chosen, what it needs. */
export interface PlanRule {
  /** Stable; the heading of its page in docs/findings.md. */
  readonly code: string;
  /** Pure, total, empty when nothing is wrong; without a plan, what the files say against each other. */
  readonly check: (run: Run, plan: Plan | null, remedies: readonly Remedy[]) => Finding[];
  /** What it means and what to do, as docs/findings.md says it: Markdown. */
  readonly doc: string;
}
