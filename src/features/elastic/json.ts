import { assumptionJson } from '../../core/export/plan-json';
import { totalBytes } from './core/stage-bytes';
import type { ElasticEpoch, ElasticPlan } from './core/plan';
import type { ElasticStudy } from './core/study';
import { say } from '../../core/sentence';

/**
 * A plan as `terapipe elastic --json` prints it: everything but its request's log and timelines. Times ms, memory bytes; fields are added,
 * never renamed.
 */
export function elasticJson(plan: ElasticPlan, study: ElasticStudy): object {
  const { request, epochs, balances, variants, speedup, totalMs, parameters, freezing, cost, reasons } = plan;
  return {
    version: 1,
    title: request.title,
    epochs: epochs.map((epoch, index) => ({
      ...epochJson(epoch),
      balances: (balances[index] ?? []).map(({ stageUnits, ...choice }) => ({ ...choice, stageLayers: stageUnits })),
    })),
    speedup,
    totalMs,
    variants: variants.map(({ id, totalMs: variantMs, speedup: times, epochMs }) => ({
      id,
      totalMs: variantMs,
      speedup: times,
      epochMs: [...epochMs],
    })),
    study: studyJson(study),
    freezing: say(freezing),
    cost: { ...cost, description: say(cost.description) },
    reasons: reasons.map((reason) => say(reason)),
    parameters,
    model: request.model,
    training: request.training,
    cluster: request.cluster,
    datasetSize: request.datasetSize,
    pipelineLength: request.firstLength,
    balance: request.balance,
    assumptions: request.assumptions.map(assumptionJson),
  };
}

function studyJson({ decision, range, ...curves }: ElasticStudy): object {
  const { headline, gain, freezing, ...starts } = decision;
  const inputs = range.inputs.map(({ keys, outcomes }) => ({
    keys,
    outcomes: outcomes.map(({ value, ...outcome }) => ({ value: say(value), ...outcome })),
  }));
  return {
    decision: { headline: say(headline), gain: gain && say(gain), freezing: freezing && say(freezing), ...starts },
    range: { ...range, inputs },
    ...curves,
  };
}

function epochJson(epoch: ElasticEpoch): object {
  const { stageUnits, stageBytes, cache, ...rest } = epoch;
  const { state, reason, hostBytes, diskBytes, sampleBytes, forwardMs, movedMs, fillMs } = cache;
  // Layers as torch's Pipe has them and the logs print them: attention and feed-forward each, and the ends.
  return {
    ...rest,
    stageLayers: stageUnits,
    peakBytes: stageBytes.map(totalBytes),
    cache: { state, reason: say(reason), hostBytes, diskBytes, sampleBytes, forwardMs, readMs: movedMs, fillMs },
  };
}
