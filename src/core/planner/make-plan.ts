import { profileProvenance, rooflineProvenance, tableProvenance } from '../cost/provenance';
import { ExpectedError, throwIfCancelled, type CancelSignal } from '../errors';
import { formatBytes, formatCount, formatDuration, formatNumber, formatPercent, plural } from '../format';
import type { CostProvenance } from '../cost/slice-cost';
import { parameterCount } from '../model/parameters';
import type { PlannedSchedule } from '../schedule/schedule';
import { uniformScheme } from '../solver/baselines';
import type { Scheme } from '../solver/slicing';
import { solveSlicing } from '../solver/solve';
import { chosenOf, peakBytesOf, type AnalyticPlan, type Candidate, type CandidateId, type Plan } from './plan';
import { operationCount, pipelineOf, predict, slicingCost, type CandidateSpec, type Pipeline } from './predict';
import { defaultUnit, type PlanRequest } from './request';

export interface PlanOptions {
  readonly signal?: CancelSignal | undefined;
  /** Called with 0..1. */
  readonly onProgress?: ((fraction: number) => void) | undefined;
}

/** Candidates with more operations (forward and backward of each unit on each stage) are left out: seconds of work and hundreds of megabytes. */
const maximumOperations = 8_000_000;
/** Chunks of more sequences than this are not tried: far beyond where a GPU is saturated. */
const maximumBatchSlice = 8;
/** A sequence is cut into at most so many units; a finer `slicing.unit` is coarsened to a multiple, and the certificate says so. */
const maximumUnits = 1024;
/** Slice times tabulated at most: bounds time and memory of one plan. */
const maximumSliceTimes = 2 ** 19;
/** Times that differ by less than this share are the same. */
const rounding = 1e-9;
/** Slice times the solver may look at: about a second on one core. */
const visitBudget = 6e8;

/**
 * The plan for a request: the TeraPipe optimum beside the same pipeline without token slices, its best equal slices, 1F1B and GPipe; the one chosen is the schedule asked for, or the fastest that
 * fits memory.
 *
 * @throws ExpectedError `plan-*` when the request cannot run at all; CancelledError.
 */
export function makePlan(request: PlanRequest, { signal, onProgress }: PlanOptions = {}): Plan {
  requireRunnable(request);
  const pipeline = pipelineOf(request);
  const candidates: Candidate[] = [];
  const specs = candidateSpecs(request, pipeline, signal, (fraction) => onProgress?.(0.7 * fraction));
  for (const spec of specs) {
    throwIfCancelled(signal);
    if (operationCount(spec.scheme, request.layout.pipeline) <= maximumOperations) candidates.push(predict(pipeline, spec));
    onProgress?.(0.7 + (0.3 * candidates.length) / specs.length);
  }
  const judged = judgedBySimulation(candidates);
  const chosen = choose(request, judged);
  if (chosen === undefined) throw nothingToPlan(request);
  const analytic = request.profile === null ? null : analyticPlan(request, signal);
  return {
    request,
    chosen: chosen.id,
    candidates: judged,
    cost: provenanceOf(request, pipeline),
    analytic,
    parameters: parameterCount(request.model),
    reasons: [...reasonsFor(chosen, judged), ...(analytic === null ? [] : [againstAnalytic(chosen, judged, analytic)])],
  };
}

function provenanceOf({ training, costTable, profile }: PlanRequest, pipeline: Pipeline): CostProvenance {
  if (costTable !== null) return tableProvenance(costTable.tokens.length * costTable.contexts.length);
  if (profile !== null) return profileProvenance(profile, pipeline.inputs);
  return rooflineProvenance(pipeline.inputs, training.microBatch, training.sequenceLength);
}

/** What the analytic model alone would have planned, so that a plan from a profile can say how it differs. */
function analyticPlan(request: PlanRequest, signal: CancelSignal | undefined): AnalyticPlan {
  const plan = makePlan({ ...request, profile: null }, { signal });
  const { id, name, scheme, iterationMs } = chosenOf(plan);
  return { id, name, scheme, iterationMs };
}

