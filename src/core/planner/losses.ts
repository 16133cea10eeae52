import type { IdleCause } from '../schedules/simulate/gaps';
import { limiterShares } from './limit-labels';
import type { Candidate, Plan } from './plan';
import type { StepPart } from './step-part-names';

/** What time of a step is lost to: idle time of the stages by what one can do about it, or a part of their work that is not compute. */
type LossName = 'fill' | 'data' | 'link' | 'slowest' | Exclude<StepPart, 'bubble'>;

export interface Loss {
  readonly to: LossName;
  /** Of the step, 0..1. */
  readonly share: number;
  /** The busiest stage, from 0. */
  readonly stage: number;
}

const lossOf: Readonly<Record<IdleCause, LossName>> = {
  'warm-up': 'fill',
  turn: 'fill',
  drain: 'fill',
  activation: 'data',
  gradient: 'data',
  link: 'link',
  imbalance: 'slowest',
};

/** A smaller loss is not worth more than the compute. */
const worthNaming = 0.1;

/**
 * What most of a step's time is lost to, as the mean of all stages; compute, where no loss is a tenth of the step. Null where nothing is
 * known of the work of its stages and no loss is that large.
 */
export function largestLoss({ chosen, limits }: Pick<Plan, 'chosen' | 'limits'>, candidate: Candidate): Loss | null {
  const { id, busyMs, idle, iterationMs, gradientExchangeMs, optimizerMs } = candidate;
  const ms = new Map<LossName, number>();
  const add = (to: LossName, more: number): void => void ms.set(to, (ms.get(to) ?? 0) + more);
  for (const [cause, to] of Object.entries(lossOf) as [IdleCause, LossName][]) add(to, meanOf(idle[cause]));
  add('gradientExchange', gradientExchangeMs);
  add('optimizer', optimizerMs);
  if (id === chosen && limits !== null)
    busyMs.forEach((busy, stage) => {
      const of = limits[stage];
      if (of !== undefined) for (const [name, share] of limiterShares(of)) add(name, (share * busy) / busyMs.length);
    });
  const stage = busyMs.indexOf(Math.max(...busyMs));
  const compute = ms.get('math') ?? 0;
  ms.delete('math');
  const [to, lost] = [...ms].reduce((most, each) => (each[1] > most[1] ? each : most));
  if (lost < worthNaming * iterationMs) return compute > lost ? { to: 'math', share: compute / iterationMs, stage } : null;
  return { to, share: lost / iterationMs, stage };
}

function meanOf(values: Float64Array): number {
  return values.reduce((sum, each) => sum + each, 0) / Math.max(1, values.length);
}
