import { gpuPresetNames } from '../cluster/presets';
import type { FoundPlan, SearchResult } from '../layout-search/result';
import { toPlanRequest } from '../layout-search/request-of';
import { chosenCandidate, type Plan } from '../planner/plan';
import { scheduleKind } from '../schedules/registry';
import { runtimeProfile } from '../domain/runtime';
import { gpusUsed, type PlanRequest } from '../domain/request';
import type { ScheduleName } from '../domain/schedule-names';
import type { Scheme } from '../domain/scheme';

/** Values by keys of terapipe.json, in the order in which they are to be set. */
export type PlanSettings = Readonly<Record<string, unknown>>;

/** What a plan is of, as JSON names it: GPUs, tokens of a sequence, sequences of a step. */
export function scenarioJson({ cluster, training, layout }: PlanRequest) {
  const { sequenceLength, globalBatch } = training;
  return { gpu: cluster.gpu.name, gpus: gpusUsed(layout), nodes: cluster.nodes, sequenceLength, globalBatch };
}

/**
 * The settings that, given to the same files, plan just this.
 * @param own settings that were given to them already.
 */
export function settingsOfPlan(plan: Plan, own: PlanSettings): PlanSettings {
  const { schedule, scheme } = chosenCandidate(plan);
  return settings(plan.request, schedule, scheme, own);
}

/** The same of a layout that a search found, with what the search chose of the training. */
export function settingsOfFound({ request }: Pick<SearchResult, 'request'>, found: FoundPlan, own: PlanSettings): PlanSettings {
  const { training } = found.point;
  const chosen = {
    'training.recompute': training.recompute,
    ...(training.recompute === 'full'
      ? { 'training.recomputeLayers': training.recomputeLayers, 'training.recomputeGroup': training.recomputeGroup }
      : {}),
    ...(training.recompute === 'selective' ? { 'training.recomputeModules': training.recomputeModules } : {}),
    'training.zeroStage': training.zeroStage,
    'training.sequenceParallel': training.sequenceParallel,
    'training.dataReplicate': training.dataReplicate,
    'training.offloadOptimizer': training.offloadOptimizer,
    'training.activationOffloadLayers': training.activationOffloadLayers,
    'training.contextParallelComm': found.point.layout.context > 1 ? training.contextParallelComm : undefined,
  };
  const { 'calibration.iterationMs': measured, ...others } = own;
  const constants = measured === undefined ? {} : calibratedConstants(request);
  const requested = toPlanRequest(request, found);
  return given({ ...settings(requested, found.point.schedule, found.scheme, others), ...constants, ...chosen });
}

/** A measured step is of the files' own layout: another layout takes the constants that it gave. */
function calibratedConstants({ calibration }: PlanRequest): PlanSettings {
  return Object.fromEntries((calibration?.constants ?? []).flatMap(({ key, after }) => (after === null ? [] : [[key, after]])));
}

function settings(
  { cluster, training, layout, model }: PlanRequest,
  schedule: ScheduleName,
  scheme: Scheme,
  own: PlanSettings,
): PlanSettings {
  const isPreset = (gpuPresetNames as readonly string[]).includes(cluster.gpu.name);
  const sizes = Object.entries(layout)
    .filter(([name]) => name !== 'expert' || model.experts !== null)
    .map(([name, size]: [string, unknown]): [string, unknown] => [`layout.${name}`, size]);
  // a schedule with a runtime of its own takes that one unless another is set
  const { ownRuntime } = scheduleKind(schedule);
  const { id: runtime } = runtimeProfile(training);
  const isSliced = layout.pipeline > 1 && scheduleKind(schedule).sliced;
  return given({
    ...(own['cluster.gpu'] === undefined ? {} : { 'cluster.gpu': isPreset ? cluster.gpu.name : own['cluster.gpu'] }),
    ...own,
    ...(cluster.groups === undefined ? { 'cluster.nodes': cluster.nodes, 'cluster.gpusPerNode': cluster.gpusPerNode } : {}),
    'training.sequenceLength': training.sequenceLength,
    'training.microBatch': training.microBatch,
    'training.globalBatch': training.globalBatch,
    ...Object.fromEntries<unknown>(sizes),
    'training.runtime': ownRuntime === undefined || ownRuntime === runtime ? undefined : runtime,
    schedule,
    'slicing.scheme': isSliced ? writtenScheme(scheme) : undefined,
  });
}

function writtenScheme(scheme: Scheme): unknown {
  return scheme.map(({ batch, tokens, endsRound }) => (endsRound === true ? [batch, tokens, 'drain'] : [batch, tokens]));
}

function given(all: PlanSettings): PlanSettings {
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
