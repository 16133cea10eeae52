import { maximum, mean, sum } from '../../numbers';
import type { IdleCause } from '../../schedules/simulate/gaps';
import { stepCosts } from './limit-labels';
import type { Candidate, Plan } from '../plan';
import type { StepPart } from './step-part-names';

/** What most of the bubble is, by what one can do about it. */
export type BubbleCause = 'fill' | 'data' | 'link' | 'slowest';

/** The largest part of a step but its compute, or that. */
export interface Loss {
  readonly to: StepPart;
  /** Of the step, 0..1: the mean of all stages, as wherever shares of the step are shown. */
  readonly share: number;
  /** What most of the bubble is; null of other parts. */
  readonly cause: BubbleCause | null;
  /** The busiest stage, from 0. */
  readonly stage: number;
}

const causes: Readonly<Record<BubbleCause, readonly IdleCause[]>> = {
  fill: ['warm-up', 'turn', 'drain'],
  data: ['activation', 'gradient'],
  link: ['link'],
  slowest: ['imbalance'],
};

/** A smaller loss is not worth more than the compute. */
const worthNaming = 0.1;

/**
 * What most of a step's time is lost to; compute, where no loss is a tenth of the step. Null where nothing is known of the work of its
 * stages and no loss is that large.
 */
export function largestLoss(plan: Pick<Plan, 'chosen' | 'partsByStage'>, candidate: Candidate): Loss | null {
  const { busyMs, idle } = candidate;
  const stage = busyMs.indexOf(maximum(busyMs));
  const costs = stepCosts(plan, candidate);
  const compute = costs.find(([part]) => part === 'math')?.[1] ?? 0;
  for (const [part, share] of costs) {
    if (part === 'math' || part === 'work') continue;
    if (share < worthNaming) break;
    return { to: part, share, cause: part === 'bubble' ? largestCause(idle) : null, stage };
  }
  const [largest] = costs;
  return largest?.[0] === 'math' ? { to: 'math', share: compute, cause: null, stage } : null;
}

function largestCause(idle: Candidate['idle']): BubbleCause {
  const meanIdle = (cause: BubbleCause): number => sum(causes[cause].map((each) => mean(idle[each])));
  const names = Object.keys(causes) as BubbleCause[];
  return names.reduce((most, cause) => (meanIdle(cause) > meanIdle(most) ? cause : most));
}
