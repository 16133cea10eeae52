import { iterationRange, assumptionJson } from './plan-json';
import { scenarioJson, settingsOfFound, type PlanSettings } from './settings-of-plan';
import { launchedAgainstBest } from '../layout-search/launched';
import { optimalityGap, type FoundPlan, type SearchResult } from '../layout-search/result';
import { keptFreeText, layoutText, ruleOfBest } from '../layout-search/labels';
import { neededFor } from '../schedules/runtimes';
import type { PlanRequest } from '../domain/request';
import { trainingCost } from '../planner/training-cost';
import { mayFit } from '../memory-model/verdict';
import { say, sentence } from '../sentence';

/**
 * A search as `terapipe plan --search --json` prints it: `plan`, the best with the fields of any plan, and `search`, all the rest. Times
 * ms, memory bytes, lengths tokens; fields are added, never renamed.
 */
interface SearchJson {
  readonly version: 1;
  readonly plan: object;
  readonly search: object;
}

/** A search as `plan --search --json` prints it: version 1, times in ms, memory in bytes. */
export function searchJson(result: SearchResult, own: PlanSettings = {}): SearchJson {
  const { request, best, cost, paretoFront, perSchedule, runnersUp, notFitting, improvements, counts, keptFree } = result;
  const free = keptFreeText(result);
  const against = launchedAgainstBest(result);
  const ofPlan = (found: FoundPlan): object => foundJson(found, request);
  const settable = (found: FoundPlan): object => ({ set: settingsOfFound(result, found, own), ...ofPlan(found) });
  return {
    version: 1,
    plan: {
      title: request.title,
      scenario: { ...scenarioJson(request), gpus: result.gpus },
      set: settingsOfFound(result, best, own),
      ...ofPlan(best),
      rangeMs: iterationRange(best.iterationMs, cost.range),
      scheme: best.scheme,
      memory: {
        peakBytes: best.peakBytes,
        capacityBytes: request.cluster.gpu.memoryBytes,
        usableBytes: best.verdict.usableBytes,
        fits: best.fits,
      },
      cost: {
        provenance: cost.kind,
        description: say(cost.description),
        errorPercent: cost.errorPercent,
        errorBecause: say(cost.errorBecause),
      },
      comparisons: perSchedule.map(({ name, iterationMs, peakBytes, fits }) => ({ name: say(name), iterationMs, peakBytes, fits })),
      reasons: runnersUp.map(({ plan, why }) => say(sentence`${layoutText(plan.point)}, ${plan.name}: ${why}`)),
      assumptions: request.assumptions.map(assumptionJson),
    },
    search: {
      gpus: result.gpus,
      fixed: result.fixed,
      measured: result.measured,
      keptFree:
        keptFree === null
          ? null
          : { share: keptFree.share, best: keptFree.best, slowdown: keptFree.slowdown ?? null, says: free === null ? null : say(free) },
      launched: against === null ? null : { ...ofPlan(against.launched), speedup: against.speedup, says: say(against.summary) },
      paretoFront: paretoFront.map((found, index) => ({ row: index + 1, ...settable(found) })),
      perSchedule: perSchedule.map(settable),
      runnersUp: runnersUp.map(({ plan, why }) => ({ ...settable(plan), why: say(why) })),
      notFitting: notFitting.map((large) => ({ ...large, layout: say(large.layout), why: say(large.why) })),
      improvements: improvements.map(({ change, method, plan, speedup, summary }) => ({
        change: say(change),
        method,
        speedup,
        says: say(summary),
        plan: plan === null ? null : ofPlan(plan),
      })),
      lowerBoundMs: result.lowerBoundMs,
      rule: say(ruleOfBest(result)),
      gap: optimalityGap(result),
      proved: result.proved,
      counts,
    },
  };
}

function foundJson(found: FoundPlan, request: PlanRequest): object {
  const { point, name, scheme, ...plan } = found;
  const { layout, training, schedule, slices, stageLayers } = point;
  const { microBatch, recompute, recomputeLayers, recomputeGroup, recomputeModules, zeroStage, sequenceParallel } = training;
  const { dataReplicate, offloadOptimizer, activationOffloadLayers, contextParallelComm } = training;
  const needs = neededFor(point.schedule, request);
  return {
    name: say(name),
    layout,
    stageLayers,
    schedule,
    needs: needs === null ? null : say(needs),
    slices,
    microBatches: scheme.length,
    training: {
      microBatch,
      recompute,
      zeroStage,
      sequenceParallel,
      recomputeLayers: recomputeLayers ?? null,
      recomputeGroup: recomputeGroup ?? null,
      recomputeModules: recomputeModules ?? null,
      dataReplicate: dataReplicate ?? 1,
      offloadOptimizer: offloadOptimizer === true,
      activationOffloadLayers: activationOffloadLayers ?? 0,
      contextParallelComm: contextParallelComm ?? null,
    },
    ...plan,
    budget: trainingCost({ ...request, layout }, plan.tokensPerSecond),
    fits: mayFit(plan.verdict),
    tight: plan.verdict.tight,
  };
}
