import { ExpectedError } from '../../errors';
import { without } from '../../records';
import { scheduleOn } from '../../schedules/on-layout';
import { formatCount, formatDuration } from '../../format';
import { sliceRuntimes } from '../../slice-runtimes/registry';
import { seq1f1b } from '../../slice-runtimes/seq1f1b';
import { rulesOfFlags, type SliceLimit, type SliceRuntime } from '../../slice-runtimes/slice-runtime';
import { chosenCandidate, type Candidate, type Plan } from '../../planner/plan';
import { buildPipeline } from '../../planner/predict/pipeline';
import { predict } from '../../planner/predict/predict';
import { slowdownText } from '../../planner/explain/slower';
import { withOpenStages } from '../../planner/candidates/virtual-stages';
import {
  bestList,
  bestSplit,
  listProblem,
  schemeAlike,
  splitLengths,
  splitSpec,
  type PredictedSplit,
} from '../../planner/candidates/splits';
import { sentence, type Sentence, type Value } from '../../sentence';
import type { ModelSpec } from '../../domain/model';
import type { Run } from '../../run/run';
import { toTrainedModel } from '../../run/written-model';
import type { PlanRequest, TrainingSpec } from '../../domain/request';
import { isRecomputed } from '../../domain/recompute';
import type { Scheme, SequenceSplit } from '../../domain/scheme';
import { runtimeProfile, usualAccumulation, usualLoss, usualSequenceParallel } from '../../domain/runtime';
import type { Remark } from '../../launchers/writing/remarks';

/** Refuses what a runtime does not run. */
export function refused(runtime: string, what: Value, remedy: Sentence): ExpectedError {
  return new ExpectedError('export-slices', sentence`${runtime} does not run this plan: ${what}`, remedy);
}

/** Whether a plan breaks a condition, by which setting, and what to do; left out: to plan without it. */
export type Refusal = readonly [isBroken: boolean, what: Sentence, remedy?: Sentence];

/** Refuses a plan for the first condition that it breaks. @throws ExpectedError `export-slices`. */
export function requireUnbroken(runtime: string, refusals: readonly Refusal[]): void {
  const [, what, remedy = sentence`plan without that, or for another runtime`] = refusals.find(([isBroken]) => isBroken) ?? [];
  if (what !== undefined) throw refused(runtime, what, remedy);
}

/** A plan as a runtime runs it, and what was replaced for that. */
interface RunnablePlan {
  readonly plan: Plan;
  readonly split: SequenceSplit;
  readonly replaced: Remark | null;
}

/**
 * The plan's own slices where the flags of a runtime give just them, else the best that they can: micro-batches of the planned size and of
 * one sequence, each cut by every rule into every number of slices that is tried, predicted as they will run.
 * @param by `patch`: by a list of lengths only in its source; left out: by flags.
 * @throws ExpectedError `export-slices`.
 */
export function runnableBy(plan: Plan, runtime: SliceRuntime, by: 'flags' | 'patch' = 'flags'): RunnablePlan {
  const chosen = chosenCandidate(plan);
  const open = withOpenStages(plan.request);
  // the source to patch may be of a later fork, which keeps the width that is set
  requireRunnable(open, by === 'flags' ? runtime : { ...runtime, limits: runtime.limits.filter((limit) => limit !== 'gated-width') });
  const request = asRuntimeRuns(open, runtime);
  const own = ownSplit(request, chosen, runtime, by === 'patch' || runtime.lengths !== null);
  if (own !== null && (by === 'flags' || own.rule === 'list')) return { ...planned(plan, request, own), replaced: null };
  const sizes = runtime.limits.includes('micro-batch') ? [1] : [...new Set([request.training.microBatch, 1])];
  const found = sizes.flatMap((microBatch) => {
    const sized = { ...request, training: { ...request.training, microBatch } };
    const pipeline = buildPipeline(sized);
    const best = [by === 'patch' ? bestList(sized, pipeline, runtime.id) : bestSplit(sized, pipeline, runtime)];
    return best.flatMap((each) => (each === null ? [] : [{ ...each, request: sized }]));
  });
  const best = fastest(found);
  if (best === null)
    throw refused(
      runtime.name,
      sentence`no slices that divide its sequences make a step faster`,
      sentence`plan longer sequences, of a multiple of 128 tokens`,
    );
  const made = planned(plan, best.request, best.split);
  return { ...made, replaced: replacedBy(chosen, chosenCandidate(made.plan), replacementReason(request, chosen, runtime)) };
}

/**
 * One list of slice lengths for all micro-batches, for a function of a runtime's source.
 * @param id of the runtime; null: the first one whose source has such a function. @throws ExpectedError `export-slices`.
 */
export function listedSlices(plan: Plan, id: string | null): { readonly runs: Plan; readonly lengths: readonly number[] } {
  const named = plan.request.slicing.split?.runtime ?? id ?? '';
  const runtime = sliceRuntimes.find((each) => each.id === named) ?? seq1f1b;
  const { plan: runs, split } = runnableBy(plan, runtime, 'patch');
  return { runs, lengths: split.lengths };
}

