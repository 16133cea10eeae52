import { optimizerTime } from '../../time-model/optimizer-time';
import { gradientExchangeTime, type OverlapWindows } from '../../time-model/gradient-exchange';
import type { SliceCost } from '../../domain/slice-cost';
import { throwIfCancelled, type ExpectedError, type CancelSignal } from '../../errors';
import { countMemory } from '../../memory-model/count';
import { hostMemory } from '../../partition/host-memory';
import { fitsMemory, memoryVerdict } from '../../memory-model/verdict';
import type { StageContents } from '../../memory-model/layer-tensors';
import type { MemoryProfile } from '../../memory-model/profile';
import { maximum, mean, sum } from '../../numbers';
import { memoized } from '../../records';
import { roundingShare } from '../../schedules/simulate/gaps';
import { busyTimes, idleTimes, withinStep } from '../../schedules/simulate/idle';
import type { ScheduleKind } from '../../schedules/kind';
import { scheduleKinds } from '../../schedules/registry';
import { operationKind, type Schedule, type Timeline, type WorkUnit } from '../../schedules/schedule';
import { simulate, wholeBackward } from '../../schedules/simulate/simulate';
import type { Durations, Transfers } from '../../schedules/simulate/transfers';
import type { Scheme } from '../../domain/scheme';
import { candidatePeakBytes, type Candidate, type CandidateId, type Certificate } from '../plan';
import { isPostValidated, isUnmet, operationCount, unitCount, unlessUnmet, type ScheduleOnLayout } from '../../schedules/on-layout';
import { scheduleOfChunks, type PlannedFor } from '../../partition/chunk-order';
import { maximumOperations, maximumUnits } from '../refusals';
import { type Pipeline, type PipelineChunks, type Stage } from './pipeline';
import { sequenceTokens } from '../../domain/request';
import { copyTimes } from './activation-copies';
import { withExchange } from './attention-exchange';
import { slowestSendMs, scheduleTransfers } from './transfers';
import type { Value } from '../../sentence';

/** Timelines with more operations than this are used for the numbers but not kept for drawing. */
export const maximumTimelineOperations = 2_000_000;

/** One way to run the step, as a name and what it needs. */
export interface CandidateSpec {
  readonly id: CandidateId;
  readonly name: Value;
  readonly kind: ScheduleOnLayout;
  readonly scheme: Scheme;
  readonly certificate: Certificate | null;
}

/** A candidate without its timeline, its idle times and host memory. */
export type Prediction = Omit<Candidate, 'idle' | 'timeline' | 'host'>;

/**
 * Predicts time and memory of one candidate by simulating its schedule.
 * @throws ExpectedError `schedule-unmet` when the schedule cannot run on these stages, layers and micro-batches; CancelledError.
 */
export function predict(pipeline: Pipeline, spec: CandidateSpec, signal?: CancelSignal): Candidate {
  const { measured, timeline, durations, transfers } = simulateBestOrder(pipeline, spec, signal);
  return {
    ...measured,
    host: hostMemory(pipeline.inputs, measured.schedule, measured.memory.stages),
    idle: withinStep(idleTimes(timeline, durations, transfers), timeline.makespanMs - measured.pipelineMs),
    timeline: timeline.kind.length <= maximumTimelineOperations ? timeline : null,
  };
}

/** A way to run the step, and what it takes: the error where its schedule cannot run, null where it has too many operations. */
export interface Outcome {
  readonly spec: CandidateSpec;
  readonly outcome: Candidate | ExpectedError | null;
}

/** Predicts all of several candidates. @throws CancelledError. */
export function predictAll(
  pipeline: Pipeline,
  specs: readonly CandidateSpec[],
  { signal, onProgress }: { readonly signal?: CancelSignal | undefined; readonly onProgress?: (fraction: number) => void },
): readonly Outcome[] {
  return specs.map((spec, index) => {
    throwIfCancelled(signal);
    const outcome = predictOutcome(pipeline, spec, signal);
    onProgress?.((index + 1) / specs.length);
    return { spec, outcome };
  });
}

function predictOutcome(pipeline: Pipeline, spec: CandidateSpec, signal: CancelSignal | undefined): Outcome['outcome'] {
  const { layout } = pipeline.inputs;
  const isCountable = unitCount(spec.scheme) <= maximumUnits && operationCount(spec.kind, layout, spec.scheme) <= maximumOperations;
  if (!isCountable) return null;
  try {
    return predict(pipeline, spec, signal);
  } catch (error) {
    if (isUnmet(error)) return error;
    throw error;
  }
}

