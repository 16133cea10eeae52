import { throwIfCancelled, type CancelSignal } from '../../errors';
import { memoized } from '../../records';
import { maximum, sum } from '../../numbers';
import type { PlanRequest } from '../../domain/request';
import type { BatchSlice, Scheme, LengthShare } from '../../domain/scheme';
import { scheduleOfChunks } from '../../partition/chunk-order';
import { unitCount, type ScheduleOnLayout } from '../../schedules/on-layout';
import { countedVerdict } from '../../memory-model/count';
import { mayFit } from '../../memory-model/verdict';
import type { Pipeline } from '../predict/pipeline';
import { stepMs } from '../predict/predict';
import { maximumUnits } from '../refusals';
import { drawBatches, percentile, type Draw } from './drawn-batches';
import { atLeastOne, balancedSchedule, type BalancedSchedule } from './packing';
import type { OverLengths, PolicyResult } from './lengths-result';
import { chunkings, packing, padding, type BatchingPolicy } from './batching-policies';

/** Micro-batches on stages that are simulated for one way at most, over all draws, and draws at least and at most. */
const effort = { passes: 200_000, leastDraws: 16, mostDraws: 100 };
/** Draws by which chunk lengths are compared. */
const triedDraws = 8;

/**
 * What a step of the request takes where its sequences are documents of many lengths, in three ways: each padded, packed, or in chunks of
 * the fastest length that fits. @throws CancelledError.
 */
export function overLengths(
  request: PlanRequest,
  pipeline: Pipeline,
  shares: readonly LengthShare[],
  signal?: CancelSignal,
): OverLengths | null {
  const { training, layout, model } = request;
  const { sequenceLength: tokens, globalBatch, microBatch } = training;
  if (globalBatch / layout.data > maximumUnits || model.stacks !== undefined) return null;
  const documents = sum(shares.map(({ count }) => count));
  const meanTokens = sum(shares.map((share) => share.count * share.tokens)) / documents;
  const longestTokens = shares.reduce((most, share) => Math.max(most, share.tokens), 0);
  const passes = globalBatch * Math.max(1, meanTokens / tokens) * layout.pipeline;
  const most = Math.max(effort.leastDraws, Math.min(effort.mostDraws, Math.floor(effort.passes / passes)));
  const { draws, exact } = drawBatches(shares, globalBatch, most);
  const drawn = draws.map(({ counts, probability }) => ({ descending: cutBatch(counts, shares, tokens), probability }));
  const evaluator = policyEvaluator(request, pipeline, { draws: drawn, exact, meanTokens: meanTokens * globalBatch }, signal);
  const whole = layout.virtualStages > 1 ? 'Seq1F1B' : '1F1B';
  const chunks = bestChunks(chunkings(Math.min(tokens, longestTokens), 'Seq1F1B', model), evaluator);
  const policies = [padding(tokens, microBatch, '1F1B'), packing(tokens, microBatch, whole), ...(chunks === null ? [] : [chunks])];
  return {
    lengths: new Set(shares.map((share) => share.tokens)).size,
    documents,
    meanTokens,
    longestTokens,
    trainingTokens: tokens,
    cutShare: sum(shares.filter((share) => share.tokens > tokens).map(({ count }) => count)) / documents,
    draws: draws.length,
    exact,
    replicas: layout.data,
    ways: policies.flatMap((policy) => evaluator.evaluate(policy) ?? []),
  };
}

/** Lengths of the pieces of a global batch, longest first. */
function cutBatch(counts: Draw['counts'], shares: readonly LengthShare[], most: number): readonly number[] {
  const pieces = [...counts].flatMap(([at, count]) => {
    const own = documentPieces(shares[at]?.tokens ?? 0, most);
    return Array.from({ length: count }, () => own).flat();
  });
  return pieces.sort((a, b) => b - a);
}

/** A document's pieces, longest first. */
function documentPieces(tokens: number, most: number): readonly number[] {
  const rest = tokens % most;
  return [...Array.from({ length: Math.floor(tokens / most) }, () => most), ...(rest > 0 ? [rest] : [])];
}

