import { ExpectedError, type CancelSignal } from '../errors';
import { formatCount, plural } from '../format';
import { scheduleKinds } from '../schedule/registry';
import { otherSchedules, type ScheduleName } from '../schedule/schedule';
import { uniformScheme } from '../solver/baselines';
import type { Scheme } from '../solver/slicing';
import { solveSlicing } from '../solver/solve';
import { operationCount, slicingCost, type CandidateSpec, type Pipeline } from './predict';
import { defaultUnit, type PlanRequest } from './request';
import { chunksPerStage, kindFor, runsVirtualStages } from './scheduling';

/** Candidates with more operations (forward and backward of each unit on each stage) are left out: seconds of work and hundreds of megabytes. */
export const maximumOperations = 8_000_000;
/** Schedules that nobody asked for are compared up to so many operations, so that all of them together cost no more than one of the usual ones. */
const maximumOtherOperations = 100_000;
/** The same of schedules that are planned for the given times: up to so many passes, as planning takes a thousand times as long as simulating. */
const maximumPlannedOperations = 1_000;
/** Chunks of more sequences than this are not tried: far beyond where a GPU is saturated. */
const maximumBatchSlice = 8;
/** A sequence is cut into at most so many units; a finer `slicing.unit` is coarsened to a multiple, and the certificate says so. */
const maximumUnits = 1024;
/** Slice times tabulated at most: bounds time and memory of one plan. */
const maximumSliceTimes = 2 ** 19;
/** Slice times the solver may look at: about a second on one core. */
const visitBudget = 6e8;

/**
 * The usual ways to run a request: slices as given, TeraPipe's three, 1F1B (interleaved over virtual stages) and GPipe, as far as they fit the layout and the most operations.
 *
 * @throws ExpectedError `plan-scheme-incomplete`; CancelledError.
 */
export function candidateSpecs(
  request: PlanRequest,
  pipeline: Pipeline,
  signal: CancelSignal | undefined,
  onProgress: (fraction: number) => void,
): CandidateSpec[] {
  const { training, layout, slicing } = request;
  const batch = training.globalBatch / layout.data;
  const { sequenceLength } = training;
  const affordableUnits = maximumOperations / 2 / layout.pipeline;
  const specs: CandidateSpec[] = [];
  if (slicing.scheme !== null) {
    requireComplete(slicing.scheme, batch, sequenceLength);
    specs.push({ id: 'given', name: 'slices as given', schedule: 'TeraPipe', scheme: slicing.scheme, certificate: null });
  }
  if (
    batch <= affordableUnits &&
    layout.virtualStages === 1 &&
    (layout.pipeline > 1 || request.schedule === 'TeraPipe' || request.schedule === 'Seq1F1B')
  )
    specs.push(...slicedSpecs(request, pipeline, batch, signal, onProgress));
  const microBatchCount = batch / training.microBatch;
  if (Number.isInteger(microBatchCount) && microBatchCount <= affordableUnits) {
    const microBatches = repeated(training.microBatch, [sequenceLength], microBatchCount);
    specs.push({
      id: '1f1b',
      name: layout.virtualStages > 1 ? `interleaved 1F1B, ${layout.virtualStages} virtual stages` : '1F1B',
      schedule: layout.virtualStages > 1 && request.schedule === 'Interleaved1F1B' ? request.schedule : '1F1B',
      scheme: microBatches,
      certificate: null,
    });
    if (layout.virtualStages === 1) specs.push({ id: 'gpipe', name: 'GPipe', schedule: 'GPipe', scheme: microBatches, certificate: null });
  }
  return specs;
}

