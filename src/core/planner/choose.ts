import type { ScheduleName } from '../domain/schedule-names';
import { idBySchedule, candidatePeakBytes, type Candidate, type CandidateId } from './plan';
import { sameMemory, tie } from './explain/reasons';
import { plainName } from '../schedules/on-layout';
import { isRun, type RunBy } from '../schedules/runtimes';
import { scheduleKind } from '../schedules/registry';
import type { PlanRequest } from '../domain/request';
import { minimum } from '../numbers';

/** Times that differ by less than this share are the same. */
const rounding = 1e-9;

/**
 * The candidate that a plan takes, of what was asked for (a schedule, slices) or what the runtime runs: what fits comes first, then the
 * fastest. Of schedules that tie with the fastest, those that the runtime runs come first, then the one with the least memory. Where none
 * fits: the least memory.
 *
 * @returns undefined where none of the candidates may be chosen.
 */
export function choose(request: PlanRequest, candidates: readonly Candidate[]): Candidate | undefined {
  const schedules = bestPerSchedule(request, candidates);
  const fitting = schedules.filter(({ fits }) => fits);
  return leastMemory(fitting.length === 0 ? schedules : runFirst(tied(fitting), request));
}

/** The best of each schedule that may be chosen: the one asked for, or those to choose from. */
export function bestPerSchedule(request: PlanRequest, candidates: readonly Candidate[]): readonly Candidate[] {
  const runs = requestedSchedule(request) === null ? request.runs : null;
  const inPlay = candidates.filter(
    (candidate) => isAskedFor(request, candidate) ?? runs?.some((name) => isAmong(candidate, name, request)) ?? true,
  );
  const names = [...new Set(inPlay.map(({ schedule }) => schedule))];
  return names.flatMap((name) => bestOfSchedule(inPlay.filter(({ schedule }) => schedule === name)) ?? []);
}

/** The schedule that was asked for, by name or by giving slices. */
export function requestedSchedule({ schedule, slicing }: Pick<PlanRequest, 'schedule' | 'slicing'>): ScheduleName | null {
  return schedule ?? (slicing.scheme === null ? null : 'TeraPipe');
}

/** Whether a candidate runs the schedule that was asked for, as it was; null where none was. */
export function isAskedFor(request: PlanRequest, candidate: Pick<Candidate, 'id' | 'schedule'>): boolean | null {
  const asked = requestedSchedule(request);
  return asked === null ? null : isOfSchedule(candidate, asked, request);
}

/** Whether `choose` may take a candidate of this schedule; a candidate that it rules out need not be predicted to know what is chosen. */
export function mayBeChosen(request: PlanRequest, spec: Pick<Candidate, 'id' | 'schedule'>): boolean {
  const isOfRuns = request.runs?.some((name) => isInterleaving(spec, name, request) || isOfSchedule(spec, name, request));
  return isAskedFor(request, spec) ?? isOfRuns ?? true;
}

/** Whether a candidate runs a schedule that there is to choose from: 1F1B also interleaved, where a plan chooses virtual stages. */
function isAmong(candidate: Candidate, name: ScheduleName, request: PlanRequest): boolean {
  return isInterleaving(candidate, name, request) ? isEvenlyInterleaved(request, candidate) : isOfSchedule(candidate, name, request);
}

function isInterleaving({ schedule }: Pick<Candidate, 'schedule'>, name: ScheduleName, { freeVirtualStages }: PlanRequest): boolean {
  return freeVirtualStages === true && scheduleKind(schedule).interleaves === name;
}

/** Whether Megatron-LM interleaves so: chunks of as many layers each, and a multiple of the stages of micro-batches. */
function isEvenlyInterleaved({ model, layout: { pipeline } }: PlanRequest, { chunksPerStage, scheme }: Candidate): boolean {
  return model.layers % (pipeline * chunksPerStage) === 0 && scheme.length % pipeline === 0;
}

/** Whether a candidate runs a schedule as it was asked for: where slices are given, with those. 1F1B on virtual stages is interleaved. */
function isOfSchedule(
  { id, schedule }: Pick<Candidate, 'id' | 'schedule'>,
  name: ScheduleName,
  { slicing, layout: { virtualStages }, freeVirtualStages }: PlanRequest,
): boolean {
  const layout = { virtualStages: freeVirtualStages === true ? 1 : virtualStages };
  const plain = plainName(name, layout);
  if (plain !== name) return id === idBySchedule[plain];
  if (schedule !== name) return false;
  return slicing.scheme === null || !comparedOnly.has(id);
}

/** Candidates with slices of our own, shown only for comparison where slices were given. */
const comparedOnly: ReadonlySet<CandidateId> = new Set(['terapipe', 'rounds', 'uniform', 'whole', 'equal-work', 'best-split', 'solved']);

/** The fastest candidate of one schedule that fits; if none fits, the one with the least memory. */
function bestOfSchedule(candidates: readonly Candidate[]): Candidate | undefined {
  const fitting = candidates.filter(({ fits }) => fits);
  return fitting.length > 0 ? least(fitting, ({ iterationMs }) => iterationMs) : leastMemory(candidates);
}

function tied(candidates: readonly Candidate[]): readonly Candidate[] {
  const shortestMs = minimum(candidates.map(({ iterationMs }) => iterationMs));
  return candidates.filter(({ iterationMs }) => iterationMs <= tie * shortestMs);
}

function runFirst(candidates: readonly Candidate[], request: RunBy): readonly Candidate[] {
  const run = candidates.filter(({ schedule }) => isRun(schedule, request));
  return run.length > 0 ? run : candidates;
}

/** Of those with about the least memory the fastest. */
function leastMemory(candidates: readonly Candidate[]): Candidate | undefined {
  const leastBytes = minimum(candidates.map(candidatePeakBytes));
  return least(
    candidates.filter((candidate) => candidatePeakBytes(candidate) <= sameMemory * leastBytes),
    ({ iterationMs }) => iterationMs,
  );
}

function least(candidates: readonly Candidate[], key: (candidate: Candidate) => number): Candidate | undefined {
  return candidates.reduce<Candidate | undefined>(
    (best, candidate) => (best === undefined || key(candidate) < key(best) * (1 - rounding) ? candidate : best),
    undefined,
  );
}
