import { joinedGpus } from '../spec/cluster';
import { elementBytes } from '../spec/number-formats';
import { allReduceSeconds } from '../time-model/collectives';
import type { CostInputs } from '../time-model/rates';
import { usablePeakBytes } from '../memory-model/verdict';
import { optimizerBytes } from '../spec/optimizer';
import { busyTimes } from '../schedules/simulate/idle';
import { tableMicroBatches, searchedMicroBatches, type Cut } from './auto-pipe';
import { exactBalance, greedyBalance, stageSums, type StageUnits } from './balance';
import { activeBytes, frozenBytes, totalBytes, type StageBytes } from './memory';
import { simulateStep, stageTimes } from './pipeline';
import type { BalanceName, ElasticRequest } from './request';
import { analyticCosts, profiledCosts, type UnitCosts } from './unit-costs';
import { frozenUnits, unitsOf, type Unit } from './units';

/** What an epoch runs: the same numbers give the same step. */
export interface StepQuestion {
  readonly frozenLayers: number;
  readonly pipelineLength: number;
  readonly balance: BalanceName;
  /** Samples of one step on one pipeline. */
  readonly batch: number;
  readonly replicas: number;
  readonly replicasPerNode: number;
}

/** One step of an epoch as modelled, ms, without what the frozen layers take. */
export interface ModelledStep {
  readonly stageUnits: StageUnits;
  readonly microBatches: number;
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
  readonly cuts: Map<string, Cut | null>;
}

/** What plans of one elastic run share: its units and their costs, analytic or of its profile, and what was already computed of them. */
export function elasticContext(request: ElasticRequest): ElasticContext {
  const { model, training, cluster, constants } = request;
  const layout = { tensor: 1, pipeline: request.firstLength, data: 1, context: 1, expert: 1, virtualStages: 1 };
  const inputs: CostInputs = { model: model.spec, training, layout, cluster, constants };
  const costs = request.profile === null ? analyticCosts(inputs, model) : profiledCosts(inputs, model, request.profile.profile);
  return { request, inputs, units: unitsOf(model), costs, steps: new Map(), cuts: new Map() };
}

/** Units that still train. */
export function activeUnits({ units }: ElasticContext, frozenLayers: number): readonly Unit[] {
  return units.slice(frozenUnits(frozenLayers));
}

/** Cuts the units left by one of the balances; null when no cut keeps every stage within the GPU's memory (by time only). */
export function cutUnits(context: ElasticContext, balance: BalanceName, frozenLayers: number, stages: number, batch: number): Cut | null {
  const key = [balance, frozenLayers, stages, batch].join();
  let cut = context.cuts.get(key);
  if (cut === undefined) context.cuts.set(key, (cut = newCut(context, balance, frozenLayers, stages, batch)));
  return cut;
}

function newCut(context: ElasticContext, balance: BalanceName, frozenLayers: number, stages: number, batch: number): Cut | null {
  const active = activeUnits(context, frozenLayers);
  const parameters = active.map((unit) => unit.parameters);
  if (balance === 'time') return timedCut(context, active, frozenLayers, stages, batch);
  const units = balance === 'greedy' ? greedyBalance(parameters, stages) : exactParameters(parameters, stages);
  return { units, largest: Math.max(...stageSums(parameters, units)) };
}

function exactParameters(parameters: readonly number[], stages: number): StageUnits {
  const sums = prefixSums(parameters);
  return exactBalance(parameters.length, stages, (from, to) => (sums[to] ?? 0) - (sums[from] ?? 0)) ?? [];
}

/** The least time of the slowest stage among cuts that fit the GPUs; its largest stage is in bytes. */
function timedCut(context: ElasticContext, active: readonly Unit[], frozenLayers: number, stages: number, batch: number): Cut | null {
  const { inputs, costs } = context;
  const cost = costs(Math.max(1, Math.floor(batch / Math.min(batch, tableMicroBatches(stages)))));
  const milliseconds = prefixSums(active.map((_, index) => sumOf(stageTimes(active, cost, index, index + 1))));
  const heldBytes = prefixSums(active.map((_, index) => totalBytes(activeBytes(inputs, costs, active, [index, index + 1], batch))));
  const prefixBytes = frozenBytes(inputs, context.units.slice(0, frozenUnits(frozenLayers)), batch);
  const usable = usablePeakBytes(inputs.cluster.gpu.memoryBytes);
  const held = (from: number, to: number) => (heldBytes[to] ?? 0) - (heldBytes[from] ?? 0) + (from === 0 ? prefixBytes : 0);
  const units = exactBalance(active.length, stages, (from, to) =>
    held(from, to) > usable ? Infinity : (milliseconds[to] ?? 0) - (milliseconds[from] ?? 0),
  );
  if (units === null) return null;
  let from = 0;
  const largest = Math.max(
    ...units.map((count) => {
      from += count;
      return held(from - count, from);
    }),
  );
  return { units, largest };
}

