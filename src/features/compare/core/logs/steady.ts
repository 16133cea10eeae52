import { lowMedian, quantile } from '../../../../core/numbers';
import type { LoggedStep, RunLog } from './run-log';

/** The steady part of a list of steps. Times in ms. */
export interface SteadySteps {
  readonly medianMs: number;
  /** A quarter of the steps is below, a quarter above. */
  readonly lowMs: number;
  readonly highMs: number;
  readonly counted: number;
  /** The first that were left out. */
  readonly warmUp: number;
  /** The first and last iteration that count; absent: nothing numbers them. */
  readonly iterations?: readonly [first: number, last: number];
}

/** Iterations of a process that are left out at most: they compile, allocate and read ahead. */
const mostWarmUp = 5;

/** How many of the first of `steps` steps of a run are warm-up: five, of fewer than ten half; a single one counts. */
export function warmUpSteps(steps: number): number {
  return Math.min(mostWarmUp, Math.floor(steps / 2));
}

/** Leaves out the warm-up of a run from its first step and takes the median of the rest; null for no steps. */
export function steadySteps(stepsMs: readonly number[]): SteadySteps | null {
  return summarizeSteady(stepsMs, warmUpSteps(stepsMs.length));
}

/**
 * The steady steps of a log: those of its last batch size, without warm-up. By iteration number, not by place in the file: an excerpt from
 * the middle of a run has no warm-up, a line that is a mean over the first iterations is all warm-up.
 */
export function steadyOfLog(log: Pick<RunLog, 'steps' | 'startsAfter' | 'facts'>): SteadySteps | null {
  const last = log.steps.findLast(({ globalBatch }) => globalBatch !== null)?.globalBatch ?? null;
  const ofBatch = log.steps.filter(({ globalBatch }) => globalBatch === null || globalBatch === last);
  const whole = ofBatch.filter(({ skipped }) => !skipped);
  const steps = whole.length > 0 ? whole : ofBatch;
  const warmUp = warmUpLength(steps, log);
  const steady = summarizeSteady(
    steps.map(({ ms }) => ms),
    warmUp,
  );
  const [from, to] = [steps[warmUp]?.iteration, steps.at(-1)?.iteration];
  return steady === null || typeof from !== 'number' || typeof to !== 'number' ? steady : { ...steady, iterations: [from, to] };
}

function warmUpLength(steps: readonly LoggedStep[], { startsAfter, facts }: Pick<RunLog, 'startsAfter' | 'facts'>): number {
  const numbers = steps.map(({ iteration }) => iteration);
  const [first, second] = numbers;
  if (!numbers.every((number) => number !== null) || typeof first !== 'number') return warmUpSteps(steps.length);
  const start = startsAfter ?? 0;
  const { logInterval } = facts;
  const firstInterval = Math.max(1, (second ?? first) - first);
  // without an interval of its own a line is the mean since the line before it
  const from = (number: number, at: number): number =>
    logInterval !== undefined ? number - logInterval : at === 0 ? number - firstInterval : (numbers[at - 1] ?? 0);
  const steadyAt = numbers.findIndex((number, at) => from(number, at) >= start + mostWarmUp);
  return Math.min(steadyAt < 0 ? steps.length : steadyAt, Math.floor(steps.length / 2));
}

function summarizeSteady(stepsMs: readonly number[], warmUp: number): SteadySteps | null {
  const counted = stepsMs.slice(warmUp);
  if (counted.length === 0) return null;
  return { medianMs: lowMedian(counted), lowMs: quantile(counted, 0.25), highMs: quantile(counted, 0.75), counted: counted.length, warmUp };
}
