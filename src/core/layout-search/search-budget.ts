import { scheduleKind } from '../schedules/registry';
import { workFor } from '../schedules/zero-bubble/automatic-search';
import { scheduleOn } from '../schedules/on-layout';
import type { Bound } from './bounds';
import { scheduleKey, type CandidateGroup } from './candidate-group';
import type { Evaluator, Predicted } from './evaluate';
import type { SearchPoint } from './known';

/**
 * Steps that may be timed to plan orders for the best of each schedule, the Pareto front and the sizes. Beyond that, the search plans only
 * layouts that may be the fastest, and the first of each schedule that fits.
 */
export const planningAnyway = 40e6;
/**
 * Steps that may be timed while orders are planned: a few seconds. The search skips what is left then; the counts and the bound reflect
 * that.
 */
const mostPlanning = 200e6;
/**
 * Layouts whose slices are solved for the Pareto front and the sizes too; beyond that, only for those that may be the fastest of all or of
 * their schedule, up to this many. The counts and the bound show what is left out.
 */
export const solvedAnyway = 16;
const mostSolved = 100;
/**
 * Steps of simulated makespans that slices are solved within, for layouts whose bound is below the best of their schedule; and beyond that,
 * for those whose bound is by as much as bounds are off: a few seconds.
 */
const solvingAnyway = 20e6;
const mostSolving = 100e6;

/** How much slower than the best of its schedule a layout with solved slices may be: finer units may turn them round. */
export const finerUnitsGain = 0.02;

/** Whether slices are solved for by equation 5, which takes milliseconds. */
export function isDrained({ schedule, layout }: CandidateGroup): boolean {
  return scheduleOn(schedule, layout).bound === 'drained';
}

/** The work that may go into planning orders: planning one takes as long as predicting a hundred others. */
function planningBudget(evaluator: Evaluator) {
  let left = mostPlanning;
  return {
    /** Whether orders of this schedule are planned only for layouts that may be the fastest. */
    isForFastest: ({ schedule }: CandidateGroup): boolean => scheduleKind(schedule).planned && mostPlanning - left > planningAnyway,
    /** Spends what planning a point takes; false where nothing is left. */
    affords: (point: SearchPoint): boolean => {
      if (left < 0) return false;
      left -= workFor(evaluator.operations(point));
      return true;
    },
  };
}

/** Which results a candidate can still improve: all; the fastest of all or of its schedule; the fastest of all, or the first. */
export type ResultsImproved = 'all' | 'schedule' | 'fastest';

/** What planning orders and solving for slices may take: either is as much as predicting tens of others. */
export function createSearchBudget(evaluator: Evaluator, counts: { planned: number }) {
  const planning = planningBudget(evaluator);
  const bounded = new WeakSet<SearchPoint>();
  let solved = 0;
  return {
    wanted: (node: CandidateGroup): ResultsImproved => {
      if (node.solved === true) return isDrained(node) && solved < solvedAnyway ? 'all' : 'schedule';
      return planning.isForFastest(node) ? 'fastest' : 'all';
    },
    /** Once for each point with solved slices. */
    isToBeBounded: (point: SearchPoint): boolean => {
      if (point.solved !== true || bounded.has(point)) return false;
      bounded.add(point);
      return true;
    },
    affords: (point: SearchPoint): boolean => {
      if (point.solved === true) {
        if (!isDrained(point) && evaluator.solvingSteps() >= mostSolving) return false;
        return solved++ < mostSolved;
      }
      if (!scheduleKind(point.schedule).planned) return true;
      const isAffordable = planning.affords(point);
      if (isAffordable) counts.planned++;
      return isAffordable;
    },
  };
}

/**
 * How much longer than its closer bound a step takes whose slices are solved for by the makespan, by schedule: that of the first one, the
 * fastest layout with equal slices. After `solvingAnyway` steps, slices are left out where the bound and as much again is no faster than
 * the best of the schedule. Equation 5 solves for slices as quickly as it bounds them, and leaves none out.
 */
export function createBoundErrors(evaluator: Evaluator, perSchedule: ReadonlyMap<string, Predicted>) {
  const errors = new Map<string, number>();
  return {
    note: ({ point, iterationMs, fits }: Predicted): void => {
      if (fits && !isDrained(point)) errors.set(scheduleKey(point), iterationMs / evaluator.solvedBound(point).iterationMs);
    },
    isHopeless: (point: SearchPoint, { iterationMs }: Bound): boolean => {
      if (point.solved !== true || evaluator.solvingSteps() < solvingAnyway) return false;
      const error = errors.get(scheduleKey(point));
      return error !== undefined && iterationMs * error >= (perSchedule.get(scheduleKey(point))?.iterationMs ?? Infinity);
    },
  };
}
