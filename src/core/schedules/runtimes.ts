import { anyOf, type Value } from '../sentence';
import type { PlanRequest, TrainingSpec } from '../domain/request';
import { runtimeProfile, type Runtime } from '../domain/runtime';
import type { ScheduleName } from '../domain/schedule-names';
import { scheduleDescriptions } from './descriptions';
import type { ModelSpec } from '../domain/model';
import type { ScheduleKind, SplitRuntime } from './kind';

/** What decides which schedules run: the runtime that the plan is costed for, and the schedule that a launcher's file names. */
export type RunBy = Pick<PlanRequest, 'launches' | 'training'>;

/** Whether the runtime that a request is costed for runs a schedule; a launcher runs what its own file names. */
export function isRun(name: ScheduleName, { launches, training }: RunBy): boolean {
  return name === launches || scheduleDescriptions[name].runtimes.includes(runtimeProfile(training).id);
}

/** Whether a run may take a schedule in place of its own: its files can name it, or where they have no say the costed runtime runs it. */
export function mayRunInstead(name: ScheduleName, request: RunBy & Pick<PlanRequest, 'runs'>): boolean {
  return request.runs?.includes(name) ?? isRun(name, request);
}

/** What runs a schedule that the costed runtime does not run, as a noun: `TorchTitan`; null where it does. */
export function neededFor(name: ScheduleName, request: RunBy): Value | null {
  if (isRun(name, request)) return null;
  const { runtimes, elsewhere } = scheduleDescriptions[name];
  const shortName = (runtime: Runtime): string => runtimeProfile({ runtime }).shortName;
  return anyOf([...runtimes.map(shortName), ...(elsewhere === null ? [] : [elsewhere])]);
}

/** Settings of a file that a runtime may not have together with a split backward. */
export type SplitSetting = 'overlapGradReduce' | 'overlapParamGather' | 'gemmPrecision' | 'asyncTensorParallel' | 'recompute';

/**
 * What each does not run, or not usefully, where it splits backward.
 * - `megatron`: sail-sg/zero-bubble-pipeline-parallelism at 39f2c186 (`validate_arguments` and `WeightGradStore.is_supported` of
 *   megatron/core/zbpp_utils.py) and AMD-AGI/Primus at 0768bf77 (docs/tech_blogs/primus_pipeline) want `overlap_grad_reduce` and
 *   `overlap_param_gather` off.
 * - `pytorch`: neither Float8 nor asynchronous tensor parallelism; with recompute its graph of a layer is made again for every part of the
 *   weight gradients, which left 13 of 128 tokens a second (pytorch/torchtitan, issue 773).
 * - `dualpipe`: nothing is known; DeepSeek trained models with experts with it, in FP8 (arXiv 2412.19437).
 */
const without: Readonly<Record<SplitRuntime, readonly SplitSetting[]>> = {
  megatron: ['overlapGradReduce', 'overlapParamGather'],
  pytorch: ['gemmPrecision', 'asyncTensorParallel', 'recompute'],
  dualpipe: [],
};

/** Settings of a run that keep every runtime which runs a schedule's split backward from it; empty where one of them runs both. */
export function settingsAgainst(
  { splitIn = [] }: Pick<ScheduleKind, 'splitIn'>,
  { model, training }: { readonly model: Pick<ModelSpec, 'experts'>; readonly training: Pick<TrainingSpec, SplitSetting> },
): readonly SplitSetting[] {
  const runtimes = splitIn.filter((runtime) => runtime !== 'dualpipe' || model.experts !== null);
  const against = runtimes.map((runtime) => without[runtime].filter((setting) => isSet(training, setting)));
  return against.some((settings) => settings.length === 0) ? [] : [...new Set(against.flat())];
}

function isSet(training: Pick<TrainingSpec, SplitSetting>, setting: SplitSetting): boolean {
  if (setting === 'recompute') return training.recompute !== 'none';
  if (setting === 'gemmPrecision') return training.gemmPrecision !== undefined;
  return training[setting] === true;
}