/** Evaluates policies over the draws. Null: a draw cannot be run. */
interface PolicyEvaluator {
  /** The mean step of the first draws, and the steps. */
  readonly timed: (
    batching: BatchingPolicy,
    draws: number,
  ) => { readonly steps: readonly Step[]; readonly mean: MeanOfSteps; readonly expectedMs: number } | null;
  /** Over all draws. */
  readonly evaluate: (batching: BatchingPolicy) => PolicyResult | null;
}

type MeanOfSteps = (of: (step: Step) => number) => number;

/** The chunks whose steps are shortest over a few draws, among those that fit in each. */
function bestChunks(policies: readonly BatchingPolicy[], { timed }: PolicyEvaluator): BatchingPolicy | null {
  let best: { readonly batching: BatchingPolicy; readonly expectedMs: number; readonly fits: boolean } | null = null;
  for (const batching of policies) {
    const found = timed(batching, triedDraws);
    if (found === null) continue;
    const { steps, expectedMs } = found;
    const isFaster = best === null || expectedMs < best.expectedMs * (1 - 1e-9);
    // memory of what is slower than the best that fits decides nothing
    if (best?.fits === true && !isFaster) continue;
    const fits = steps.every(({ memory }) => memory().fits);
    if (best === null || (fits === best.fits ? isFaster : fits)) best = { batching, expectedMs, fits };
  }
  return best?.batching ?? null;
}

/** A global batch as it is cut. */
interface DrawnBatch extends Pick<Draw, 'probability'> {
  /** Lengths of the pieces of its documents. */
  readonly descending: readonly number[];
}

/** What policies are evaluated by. */
interface Drawn {
  readonly draws: readonly DrawnBatch[];
  readonly exact: boolean;
  /** Of a global batch. */
  readonly meanTokens: number;
}

/** What replicas hold. */
interface ReplicaMemory {
  readonly peakBytes: number;
  readonly fits: boolean;
  readonly mayFit: boolean;
}

/** A step of all replicas. */
interface ReplicaStep {
  readonly ms: number;
  /** Counted when it is first asked for. */
  readonly memory: () => ReplicaMemory;
}

/** A step of one draw. */
interface Step extends Pick<ReplicaStep, 'memory'> {
  readonly probability: number;
  readonly value: number;
  readonly microBatches: number;
  readonly computed: number;
  readonly filled: number;
  readonly overBound: number;
}