function sumOf({ forward, backward }: { readonly forward: number; readonly backward: number }): number {
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

/** The step of an epoch with the fastest number of micro-batches, or PipeTransformer's table. */
export function modelledStep(context: ElasticContext, question: StepQuestion): ModelledStep {
  const { frozenLayers, pipelineLength, balance, batch, replicas, replicasPerNode } = question;
  const key = [frozenLayers, pipelineLength, balance, batch, replicas, replicasPerNode].join();
  const known = context.steps.get(key);
  if (known !== undefined) return known;
  const { units: stageUnits } = cutUnits(context, balance, frozenLayers, pipelineLength, batch) ?? cutOf(context, question);
  const tried = searchedMicroBatches(pipelineLength, batch);
  const affordable = Math.floor(mostOperations / (2 * pipelineLength * Math.max(...tried)));
  const stride = Math.ceil(tried.length / Math.max(1, Math.min(mostTried, affordable)));
  const counts =
    context.request.microBatches !== 'search'
      ? [Math.min(batch, context.request.microBatches === 'table' ? tableMicroBatches(pipelineLength) : context.request.microBatches)]
      : tried.filter((_, index) => index % stride === 0);
  const active = activeUnits(context, frozenLayers);
  const exchange = exchangeOf(context, stageSums(active.map((unit) => unit.parameters), stageUnits), question); // prettier-ignore
  let best: ModelledStep | null = null;
  for (const microBatches of counts) {
    const timeline = simulateStep({ inputs: context.inputs, costs: context.costs, active, stageUnits, batch, microBatches });
    if (best !== null && timeline.makespanMs >= best.pipelineMs) continue;
    best = { stageUnits, microBatches, pipelineMs: timeline.makespanMs, ...exchange, bubbleRate: busyTimes(timeline).bubbleRate };
  }
  if (best === null) throw new RangeError('no number of micro-batches was tried');
  context.steps.set(key, best);
  return best;
}

/** Where no cut fits the memory: the even one, which is then said not to fit. */
function cutOf(context: ElasticContext, { frozenLayers, pipelineLength, batch }: StepQuestion): Cut {
  return cutUnits(context, 'parameters', frozenLayers, pipelineLength, batch) ?? { units: [], largest: 0 };
}

/**
 * Gradient exchange of the active layers between the replicas and the optimizer, ms. The exchange starts with the last micro-batch's
 * backward (DDP), so nothing hides it. Rings of all stages
 * that leave a node share its network; inside a node the largest stage's ring decides.
 */
function exchangeOf(
  { inputs }: ElasticContext,
  stageParameters: readonly number[],
  { replicas, replicasPerNode }: StepQuestion,
): Pick<ModelledStep, 'allReduceMs' | 'optimizerMs'> {
  const { training, cluster, constants } = inputs;
  const gradient = training.gradAccumulationFp32 ? 4 : elementBytes(training);
  const largest = Math.max(0, ...stageParameters);
  const replicasJoined = (joinedGpus(cluster) / cluster.gpusPerNode) * replicasPerNode;
  const reach = { links: { ...cluster.links, nvlinkDomain: replicasJoined }, gpusPerNode: replicasPerNode };
  const crossing = replicas > replicasJoined ? stageParameters.reduce((sum, count) => sum + count, 0) : largest;
  return {
    allReduceMs: 1e3 * allReduceSeconds(gradient * crossing, replicas, reach),
    optimizerMs: (1e3 * optimizerBytes[training.optimizer].step * largest) / (cluster.gpu.memoryTBps * 1e12 * constants.memoryEfficiency),
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

/** The active layers' forward alone, as evaluation runs it: the time of a batch from end to end, ms. */
export function pipelineForwardMs(context: ElasticContext, question: StepQuestion): number {
  const { stageUnits, microBatches } = modelledStep(context, question);
  const active = activeUnits(context, question.frozenLayers);
  const { inputs, costs } = context;
  return simulateStep({ inputs, costs, active, stageUnits, batch: question.batch, microBatches, forwardOnly: true }).makespanMs;
}

/** Bytes of every stage of a step. */
export function stageBytesOf(context: ElasticContext, { frozenLayers, batch }: StepQuestion, stageUnits: StageUnits): StageBytes[] {
  const active = activeUnits(context, frozenLayers);
  const frozen = frozenBytes(context.inputs, context.units.slice(0, frozenUnits(frozenLayers)), batch);
  let from = 0;
  return stageUnits.map((count, stage) => {
    from += count;
    const held = activeBytes(context.inputs, context.costs, active, [from - count, from], batch);
    return stage === 0 ? { ...held, frozen } : held;
  });
}