function fastest<T extends PredictedSplit>(found: readonly T[]): T | null {
  const fitting = found.filter(({ prediction }) => prediction.fits);
  return (fitting.length > 0 ? fitting : found).reduce<T | null>(
    (best, each) => (best === null || each.prediction.iterationMs < best.prediction.iterationMs ? each : best),
    null,
  );
}

/** Which candidate is written in place of the plan's, with both times. @param why the plan's is not. */
export function replacedBy(chosen: Candidate, instead: Candidate, why: Sentence): Remark {
  const [before, now] = [formatDuration(chosen.iterationMs), formatDuration(instead.iterationMs)];
  const apart = slowdownText(instead.iterationMs / chosen.iterationMs - 1);
  return {
    what: sentence`the plan's ${chosen.name}`,
    reason: sentence`${why}; this file runs ${instead.name} instead, ${now} per step, the plan ${before} (${apart})`,
  };
}

/** Why a runtime does not run the slices of a candidate. */
function replacementReason(
  request: PlanRequest,
  { schedule, scheme }: Candidate,
  { id, name, rule, lengths, limits }: SliceRuntime,
): Sentence {
  if (schedule !== request.schedule) return sentence`${name} runs slices only in the order of Seq1F1B`;
  if (!isCutAlike(scheme)) return sentence`${name} cuts all micro-batches alike`;
  if (limits.includes('micro-batch') && request.training.microBatch > 1) return sentence`${name} takes micro-batches of one sequence`;
  const slices = scheme[0]?.tokens ?? [];
  if (slices.length < 2) return sentence`${name} runs two slices or more`;
  const problem = lengths === null ? null : listProblem(request, { runtime: id, slices: slices.length, lengths: slices });
  if (problem !== null) return sentence`${name} stops at these slices, because ${problem}`;
  return rule === null
    ? sentence`${name} cuts sequences into equal slices`
    : sentence`the flags of ${name} set only equal slices, or slices of equal work`;
}

/** The request as a fork of Megatron-LM runs it. */
function asRuntimeRuns(planned: PlanRequest, { lacks }: SliceRuntime): PlanRequest {
  const request = onMegatron(planned);
  const fusedCrossEntropy = request.training.fusedCrossEntropy && !Object.hasOwn(lacks, 'cross-entropy-loss-fusion');
  return { ...request, training: { ...request.training, fusedCrossEntropy }, schedule: 'Seq1F1B' };
}

/** What is assumed by the runtime of a plan. */
const assumedByRuntime = [
  'training.runtime',
  'training.zeroStage',
  'training.gradAccumulationFp32',
  'training.sequenceParallel',
  'training.fusedCrossEntropy',
  'training.attentionKernel',
  'layout.order',
];

/** The request under Megatron-LM instead of the runtime that it was planned for: settings that were assumed are as Megatron-LM has them. */
export function onMegatron(request: PlanRequest): PlanRequest {
  const { training, layout, model, assumptions } = request;
  if (runtimeProfile(training).id === 'megatron') return request;
  const megatron = runtimeProfile({});
  const others = without(training, 'runtime');
  const assumed = new Set(assumptions.map(({ key }) => key));
  const unless = <T>(name: keyof TrainingSpec, usual: { readonly value: T }, own: T): T =>
    assumed.has(`training.${name}`) ? usual.value : own;
  const zeroStage = unless<TrainingSpec['zeroStage']>('zeroStage', megatron.zeroStage, training.zeroStage);
  const accumulation = usualAccumulation(megatron, { precision: training.precision, zeroStage });
  const loss = usualLoss({ runtime: 'megatron', modelType: model.modelType });
  return {
    ...request,
    training: {
      ...others,
      zeroStage,
      gradAccumulationFp32: unless('gradAccumulationFp32', accumulation, training.gradAccumulationFp32),
      sequenceParallel: unless('sequenceParallel', usualSequenceParallel(others, layout.tensor), training.sequenceParallel),
      fusedCrossEntropy: unless('fusedCrossEntropy', loss, training.fusedCrossEntropy),
    },
    assumptions: assumptions.filter(({ key }) => !assumedByRuntime.includes(key)),
  };
}

/** Whether all micro-batches have the same size and the same slices. */
function isCutAlike(scheme: Scheme): boolean {
  return new Set(scheme.map(({ batch, tokens }) => `${batch}:${tokens.join()}`)).size === 1;
}

/** The slices of a candidate as settings of its runtime; null where the runtime cannot be set to cut so. @param lists it takes lists. */
export function ownSplit(
  request: PlanRequest,
  { schedule, scheme }: Candidate,
  runtime: SliceRuntime,
  lists: boolean,
): SequenceSplit | null {
  const [first] = scheme;
  if (schedule !== request.schedule || first === undefined) return null;
  const { tokens: lengths, batch } = first;
  if (!isCutAlike(scheme) || batch !== request.training.microBatch || lengths.length < 2) return null;
  if (batch > 1 && runtime.limits.includes('micro-batch')) return null;
  const slices = lengths.length;
  const rule = rulesOfFlags(runtime).find((each) => splitLengths(request, { slices, rule: each, lengths: [] })?.join() === lengths.join());
  if (rule !== undefined) return { runtime: runtime.id, slices, rule, lengths };
  const listed = { runtime: runtime.id, slices, rule: 'list', lengths } as const;
  return lists && splitLengths(request, listed) !== null ? listed : null;
}

