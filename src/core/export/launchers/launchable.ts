import { schedulesOfFormat } from '../../layout-search/abilities';
import { choose } from '../../planner/choose';
import { chosenCandidate, type Plan } from '../../planner/plan';
import { scheduleOn } from '../../schedules/on-layout';
import { withVirtualStages } from '../../planner/candidates/virtual-stages';
import { scheduleKind } from '../../schedules/registry';
import { buildPipeline } from '../../planner/predict/pipeline';
import { costProvenance } from '../../time-model/provenance';
import { coveringAssumed } from '../../planner/explain/assumed';
import { predict } from '../../planner/predict/predict';
import { onMegatron, replacedBy } from '../slices/runs';
import { plannedStep, type PlannedStep } from './launch-settings';
import { launchers } from '../../launchers/registry';
import type { LauncherFormat } from '../../run/config-format';
import { sentence } from '../../sentence';

/**
 * The step that a new launcher's file will run: the plan's where the launcher has its schedule, else the best of the plan's other
 * candidates that it has, with what was replaced. Where there is none, the plan's own, whose schedule is then a gap of the file.
 */
export function launchableStep(plan: Plan, format: LauncherFormat): PlannedStep {
  const { request, candidates } = plan;
  const chosen = chosenCandidate(plan);
  const schedules = schedulesOfFormat(format);
  const kind = scheduleOn(chosen.schedule, request.layout);
  const isRun = schedules?.includes(kind.interleaves ?? kind.name) ?? true;
  if (request.layout.pipeline === 1 || (isRun && !scheduleKind(chosen.schedule).sliced)) return plannedStep(plan);
  const open = { ...request, schedule: null, slicing: { unit: request.slicing.unit, scheme: null }, runs: schedules ?? [] };
  const found = choose(open, candidates);
  if (found === undefined) return plannedStep(plan);
  // a runtime that was assumed for the schedule is not the launcher's
  const isOfSchedule = scheduleKind(chosen.schedule).ownRuntime === request.training.runtime && request.training.runtime !== undefined;
  const asked = {
    ...withVirtualStages(isOfSchedule ? onMegatron(open) : open, found),
    schedule: found.schedule,
  };
  const pipeline = buildPipeline(asked);
  const instead = isOfSchedule ? predict(pipeline, { ...found, kind: scheduleOn(found.schedule, asked.layout) }) : found;
  const cost = coveringAssumed(costProvenance(asked, pipeline), asked, instead);
  const step = plannedStep({ ...plan, request: asked, chosen: instead.id, candidates: [instead], cost });
  const { name } = launchers[format].capabilities;
  const isSliced = scheduleKind(chosen.schedule).sliced;
  const why = isSliced ? sentence`${name} runs whole micro-batches` : sentence`${name} has no such schedule`;
  const replaced = replacedBy(chosen, instead, why);
  const what = isSliced ? sentence`token slices (${chosen.schedule})` : sentence`schedule ${chosen.schedule}`;
  return { ...step, plan: { ...step.plan, replaced: { ...replaced, what } } };
}