/** One line: what the analytic model chooses and predicts, and what the measured times make of the same choice. */
function againstAnalytic(chosen: Candidate, candidates: readonly Candidate[], analytic: AnalyticPlan): string {
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

/**
 * Equation 5 takes the slice that is slowest in forward and backward together; the fill and drain really wait for the slowest forward and the slowest backward. Where equal
 * slices win by that small difference, TeraPipe's candidate takes them.
 */
function judgedBySimulation(candidates: readonly Candidate[]): readonly Candidate[] {
  const uniform = candidates.find(({ id }) => id === 'uniform');
  return candidates.map((candidate) => {
    if (
      candidate.id !== 'terapipe' ||
      candidate.certificate === null ||
      uniform === undefined ||
      uniform.pipelineMs >= candidate.pipelineMs * (1 - rounding)
    )
      return candidate;
    const note = `${candidate.certificate.note}; simulated, equal slices are faster by ${formatDuration(candidate.pipelineMs - uniform.pipelineMs)} and taken`;
    return { ...uniform, id: candidate.id, name: candidate.name, certificate: { ...candidate.certificate, note } };
  });
}

/** Why no candidate is left. */
function nothingToPlan({ training, layout }: PlanRequest): ExpectedError {
  const batch = training.globalBatch / layout.data;
  if (batch % training.microBatch !== 0)
    return new ExpectedError(
      'plan-batch-not-divisible',
      `${plural(batch, 'sequence')} on each replica cannot be split in micro-batches of ${formatCount(training.microBatch)}`,
      `use a global batch that is a multiple of ${formatCount(layout.data * training.microBatch)}`,
    );
  return new ExpectedError(
    'plan-too-large',
    `The step has more than ${formatCount(maximumOperations)} operations`,
    'raise training.microBatch or lower training.globalBatch',
  );
}

function requireRunnable(request: PlanRequest): void {
  const { model, training, layout } = request;
  const asked = askedSchedule(request);
  if (layout.virtualStages > 1 && asked !== null && asked !== '1F1B')
    throw new ExpectedError(
      'plan-virtual-stages',
      `${asked} cannot run ${plural(layout.virtualStages, 'virtual stage')} on each stage`,
      'set layout.virtualStages to 1, or schedule to "1F1B"',
    );
  if (layout.pipeline > model.layers)
    throw new ExpectedError(
      'plan-more-stages-than-layers',
      `${plural(layout.pipeline, 'stage')} for ${plural(model.layers, 'layer')} leaves stages empty`,
      `use at most ${formatCount(model.layers)} stages`,
    );
  if (training.globalBatch % layout.data !== 0)
    throw new ExpectedError(
      'plan-batch-not-divisible',
      `A global batch of ${formatCount(training.globalBatch)} cannot be split over ${plural(layout.data, 'replica')}`,
      `use a multiple of ${formatCount(layout.data)}`,
    );
}

function candidateSpecs(
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
  if (batch <= affordableUnits && layout.virtualStages === 1 && (layout.pipeline > 1 || request.schedule === 'TeraPipe'))
    specs.push(...slicedSpecs(request, pipeline, batch, signal, onProgress));
  const microBatchCount = batch / training.microBatch;
  if (Number.isInteger(microBatchCount) && microBatchCount <= affordableUnits) {
    const microBatches = repeated(training.microBatch, [sequenceLength], microBatchCount);
    specs.push({
      id: '1f1b',
      name: layout.virtualStages > 1 ? `interleaved 1F1B, ${layout.virtualStages} virtual stages` : '1F1B',
      schedule: '1F1B',
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

const preferred: Readonly<Record<PlannedSchedule, readonly CandidateId[]>> = {
  TeraPipe: ['given', 'terapipe', 'whole'],
  '1F1B': ['1f1b'],
  GPipe: ['gpipe'],
};

/** The schedule that was asked for, by name or by giving slices. */
function askedSchedule({ schedule, slicing }: PlanRequest): PlannedSchedule | null {
  return schedule ?? (slicing.scheme === null ? null : 'TeraPipe');
}

function choose(request: PlanRequest, candidates: readonly Candidate[]): Candidate | undefined {
  const asked = askedSchedule(request);
  if (asked !== null)
    return preferred[asked].map((id) => candidates.find((candidate) => candidate.id === id)).find((candidate) => candidate !== undefined);
  const schedules = candidates.filter(({ id }) => id !== 'uniform' && id !== 'whole');
  const fitting = schedules.filter(({ fits }) => fits);
  const shortestMs = Math.min(...fitting.map(({ iterationMs }) => iterationMs));
  const ties = fitting.length === 0 ? schedules : fitting.filter(({ iterationMs }) => iterationMs <= tie * shortestMs);
  const leastBytes = Math.min(...ties.map(peakBytesOf));
  return least(
    ties.filter((candidate) => peakBytesOf(candidate) <= sameMemory * leastBytes),
    (candidate) => candidate.iterationMs,
  );
}

/** Step times this close are a tie: choosing by a smaller predicted difference gains nothing on average (project facts on step time, section 8). */
const tie = 1.05;
/** Peaks this close are alike. */
const sameMemory = 1.02;

function least(candidates: readonly Candidate[], key: (candidate: Candidate) => number): Candidate | undefined {
  return candidates.reduce<Candidate | undefined>(
    (best, candidate) => (best === undefined || key(candidate) < key(best) * (1 - rounding) ? candidate : best),
    undefined,
  );
}

function reasonsFor(chosen: Candidate, candidates: readonly Candidate[]): string[] {
  const against = (id: CandidateId, words: string): string[] => {
    const other = candidates.find((candidate) => candidate.id === id);
    if (other === undefined || other.id === chosen.id) return [];
    const ratio = other.iterationMs / chosen.iterationMs;
    const closeButLarger = ratio * tie >= 1 && other.fits && peakBytesOf(other) > sameMemory * peakBytesOf(chosen);
    const comparison =
      ratio >= 1.005
        ? `${formatNumber(ratio)}x over ${words}`
        : ratio >= 0.995 || closeButLarger
          ? `a tie with ${words}`
          : `${formatNumber(1 / ratio)}x slower than ${words}`;
    const need = other.fits
      ? closeButLarger && ratio < 1.005
        ? `, but ${formatBytes(peakBytesOf(other))}`
        : ''
      : `, which needs ${formatBytes(peakBytesOf(other))} and does not fit`;
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