function planned(plan: Plan, request: PlanRequest, split: SequenceSplit): { readonly plan: Plan; readonly split: SequenceSplit } {
  const scheme = schemeAlike(request, split.lengths) ?? [];
  const asked = { ...request, slicing: { unit: request.slicing.unit, scheme, split } };
  const candidate = predict(buildPipeline(asked), splitSpec(split, scheduleOn('Seq1F1B', asked.layout), scheme));
  return { plan: { ...plan, request: asked, chosen: candidate.id, candidates: [candidate], analytic: null }, split };
}

/** What each limit refuses. For `micro-batch` one sequence is planned instead. */
function limitRefusals({ model, training, layout }: PlanRequest): Readonly<Record<Exclude<SliceLimit, 'micro-batch'>, Refusal>> {
  return {
    ...modelRefusals(model),
    context: [layout.context > 1, sentence`it has context parallelism`],
    recompute: [training.recompute !== 'none', sentence`it recomputes activations`],
    'core-recompute': [isRecomputed(training, 'core_attn'), sentence`it recomputes the attention core`],
    unfused: [
      training.attention !== 'flash',
      sentence`its attention is unfused, and slices need FlashAttention`,
      sentence`set training.attention to "flash"`,
    ],
  };
}

function modelRefusals(model: ModelSpec): Readonly<Record<(typeof modelLimits)[number], Refusal>> {
  const gatedFfn = computedWidth(model.hidden);
  return {
    experts: [model.experts !== null, sentence`its model has experts`],
    latent: [(model.latent ?? null) !== null, sentence`its model has latent attention`],
    tied: [model.tiedEmbeddings && model.vocab > 0, sentence`it ties embedding and head`],
    'gated-width': [
      model.gatedMlp && model.ffn !== gatedFfn,
      sentence`its gated feed-forward is ${formatCount(model.ffn)} wide, and this runtime makes any of this hidden size ${formatCount(gatedFfn)} wide`,
      sentence`set the feed-forward to ${formatCount(gatedFfn)}, or export for another runtime`,
    ],
  };
}

/**
 * The width of a gated feed-forward: two thirds of four times the hidden size, in multiples of 64 (megatron/arguments.py of 2023; `lines`
 * of each runtime has the place).
 */
function computedWidth(hidden: number): number {
  return Math.floor((4 * hidden * 2) / 3 / 64) * 64;
}

/** Limits on the model, which no plan changes. */
const modelLimits = ['experts', 'latent', 'tied', 'gated-width'] as const satisfies readonly SliceLimit[];

/** Refuses a run that the runtime cannot run, before a plan is made or searched for. @throws ExpectedError `export-slices`. */
export function requirePlannable(run: Run, { name, limits, lines }: SliceRuntime): void {
  const model = toTrainedModel(run);
  const refusalBy = modelRefusals(model);
  const ofModel = modelLimits.filter((limit) => limits.includes(limit)).map((limit) => located(refusalBy[limit], lines?.[limit]));
  requireUnbroken(name, [...ofModel, ...wholeRefusals(model, run.groups !== undefined)]);
}

/** A refusal with the place in the source of the runtime. */
function located([isBroken, what, ...remedy]: Refusal, line: string | undefined): Refusal {
  return [isBroken, line === undefined ? what : sentence`${what} (${line})`, ...remedy];
}

function wholeRefusals(model: ModelSpec, isMixed: boolean): readonly Refusal[] {
  return [
    [model.stacks !== undefined, sentence`its model has an encoder`, sentence`plan whole sequences`],
    [isMixed, sentence`it needs several kinds of nodes`, sentence`plan one kind of nodes`],
  ];
}

/** @throws ExpectedError `export-slices`. */
function requireRunnable(request: PlanRequest, { name, limits, lines }: SliceRuntime): void {
  const { model, training, layout, cluster, costTable } = request;
  const refusalBy = limitRefusals(request);
  requireUnbroken(name, [
    ...limits.flatMap((limit) => (limit === 'micro-batch' ? [] : [located(refusalBy[limit], lines?.[limit])])),
    [layout.pipeline === 1, sentence`it has one stage`, sentence`plan two stages or more`],
    [layout.virtualStages > 1, sentence`it has virtual stages, which are not planned with slices`, sentence`set layout.virtualStages to 1`],
    ...wholeRefusals(model, cluster.groups !== undefined),
    [
      costTable !== null && training.microBatch > 1,
      sentence`its measured times are of one sequence at a time`,
      sentence`set training.microBatch to 1`,
    ],
  ]);
}
