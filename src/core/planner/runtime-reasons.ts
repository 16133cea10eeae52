import { formatBytes, formatDuration } from '../format';
import { verdictWord } from '../memory-model/verdict';
import { neededFor } from '../schedules/needs';
import { sentence, type Sentence } from '../sentence';
import type { PlanRequest } from '../spec/request';
import { peakBytesOf, type Candidate, type Plan } from './plan';
import { isUsual, isWithin, otherRuntime, tie } from './reasons';

/** What a candidate needs to run that neither the usual launchers nor the runtime of the files are; null for nothing. */
export function neededBy(candidate: Candidate, request: PlanRequest): Sentence | null {
  return otherRuntime(candidate) === null ? null : neededFor(candidate.schedule, request);
}

/** One line on the runtime that the chosen schedule needs, and on the best that needs none: only where there is something to say. */
export function runtimeNeeded(chosen: Candidate, candidates: readonly Candidate[], request: PlanRequest): Sentence[] {
  const needs = neededBy(chosen, request);
  if (needs === null) return [];
  const usual = candidates.filter(isUsual);
  const fitting = usual.filter(({ fits }) => fits);
  const best = fastestOf(fitting.length > 0 ? fitting : usual);
  const needed = sentence`${chosen.name} needs ${needs}`;
  if (best === undefined) return [needed];
  const other = sentence`of what usual launchers run ${best.name} takes ${formatDuration(best.iterationMs)} in ${formatBytes(peakBytesOf(best))}`;
  return [sentence`${needed}; ${best.fits ? other : sentence`${other} and ${verdictWord(best)}`}`];
}

function fastestOf(candidates: readonly Candidate[]): Candidate | undefined {
  return [...candidates].sort((a, b) => a.iterationMs - b.iterationMs)[0];
}

/**
 * One line on the fastest candidate that fits, where the chosen one does not, or another runtime has one that is faster by more than
 * nothing.
 */
export function betterElsewhere(
  chosen: Candidate,
  candidates: readonly Candidate[],
  { request, cost: { errorPercent } }: Pick<Plan, 'request' | 'cost'>,
): Sentence[] {
  const fitting = candidates.filter((candidate) => candidate.fits && candidate.id !== chosen.id);
  const best = fastestOf(
    chosen.fits ? fitting.filter((candidate) => !isUsual(candidate) && candidate.iterationMs * tie < chosen.iterationMs) : fitting,
  );
  if (best === undefined) return [];
  const taken = sentence`${best.name} would take ${formatDuration(best.iterationMs)} in ${formatBytes(peakBytesOf(best))}`;
  const fit = chosen.fits ? taken : sentence`${taken}, which fits`;
  const said = isWithin(chosen.iterationMs, best.iterationMs, errorPercent) ? sentence`${fit}, within error of it` : fit;
  const needs = neededBy(best, request);
  return [needs === null ? said : sentence`${said}; it needs ${needs}`];
}
