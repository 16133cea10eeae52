import { comparedSchedules, type ScheduleName } from '../domain/schedule-names';
import { scheduleKind } from '../schedules/registry';
import { neededFor, settingsAgainst, type SplitSetting } from '../schedules/runtimes';
import { listOf, sentence, type Sentence } from '../sentence';
import type { SearchResult } from './result';

/** Runtimes that the best of each schedule needs, and schedules that were not tried because no runtime runs them with the settings. */
export function runtimesNeeded(result: SearchResult): Sentence[] {
  return [...needed(result), ...notTried(result)];
}

/** A line for the best of each schedule that the costed runtime does not run: `ZB-H1 needs sail-sg's zero-bubble Megatron-LM`. */
function needed({ perSchedule, request }: SearchResult): Sentence[] {
  return perSchedule.flatMap((plan) => {
    const needs = neededFor(plan.point.schedule, request);
    return needs === null ? [] : [sentence`${plan.name} needs ${needs}`];
  });
}

/**
 * A line for each reason for which schedules that nobody asked for were not tried: `ZB-H1, ZB-H2: not tried, since no runtime that runs
 * such a schedule has overlapGradReduce as well; name it in schedules to try it`.
 */
function notTried({ request, fixed, perSchedule }: SearchResult): Sentence[] {
  if (request.runs !== undefined || fixed.includes('schedule')) return [];
  const training: typeof request.training = fixed.includes('recompute') ? request.training : { ...request.training, recompute: 'none' };
  const bySettings = new Map<string, { readonly settings: readonly SplitSetting[]; readonly names: ScheduleName[] }>();
  const tried = new Set(perSchedule.map(({ point }) => point.schedule));
  for (const name of comparedSchedules.filter((each) => !tried.has(each))) {
    const settings = settingsAgainst(scheduleKind(name), { model: request.model, training });
    const same = bySettings.get(settings.join());
    if (same !== undefined) same.names.push(name);
    else if (settings.length > 0) bySettings.set(settings.join(), { settings, names: [name] });
  }
  return [...bySettings.values()].map(
    ({ settings, names }) =>
      sentence`${listOf(names)}: not tried, since no runtime runs it with ${listOf(settings)}; add it to schedules to try it`,
  );
}
