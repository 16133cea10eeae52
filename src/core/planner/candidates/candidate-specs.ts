import { ExpectedError } from '../../errors';
import { formatCount } from '../../format';
import { askedSchedules, namedSchedules, otherSchedules, type ScheduleName } from '../../domain/schedule-names';
import type { Scheme } from '../../domain/scheme';
import type { Pipeline } from '../predict/pipeline';
import { isAskedFor, mayBeChosen, requestedSchedule } from '../choose';
import { shortestCut, shortestSpec, type CutEffort } from './makespan-cut';
import { equalSlicesSpec } from './equal-slices';
import { idBySchedule, type Candidate } from '../plan';
import { measure, type CandidateSpec } from '../predict/predict';
import type { PlanRequest } from '../../domain/request';
import { fitsOn } from '../../partition/chunk-order';
import { operationCount, plainName, runsVirtualStages, scheduleLabel, type ScheduleOnLayout } from '../../schedules/on-layout';
import { mayRunInstead } from '../../schedules/runtimes';
import { withBestGroup } from './micro-batch-groups';
import { roundsSpec } from './rounds';
import { slicedSpecs, type SlicingListener } from './terapipe-slices';
import { comparedSplits, splitSpec } from './splits';
import { maximumOperations, maximumUnits, runsStacks } from '../refusals';
import { counted, sentence } from '../../sentence';

/**
 * Schedules that nobody asked for are compared up to this many operations, so that all of them together cost no more than one of the usual
 * ones.
 */
export const maximumOtherOperations = 100_000;
/**
 * The same of schedules that are planned for the given times: up to this many passes, as planning takes a thousand times as long as
 * simulating.
 */
export const maximumPlannedOperations = 1_000;

/** The ways to run a request that are predicted, and the schedules that were left out because they take too long to plan or simulate. */
interface CandidateSpecs {
  readonly specs: readonly CandidateSpec[];
  readonly skipped: readonly ScheduleName[];
}

/**
 * The usual ways to run a request (`usualSpecs`), and every other schedule of the registry.
 *
 * @throws ExpectedError `plan-scheme-incomplete`; CancelledError.
 */
export function candidateSpecs(request: PlanRequest, pipeline: Pipeline, listener: SlicingListener): CandidateSpecs {
  const usual = usualSpecs(request, pipeline, listener);
  const { specs, skipped } = otherSpecs(request, pipeline, usual, listener);
  return { specs: [...usual, ...specs, ...comparedSplits(request, pipeline, listener)], skipped };
}

/**
 * The candidates of `candidateSpecs` that a plan may choose, and with `withRun` those of every schedule that the runtime runs, though
 * another was asked for. Slices are solved only where one of them needs it: not where slices are given, nor where no such schedule has
 * token slices.
 *
 * @throws ExpectedError `plan-scheme-incomplete`; CancelledError.
 */
export function choosableSpecs(
  request: PlanRequest,
  pipeline: Pipeline,
  listener: SlicingListener,
  withRun = false,
): readonly CandidateSpec[] {
  const isTaken = (spec: Pick<Candidate, 'id' | 'schedule'>): boolean =>
    mayBeChosen(request, spec) || (withRun && mayRunInstead(spec.schedule, request));
  const mayRun = (schedule: ScheduleName): boolean => isTaken({ id: idBySchedule[schedule], schedule });
  const isSolved =
    request.slicing.scheme === null && namedSchedules.some((schedule) => pipeline.schedules[schedule].sliced && mayRun(schedule));
  const usual = isSolved
    ? usualSpecs(request, pipeline, listener)
    : [...givenSpecs(request, pipeline), ...microBatchSpecs(request, pipeline)];
  const { specs } = otherSpecs(request, pipeline, usual, listener, beyondUsual.filter(mayRun));
  return [...usual, ...specs].filter(({ id, kind }) => isTaken({ id, schedule: kind.schedule }));
}

