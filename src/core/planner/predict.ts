import { megatronBoundary, gradientExchange, optimizerTime, stageCost, terapipeBoundary } from '../cost/stage-time';
import { cachedBySlice, type CostInputs } from '../cost/layer-time';
import { profiledStageCost } from '../cost/profile-cost';
import type { SliceCost } from '../cost/slice-cost';
import { tableCost } from '../cost/table';
import { countMemory, fitsMemory } from '../memory/count';
import type { StageShape } from '../memory/runtime';
import { modelFlopsPerSequence } from '../model/parameters';
import { busyTimes } from '../schedule/idle';
import { generateSchedule, problemOf } from '../schedule/registry';
import type { PlannedSchedule, Schedule, WorkUnit } from '../schedule/schedule';
import { simulate, wholeBackward, type Durations, type Transfers } from '../schedule/simulate';
import type { Scheme } from '../solver/slicing';
import type { Candidate, CandidateId, Certificate } from './plan';
import { stageShapes } from './stages';
import type { PlanRequest } from './request';

/** Timelines with more operations than this are used for the numbers but not kept for drawing. */
export const maximumTimelineOperations = 2_000_000;

/** What every candidate of one request shares. */
export interface Pipeline {
  readonly inputs: CostInputs;
  readonly shapes: readonly StageShape[];
  /** One per stage; stages of one shape share a function. */
  readonly costs: readonly SliceCost[];
  /** Times come from a table that already holds the transfers. */
  readonly measured: boolean;
}

/** The stages of a request with their costs. */
export function pipelineOf(request: PlanRequest): Pipeline {
  const { model, training, layout, cluster, constants, costTable, profile } = request;
  const inputs: CostInputs = { model, training, layout, cluster, constants };
  const shapes = stageShapes(model.layers, layout.pipeline);
  if (costTable !== null) {
    const cost = tableCost(costTable);
    return { inputs, shapes, costs: shapes.map(() => cost), measured: true };
  }
  const known = new Map<string, SliceCost>();
  const costs = shapes.map((shape) => {
    const key = `${shape.layers},${shape.first},${shape.last}`;
    let cost = known.get(key);
    if (cost !== undefined) return cost;
    cost = profile === null ? stageCost(inputs, shape.layers, shape) : profiledStageCost(inputs, profile.profile, shape.layers, shape);
    known.set(key, cost);
    return cost;
  });
  return { inputs, shapes, costs, measured: false };
}

/** One way to run the step, as a name and what it needs. */
export interface CandidateSpec {
  readonly id: CandidateId;
  readonly name: string;
  readonly schedule: PlannedSchedule;
  readonly scheme: Scheme;
  readonly certificate: Certificate | null;
}

/** Predicts time and memory of one candidate by simulating its schedule. */
export function predict(pipeline: Pipeline, spec: CandidateSpec): Candidate {
  const { inputs, shapes } = pipeline;
  const { training, layout, cluster, model } = inputs;
  const schedule = generateSchedule(spec.schedule, problemOf(spec.scheme, layout.pipeline));
  const durations = durationsOf(pipeline, schedule);
  const timeline = simulate(schedule, durations, transfersOf(pipeline, schedule));
  const { busyMs, bubbleRate } = busyTimes(timeline);

  const interleavedMs = layout.virtualStages > 1 && spec.schedule === '1F1B' ? interleavedTime(pipeline, schedule, durations) : null;
  const pipelineMs = interleavedMs ?? timeline.makespanMs;
  const layersPerStage = model.layers / layout.pipeline;
  const gradientExchangeMs = gradientExchange(inputs, layersPerStage, spec.schedule === 'TeraPipe' ? 'pipeline' : 'data');
  const optimizerMs = optimizerTime(inputs, layersPerStage);
  const iterationMs = pipelineMs + gradientExchangeMs + optimizerMs;

  const memory = countMemory(inputs, schedule, shapes, cluster.gpu.memoryBytes);
  const gpus = layout.tensor * layout.pipeline * layout.data * layout.context;
  const modelFlops = training.globalBatch * modelFlopsPerSequence(model, training.sequenceLength);
  const peakFlops = gpus * cluster.gpu.peakTflops[training.precision] * 1e12;
  const drawable = interleavedMs === null && schedule.kind.length <= maximumTimelineOperations;
  return {
    ...spec,
    iterationMs,
    pipelineMs,
    gradientExchangeMs,
    optimizerMs,
    bubbleRate: interleavedMs === null ? bubbleRate : 1 - mean(busyMs) / interleavedMs,
    busyMs,
    tokensPerSecond: (training.globalBatch * training.sequenceLength * 1e3) / iterationMs,
    mfu: (modelFlops * 1e3) / iterationMs / peakFlops,
    timeline: drawable ? timeline : null,
    memory,
    fits: fitsMemory(memory),
  };
}

