import { formatBytes, formatDuration, formatNumber, formatPercent } from '../../format';
import { verdictWord } from '../../memory-model/verdict';
import { scheduleKind } from '../../schedules/registry';
import type { ScheduleName } from '../../domain/schedule-names';
import type { Scheme } from '../../domain/scheme';
import { chosenCandidate, candidatePeakBytes, type AnalyticPlan, type Candidate, type CandidateId, type Plan } from '../plan';
import { counted, sentence, type Sentence, type Value } from '../../sentence';
import { maximum } from '../../numbers';

/**
 * Of schedules this close in time the one with the least memory is chosen: choosing by a smaller predicted difference gains nothing on
 * average (docs/model/search.md, Choosing one).
 */
export const tie = 1.05;

/** Whether a plan's candidate is closer to the chosen one than the error bar. The chosen one is not a tie with itself. */
export function isTie(plan: Plan, { id, iterationMs }: Pick<Candidate, 'id' | 'iterationMs'>): boolean {
  return id !== plan.chosen && isWithin(chosenCandidate(plan).iterationMs, iterationMs, plan.cost.errorPercent);
}

/** Whether two step times are closer than the error bar. */
function isWithin(aMs: number, bMs: number, errorPercent: number): boolean {
  return Math.max(aMs, bMs) <= Math.min(aMs, bMs) * (1 + errorPercent / 100);
}
/** Peaks this close are alike. */
export const sameMemory = 1.02;

/** One line: what the analytic model chooses and predicts, and what the measured times make of the same choice. */
export function againstAnalytic(chosen: Candidate, candidates: readonly Candidate[], analytic: AnalyticPlan): Sentence {
  const ratio = analytic.iterationMs / chosen.iterationMs;
  const apart = ratio >= 1 ? sentence`${formatNumber(ratio)}x of this` : sentence`${formatPercent(1 - ratio)} less`;
  const slices = (scheme: Scheme): Sentence => counted(maximum(scheme.map(({ tokens }) => tokens.length)), 'slice');
  const same = chosen.id === analytic.id && JSON.stringify(chosen.scheme) === JSON.stringify(analytic.scheme);
  const measured = candidates.find(({ id }) => id === analytic.id);
  const instead =
    chosen.id === analytic.id
      ? sentence`the same schedule with ${slices(analytic.scheme)} a sequence, not ${slices(chosen.scheme)}`
      : measured === undefined
        ? analytic.name
        : sentence`${analytic.name}, which takes ${formatDuration(measured.iterationMs)} by the profile`;
  return sentence`the analytic model predicts ${formatDuration(analytic.iterationMs)} (${apart}) and would choose ${same ? sentence`the same` : instead}`;
}

/** How the chosen candidate compares with 1F1B, and slices with whole sequences, a line each; closer than the error bar is a tie. */
export function reasonsFor(chosen: Candidate, candidates: readonly Candidate[], errorPercent: number): Sentence[] {
  const against = (id: CandidateId, name: Value): Sentence[] => {
    const other = candidates.find((candidate) => candidate.id === id);
    if (other === undefined || other.id === chosen.id) return [];
    const ratio = other.iterationMs / chosen.iterationMs;
    const closeButLarger = ratio * tie >= 1 && other.fits && candidatePeakBytes(other) > sameMemory * candidatePeakBytes(chosen);
    const within = (comparison: Sentence): Sentence =>
      isWithin(chosen.iterationMs, other.iterationMs, errorPercent) ? sentence`${comparison}, within error of it` : comparison;
    const ratioText =
      ratio >= 1.005
        ? within(sentence`${formatNumber(ratio)}x over ${name}`)
        : ratio >= 0.995 || closeButLarger
          ? sentence`within error of ${name}`
          : within(sentence`${formatNumber(1 / ratio)}x slower than ${name}`);
    const [time, peak] = [formatDuration(other.iterationMs), formatBytes(candidatePeakBytes(other))];
    if (!other.fits) return [sentence`${ratioText} (${time}, which needs ${peak} and ${verdictWord(other)})`];
    return [closeButLarger && ratio < 1.005 ? sentence`${ratioText} (${time}, but ${peak})` : sentence`${ratioText} (${time})`];
  };
  const uniform = candidates.find((candidate) => candidate.id === 'uniform');
  if (!scheduleKind(chosen.schedule).sliced) return against('1f1b', '1F1B');
  return [
    ...against('whole', sentence`whole sequences`),
    ...against('uniform', uniform === undefined ? sentence`best uniform` : uniform.name),
    ...against('1f1b', '1F1B'),
    ...against('terapipe', 'TeraPipe'),
  ];
}

/** One line on how far the slices are from the best possible, where they were looked for with the makespan of their schedule. */
export function slicesFound({ certificate }: Pick<Candidate, 'certificate'>): Sentence[] {
  return certificate?.judgedBy === 'makespan' ? [sentence`its slices are ${certificate.note}`] : [];
}

/** One line on the schedules that were not evaluated. */
export function notCompared(skipped: readonly ScheduleName[]): Sentence[] {
  return skipped.length === 0
    ? []
    : [sentence`not compared, as it would take long: ${skipped.join(', ')}; name one as schedule to plan it`];
}
