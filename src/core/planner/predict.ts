import type { ClusterSpec } from '../spec/cluster';
import { gradientExchange, optimizerTime, type BesideExchange } from '../time-model/stage-time';
import { linearPeak, type CostInputs } from '../time-model/rates';
import { profiledStageCost } from '../time-model/profile-cost';
import { splitLike, type SliceCost } from '../spec/slice-cost';
import { tableCost } from '../time-model/table';
import { throwIfCancelled, type CancelSignal } from '../errors';
import { countMemory, stageShapesOf } from '../memory-model/count';
import { fitsMemory } from '../memory-model/verdict';
import { shapeKey, type StageShape } from '../memory-model/layer-tensors';
import { sequenceFlops } from '../model/flops';
import { busyTimes, idleTimes } from '../schedules/simulate/idle';
import type { PassTimes } from '../schedules/kind';
import { placeChunks } from '../schedules/registry';
import { operationKind, type Timeline, type WorkUnit } from '../schedules/schedule';
import type { ScheduleName } from '../spec/schedule-names';
import { simulate, wholeBackward } from '../schedules/simulate/simulate';
import type { Durations, Transfers } from '../schedules/simulate/transfers';
import { cardsOf, stageInputsOf } from '../partition/stage-inputs';
import type { Scheme } from '../spec/scheme';
import { chunkCost } from '../partition/offload';
import type { Candidate, CandidateId, Certificate } from './plan';
import { chunkCut, chunksPerStage, kindFor, makeSchedule, memoryInputs, type ChunkCut } from '../partition/scheduling';
import { cutShapes, usualCut } from '../partition/stages';
import { sequenceTokens, type PlanRequest } from '../spec/request';
import { slowestSendMs, transfersOf } from './transfers';

/** Timelines with more operations than this are used for the numbers but not kept for drawing. */
export const maximumTimelineOperations = 2_000_000;

/** What every candidate of one request shares. */
export interface Pipeline {
  readonly inputs: CostInputs & { readonly cluster: ClusterSpec };
  /** Those of each stage, which differ on a cluster of several kinds of nodes; stages of one kind share one. */
  readonly stageInputs: readonly CostInputs[];
  readonly shapes: readonly StageShape[];
  /** Layers of each stage, or of each chunk, where they are decided; null: as equal as the schedule's chunks allow. */
  readonly stageLayers: readonly number[] | null;
  /** One per stage; stages of one shape share a function. */
  readonly costs: readonly SliceCost[];
  /** The cost of a part of a stage; parts of one shape share a function. `share` is how many times the layers of a stage on average it has. */
  readonly costOf: (shape: StageShape, share: number, stage: number) => SliceCost;
  /** Times come from a table that already holds the transfers. */
  readonly measured: boolean;
}

/**
 * The cost of a part of a stage, with `share` times the layers of a stage on average. A profile and a table have measured backward as a whole: gradients of weights take the share of it that the analytic model gives them for the
 * same slice. A table is of one whole stage of as many layers as stages have on average: others, and chunks, take it in proportion to theirs.
 */
export function partCosts(
  { costTable, profile }: Pick<PlanRequest, 'costTable' | 'profile'>,
  inputs: CostInputs,
): (shape: StageShape, share: number) => SliceCost {
  const table = costTable === null ? null : tableCost(costTable);
  return (shape, share) => {
    const analytic = chunkCost(inputs, shape);
    if (table !== null) return splitLike(table, analytic, share);
    return profile === null ? analytic : splitLike(profiledStageCost(inputs, profile.profile, shape.layers, shape), analytic);
  };
}

/** The stages of a request with their costs. */
export function pipelineOf(request: PlanRequest): Pipeline {
  const { model, training, layout, cluster, constants, costTable } = request;
  const inputs = { model, training, layout, cluster, constants };
  const stageInputs = stageInputsOf(inputs);
  const stageLayers = layout.stageLayers ?? null;
  const shapes =
    stageLayers === null
      ? cutShapes(usualCut(model, training, layout.pipeline), model)
      : stagesOfCut(layout.pipeline, chunkCut(inputs, kindFor(request.schedule ?? '1F1B', layout), stageLayers));
  const known = new Map<string, SliceCost>();
  const costOf = (shape: StageShape, share: number, stage: number): SliceCost => {
    const own = stageInputs[stage] ?? inputs;
    const key = `${stageInputs.indexOf(own)},${shapeKey(shape)},${costTable === null ? 1 : share}`;
    let cost = known.get(key);
    if (cost === undefined) known.set(key, (cost = partCosts(request, own)(shape, share)));
    return cost;
  };
  const costs = shapes.map((shape, stage) => costOf(shape, shareOf(inputs, shape), stage));
  return { inputs, stageInputs, shapes, stageLayers, costs, costOf, measured: costTable !== null };
}