/**
 * The slice time that the dynamic program minimises: forward and backward on the slowest stage, with both transfers, which hold the sender (TeraPipe's runtime).
 * With stages that differ at the ends this is the bottleneck stage; the simulation of the answer uses each stage's own times.
 */
export function slicingCost(pipeline: Pipeline): (batch: number, tokens: number, context: number) => number {
  const stages = [...new Set(pipeline.costs)];
  const boundaries = pipeline.measured || pipeline.shapes.length < 2 ? 0 : 2;
  const transfers = cachedBySlice((batch, tokens) =>
    boundaries === 0 ? 0 : boundaries * terapipeBoundary(pipeline.inputs, batch, tokens),
  );
  return (batch, tokens, context) => {
    let slowest = 0;
    for (const cost of stages) {
      const { forwardMs, backwardMs } = cost(batch, tokens, context);
      slowest = Math.max(slowest, forwardMs + backwardMs);
    }
    return slowest + transfers(batch, tokens);
  };
}

function durationsOf({ costs }: Pipeline, { units, stages }: Schedule): Durations {
  const forwardMs = new Float64Array(stages * units.length);
  const backwardMs = new Float64Array(stages * units.length);
  const stageOf = new Map<SliceCost, number>();
  costs.forEach((cost, stage) => {
    const from = stage * units.length;
    const same = stageOf.get(cost);
    if (same !== undefined) {
      for (const column of [forwardMs, backwardMs]) column.copyWithin(from, same * units.length, (same + 1) * units.length);
      return;
    }
    stageOf.set(cost, stage);
    units.forEach(({ batch, tokens, context }, unit) => {
      const time = cost(batch, tokens, context);
      forwardMs[from + unit] = time.forwardMs;
      backwardMs[from + unit] = time.backwardMs;
    });
  });
  return wholeBackward(forwardMs, backwardMs);
}

function transfersOf({ inputs, measured }: Pipeline, { name, units }: Schedule): Transfers {
  const boundary = (unit: WorkUnit): number => {
    if (measured) return 0;
    return name === 'TeraPipe' ? terapipeBoundary(inputs, unit.batch, unit.tokens) : megatronBoundary(inputs, unit.batch, unit.tokens);
  };
  const ms = Float64Array.from(units, boundary);
  return { forwardMs: ms, backwardMs: ms, mode: name === 'TeraPipe' ? 'blocking' : 'fill-and-drain' };
}

/** Interleaved 1F1B: m max + (sum - max)/v + (p-1) x, the boundary x not divided (facts on step time, section 3). */
function interleavedTime({ inputs, measured }: Pipeline, { units, stages }: Schedule, { forwardMs, backwardInputMs }: Durations): number {
  const stageMs = Array.from(
    { length: stages },
    (_, stage) => (forwardMs[stage * units.length] ?? 0) + (backwardInputMs[stage * units.length] ?? 0),
  );
  const slowest = Math.max(...stageMs);
  const sum = stageMs.reduce((total, ms) => total + ms, 0);
  const [first] = units;
  const boundary = first === undefined || measured ? 0 : 2 * megatronBoundary(inputs, first.batch, first.tokens);
  return units.length * slowest + (sum - slowest) / inputs.layout.virtualStages + (stages - 1) * boundary;
}

function mean(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Operations that simulating `scheme` takes: forward and backward of each unit on each stage. */
export function operationCount(scheme: Scheme, stages: number): number {
  return 2 * stages * scheme.reduce((units, { tokens }) => units + tokens.length, 0);
}
