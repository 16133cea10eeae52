import { joinedGpus } from '../../../core/domain/cluster';
import { elementBytes } from '../../../core/domain/number-formats';
import { allReduceSeconds } from '../../../core/time-model/collectives';
import type { CostInputs } from '../../../core/time-model/rates';
import { usablePeakBytes } from '../../../core/memory-model/verdict';
import { stepBytes } from '../../../core/domain/optimizer';
import type { Timeline } from '../../../core/schedules/schedule';
import { busyTimes } from '../../../core/schedules/simulate/idle';
import { memoized } from '../../../core/records';
import { tableMicroBatches, searchedMicroBatches, type StagePartition } from './auto-pipe';
import { exactBalance, greedyBalance, stageSums, type StageUnits } from './balance';
import { activeBytes, frozenBytes } from './memory';
import { totalBytes, type StageBytes } from './stage-bytes';
import { equalWorkLengths, forwardWork } from '../../../core/slicing/chunk-rules';
import { samplesInFlight, simulateStep, stageTimes, type PipelineStep } from './pipeline';
import type { BalanceName, ElasticRequest } from './request';
import { analyticCosts, profiledCosts, type UnitCosts } from './unit-costs';
import { frozenUnits, elasticUnits, type Unit } from './units';
import { maximum } from '../../../core/numbers';

/** What an epoch runs: the same numbers give the same step. */
export interface StepQuestion {
  readonly frozenLayers: number;
  readonly pipelineLength: number;
  readonly balance: BalanceName;
  /** Samples of one step on one pipeline. */
  readonly batch: number;
  readonly replicas: number;
  readonly replicasPerNode: number;
  /** The frozen layers pass through the pipeline with the others, forward only, in place of before it on its first GPU. */
  readonly isFrozenInside?: boolean;
}

/** One step of an epoch as modelled, ms, without what the frozen layers take. */
export interface ModelledStep {
  /** Units that train on each stage; and those that are frozen, where they pass through the pipeline. */
  readonly stageUnits: StageUnits;
  readonly stageFrozenUnits: StageUnits;
  readonly microBatches: number;
  readonly slices: readonly number[];
  /** Samples whose activations each stage holds at most. */
  readonly samplesInFlight: readonly number[];
  readonly pipelineMs: number;
  readonly allReduceMs: number;
  readonly optimizerMs: number;
  readonly bubbleRate: number;
}

/** Everything the epochs of one request share: the units, their costs, and what was worked out already. */
export interface ElasticContext {
  readonly request: ElasticRequest;
  readonly inputs: CostInputs;
  readonly units: readonly Unit[];
  readonly costs: UnitCosts;
  readonly steps: Map<string, ModelledStep>;
  readonly cuts: Map<string, StagePartition | null>;
}

/** What plans of one elastic run share: its units and their costs, analytic or of its profile, and what was already computed of them. */
export function elasticContext(request: ElasticRequest): ElasticContext {
  const { model, training, cluster, constants } = request;
  const layout = { tensor: 1, pipeline: request.firstLength, data: 1, context: 1, expert: 1, virtualStages: 1 };
  const inputs: CostInputs = { model: model.spec, training, layout, cluster, constants };
  const costs = request.profile === null ? analyticCosts(inputs, model) : profiledCosts(inputs, model, request.profile.profile);
  return { request, inputs, units: elasticUnits(model), costs, steps: new Map(), cuts: new Map() };
}

/** Units that still train. */
export function activeUnits({ units }: ElasticContext, frozenLayers: number): readonly Unit[] {
  return units.slice(frozenUnits(frozenLayers));
}

/** Cuts the units left by one of the balances; null when no cut keeps every stage within the GPU's memory (by time only). */
export function cutUnits(
  context: ElasticContext,
  balance: BalanceName,
  frozenLayers: number,
  stages: number,
  batch: number,
): StagePartition | null {
  const key = [balance, frozenLayers, stages, batch].join();
  let cut = context.cuts.get(key);
  if (cut === undefined) context.cuts.set(key, (cut = newCut(context, balance, frozenLayers, stages, batch)));
  return cut;
}

