import { formatBytes, formatDuration, formatPercent } from '../../format';
import { verdictWord } from '../../memory-model/verdict';
import { isRun, neededFor, settingsAgainst } from '../../schedules/runtimes';
import { scheduleKind } from '../../schedules/registry';
import { sentence, type Sentence } from '../../sentence';
import type { PlanRequest } from '../../domain/request';
import { runtimeProfile } from '../../domain/runtime';
import { candidatePeakBytes, type Candidate } from '../plan';
import { bestPerSchedule, requestedSchedule } from '../choose';
import { tie } from './reasons';

/** By what rule the schedule was chosen (`choose`), and the fastest that it ties with; nothing where one was asked for. */
export function ruleOfChoice(chosen: Candidate, candidates: readonly Candidate[], request: PlanRequest): Sentence[] {
  if (requestedSchedule(request) !== null || request.layout.pipeline === 1) return [];
  const { shortName } = runtimeProfile(request.training);
  const areRun = request.runs?.every((name) => isRun(name, request)) ?? false;
  const among = areRun ? sentence`the schedules that ${shortName} runs` : sentence`the schedules to choose from`;
  if (!chosen.fits) return [sentence`of ${among} none fits: the one with the least memory`];
  const first = areRun ? sentence`the least memory` : sentence`what ${shortName} runs, then the least memory`;
  const rule = sentence`of ${among}, the fastest that fits; of ties within ${formatPercent(tie - 1)}, ${first}`;
  const fastest = fastestCandidate(bestPerSchedule(request, candidates).filter(({ fits }) => fits));
  if (fastest === undefined || fastest.iterationMs >= chosen.iterationMs) return [rule];
  return [sentence`${rule}: ${fastest.name} takes ${lessThan(chosen, fastest)}`];
}

/** Where the costed runtime does not run the chosen schedule: what does, and what the best that it runs takes. */
export function runtimeNeeded(chosen: Candidate, candidates: readonly Candidate[], request: PlanRequest): Sentence[] {
  const needs = neededFor(chosen.schedule, request);
  if (needs === null) return [];
  const { shortName } = runtimeProfile(request.training);
  const needed = sentence`${shortName}, for which times are predicted, does not run ${chosen.name}; ${needs} does`;
  const run = candidates.filter(({ schedule }) => isRun(schedule, request));
  const fitting = run.filter(({ fits }) => fits);
  const best = fastestCandidate(fitting.length > 0 ? fitting : run);
  return best === undefined ? [needed] : [needed, sentence`of what ${shortName} runs, ${takes(best)}`];
}

/**
 * What other runtimes would gain where they run a schedule that is faster than the chosen one by more than a tie: the best of all, and the
 * best with token slices. Where the chosen one does not fit: the best that fits.
 */
export function betterElsewhere(chosen: Candidate, candidates: readonly Candidate[], request: PlanRequest): Sentence[] {
  const fitting = candidates.filter(({ fits, id }) => fits && id !== chosen.id);
  if (!chosen.fits) {
    const best = fastestCandidate(fitting);
    if (best === undefined) return [];
    const fits = sentence`${formatDuration(best.iterationMs)} in ${formatBytes(candidatePeakBytes(best))}, which fits`;
    return [isRun(best.schedule, request) ? sentence`${best.name}: ${fits}` : elsewhere(best, request, fits)];
  }
  const faster = fitting.filter(
    (candidate) => !isRun(candidate.schedule, request) && canSplit(candidate, request) && candidate.iterationMs * tie < chosen.iterationMs,
  );
  const sliced = faster.filter(({ schedule }) => scheduleKind(schedule).sliced);
  const found = new Set([fastestCandidate(faster), fastestCandidate(sliced)].filter((best) => best !== undefined));
  return [...found].map((best) => {
    return elsewhere(best, request, lessThan(chosen, best));
  });
}

/** `4.36 s, 8 % less, in 70 GiB`. */
function lessThan(chosen: Candidate, faster: Candidate): Sentence {
  const less = formatPercent(1 - faster.iterationMs / chosen.iterationMs);
  return sentence`${formatDuration(faster.iterationMs)}, ${less} less, in ${formatBytes(candidatePeakBytes(faster))}`;
}

/** `ZBVZeroBubble, which TorchTitan runs: 4.36 s, 8 % less, in 70 GiB`. */
function elsewhere({ name, schedule }: Candidate, request: PlanRequest, what: Sentence): Sentence {
  return sentence`${name}, which ${neededFor(schedule, request) ?? ''} runs: ${what}`;
}

/** Whether a runtime that splits the schedule's backward has what the files set as well. */
function canSplit({ schedule }: Candidate, request: PlanRequest): boolean {
  return settingsAgainst(scheduleKind(schedule), request).length === 0;
}

function takes(candidate: Candidate): Sentence {
  const { name, iterationMs, fits } = candidate;
  const taken = sentence`${name} takes ${formatDuration(iterationMs)} in ${formatBytes(candidatePeakBytes(candidate))}`;
  return fits ? taken : sentence`${taken} and ${verdictWord(candidate)}`;
}

function fastestCandidate(candidates: readonly Candidate[]): Candidate | undefined {
  return candidates.toSorted((a, b) => a.iterationMs - b.iterationMs)[0];
}
