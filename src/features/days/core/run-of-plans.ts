import { ExpectedError } from '../../../core/errors';
import { chosenCandidate, type Plan } from '../../../core/planner/plan';
import { sentence } from '../../../core/sentence';
import { wholeRun, type Phase, type Ranged, type RunConditions, type WholeRun } from './whole-run';

/** What a user gives for a run; its price counts where the files give none. */
export interface DaysConditions extends RunConditions {
  /** GB/s at which all nodes together write a checkpoint; null: `storage` of each. */
  readonly totalStorage: number | null;
}

/** Tokens that are trained by a plan. */
interface PlannedPhase {
  readonly tokens: number;
  readonly plan: Plan;
}

/**
 * What the run of plans takes that follow each other, the last of them with what is left of all tokens.
 * @param tokens of the whole run; null: they are not given. @throws ExpectedError `days-tokens` where none are left for the last plan.
 */
export function runOfPlans(
  before: readonly PlannedPhase[],
  last: Plan,
  tokens: number | null,
  { totalStorage, price, ...conditions }: DaysConditions,
): { readonly found: WholeRun; readonly fits: boolean } {
  const trained = before.reduce((sum, phase) => sum + phase.tokens, 0);
  if (tokens === null || tokens <= trained)
    throw new ExpectedError(
      'days-tokens',
      sentence`The tokens of the whole run are not given, or fewer than its phases have`,
      sentence`give --tokens, as 15T`,
    );
  const all = [...before, { tokens: tokens - trained, plan: last }];
  const rates = all.map(({ tokens: ofPhase, plan }): Phase => {
    const { tokensPerSecond } = chosenCandidate(plan);
    return { tokens: ofPhase, tokensPerSecond, range: plan.cost.range };
  });
  const { cluster } = last.request;
  const storage = totalStorage === null ? conditions.storage : exactly(totalStorage / Math.max(1, cluster.nodes));
  const found = wholeRun(last.request, rates, { ...conditions, storage, price: cluster.pricePerGpuHour ?? price });
  return { found, fits: all.every(({ plan }) => chosenCandidate(plan).fits) };
}

/** A figure that is known. */
export function exactly(value: number): Ranged {
  return { low: value, usual: value, high: value };
}