/** Layers of a part of the model over those of a stage on average. */
export function shareOf({ model, layout }: Pick<CostInputs, 'model' | 'layout'>, { layers }: Pick<StageShape, 'layers'>): number {
  return (layers * layout.pipeline) / model.layers;
}

/** What each stage of a cut has. */
export function stagesOfCut(stages: number, { shapes, stageOfChunk }: ChunkCut): StageShape[] {
  return stageShapesOf(stages, stageOfChunk, shapes);
}

/** One way to run the step, as a name and what it needs. */
export interface CandidateSpec {
  readonly id: CandidateId;
  readonly name: string;
  /** `1F1B` on a layout with virtual stages is interleaved. */
  readonly schedule: ScheduleName;
  readonly scheme: Scheme;
  readonly certificate: Certificate | null;
}

/** A candidate without what is drawn and told of its bubble. */
export type Measured = Omit<Candidate, 'idle' | 'timeline'>;

/**
 * Predicts time and memory of one candidate by simulating its schedule.
 * @throws ExpectedError `schedule-unmet` when the schedule cannot run on these stages, layers and micro-batches; CancelledError.
 */
export function predict(pipeline: Pipeline, spec: CandidateSpec, signal?: CancelSignal): Candidate {
  const { measured, timeline, durations, transfers } = simulated(pipeline, spec, signal);
  return {
    ...measured,
    idle: idleTimes(timeline, durations, transfers),
    timeline: timeline.kind.length <= maximumTimelineOperations ? timeline : null,
  };
}

/** The numbers of `predict` alone, for those who ask for many. @throws ExpectedError `schedule-unmet` as `predict`. */
export function measure(pipeline: Pipeline, spec: CandidateSpec, signal?: CancelSignal): Measured {
  return simulated(pipeline, spec, signal).measured;
}

interface Simulated {
  readonly measured: Measured;
  readonly timeline: Timeline;
  readonly durations: Durations;
  readonly transfers: Transfers;
}

function simulated(pipeline: Pipeline, spec: CandidateSpec, signal: CancelSignal | undefined): Simulated {
  const { inputs, stageInputs } = pipeline;
  const { training, layout, model } = inputs;
  const kind = kindFor(spec.schedule, layout);
  const chunks = chunksPerStage(kind, layout);
  const timesOf = (units: readonly WorkUnit[], shapes: readonly StageShape[]): Durations =>
    durationsOf(chunkCosts(pipeline, shapes, placeChunks(kind.placement, layout.pipeline, chunks)), units, kind.splitsBackward);
  const cards = cardsOf(inputs.cluster, layout);
  const made = makeSchedule(inputs, kind, spec.scheme, cards, {
    signal,
    stageLayers: pipeline.stageLayers,
    timesOf: (units, shapes) =>
      passTimes(pipeline, units, timesOf(units.slice(0, 1), shapes), placeChunks(kind.placement, layout.pipeline, chunks)),
  });
  const { schedule, shapes } = made;
  const durations = timesOf(schedule.units, shapes);
  const transfers = transfersOf(pipeline, schedule);
  throwIfCancelled(signal);
  const timeline = simulate(schedule, durations, transfers, signal);
  throwIfCancelled(signal);
  const { busyMs, bubbleRate } = busyTimes(timeline);

  const pipelineMs = timeline.makespanMs;
  const order = spec.schedule === 'TeraPipe' ? 'pipeline' : 'data';
  const held = stagesOfCut(layout.pipeline, made);
  const slowest = (timeMs: (own: CostInputs, stage: StageShape, index: number) => number): number =>
    Math.max(...held.map((stage, index) => timeMs(stageInputs[index] ?? inputs, stage, index)));
  const beside = besideExchange(timeline);
  const gradientExchangeMs = slowest((own, stage, index) => gradientExchange(own, stage, order, beside[index]));
  const optimizerMs = slowest(optimizerTime);
  const iterationMs = pipelineMs + gradientExchangeMs + optimizerMs;

  throwIfCancelled(signal);
  const memory = countMemory(memoryInputs(inputs, chunks), schedule, shapes, cards);
  const modelFlops = training.globalBatch * sequenceFlops(model, training);
  const measured: Measured = {
    ...spec,
    chunksPerStage: chunks,
    iterationMs,
    pipelineMs,
    gradientExchangeMs,
    optimizerMs,
    bubbleRate,
    busyMs,
    tokensPerSecond: (training.globalBatch * sequenceTokens(training) * 1e3) / iterationMs,
    mfu: (modelFlops * 1e3) / iterationMs / peakFlopsOf(pipeline),
    memory,
    fits: fitsMemory(memory),
  };
  return { measured, timeline, durations, transfers };
}