/** Only the numbers of `predict`, for those who ask for many. @throws ExpectedError `schedule-unmet` as `predict`. */
export function measure(pipeline: Pipeline, spec: CandidateSpec, signal?: CancelSignal): Prediction {
  return simulateBestOrder(pipeline, spec, signal).measured;
}

/** Whether a step in this memory is worth simulating. */
export type MemoryFilter = (memory: { readonly peakBytes: number; readonly fits: boolean }) => boolean;

/**
 * As `measure`; null where the memory of a schedule is known before its times, since its order does not depend on them, and is not wanted.
 */
export function measureWanted(pipeline: Pipeline, spec: CandidateSpec, isWanted: MemoryFilter, signal?: CancelSignal): Prediction | null {
  if (spec.kind.planned) return measure(pipeline, spec, signal);
  const counted = countOrder(pipeline, spec, spec.kind, signal);
  const wanted = isWanted({ peakBytes: candidatePeakBytes(counted), fits: counted.fits });
  return wanted ? simulateOrder(pipeline, spec, counted, signal).measured : null;
}

interface SimulatedStep {
  readonly measured: Prediction;
  readonly timeline: Timeline;
  readonly durations: Durations;
  readonly transfers: Transfers;
}

/** The step of a candidate by the order of its schedule; of a planned one, by the best of that and the fixed orders like it. */
function simulateBestOrder(pipeline: Pipeline, spec: CandidateSpec, signal: CancelSignal | undefined): SimulatedStep {
  const { kind } = spec;
  const own = simulateOrder(pipeline, spec, countOrder(pipeline, spec, kind, signal), signal);
  // fixed orders ignore maxPendingBackward: only GPU memory limits them
  if (!kind.planned || pipeline.inputs.training.maxPendingBackward !== undefined) return own;
  let best = own;
  for (const order of fixedKindsLike(kind)) {
    try {
      const counted = countOrder(pipeline, spec, order, signal);
      if (!counted.fits) continue;
      const other = simulateOrder(pipeline, spec, counted, signal);
      if (!best.measured.fits || isBetter(other, best)) best = other;
    } catch (error) {
      if (!isUnmet(error)) throw error;
    }
  }
  return best;
}

/** Whether a step is shorter, or as short in less memory. */
function isBetter({ measured: a }: SimulatedStep, { measured: b }: SimulatedStep): boolean {
  if (a.iterationMs < b.iterationMs * (1 - rounding)) return true;
  return a.iterationMs <= b.iterationMs * (1 + rounding) && candidatePeakBytes(a) < candidatePeakBytes(b);
}

/** Sums of the same times in another order differ by no more than this share. */
const rounding = 1e-12;

/**
 * Schedules with orders of their own on the chunks of a planned one: what is planned is never worse than one of them that fits, with sends
 * and memory counted in full.
 */
function fixedKindsLike({ placement, chunksPerStage }: ScheduleOnLayout): readonly ScheduleKind[] {
  return scheduleKinds.filter(
    (kind) =>
      kind.placement === placement &&
      kind.chunksPerStage === chunksPerStage &&
      !kind.planned &&
      !kind.sliced &&
      kind.grouped !== true &&
      kind.copies === undefined,
  );
}

/** Ms of a step of a schedule whose order is fixed, without its memory; null where the schedule cannot run. @throws CancelledError. */
export function stepMs(pipeline: Pipeline, { kind, scheme }: Pick<CandidateSpec, 'kind' | 'scheme'>, signal?: CancelSignal): number | null {
  return unlessUnmet(
    () => timeOrder(pipeline, makeOrder(pipeline, pipeline.chunksOn(kind), kind, scheme, signal), signal).times.iterationMs,
  );
}

/**
 * Ms that the busiest stage computes, whatever the order: no step of these chunks is shorter. 0 where passes may move between stages.
 */
export function busiestStageMs(pipeline: Pipeline, { kind, scheme }: Pick<CandidateSpec, 'kind' | 'scheme'>): number {
  const { costs, stageOfChunk } = pipeline.chunksOn(kind);
  if (kind.exchangesAttention === true) return 0;
  const busyMs = new Float64Array(pipeline.stages.length);
  const timeOfChunks = new Map<SliceCost, number>();
  costs.forEach((cost, chunk) => {
    const ms = memoized(timeOfChunks, cost, () => schemeMs(cost, scheme));
    const stage = stageOfChunk[chunk] ?? 0;
    busyMs[stage] = (busyMs[stage] ?? 0) + ms;
  });
  return maximum(busyMs);
}

