import { stageLimits, type StageLimits } from '../time-model/limits';
import { contentsKey, type StageContents } from '../memory-model/layer-tensors';
import type { CostInputs } from '../time-model/rates';
import { joinedProvenance, profileProvenance, rooflineProvenance, tableProvenance } from '../time-model/provenance';
import { ExpectedError, throwIfCancelled, type CancelSignal } from '../errors';
import { formatCount, plural } from '../format';
import type { CostProvenance } from '../spec/slice-cost';
import { parameterCount } from '../model/parameters';
import { scheduleKind } from '../schedules/registry';
import type { WorkUnit } from '../schedules/schedule';
import type { ScheduleName } from '../spec/schedule-names';
import { candidateSpecs, maximumOperations, maximumUnits, otherSpecs } from './candidates';
import { askedSchedule, choose } from './choose';
import { groupsAlone } from '../partition/groups-alone';
import { offloadReason, offloadWaits } from '../partition/offload';
import { chosenOf, type AnalyticPlan, type Candidate, type CandidateId, type Plan } from './plan';
import { pipelineOf, type Pipeline } from './pipeline';
import { predict, type CandidateSpec } from './predict';
import { againstAnalytic, betterElsewhere, notCompared, reasonsFor, runtimeNeeded } from './reasons';
import type { PlanRequest } from '../spec/request';
import { kindFor, operationCount, runsVirtualStages, unitCount } from '../partition/scheduling';
import type { SlicingListener } from './sliced';
import { requireStacks, stackReason } from './stack-rules';
import { requireCut } from '../partition/stages';
import { boundarySendsMs } from './transfers';

/** `onIncumbent` hears of the best slices so far while they are solved for. */
export interface PlanOptions extends SlicingListener {
  /** Operations of all candidates groupSize whose timelines are kept at most, those of the chosen one first; left out: of all that can be drawn. */
  readonly drawnOperations?: number;
}

/**
 * The plan for a request: the TeraPipe optimum beside the same pipeline without token slices, its best equal slices, 1F1B, GPipe and every other schedule that can run; the one chosen is the
 * schedule asked for, or the fastest that fits memory of those that the launcher runs (`choose`).
 *
 * @throws ExpectedError `plan-*` when the request cannot run at all, `schedule-unmet` when its schedule cannot; CancelledError.
 */
export function makePlan(request: PlanRequest, options: PlanOptions = {}): Plan {
  const { signal, onProgress, onIncumbent, drawnOperations = Infinity } = options;
  requireRunnable(request);
  requireCountable(request);
  const pipeline = pipelineOf(request);
  const usual = candidateSpecs(request, pipeline, { signal, onIncumbent, onProgress: (fraction) => onProgress?.(0.7 * fraction) });
  const { specs: others, skipped } = otherSpecs(request, usual);
  const specs = [...usual, ...others];
  const outcomes = specs.map((spec, index) => {
    throwIfCancelled(signal);
    const outcome = outcomeOf(request, pipeline, spec, signal);
    onProgress?.(0.7 + (0.3 * (index + 1)) / specs.length);
    return { spec, outcome };
  });
  const candidates = outcomes.flatMap(({ outcome }) => (outcome === null || outcome instanceof ExpectedError ? [] : [outcome]));
  const chosen = choose(request, candidates);
  if (chosen === undefined) {
    const wanted = askedSchedule(request) ?? '1F1B';
    const refusal = outcomes.find(({ spec, outcome }) => spec.schedule === wanted && outcome instanceof ExpectedError)?.outcome;
    throw refusal instanceof ExpectedError ? refusal : nothingToPlan(request);
  }
  const analytic = request.profile === null ? null : analyticPlan(request, signal);
  const cost = provenanceOf(request, pipeline);
  return {
    request,
    chosen: chosen.id,
    candidates: drawnWithin(candidates, chosen.id, drawnOperations),
    notCompared: skipped,
    cost,
    analytic,
    parameters: parameterCount(request.model),
    limits: limitsOf(request, pipeline, chosen),
    reasons: [
      ...runtimeNeeded(chosen, candidates),
      ...reasonsFor(chosen, candidates, cost.errorPercent),
      ...groupsAlone(request, signal),
      ...offloadReason(pipeline.stages, chosen.scheme[0] ?? { batch: 0, tokens: [] }),
      ...betterElsewhere(chosen, candidates, cost.errorPercent),
      ...notCompared(skipped),
      ...(request.model.stacks === undefined || request.layout.pipeline === 1 ? [] : [stackReason]),
      ...(analytic === null ? [] : [againstAnalytic(chosen, candidates, analytic)]),
    ],
  };
}

/** The candidates, timelines only of the chosen one and of as many others, in order, as there is room for. */
function drawnWithin(candidates: readonly Candidate[], chosen: CandidateId, mostOperations: number): readonly Candidate[] {
  const drawn = new Set<CandidateId>();
  let left = mostOperations;
  for (const { id, timeline } of candidates.toSorted((a, b) => Number(b.id === chosen) - Number(a.id === chosen))) {
    if (timeline === null || timeline.kind.length > left) continue;
    drawn.add(id);
    left -= timeline.kind.length;
  }
  return candidates.map((candidate) => (drawn.has(candidate.id) ? candidate : { ...candidate, timeline: null }));
}