function newCut(context: ElasticContext, balance: BalanceName, frozenLayers: number, stages: number, batch: number): StagePartition | null {
  const active = activeUnits(context, frozenLayers);
  const parameters = active.map((unit) => unit.parameters);
  if (balance === 'time') return timedCut(context, active, frozenLayers, stages, batch);
  const units = balance === 'greedy' ? greedyBalance(parameters, stages) : exactParameters(parameters, stages);
  return { units, largest: maximum(stageSums(parameters, units)) };
}

function exactParameters(parameters: readonly number[], stages: number): StageUnits {
  const sums = prefixSums(parameters);
  return exactBalance(parameters.length, stages, (from, to) => (sums[to] ?? 0) - (sums[from] ?? 0)) ?? [];
}

/** The least time of the slowest stage among cuts that fit the GPUs; its largest stage is in bytes. */
function timedCut(
  context: ElasticContext,
  active: readonly Unit[],
  frozenLayers: number,
  stages: number,
  batch: number,
): StagePartition | null {
  const { inputs, costs } = context;
  const cost = costs(Math.max(1, Math.floor(batch / Math.min(batch, tableMicroBatches(stages)))));
  const milliseconds = prefixSums(active.map((_, index) => bothPasses(stageTimes(active, cost, index, index + 1))));
  const heldBytes = prefixSums(active.map((_, index) => totalBytes(activeBytes(inputs, costs, active, [index, index + 1], batch))));
  const prefixBytes = frozenBytes(inputs, context.units.slice(0, frozenUnits(frozenLayers)), batch);
  const usable = usablePeakBytes(inputs.cluster.gpu.memoryBytes);
  const held = (from: number, to: number) => (heldBytes[to] ?? 0) - (heldBytes[from] ?? 0) + (from === 0 ? prefixBytes : 0);
  const units = exactBalance(active.length, stages, (from, to) =>
    held(from, to) > usable ? Infinity : (milliseconds[to] ?? 0) - (milliseconds[from] ?? 0),
  );
  if (units === null) return null;
  let from = 0;
  const largest = maximum(
    units.map((count) => {
      from += count;
      return held(from - count, from);
    }),
  );
  return { units, largest };
}

function bothPasses({ forward, backward }: { readonly forward: number; readonly backward: number }): number {
  return forward + backward;
}

/** `sums[i]`: of the first i values. */
function prefixSums(values: readonly number[]): Float64Array {
  const sums = new Float64Array(values.length + 1);
  values.forEach((value, index) => {
    sums[index + 1] = (sums[index] ?? 0) + value;
  });
  return sums;
}

/** Most numbers of micro-batches that are tried for one step, and most operations simulated for it: very long pipelines try fewer. */
const mostTried = 64;
const mostOperations = 4_000_000;

/**
 * The step of an epoch with the fastest number of micro-batches and slices that fits, or those that were asked for. Where nothing fits it
 * is the one that needs least.
 */
export function modelledStep(context: ElasticContext, question: StepQuestion): ModelledStep {
  const { frozenLayers, pipelineLength, balance, batch, replicas, replicasPerNode, isFrozenInside = false } = question;
  const key = [frozenLayers, pipelineLength, balance, batch, replicas, replicasPerNode, isFrozenInside].join();
  return memoized(context.steps, key, () => newStep(context, question));
}

function newStep(context: ElasticContext, question: StepQuestion): ModelledStep {
  const { request } = context;
  const units = stepUnits(context, question);
  const exchange = gradientExchange(context, stageSums(units.active.map((unit) => unit.parameters), units.stageUnits), question); // prettier-ignore
  let best: { readonly step: ModelledStep; readonly excessBytes: number } | null = null;
  for (const passing of triedPassings(request, question)) {
    const timeline = simulateStep(pipelineStep(context, question, units, passing));
    const step = {
      ...passing,
      stageUnits: units.stageUnits,
      stageFrozenUnits: units.stageFrozenUnits,
      samplesInFlight: samplesInFlight(timeline),
      pipelineMs: timeline.makespanMs,
      ...exchange,
      bubbleRate: busyTimes(timeline).bubbleRate,
    };
    const excessBytes = Math.max(0, largestBytes(context, question, step) - usablePeakBytes(request.cluster.gpu.memoryBytes));
    if (best === null || excessBytes < best.excessBytes || (excessBytes === best.excessBytes && step.pipelineMs < best.step.pipelineMs))
      best = { step, excessBytes };
  }
  if (best === null) throw new RangeError('no number of micro-batches was tried');
  return best.step;
}