/**
 * What exchanges of each stage run beside: weights beside the first forward on the first stage, before which nothing runs; gradients of a chunk from the start of its last backward on, one chunk after the other. So a pass that takes
 * longer never ends the step sooner.
 */
function besideExchange({ stages, stageOfChunk, kind, chunk, startMs, endMs, makespanMs }: Timeline): BesideExchange[] {
  const lastMs = new Float64Array(stageOfChunk.length);
  let firstEndMs = Infinity;
  for (let row = 0; row < kind.length; row++) {
    firstEndMs = Math.min(firstEndMs, endMs[row] ?? Infinity);
    if (kind[row] === operationKind.backward || kind[row] === operationKind.backwardWeight)
      lastMs[chunk[row] ?? 0] = Math.max(lastMs[chunk[row] ?? 0] ?? 0, startMs[row] ?? 0);
  }
  return Array.from({ length: stages }, (_, stage) => {
    const starts = lastMs.filter((__, index) => stageOfChunk[index] === stage).sort((a, b) => b - a);
    return {
      weights: { share: 1 / starts.length, ms: firstEndMs },
      gradients: Array.from(starts, (ms, after) => ({ share: (after + 1) / starts.length, ms: makespanMs - ms })),
    };
  });
}

/** Peak of all GPUs together, FLOP per second. */
function peakFlopsOf({ inputs, stageInputs }: Pipeline): number {
  const { tensor, data, context } = inputs.layout;
  return [...new Set(stageInputs)].reduce((sum, own) => {
    const gpus = tensor * stageInputs.filter((other) => other === own).length * data * context;
    return sum + gpus * linearPeak(own.cluster, own.training);
  }, 0);
}

/** Cost of each chunk. */
function chunkCosts({ inputs, costOf }: Pipeline, shapes: readonly StageShape[], stageOfChunk: Uint32Array): SliceCost[] {
  return shapes.map((shape, chunk) => costOf(shape, shareOf(inputs, shape), stageOfChunk[chunk] ?? 0));
}

function durationsOf(costs: readonly SliceCost[], units: readonly WorkUnit[], isSplit: boolean): Durations {
  const forwardMs = new Float64Array(costs.length * units.length);
  const backwardMs = new Float64Array(costs.length * units.length);
  const backwardWeightMs = new Float64Array(costs.length * units.length);
  const splitWaitMs = new Float64Array(costs.length * units.length);
  const chunkOf = new Map<SliceCost, number>();
  costs.forEach((cost, chunk) => {
    const from = chunk * units.length;
    const same = chunkOf.get(cost);
    if (same !== undefined) {
      for (const column of [forwardMs, backwardMs, backwardWeightMs, splitWaitMs])
        column.copyWithin(from, same * units.length, (same + 1) * units.length);
      return;
    }
    chunkOf.set(cost, chunk);
    units.forEach(({ batch, tokens, context }, unit) => {
      const time = cost(batch, tokens, context);
      forwardMs[from + unit] = time.forwardMs;
      backwardMs[from + unit] = time.backwardMs;
      backwardWeightMs[from + unit] = time.backwardWeightMs;
      splitWaitMs[from + unit] = time.splitWaitMs ?? 0;
    });
  });
  if (!isSplit) return wholeBackward(forwardMs, backwardMs);
  const backwardInputMs = backwardMs.map((ms, cell) => ms - (backwardWeightMs[cell] ?? 0) + (splitWaitMs[cell] ?? 0));
  return { forwardMs, backwardInputMs, backwardWeightMs };
}

/** What planners plan with: the first unit's times, on each stage all its chunks together. */
function passTimes(pipeline: Pipeline, [first]: readonly WorkUnit[], durations: Durations, stageOfChunk: Uint32Array): PassTimes {
  const sumOf = (ms: Float64Array): Float64Array => {
    const sum = new Float64Array(pipeline.shapes.length);
    stageOfChunk.forEach((stage, chunk) => (sum[stage] = (sum[stage] ?? 0) + (ms[chunk] ?? 0)));
    return sum;
  };
  return {
    forwardMs: sumOf(durations.forwardMs),
    backwardInputMs: sumOf(durations.backwardInputMs),
    backwardWeightMs: sumOf(durations.backwardWeightMs),
    sendMs: first === undefined ? 0 : slowestSendMs(pipeline, stageOfChunk, first),
  };
}

/** Operations that simulating `scheme` takes: forward and backward of each unit on each chunk, or forward and both halves of backward. */
export function operationCount(scheme: Scheme, chunks: number, perUnit = 2): number {
  return perUnit * chunks * scheme.reduce((units, { tokens }) => units + tokens.length, 0);
}