/** What a candidate takes; the error where its schedule cannot run, null where it has too many operations. */
function outcomeOf(
  { layout }: PlanRequest,
  pipeline: Pipeline,
  spec: CandidateSpec,
  signal: CancelSignal | undefined,
): Candidate | ExpectedError | null {
  if (unitCount(spec.scheme) > maximumUnits) return null;
  if (operationCount(kindFor(spec.schedule, layout), layout, spec.scheme) > maximumOperations) return null;
  try {
    return predict(pipeline, spec, signal);
  } catch (error) {
    if (error instanceof ExpectedError && error.code === 'schedule-unmet') return error;
    throw error;
  }
}

/** What each stage's time goes to; stages of one shape are looked at once. */
function limitsOf({ costTable, profile }: PlanRequest, pipeline: Pipeline, { schedule, scheme }: Candidate): Plan['limits'] {
  const [first] = scheme;
  if (costTable !== null || profile !== null || first === undefined) return null;
  let context = 0;
  const slices = first.tokens.map((tokens) => {
    const slice = { batch: first.batch, tokens, context };
    context += tokens;
    return slice;
  });
  const { stages, nodeKinds } = pipeline;
  const { stageContents, stageOfChunk } = pipeline.chunksOf(schedule);
  const known = new Map<string, StageLimits>();
  return stages.map(({ inputs: own, contents: usual }, stage) => {
    const contents = stageContents[stage] ?? usual;
    const send = (unit: Pick<WorkUnit, 'batch' | 'tokens'>): number => boundarySendsMs(pipeline, schedule, stage, stageOfChunk, unit);
    const key = `${nodeKinds.indexOf(own)},${contentsKey(contents)},${send({ batch: 1, tokens: 1 })}`;
    const limits = (): StageLimits =>
      stageLimits(own, { ...contents, offloadMs: offloadMs(own, contents, slices) }, slices, (batch, tokens) => send({ batch, tokens }));
    const found = known.get(key) ?? limits();
    known.set(key, found);
    return found;
  });
}

/** What a stage waits for copies to and from the host in the passes of some slices, ms. */
function offloadMs(
  inputs: CostInputs,
  contents: StageContents,
  slices: readonly { batch: number; tokens: number; context: number }[],
): number {
  const waits = offloadWaits(inputs, contents);
  return slices.reduce((sum, { batch, tokens, context }) => {
    const { forwardMs, backwardMs } = waits(batch, tokens, context);
    return sum + forwardMs + backwardMs;
  }, 0);
}

/** What the times of a pipeline rest on. */
export function provenanceOf({ training, costTable, profile, calibration }: PlanRequest, pipeline: Pipeline): CostProvenance {
  if (costTable !== null) return tableProvenance(costTable.tokens.length * costTable.contexts.length);
  if (profile !== null) return profileProvenance(profile, pipeline.inputs);
  const [first = pipeline.inputs, ...others] = pipeline.nodeKinds;
  const ofStage = (inputs: CostInputs): CostProvenance =>
    rooflineProvenance(inputs, training.microBatch, training.sequenceLength, calibration);
  return joinedProvenance([ofStage(first), ...others.map(ofStage)]);
}

/** What the analytic model alone would have planned, so that a plan from a profile can say how it differs. */
function analyticPlan(request: PlanRequest, signal: CancelSignal | undefined): AnalyticPlan {
  const plan = makePlan({ ...request, profile: null }, { signal });
  const { id, name, scheme, iterationMs } = chosenOf(plan);
  return { id, name, scheme, iterationMs };
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
  return tooLarge();
}

/** Refuses a step of too many operations however it is run, before anything is made for each of them. */
function requireCountable({ training, layout, slicing }: PlanRequest): void {
  const microBatches = Math.ceil(training.globalBatch / layout.data / training.microBatch);
  const units = slicing.scheme === null ? microBatches : Math.min(microBatches, slicing.scheme.length);
  if (units > maximumUnits) throw tooLarge(plural(maximumUnits, 'micro-batch', 'micro-batches'));
  if (2 * units * layout.pipeline * layout.virtualStages > maximumOperations) throw tooLarge();
}

function tooLarge(most = `${formatCount(maximumOperations)} operations`): ExpectedError {
  return new ExpectedError('plan-too-large', `The step has more than ${most}`, 'raise training.microBatch or lower training.globalBatch');
}

function requireRunnable(request: PlanRequest): void {
  const { model, training, layout } = request;
  requireStacks(request);
  const asked = askedSchedule(request);
  if (asked !== null && !runsVirtualStages(kindFor(asked, layout), layout.virtualStages))
    throw virtualStagesError(asked, layout.virtualStages);
  requireCut(layout, model);
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

function virtualStagesError(asked: ScheduleName, virtualStages: number): ExpectedError {
  const { chunksPerStage: chunks } = scheduleKind(asked);
  return new ExpectedError(
    'plan-virtual-stages',
    `${asked} cannot run ${plural(virtualStages, 'virtual stage')} on each stage`,
    `set layout.virtualStages to ${chunks}, or schedule to "1F1B"`,
  );
}