function largestBytes(context: ElasticContext, question: StepQuestion, step: ModelledStep): number {
  return maximum(stepStageBytes(context, question, step).map(totalBytes));
}

/** What passes through a pipeline, cut into stages. */
interface StepUnits extends Pick<PipelineStep, 'active' | 'frozen'> {
  readonly cut: StageUnits;
  readonly stageUnits: StageUnits;
  readonly stageFrozenUnits: StageUnits;
}

function stepUnits(context: ElasticContext, question: StepQuestion): StepUnits {
  const { frozenLayers, pipelineLength, balance, batch, isFrozenInside = false } = question;
  if (!isFrozenInside || frozenLayers === 0) {
    const { units } = cutUnits(context, balance, frozenLayers, pipelineLength, batch) ?? evenOrFittingCut(context, question);
    return { active: activeUnits(context, frozenLayers), frozen: 0, cut: units, stageUnits: units, stageFrozenUnits: units.map(() => 0) };
  }
  const frozen = frozenUnits(frozenLayers);
  const cut = cutInside(context, frozen, pipelineLength, batch);
  let before = 0;
  const stageFrozenUnits = cut.map((count) => {
    const held = Math.max(0, Math.min(count, frozen - before));
    before += count;
    return held;
  });
  const stageUnits = cut.map((count, stage) => count - (stageFrozenUnits[stage] ?? 0));
  return { active: context.units, frozen, cut, stageUnits, stageFrozenUnits };
}

/** All units by time, the frozen ones forward only, so that they take GPUs of their own where they are long. */
function cutInside({ units, costs }: ElasticContext, frozen: number, stages: number, batch: number): StageUnits {
  const cost = costs(Math.max(1, Math.floor(batch / Math.min(batch, tableMicroBatches(stages)))));
  const milliseconds = prefixSums(units.map((_, index) => bothPasses(stageTimes(units, cost, index, index + 1, frozen))));
  return exactBalance(units.length, stages, (from, to) => (milliseconds[to] ?? 0) - (milliseconds[from] ?? 0)) ?? [];
}

function pipelineStep(
  { inputs, costs }: ElasticContext,
  { batch }: StepQuestion,
  { active, frozen, cut }: StepUnits,
  passing: ReturnType<typeof triedPassings>[number],
): PipelineStep {
  return { inputs, costs, active, frozen, stageUnits: cut, batch, ...passing };
}

/** Numbers of slices that a search tries. */
const searchedSlices = [1, 2, 3, 4, 6, 8] as const;

/** Ways to pass the samples that are tried: numbers of micro-batches, each with numbers of slices. */
function triedPassings(request: ElasticRequest, { pipelineLength, batch }: StepQuestion) {
  const { microBatches, schedule, tokenSlices, training, model } = request;
  const tried = searchedMicroBatches(pipelineLength, batch);
  const affordable = Math.floor(mostOperations / (2 * pipelineLength * maximum(tried)));
  const kinds = tokenSlices === 'search' ? searchedSlices.length : 1;
  const stride = Math.ceil(tried.length / Math.max(1, Math.min(mostTried / kinds, affordable)));
  const counts =
    microBatches !== 'search'
      ? [Math.min(batch, microBatches === 'table' ? tableMicroBatches(pipelineLength) : microBatches)]
      : tried.filter((_, index) => index % stride === 0);
  const tokens = training.sequenceLength;
  const cuts = (tokenSlices === 'search' ? searchedSlices : [tokenSlices])
    .map((count) => (count === 1 ? [tokens] : equalWorkLengths(tokens, count, 1, forwardWork(model.spec))))
    .filter((cut) => cut !== null);
  const slicings: readonly (readonly number[])[] = cuts.length === 0 ? [[tokens]] : cuts;
  return counts.flatMap((count) => slicings.map((slices) => ({ schedule, microBatches: count, slices })));
}