/** TeraPipe's own: solved, best uniform and whole sequences. */
function slicedSpecs(
  request: PlanRequest,
  pipeline: Pipeline,
  batch: number,
  signal: CancelSignal | undefined,
  onProgress: (fraction: number) => void,
): CandidateSpec[] {
  const { training, layout, slicing, costTable, profile } = request;
  const tokens = training.sequenceLength;
  const asked = slicing.unit ?? defaultUnit(tokens);
  const unit = asked * Math.ceil(tokens / asked / maximumUnits);
  const units = Math.ceil(tokens / unit);
  const affordable = Math.max(1, Math.floor(maximumSliceTimes / ((units * (units + 1)) / 2)));
  const measuredBatch = costTable !== null ? 1 : (profile?.profile.largestBatch ?? maximumBatchSlice);
  const largestChunk = Math.min(batch, maximumBatchSlice, affordable, measuredBatch);
  const solution = solveSlicing(
    {
      batch,
      tokens,
      unit,
      stages: layout.pipeline,
      cost: slicingCost(pipeline),
      maximumBatchSlice: largestChunk,
      maximumEvaluations: Math.max(16, Math.floor(visitBudget / ((units * units * largestChunk) / 2))),
    },
    { signal, onProgress },
  );
  const { slices } = solution.baselines.uniform;
  return [
    {
      id: 'terapipe',
      name: 'TeraPipe',
      schedule: 'TeraPipe',
      scheme: solution.scheme,
      certificate: {
        optimumMs: solution.latencyMs,
        lowerBoundMs: solution.lowerBoundMs,
        evaluations: solution.evaluations,
        note: certificateNote(pipeline, solution.exact, unit, largestChunk, batch),
      },
    },
    {
      id: 'uniform',
      name: `best uniform, ${plural(slices, 'slice')}`,
      schedule: 'TeraPipe',
      scheme: uniformScheme({ batch, tokens, unit }, slices),
      certificate: null,
    },
    { id: 'whole', name: 'whole sequences', schedule: 'TeraPipe', scheme: repeated(1, [tokens], batch), certificate: null },
  ];
}

/** What was proved, for which slices. */
function certificateNote(pipeline: Pipeline, exact: boolean, unit: number, largestChunk: number, batch: number): string {
  const limits = `slices in multiples of ${unit} tokens${largestChunk < batch ? `, at most ${plural(largestChunk, 'sequence')} at a time` : ''}`;
  const uneven =
    new Set(pipeline.costs).size > 1
      ? "; stages differ at the ends, so this is the bottleneck stage's optimum and the simulation judges it"
      : '';
  return `${exact ? 'proved optimal' : 'best found, bound not closed'} for equal stages, ${limits}${uneven}`;
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
      `The scheme covers ${formatCount(sequences)} of ${formatCount(batch)} sequences${broken === undefined ? '' : ', one of them not to its end'}`,
      `cut ${plural(batch, 'sequence')} of ${formatCount(tokens)} tokens`,
    );
}

/** Schedules beyond the usual, and those that were left out because they take too long to plan or simulate. */
export interface OtherSpecs {
  readonly specs: readonly CandidateSpec[];
  readonly skipped: readonly ScheduleName[];
}

/**
 * Every other schedule of the registry: of whole micro-batches, and Seq1F1B of the slices given or solved for. Those that are asked for are there whatever they cost.
 *
 * @param usual what `candidateSpecs` made.
 */
export function otherSpecs({ layout, slicing, schedule: asked }: PlanRequest, usual: readonly CandidateSpec[]): OtherSpecs {
  const solved = usual.find(({ id }) => id === 'given' || id === 'terapipe')?.scheme ?? null;
  const sliced = slicing.scheme ?? solved;
  const microBatches = usual.find(({ id }) => id === '1f1b')?.scheme ?? null;
  const specs: CandidateSpec[] = [];
  const skipped: ScheduleName[] = [];
  for (const schedule of otherSchedules) {
    if (!scheduleKinds.some(({ name }) => name === schedule)) continue;
    const kind = kindFor(schedule, layout);
    if (schedule === 'Interleaved1F1B' && layout.virtualStages > 1) continue;
    if (schedule !== asked && (layout.pipeline === 1 || !runsVirtualStages(kind, layout.virtualStages))) continue;
    const scheme = kind.slices ? sliced : microBatches;
    if (scheme === null) continue;
    const operations = operationCount(scheme, layout.pipeline * chunksPerStage(kind, layout), kind.splitsBackward ? 3 : 2);
    const isPlanned = schedule === 'ZeroBubble' || schedule === 'ZeroBubbleV';
    const most = schedule === asked ? maximumOperations : isPlanned ? maximumPlannedOperations : maximumOtherOperations;
    if (operations > most) skipped.push(schedule);
    else specs.push({ id: schedule, name: schedule, schedule, scheme, certificate: null });
  }
  return { specs, skipped };
}
