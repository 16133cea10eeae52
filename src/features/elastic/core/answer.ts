import { type CancelSignal, throwIfCancelled } from '../../../core/errors';
import type { Timeline } from '../../../core/schedules/schedule';
import { elasticTimeline, planElastic } from './make-plan';
import type { BalanceChoice, ElasticEpoch, ElasticPlan } from './plan';
import type { ElasticRequest } from './request';
import { studyElastic, type ElasticStudy } from './study';

/** Consecutive epochs that run alike, as one entry. */
export interface ElasticSpan {
  /** The first of them. */
  readonly epoch: ElasticEpoch;
  readonly count: number;
  readonly balances: readonly BalanceChoice[];
  /** Index of the pipeline part of its step in `steps`; null where that has more operations than are drawn. */
  readonly step: number | null;
}

/** A plan and what it takes to show it. Plain data with typed arrays. */
export interface ElasticAnswer {
  readonly plan: ElasticPlan;
  readonly spans: readonly ElasticSpan[];
  readonly steps: readonly Timeline[];
  readonly study: ElasticStudy;
}

/** Operations of all steps together that are kept for drawing. */
const mostOperations = 400_000;

/** Plans a run that freezes layers, with one step of every kind of epoch. @throws ExpectedError as `planElastic`; CancelledError. */
export function answerElastic(request: ElasticRequest, signal?: CancelSignal): ElasticAnswer {
  const plan = planElastic(request, undefined, signal);
  const steps: Timeline[] = [];
  const known = new Map<string, number>();
  let left = mostOperations;
  const epochStep = (epoch: ElasticEpoch): number | null => {
    const { frozenLayers, pipelineLength, batch, microBatches, calibration, slices, isFrozenInside } = epoch;
    const key = [frozenLayers, pipelineLength, batch, microBatches, calibration, isFrozenInside].join();
    const found = known.get(key);
    if (found !== undefined) return found;
    const operations = 2 * microBatches * pipelineLength * slices.length;
    if (operations > left) return null;
    throwIfCancelled(signal);
    left -= operations;
    known.set(key, steps.length);
    steps.push(elasticTimeline(plan, epoch.epoch).timeline);
    return steps.length - 1;
  };
  const spans = alikeSpans(plan).map((span) => ({ ...span, step: epochStep(span.epoch) }));
  return { plan, spans, steps, study: studyElastic(plan, signal) };
}

function alikeSpans({ epochs, balances }: ElasticPlan): Omit<ElasticSpan, 'step'>[] {
  const spans: { epoch: ElasticEpoch; count: number; balances: readonly BalanceChoice[] }[] = [];
  epochs.forEach((epoch, index) => {
    const last = spans.at(-1);
    if (last !== undefined && runsAlike(last.epoch, epoch)) last.count += 1;
    else spans.push({ epoch, count: 1, balances: balances[index] ?? [] });
  });
  return spans;
}

function runsAlike(one: ElasticEpoch, other: ElasticEpoch): boolean {
  return (
    one.frozenLayers === other.frozenLayers &&
    one.pipelineLength === other.pipelineLength &&
    one.replicas === other.replicas &&
    one.cache.state === other.cache.state &&
    one.epochMs === other.epochMs
  );
}