/**
 * The ways to run the schedule that was asked for, as far as they are known without solving for slices or looking for them.
 *
 * @throws ExpectedError `plan-scheme-incomplete`; CancelledError.
 */
export function askedSpecs(request: PlanRequest, pipeline: Pipeline, listener: SlicingListener): readonly CandidateSpec[] {
  const asked = requestedSchedule(request);
  if (asked === null) return [];
  const plain = [...givenSpecs(request, pipeline), ...microBatchSpecs(request, pipeline)];
  const isCut = pipeline.schedules[asked].sliced && request.slicing.scheme === null;
  const { specs } = isCut ? { specs: [] } : otherSpecs({ ...request, runs: [] }, pipeline, plain, listener);
  return [...plain, ...specs].filter(({ id, kind }) => isAskedFor(request, { id, schedule: kind.schedule }) === true);
}

/**
 * The usual ways to run a request: slices as given, TeraPipe's three, 1F1B (interleaved over virtual stages) and GPipe, as far as they fit
 * the layout and the most operations.
 *
 * @throws ExpectedError `plan-scheme-incomplete`; CancelledError.
 */
function usualSpecs(request: PlanRequest, pipeline: Pipeline, listener: SlicingListener): CandidateSpec[] {
  const { training, layout } = request;
  const batch = training.globalBatch / layout.data;
  const given = givenSpecs(request, pipeline);
  const isSliced =
    batch <= affordableUnits(request) &&
    layout.virtualStages === 1 &&
    request.model.stacks === undefined &&
    (layout.pipeline > 1 || (request.schedule !== null && pipeline.schedules[request.schedule].sliced));
  const own = isSliced ? withRounds(request, pipeline, batch, slicedSpecs(request, pipeline, batch, listener), listener) : [];
  return [...given, ...own, ...microBatchSpecs(request, pipeline)];
}

/** Micro-batches or slices that one stage runs at most. */
function affordableUnits({ layout }: PlanRequest): number {
  return Math.min(maximumUnits, maximumOperations / 2 / layout.pipeline);
}

/** Slices as given. @throws ExpectedError `plan-scheme-incomplete`. */
function givenSpecs({ training, layout, slicing }: PlanRequest, { schedules }: Pipeline): readonly CandidateSpec[] {
  const { scheme, split } = slicing;
  if (scheme === null) return [];
  requireComplete(scheme, training.globalBatch / layout.data, training.sequenceLength);
  return split === undefined ? [{ id: 'given', name: sentence`slices as given`, kind: schedules.TeraPipe, scheme, certificate: null }] : [];
}

/** 1F1B (interleaved over virtual stages) and GPipe. */
function microBatchSpecs(request: PlanRequest, { schedules }: Pipeline): readonly CandidateSpec[] {
  const { training, layout } = request;
  const microBatchCount = training.globalBatch / layout.data / training.microBatch;
  if (!Number.isInteger(microBatchCount) || microBatchCount > affordableUnits(request)) return [];
  const scheme = repeated(training.microBatch, [training.sequenceLength], microBatchCount);
  const one: CandidateSpec = {
    id: '1f1b',
    name: layout.virtualStages > 1 ? sentence`interleaved 1F1B, ${layout.virtualStages} virtual stages` : '1F1B',
    kind: schedules[namesInterleaving(request) ?? '1F1B'],
    scheme,
    certificate: null,
  };
  return layout.virtualStages === 1 ? [one, { id: 'gpipe', name: 'GPipe', kind: schedules.GPipe, scheme, certificate: null }] : [one];
}

/** TeraPipe's own, and where the whole batch at once does not fit, its best rounds after the first. */
function withRounds(
  request: PlanRequest,
  pipeline: Pipeline,
  batch: number,
  [whole, ...others]: readonly CandidateSpec[],
  listener: SlicingListener,
): readonly CandidateSpec[] {
  if (whole === undefined || fitsOn(pipeline.chunksOn(whole.kind), whole.scheme, pipeline.gpuMemory)) return [whole ?? [], others].flat();
  return [whole, roundsSpec(request, pipeline, batch, whole, listener) ?? [], others].flat();
}

