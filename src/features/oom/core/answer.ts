import { formatBytes } from '../../../core/format';
import { slowdownText } from '../../../core/planner/explain/slower';
import type { Plan } from '../../../core/planner/plan';
import { remedyText, type Remedy } from '../../../core/rules/plan/remedy';
import type { Run } from '../../../core/run/run';
import { sentence, type Sentence } from '../../../core/sentence';
import { settingTexts } from '../../../core/terapipe/overrides';
import { againstPlan, priceFixes, type AgainstPlan, type Pricing } from './against-plan';
import type { Evidence } from './evidence';
import { firstFix, type FirstFix } from './fixes';
import { judge, type Verdict } from './verdict';

/** A change of the config with its price. */
interface PricedChange {
  readonly text: Sentence;
  /** Settings of terapipe.json. */
  readonly sets: readonly string[];
  /** Of the stage; left out where the plan fits with it. */
  readonly freesBytes?: number;
  /** Time for as many tokens, over that of the plan, less 1. */
  readonly slower: number;
}

/** What the config of the run adds. */
export interface OomPlan {
  readonly title: string;
  /** Null: the plan has no such stage. */
  readonly against: AgainstPlan | null;
  readonly priced: readonly PricedChange[];
}

/** Why a run ran out of memory. Plain data. */
export interface OomAnswer {
  readonly evidence: Evidence;
  readonly verdict: Verdict;
  readonly fix: FirstFix | null;
  /** Null: no config is named. */
  readonly plan: OomPlan | null;
}

/** The run with its plan. */
export interface PlannedRun extends Pricing {
  readonly run: Run;
  readonly plan: Plan;
  /** Changes with which a plan fits that does not. */
  readonly remedies?: readonly Remedy[];
}

/** What evidence shows, next to the plan of its run, with changes priced. @param planned makes it; null: no config is named. */
export function explainOom(evidence: Evidence, planned: PlannedRun | null): OomAnswer {
  const verdict = judge(evidence);
  return { evidence, verdict, fix: firstFix(verdict), plan: planned === null ? null : ofPlan(evidence, verdict, planned) };
}

function ofPlan(evidence: Evidence, verdict: Verdict, { run, plan, remedies = [], ...pricing }: PlannedRun): OomPlan {
  const against = againstPlan(plan, evidence, verdict);
  const isPriced = against !== null && verdict.cause !== 'none';
  const priced = !isPriced
    ? []
    : remedies.length > 0
      ? remedies.map((remedy) => ({ text: remedyText(remedy), sets: settingTexts(remedy.sets), slower: remedy.slower }))
      : priceFixes(run, plan, against.stage, pricing).map(({ label, ...price }) => ({
          ...price,
          text: sentence`${label}: frees ${formatBytes(price.freesBytes)}, ${slowdownText(price.slower)}`,
        }));
  return { title: plan.request.title, against, priced };
}
