import { tightestStage } from '../../../core/memory-model/profile';
import { mayFit } from '../../../core/memory-model/verdict';
import { chosenCandidate, candidatePeakBytes, type Candidate, type Plan } from '../../../core/planner/plan';
import { gpusUsed, sequenceTokens } from '../../../core/domain/request';
import { meanParts, stepPartNames, stepParts, type StepPart } from '../../../core/planner/explain/step-part-names';
import { mean } from '../../../core/numbers';
import { requestDifferences, type RequestDifference } from './request-diff';
import { sentence, type Sentence, type Value } from '../../../core/sentence';

/** The numbers of a plan. */
export interface PlanOutcome {
  readonly name: string;
  readonly candidate: Value;
  readonly iterationMs: number;
  readonly bubbleRate: number;
  readonly tokensPerSecond: number;
  readonly tokensPerStep: number;
  readonly gpus: number;
  readonly mfu: number;
  readonly peakBytes: number;
  /** Stage of that peak, from 0. */
  readonly peakStage: number;
  readonly capacityBytes: number;
  readonly fits: boolean;
  readonly errorPercent: number;
}

/** A part of the step: of `stepParts`, or `layers`, all that the stages do, where one of both plans rests on measured times. */
export interface PartDifference {
  readonly part: StepPart | 'layers';
  readonly name: Sentence;
  readonly aMs: number;
  readonly bMs: number;
}

/** Busy time and peak of one stage of either plan; null where that plan has no such stage. */
interface StageDifference {
  readonly stage: number;
  readonly a: { readonly busyMs: number; readonly peakBytes: number } | null;
  readonly b: { readonly busyMs: number; readonly peakBytes: number } | null;
}

/** Two plans side by side. Plain data. */
export interface PlanComparison {
  readonly kind: 'plan';
  readonly a: PlanOutcome;
  readonly b: PlanOutcome;
  /** Tokens per second of B over those of A; where a step has as many tokens in both, the step of A over that of B. */
  readonly speedup: number;
  /** The plans are closer than the wider of their error bars. */
  readonly tie: boolean;
  readonly errorPercent: number;
  readonly requestDiff: readonly RequestDifference[];
  /** They add up to the steps. */
  readonly parts: readonly PartDifference[];
  readonly stages: readonly StageDifference[];
}

/** Compares what two plans chose. */
export function comparePlans(a: Plan, b: Plan, names: { readonly a: string; readonly b: string }): PlanComparison {
  const [ofA, ofB] = [chosenCandidate(a), chosenCandidate(b)];
  const outcomes = { a: planOutcome(a, ofA, names.a), b: planOutcome(b, ofB, names.b) };
  const speedup = outcomes.b.tokensPerSecond / outcomes.a.tokensPerSecond;
  const errorPercent = Math.max(a.cost.errorPercent, b.cost.errorPercent);
  return {
    kind: 'plan',
    ...outcomes,
    speedup,
    errorPercent,
    tie: Math.max(speedup, 1 / speedup) <= 1 + errorPercent / 100,
    requestDiff: requestDifferences(a, b, ofA, ofB),
    parts: partDifferences(a, b, ofA, ofB),
    stages: stageDifferences(ofA, ofB),
  };
}

function planOutcome({ request, cost }: Plan, candidate: Candidate, name: string): PlanOutcome {
  const { layout, training } = request;
  return {
    name,
    candidate: candidate.name,
    iterationMs: candidate.iterationMs,
    bubbleRate: candidate.bubbleRate,
    tokensPerSecond: candidate.tokensPerSecond,
    tokensPerStep: training.globalBatch * sequenceTokens(training),
    gpus: gpusUsed(layout),
    mfu: candidate.mfu,
    peakBytes: candidatePeakBytes(candidate),
    peakStage: tightestStage(candidate.memory.stages)?.stage ?? 0,
    capacityBytes: candidate.memory.capacityBytes,
    fits: mayFit(candidate),
    errorPercent: cost.errorPercent,
  };
}

function partDifferences(a: Plan, b: Plan, ofA: Candidate, ofB: Candidate): PartDifference[] {
  if (a.partsByStage === null || b.partsByStage === null) {
    const busy = ({ busyMs }: Candidate): number => mean(busyMs);
    return [
      { part: 'layers', name: sentence`the stages at work`, aMs: busy(ofA), bMs: busy(ofB) },
      { part: 'bubble', name: stepPartNames.bubble, aMs: ofA.pipelineMs - busy(ofA), bMs: ofB.pipelineMs - busy(ofB) },
      { part: 'gradientExchange', name: stepPartNames.gradientExchange, aMs: ofA.gradientExchangeMs, bMs: ofB.gradientExchangeMs },
      { part: 'optimizer', name: stepPartNames.optimizer, aMs: ofA.optimizerMs, bMs: ofB.optimizerMs },
    ];
  }
  const [left, right] = [meanParts(a.partsByStage), meanParts(b.partsByStage)];
  return stepParts.map((part) => ({ part, name: stepPartNames[part], aMs: left[part], bMs: right[part] }));
}

function stageDifferences(a: Candidate, b: Candidate): StageDifference[] {
  const of = ({ busyMs, memory }: Candidate, stage: number): StageDifference['a'] => {
    const busy = busyMs[stage];
    return busy === undefined ? null : { busyMs: busy, peakBytes: memory.stages[stage]?.peakBytes ?? 0 };
  };
  return Array.from({ length: Math.max(a.busyMs.length, b.busyMs.length) }, (_, stage) => ({ stage, a: of(a, stage), b: of(b, stage) }));
}