/** The schedule that was asked for, where it is an interleaving by its own name: the candidate of 1F1B runs it. */
function namesInterleaving({ schedule, layout }: PlanRequest): ScheduleName | null {
  return schedule === null || plainName(schedule, layout) === schedule ? null : schedule;
}

function repeated(batch: number, tokens: readonly number[], times: number): Scheme {
  return Array.from({ length: times }, () => ({ batch, tokens }));
}

function requireComplete(scheme: Scheme, batch: number, tokens: number): void {
  const sequences = scheme.reduce((sum, chunk) => sum + chunk.batch, 0);
  const broken = scheme.find((chunk) => chunk.tokens.reduce((sum, length) => sum + length, 0) !== tokens);
  if (sequences !== batch || broken !== undefined)
    throw new ExpectedError(
      'plan-scheme-incomplete',
      sentence`The scheme covers ${formatCount(sequences)} of ${formatCount(batch)} sequences${broken === undefined ? '' : sentence`, one of them not to its end`}`,
      sentence`cut ${counted(batch, 'sequence')} of ${formatCount(tokens)} tokens`,
    );
}

type OtherName = (typeof otherSchedules | typeof askedSchedules)[number];
const beyondUsual: readonly OtherName[] = [...otherSchedules, ...askedSchedules];

/** A schedule beyond the usual ones, with the scheme that it runs. */
interface OtherRun {
  readonly kind: ScheduleOnLayout;
  readonly scheme: Scheme;
  /** The request asks for it: it is planned whatever it costs. */
  readonly isAsked: boolean;
  /** It is planned only where it is asked for. */
  readonly isAskedOnly: boolean;
}

/**
 * Every other schedule that is compared, and those that are planned only where they are asked for: of whole micro-batches, and those made
 * for slices of the slices given or solved for.
 *
 * @param usual what `usualSpecs` made.
 */
function otherSpecs(
  request: PlanRequest,
  pipeline: Pipeline,
  usual: readonly CandidateSpec[],
  listener: SlicingListener,
  schedules = beyondUsual,
): CandidateSpecs {
  const runs = schedules.flatMap((schedule) => otherRun(request, pipeline, usual, schedule) ?? []);
  const isTooLong = ({ kind, scheme, isAsked }: OtherRun): boolean =>
    operationCount(kind, request.layout, scheme) >
    (isAsked ? maximumOperations : kind.planned ? maximumPlannedOperations : maximumOtherOperations);
  return {
    specs: runs.filter((run) => !isTooLong(run)).flatMap((run) => specsOfRun(request, pipeline, usual, run, listener)),
    skipped: runs.filter(isTooLong).map(({ kind }) => kind.schedule),
  };
}

/** A schedule as it would run the request; null where it cannot, or is not compared. */
function otherRun(request: PlanRequest, pipeline: Pipeline, usual: readonly CandidateSpec[], schedule: OtherName): OtherRun | null {
  const { model, layout, slicing, runs = [] } = request;
  const isPlain = plainName(schedule, layout) === schedule;
  if (!isPlain || (model.stacks !== undefined && !runsStacks(schedule))) return null;
  const kind = pipeline.schedules[schedule];
  const isAsked = request.schedule !== null && plainName(request.schedule, layout) === schedule;
  const isAskedOnly = askedSchedules.some((name) => name === kind.name);
  if (!isAsked) {
    if (isAskedOnly && !runs.some((name) => name === kind.name)) return null;
    if (layout.pipeline === 1 || !runsVirtualStages(kind, layout.virtualStages)) return null;
  }
  const solved = usual.find(({ id }) => id === 'given' || id === 'terapipe')?.scheme ?? null;
  const microBatches = usual.find(({ id }) => id === '1f1b')?.scheme ?? null;
  const scheme = kind.sliced ? (slicing.scheme ?? solved ?? (isAskedOnly ? microBatches : null)) : microBatches;
  return scheme === null ? null : { kind, scheme, isAsked, isAskedOnly };
}