function policyEvaluator(
  request: PlanRequest,
  pipeline: Pipeline,
  { draws, exact, meanTokens }: Drawn,
  signal?: CancelSignal,
): PolicyEvaluator {
  const known = new Map<string, ReplicaStep | null>();
  const replicaMemory = (kind: ScheduleOnLayout, replicas: readonly Scheme[]): ReplicaMemory => {
    throwIfCancelled(signal);
    const chunks = pipeline.chunksOn(kind);
    const verdicts = fullest(replicas).map((scheme) => {
      const schedule = scheduleOfChunks(chunks, scheme, pipeline.gpuMemory, { signal });
      return countedVerdict(chunks.inputs, schedule, chunks.chunkContents, pipeline.gpuMemory);
    });
    return {
      peakBytes: maximum(verdicts.map(({ peakBytes }) => peakBytes)),
      fits: verdicts.every(({ fits }) => fits),
      mayFit: verdicts.every(mayFit),
    };
  };
  const simulateReplicas = (kind: ScheduleOnLayout, replicas: readonly Scheme[]): ReplicaStep | null => {
    const times = replicas.flatMap((scheme) => stepMs(pipeline, { kind, scheme }, signal) ?? []);
    if (times.length < replicas.length) return null;
    let counted: ReplicaMemory | null = null;
    return { ms: maximum(times), memory: () => (counted ??= replicaMemory(kind, replicas)) };
  };
  const simulateDraw = ({ descending, probability }: DrawnBatch, { schedule, microBatches }: BatchingPolicy): Step | null => {
    throwIfCancelled(signal);
    const all = microBatches(descending);
    const { workers, overBound } = schemesOfReplicas(all, request.layout.data, pipeline);
    const replicas = workers.filter((scheme) => unitCount(scheme) > 0);
    const key = `${schedule}${JSON.stringify(replicas)}`;
    const run = memoized(known, key, () => simulateReplicas(pipeline.schedules[schedule], replicas));
    if (run === null) return null;
    return {
      memory: run.memory,
      probability,
      value: run.ms,
      microBatches: all.length / request.layout.data,
      computed: sum(all.map(({ batch, tokens }) => batch * sum(tokens))),
      filled: sum(descending),
      overBound,
    };
  };
  const timed: PolicyEvaluator['timed'] = (batching, most) => {
    const steps: Step[] = [];
    for (const draw of draws.slice(0, most)) {
      const step = simulateDraw(draw, batching);
      if (step === null) return null;
      steps.push(step);
    }
    const total = sum(steps.map(({ probability }) => probability));
    const mean: MeanOfSteps = (of) => sum(steps.map((step) => step.probability * of(step))) / total;
    return { steps, mean, expectedMs: mean(({ value }) => value) };
  };
  const evaluate = (batching: BatchingPolicy): PolicyResult | null => {
    const found = timed(batching, draws.length);
    if (found === null) return null;
    const { steps, mean, expectedMs } = found;
    const held = steps.map(({ memory }) => memory());
    const fits = held.every((each) => each.fits);
    const total = sum(steps.map(({ probability }) => probability));
    const { way, schedule, chunkTokens, cut } = batching;
    return {
      way,
      schedule,
      chunkTokens,
      cut,
      expectedMs,
      standardErrorMs: exact ? 0 : Math.sqrt(mean(({ value }) => (value - expectedMs) ** 2) / Math.max(1, steps.length - 1)),
      worstMs: percentile(
        steps.map(({ value, probability }) => ({ value, probability: probability / total })),
        0.99,
      ),
      tokensPerSecond: (1e3 * meanTokens) / expectedMs,
      microBatches: mean((step) => step.microBatches),
      filled: mean((step) => step.filled) / mean((step) => step.computed),
      overBound: atLeastOne(mean((step) => step.overBound)),
      peakBytes: maximum(held.map(({ peakBytes }) => peakBytes)),
      fits,
      tight: !fits && held.every((each) => each.mayFit),
    };
  };
  return { timed, evaluate };
}

/** The replica with the heaviest micro-batch, and the one with the most tokens: one of them holds the most. */
function fullest(replicas: readonly Scheme[]): readonly Scheme[] {
  const schemeTokens = (scheme: Scheme): number => sum(scheme.map(({ batch, tokens }) => batch * sum(tokens)));
  const [first = [], ...others] = replicas;
  const most = others.reduce((best, scheme) => (schemeTokens(scheme) > schemeTokens(best) ? scheme : best), first);
  return most === first ? [first] : [first, most];
}

/** What each replica runs, the heaviest micro-batch first, balanced by the time of a stage. */
function schemesOfReplicas(microBatches: readonly BatchSlice[], replicas: number, { stages }: Pipeline): BalancedSchedule<BatchSlice> {
  const cost = stages[stages.length >> 1]?.cost;
  const sliceWeight = ({ batch, tokens, documents }: BatchSlice): number => {
    let [context, ms] = [0, 0];
    for (const length of tokens) {
      const { forwardMs = 0, backwardMs = 0 } = cost?.(batch, length, context, documents) ?? {};
      ms += forwardMs + backwardMs;
      context += length;
    }
    return ms;
  };
  const weights = new Map(microBatches.map((item) => [item, sliceWeight(item)]));
  const weighed = microBatches.map((item) => ({ item, weight: weights.get(item) ?? 0 }));
  const { workers, overBound } = balancedSchedule(weighed, replicas);
  return { workers: workers.map((own) => own.toSorted((a, b) => (weights.get(b) ?? 0) - (weights.get(a) ?? 0))), overBound };
}