/** A step's events, as it was timed, and its forward only. */
export function stepTimeline(context: ElasticContext, question: StepQuestion, forwardOnly = false): Timeline {
  const { microBatches, slices } = modelledStep(context, question);
  const { schedule } = context.request;
  return simulateStep({
    ...pipelineStep(context, question, stepUnits(context, question), { schedule, microBatches, slices }),
    forwardOnly,
  });
}

/** Where no cut fits the memory: the even one, which is then reported not to fit. */
function evenOrFittingCut(context: ElasticContext, { frozenLayers, pipelineLength, batch }: StepQuestion): StagePartition {
  return cutUnits(context, 'parameters', frozenLayers, pipelineLength, batch) ?? { units: [], largest: 0 };
}

/**
 * Gradient exchange of the active layers between the replicas and the optimizer, ms. The exchange starts with the last micro-batch's
 * backward (DDP), so nothing hides it. Rings of all stages that leave a node share its network; inside a node the largest stage's ring
 * decides.
 */
function gradientExchange(
  { inputs }: ElasticContext,
  stageParameters: readonly number[],
  { replicas, replicasPerNode }: StepQuestion,
): Pick<ModelledStep, 'allReduceMs' | 'optimizerMs'> {
  const { training, cluster, constants } = inputs;
  const gradient = training.gradAccumulationFp32 ? 4 : elementBytes(training);
  const largest = Math.max(0, maximum(stageParameters));
  const replicasJoined = (joinedGpus(cluster) / cluster.gpusPerNode) * replicasPerNode;
  const reach = { links: { ...cluster.links, nvlinkDomain: replicasJoined }, gpusPerNode: replicasPerNode };
  const crossing = replicas > replicasJoined ? stageParameters.reduce((sum, count) => sum + count, 0) : largest;
  return {
    allReduceMs: 1e3 * allReduceSeconds(gradient * crossing, replicas, reach),
    optimizerMs: (1e3 * stepBytes(training) * largest) / (cluster.gpu.memoryTBps * 1e12 * constants.memoryEfficiency),
  };
}

/**
 * Forward of the frozen layers from `from` to `to - 1` for a whole batch on the pipeline's first GPU, ms; the embedding goes with layer 0.
 * Where the rate through all layers was measured, it is their share of that.
 */
export function frozenForwardMs({ request, units, costs }: ElasticContext, from: number, to: number, batch: number): number {
  const cost = costs(batch);
  const forwardMs = (first: number, end: number): number =>
    units.slice(frozenUnits(first), frozenUnits(end)).reduce((sum, { kind }) => sum + cost[kind].forwardMs, 0);
  const { frozenSamplesPerSecond, model } = request;
  if (frozenSamplesPerSecond === null) return forwardMs(from, to);
  return (forwardMs(from, to) * ((1e3 * batch) / frozenSamplesPerSecond)) / forwardMs(0, model.spec.layers);
}

/** The forward of what passes through a pipeline, as evaluation runs it: the time of a batch from end to end, ms. */
export function pipelineForwardMs(context: ElasticContext, question: StepQuestion): number {
  return stepTimeline(context, question, true).makespanMs;
}

/** Bytes of every stage of a step. */
export function stepStageBytes(
  context: ElasticContext,
  { frozenLayers, batch }: StepQuestion,
  { stageUnits, stageFrozenUnits, samplesInFlight: held }: Pick<ModelledStep, 'stageUnits' | 'stageFrozenUnits' | 'samplesInFlight'>,
): StageBytes[] {
  const active = activeUnits(context, frozenLayers);
  const frozen = context.units.slice(0, frozenUnits(frozenLayers));
  const isInside = stageFrozenUnits.some((count) => count > 0);
  let [from, fromFrozen] = [0, 0];
  return stageUnits.map((count, stage) => {
    const inside = frozen.slice(fromFrozen, fromFrozen + (stageFrozenUnits[stage] ?? 0));
    from += count;
    fromFrozen += inside.length;
    const bytes = activeBytes(context.inputs, context.costs, active, [from - count, from], held[stage] ?? batch);
    if (isInside) return { ...bytes, frozen: frozenBytes(context.inputs, inside, 1) };
    return stage === 0 ? { ...bytes, frozen: frozenBytes(context.inputs, frozen, batch) } : bytes;
  });
}