/** The candidates of a schedule: its own slices where it has a rule for them, or those that are given or solved for. */
function specsOfRun(
  request: PlanRequest,
  pipeline: Pipeline,
  usual: readonly CandidateSpec[],
  { kind, scheme, isAsked, isAskedOnly }: OtherRun,
  listener: SlicingListener,
): readonly CandidateSpec[] {
  const { slicing, layout } = request;
  const { schedule } = kind;
  const id = idBySchedule[schedule];
  if (kind.sliced && slicing.split !== undefined) return [{ ...splitSpec(slicing.split, kind, scheme), id }];
  if (kind.exchangesAttention === true) {
    const equal = slicing.scheme === null ? equalSlicesSpec(request, pipeline, kind, listener) : null;
    return [equal ?? { id, name: schedule, kind, scheme, certificate: null }];
  }
  const isCut = kind.sliced && slicing.scheme === null && (isAsked || isAskedOnly);
  const own = isCut ? ownCut(request, pipeline, kind, scheme, listener) : null;
  const label = scheduleLabel(kind);
  const name = kind.isChosen === true ? sentence`${label}, ${kind.chunks} virtual stages` : label;
  return [
    withBestGroup(pipeline, own ?? { id, name, kind, scheme, certificate: null }, listener.signal),
    ...(kind.ownCut === 'equal-work' ? equalWorkSpecs(kind, usual, scheme, maximumOtherOperations / 2 / layout.pipeline) : []),
  ];
}

/** How long slices are looked for with the makespan of the schedule that is asked for: one to two seconds. */
const effort: CutEffort = { mostSteps: 1.2e8, mostOperations: 400_000, tolerance: 0 };

/**
 * A schedule with slices that are looked for with its own simulated makespan, where they are faster than those solved for by equation 5;
 * null where they are not, or none fits.
 */
function ownCut(
  request: PlanRequest,
  pipeline: Pipeline,
  kind: ScheduleOnLayout,
  solved: Scheme,
  { signal }: SlicingListener,
): CandidateSpec | null {
  const { microBatch } = request.training;
  const [first] = solved;
  const isAlike =
    first?.batch === microBatch && solved.every(({ batch, tokens }) => batch === microBatch && tokens.join() === first.tokens.join());
  const found = shortestCut(request, pipeline, kind, { effort, known: isAlike ? [first.tokens] : [], signal });
  if (found === null) return null;
  const spec = shortestSpec(request, kind, found);
  if (isAlike) return spec;
  const [own, other] = [spec, { ...spec, scheme: solved, certificate: null }].map((each) => measure(pipeline, each, signal));
  return own !== undefined && other !== undefined && other.fits && other.iterationMs < own.iterationMs ? null : spec;
}

/**
 * A schedule with the cut of its authors (Seq1F1B), slices of equal compute, where that differs from the cut solved for and has no more
 * units than are affordable.
 */
function equalWorkSpecs(kind: ScheduleOnLayout, usual: readonly CandidateSpec[], scheme: Scheme, affordableUnits: number): CandidateSpec[] {
  const certificate = usual.find(({ id }) => id === 'terapipe')?.certificate ?? null;
  const tokens = certificate?.cuts.find(({ rule }) => rule === 'equal-work')?.tokens ?? [];
  const batch = scheme.reduce((sequences, chunk) => sequences + chunk.batch, 0);
  const isSame = scheme.every((chunk) => chunk.batch === 1 && chunk.tokens.join() === tokens.join());
  if (tokens.length < 2 || isSame || tokens.length * batch > affordableUnits) return [];
  const name = sentence`${kind.schedule}, ${counted(tokens.length, 'slice')} of equal work`;
  return [{ id: 'equal-work', name, kind, scheme: repeated(1, tokens, batch), certificate: null }];
}