/** Forward and backward of every slice, ms. */
function schemeMs(cost: SliceCost, scheme: Scheme): number {
  const timeOfSlices = new Map<string, number>();
  return sum(
    scheme.map(({ batch, tokens, documents }) => {
      let context = 0;
      return sum(
        tokens.map((length) => {
          const key = documents === undefined ? `${batch},${length},${context}` : '';
          const ofSlice = (): number => {
            const { forwardMs, backwardMs } = cost(batch, length, context, documents);
            return forwardMs + backwardMs;
          };
          const ms = key === '' ? ofSlice() : memoized(timeOfSlices, key, ofSlice);
          context += length;
          return ms;
        }),
      );
    }),
  );
}

/** The order of a schedule on its chunks. */
interface OrderOnChunks {
  readonly chunks: PipelineChunks;
  readonly schedule: Schedule;
}

interface OrderWithMemory extends OrderOnChunks {
  readonly memory: MemoryProfile;
  readonly fits: boolean;
}

/** Makes the order of a kind on the chunks of a schedule, which keeps its name. */
function makeOrder(
  pipeline: Pipeline,
  on: PipelineChunks,
  order: ScheduleKind,
  scheme: Scheme,
  signal: CancelSignal | undefined,
): OrderOnChunks {
  const chunks = { ...on, kind: { ...on.kind, ...order } };
  const made = scheduleOfChunks(chunks, scheme, pipeline.gpuMemory, { signal, plannedFor: (first) => plannedFor(pipeline, chunks, first) });
  return { chunks, schedule: { ...made, name: on.kind.name } };
}

function timeOrder(pipeline: Pipeline, { chunks, schedule }: OrderOnChunks, signal: CancelSignal | undefined) {
  const { kind } = chunks;
  const own = passDurations(chunks, schedule.units);
  const durations = kind.exchangesAttention === true ? withExchange(pipeline, chunks, schedule, own) : own;
  const transfers = { ...scheduleTransfers(pipeline, schedule), ...copyTimes(pipeline, chunks, schedule) };
  throwIfCancelled(signal);
  const timeline = simulate(schedule, durations, transfers, signal);
  throwIfCancelled(signal);
  const { busyMs, spanMs } = busyTimes(timeline);
  const pipelineMs = isPostValidated(kind, pipeline.inputs.training) ? maximum(spanMs) : timeline.makespanMs;
  const after = afterwards(pipeline, chunks, timeline);
  const iterationMs = pipelineMs + after.gradientExchangeMs + after.optimizerMs;
  const times = { iterationMs, pipelineMs, ...after, bubbleRate: bubbleOfStep(busyMs, pipelineMs, iterationMs), busyMs };
  return { durations, transfers, timeline, times };
}

/** Idle time of the stages in the pipeline part, their mean, as a share of the step; what rounding leaves of none is none. */
function bubbleOfStep(busyMs: Float64Array, pipelineMs: number, iterationMs: number): number {
  const share = (pipelineMs - mean(busyMs)) / iterationMs;
  return share > roundingShare ? share : 0;
}

/** Makes an order and counts its memory, which depends on nothing else. */
function countOrder(pipeline: Pipeline, spec: CandidateSpec, order: ScheduleKind, signal: CancelSignal | undefined): OrderWithMemory {
  const on = pipeline.chunksOn(spec.kind);
  const made = makeOrder(pipeline, on, order, spec.scheme, signal);
  throwIfCancelled(signal);
  const memory = countMemory(on.inputs, made.schedule, on.chunkContents, pipeline.gpuMemory);
  return { ...made, memory, fits: fitsMemory(memory) };
}

function simulateOrder(pipeline: Pipeline, spec: CandidateSpec, counted: OrderWithMemory, signal: CancelSignal | undefined): SimulatedStep {
  const { memory, fits } = counted;
  throwIfCancelled(signal);
  const { durations, transfers, timeline, times } = timeOrder(pipeline, counted, signal);
  const { iterationMs } = times;
  const { training } = pipeline.inputs;
  const { id, name, kind, scheme, certificate } = spec;
  const measured: Prediction = {
    id,
    name,
    schedule: kind.schedule,
    scheme,
    certificate,
    chunksPerStage: kind.chunks,
    ...times,
    tokensPerSecond: (training.globalBatch * sequenceTokens(training) * 1e3) / iterationMs,
    mfu: (pipeline.stepFlops * 1e3) / iterationMs / pipeline.peakFlops,
    memory,
    fits,
    tight: memoryVerdict(memory).tight,
  };
  return { measured, timeline, durations, transfers };
}

