import { formatBytes, formatDuration, formatNumber, formatPercent, plural } from '../format';
import { verdictWord } from '../memory-model/verdict';
import { scheduleDescriptions } from '../schedules/descriptions';
import type { ScheduleName } from '../spec/schedule-names';
import type { Scheme } from '../spec/scheme';
import { chosenOf, peakBytesOf, type AnalyticPlan, type Candidate, type CandidateId, type Plan } from './plan';
import { say } from '../sentence';

/**
 * Of schedules this close in time the one with the least memory is chosen: choosing by a smaller predicted difference gains nothing on
 * average (docs/model/search.md, Choosing one).
 */
export const tie = 1.05;

/** Whether a plan's candidate is closer to the chosen one than the error bar. The chosen one is no tie with itself. */
export function isTie(plan: Plan, { id, iterationMs }: Pick<Candidate, 'id' | 'iterationMs'>): boolean {
  return id !== plan.chosen && isWithin(chosenOf(plan).iterationMs, iterationMs, plan.cost.errorPercent);
}

/** Whether two step times are closer than the error bar. */
function isWithin(aMs: number, bMs: number, errorPercent: number): boolean {
  return Math.max(aMs, bMs) <= Math.min(aMs, bMs) * (1 + errorPercent / 100);
}
/** Peaks this close are alike. */
export const sameMemory = 1.02;

/** One line: what the analytic model chooses and predicts, and what the measured times make of the same choice. */
export function againstAnalytic(chosen: Candidate, candidates: readonly Candidate[], analytic: AnalyticPlan): string {
  const ratio = analytic.iterationMs / chosen.iterationMs;
  const apart = ratio >= 1 ? `${formatNumber(ratio)}x of this` : `${formatPercent(1 - ratio)} less`;
  const slices = (scheme: Scheme): string => plural(Math.max(...scheme.map(({ tokens }) => tokens.length)), 'slice');
  const same = chosen.id === analytic.id && JSON.stringify(chosen.scheme) === JSON.stringify(analytic.scheme);
  const measured = candidates.find(({ id }) => id === analytic.id);
  const instead =
    chosen.id === analytic.id
      ? `the same schedule with ${slices(analytic.scheme)} a sequence, not ${slices(chosen.scheme)}`
      : `${analytic.name}${measured === undefined ? '' : `, which takes ${formatDuration(measured.iterationMs)} by the profile`}`;
  return `the analytic model says ${formatDuration(analytic.iterationMs)} (${apart}) and would choose ${same ? 'the same' : instead}`;
}

/** How the chosen candidate compares with the usual others, a line each; what is closer than the error bar is said to be a tie. */
export function reasonsFor(chosen: Candidate, candidates: readonly Candidate[], errorPercent: number): string[] {
  const against = (id: CandidateId, words: string): string[] => {
    const other = candidates.find((candidate) => candidate.id === id);
    if (other === undefined || other.id === chosen.id) return [];
    const ratio = other.iterationMs / chosen.iterationMs;
    const closeButLarger = ratio * tie >= 1 && other.fits && peakBytesOf(other) > sameMemory * peakBytesOf(chosen);
    const within = isWithin(chosen.iterationMs, other.iterationMs, errorPercent) ? ', within error of it' : '';
    const comparison =
      ratio >= 1.005
        ? `${formatNumber(ratio)}x over ${words}${within}`
        : ratio >= 0.995 || closeButLarger
          ? `within error of ${words}`
          : `${formatNumber(1 / ratio)}x slower than ${words}${within}`;
    const need = other.fits
      ? closeButLarger && ratio < 1.005
        ? `, but ${formatBytes(peakBytesOf(other))}`
        : ''
      : `, which needs ${formatBytes(peakBytesOf(other))} and ${say(verdictWord(other))}`;
    return [`${comparison} (${formatDuration(other.iterationMs)}${need})`];
  };
  const uniform = candidates.find((candidate) => candidate.id === 'uniform');
  return [
    ...against('whole', 'whole sequences'),
    ...against('uniform', uniform === undefined ? 'best uniform' : uniform.name),
    ...against('1f1b', '1F1B'),
    ...against('terapipe', 'TeraPipe'),
  ];
}

/** One line on how far the slices are from the best possible, where they were looked for with the makespan of their schedule. */
export function slicesFound({ certificate }: Pick<Candidate, 'certificate'>): string[] {
  return certificate?.judgedBy === 'makespan' ? [`its slices are ${certificate.note}`] : [];
}

/** What a candidate needs to run that the usual launchers are not; null for nothing. */
export function otherRuntime({ id, schedule }: Pick<Candidate, 'id' | 'schedule'>): string | null {
  return id === '1f1b' ? null : scheduleDescriptions[schedule].needs;
}

/** Whether TeraPipe's runtime or common launchers run a candidate. */
export function isUsual(candidate: Pick<Candidate, 'id' | 'schedule'>): boolean {
  return otherRuntime(candidate) === null;
}

/** One line on the runtime that the chosen schedule needs, and on the best that needs none: only where there is something to say. */
export function runtimeNeeded(chosen: Candidate, candidates: readonly Candidate[]): string[] {
  const needs = otherRuntime(chosen);
  if (needs === null) return [];
  const usual = candidates.filter(isUsual);
  const fitting = usual.filter(({ fits }) => fits);
  const best = fastestOf(fitting.length > 0 ? fitting : usual);
  const instead =
    best === undefined
      ? ''
      : `; of what usual launchers run ${best.name} takes ${formatDuration(best.iterationMs)} in ${formatBytes(peakBytesOf(best))}${best.fits ? '' : ` and ${say(verdictWord(best))}`}`;
  return [`${chosen.name} needs ${needs}${instead}`];
}

function fastestOf(candidates: readonly Candidate[]): Candidate | undefined {
  return [...candidates].sort((a, b) => a.iterationMs - b.iterationMs)[0];
}

/**
 * One line on the fastest candidate that fits, where the chosen one does not, or another runtime has one that is faster by more than
 * nothing.
 */
export function betterElsewhere(chosen: Candidate, candidates: readonly Candidate[], errorPercent: number): string[] {
  const fitting = candidates.filter((candidate) => candidate.fits && candidate.id !== chosen.id);
  const best = fastestOf(
    chosen.fits ? fitting.filter((candidate) => !isUsual(candidate) && candidate.iterationMs * tie < chosen.iterationMs) : fitting,
  );
  if (best === undefined) return [];
  const within = isWithin(chosen.iterationMs, best.iterationMs, errorPercent) ? ', within error of it' : '';
  const needs = otherRuntime(best);
  return [
    `${best.name} would take ${formatDuration(best.iterationMs)} in ${formatBytes(peakBytesOf(best))}${chosen.fits ? '' : ', which fits'}${within}${needs === null ? '' : `; it needs ${needs}`}`,
  ];
}

/** One line on the schedules that were not evaluated. */
export function notCompared(skipped: readonly ScheduleName[]): string[] {
  return skipped.length === 0 ? [] : [`not compared, as it would take long: ${skipped.join(', ')}; name one as schedule to plan it`];
}