/**
 * The slowest gradient exchange and the slowest optimizer, which follow the pipeline, and the part of the exchange that overlapped with it,
 * ms.
 */
function afterwards(
  { stages, inputs }: Pipeline,
  { stageContents }: PipelineChunks,
  timeline: Timeline,
): Pick<Prediction, 'gradientExchangeMs' | 'hiddenExchangeMs' | 'optimizerMs'> {
  const windows = overlapWindows(timeline);
  const slowest = (timeMs: (stage: Stage, contents: StageContents, index: number) => number): number =>
    maximum(stages.map((stage, index) => timeMs(stage, stageContents[index] ?? stage.contents, index)));
  const gradientExchangeMs = slowest(({ inputs }, contents, index) => gradientExchangeTime(inputs, contents, windows[index]));
  const { overlapGradReduce, overlapParamGather } = inputs.training;
  const exposed = { overlapGradReduce: false, overlapParamGather: false };
  const hiddenExchangeMs =
    overlapGradReduce === true || overlapParamGather === true
      ? slowest(({ inputs: own }, contents) => gradientExchangeTime({ ...own, training: { ...own.training, ...exposed } }, contents)) -
        gradientExchangeMs
      : 0;
  return {
    gradientExchangeMs,
    ...(hiddenExchangeMs > 0 ? { hiddenExchangeMs } : {}),
    optimizerMs: slowest(({ inputs }, contents) => optimizerTime(inputs, contents)),
  };
}

/**
 * The work that can hide each stage's gradient exchange and weight gather: for weights the first forward on the first stage, before which
 * nothing runs; for gradients that of a chunk from the start of its last backward on, one chunk after the other. So a pass that takes
 * longer never ends the step sooner.
 */
function overlapWindows({ stages, stageOfChunk, kind, chunk, startMs, endMs, makespanMs }: Timeline): OverlapWindows[] {
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

function passDurations({ kind, costs }: PipelineChunks, units: readonly WorkUnit[]): Durations {
  const forwardMs = new Float64Array(costs.length * units.length);
  const backwardMs = new Float64Array(costs.length * units.length);
  const backwardWeightMs = new Float64Array(costs.length * units.length);
  const splitWaitMs = new Float64Array(costs.length * units.length);
  const firstChunkByCost = new Map<SliceCost, number>();
  costs.forEach((cost, chunk) => {
    const from = chunk * units.length;
    const same = firstChunkByCost.get(cost);
    if (same !== undefined) {
      for (const column of [forwardMs, backwardMs, backwardWeightMs, splitWaitMs])
        column.copyWithin(from, same * units.length, (same + 1) * units.length);
      return;
    }
    firstChunkByCost.set(cost, chunk);
    units.forEach(({ batch, tokens, context, documents }, unit) => {
      const time = cost(batch, tokens, context, documents);
      forwardMs[from + unit] = time.forwardMs;
      backwardMs[from + unit] = time.backwardMs;
      backwardWeightMs[from + unit] = time.backwardWeightMs;
      splitWaitMs[from + unit] = time.splitWaitMs ?? 0;
    });
  });
  if (!kind.splitsBackward) return wholeBackward(forwardMs, backwardMs);
  const backwardInputMs = backwardMs.map((ms, cell) => ms - (backwardWeightMs[cell] ?? 0) + (splitWaitMs[cell] ?? 0));
  return { forwardMs, backwardInputMs, backwardWeightMs };
}

/** What planners plan for: the first unit's times on each chunk, and the end of the step as the runtime has it. */
function plannedFor(pipeline: Pipeline, chunks: PipelineChunks, first: WorkUnit): PlannedFor {
  const { stageOfChunk, kind } = chunks;
  const { forwardMs, backwardInputMs, backwardWeightMs } = passDurations(chunks, [first]);
  const { mode, held, ...sends } = scheduleTransfers(pipeline, { units: [first], stageOfChunk });
  const busy = mode === 'blocking' ? sends : held;
  const withSends = (pass: Float64Array, send: Float64Array | undefined): Float64Array =>
    pass.map((ms, chunk) => ms + (send?.[sends.perChunk === true ? chunk : 0] ?? 0));
  return {
    times: {
      forwardMs: withSends(forwardMs, busy?.forwardMs),
      backwardInputMs: withSends(backwardInputMs, busy?.backwardMs),
      backwardWeightMs,
    },
    sendMs: slowestSendMs(pipeline, stageOfChunk, first),
    objective: isPostValidated(kind, pipeline.inputs.training) ? 'span' : 'makespan',
  };
}
