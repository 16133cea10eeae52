import { placementText } from '../../cluster/groups';
import { presetComputeCapability } from '../../cluster/presets';
import { ExpectedError } from '../../errors';
import { formatDuration, formatDurationRange } from '../../format';
import { usedText } from '../../memory-model/verdict';
import { chosenCandidate, candidatePeakBytes, type Plan } from '../../planner/plan';
import { gpusUsed, type Layout, type PlanRequest, type TrainingSpec } from '../../domain/request';
import { otherwiseWritten, type LaunchSettings, type Recompute } from '../../launchers/writing/launch-settings';
import { toPlanRequest } from '../../layout-search/request-of';
import type { FoundPlan, SearchResult } from '../../layout-search/result';
import { usualCut } from '../../partition/stages';
import { fusedAttentionKernel } from '../../time-model/rates';
import { scheduleKind } from '../../schedules/registry';
import { ordersDiffer } from '../../cluster/boundaries';
import { resolveRankOrder } from '../../domain/runtime';
import type { ScheduleName } from '../../domain/schedule-names';
import type { Scheme } from '../../domain/scheme';
import type { LauncherFile } from '../../run/facts';
import { sentence } from '../../sentence';

/** A planned step and its launcher settings. */
export interface PlannedStep {
  readonly plan: LaunchSettings;
  readonly request: PlanRequest;
  readonly schedule: ScheduleName;
  readonly scheme: Scheme;
  readonly iterationMs: number;
}

/** A plan, or its launch settings, with what the launcher's file of its run sets, which a new file takes over. */
export function withSource<T extends Plan | LaunchSettings>(plan: T, launcher: LauncherFile | null): T {
  if (launcher === null) return plan;
  const { file, written = { names: 'megatron', settings: null } } = launcher;
  return { ...plan, source: { file, ...written } };
}

/** The plan's chosen candidate. @throws ExpectedError as `toLaunchSettings`. */
export function plannedStep(plan: Plan): PlannedStep {
  const { schedule, scheme, iterationMs } = chosenCandidate(plan);
  return { plan: toLaunchSettings(plan), request: plan.request, schedule, scheme, iterationMs };
}

/** A layout that a search found, as a step. */
export function stepOfFound(result: Pick<SearchResult, 'request' | 'cost'>, found: FoundPlan): PlannedStep {
  const { scheme, iterationMs, point } = found;
  return {
    plan: launchSettingsOfFound(result, found),
    request: toPlanRequest(result.request, found),
    schedule: point.schedule,
    scheme,
    iterationMs,
  };
}

/**
 * The launcher settings of the plan's chosen candidate.
 * @throws ExpectedError `export-groups` for stages on several kinds of nodes: the cluster's scheduler, not the launcher's file, decides
 * which nodes a stage gets.
 */
export function toLaunchSettings(plan: Plan): LaunchSettings {
  const { request } = plan;
  const placement = placementText(request.cluster, request.layout);
  if (placement !== null)
    throw new ExpectedError(
      'export-groups',
      sentence`Launchers cannot choose the nodes of a stage, and this plan needs ${placement}`,
      sentence`plan one kind of nodes, or set layout.stageLayers in the launcher and order hosts like stages`,
    );
  const chosen = chosenCandidate(plan);
  const settings = launchSettings(request, {
    ...chosen,
    stageLayers: resolvedStageLayers(request),
    peakBytes: candidatePeakBytes(chosen),
    usableBytes: chosen.memory.capacityBytes - chosen.memory.marginBytes,
    range: plan.cost.range,
  });
  return plan.source === undefined ? settings : { ...settings, source: plan.source };
}

/** The same of a layout that a search found. */
export function launchSettingsOfFound({ request, cost }: Pick<SearchResult, 'request' | 'cost'>, found: FoundPlan): LaunchSettings {
  const requested = toPlanRequest(request, found);
  const { schedule } = found.point;
  return launchSettings(requested, {
    ...found,
    schedule,
    stageLayers: resolvedStageLayers(requested),
    usableBytes: found.verdict.usableBytes,
    range: cost.range,
  });
}

function resolvedStageLayers({ model, training, layout: { pipeline, virtualStages, stageLayers } }: PlanRequest): readonly number[] {
  return stageLayers ?? usualCut(model, training, pipeline * virtualStages);
}

/** What the settings take from a prediction. */
interface Predicted extends Pick<FoundPlan, 'scheme' | 'iterationMs' | 'peakBytes'> {
  readonly schedule: ScheduleName;
  readonly stageLayers: readonly number[];
  readonly usableBytes: number;
  readonly range: readonly [low: number, high: number];
}

function launchSettings({ title, model, cluster, training, layout, slicing }: PlanRequest, predicted: Predicted): LaunchSettings {
  const { tensor, pipeline, data, context, expert } = layout;
  const isPiped = pipeline > 1;
  const virtualStages = isPiped ? layout.virtualStages : 1;
  const { schedule, scheme, iterationMs, peakBytes, usableBytes, range } = predicted;
  const stageLayers = isPiped ? predicted.stageLayers : [model.layers];
  const gpus = gpusUsed(layout);
  const nodes = nodesFor(gpus, cluster.gpusPerNode);
  return {
    title,
    model,
    gpu: cluster.gpu.name,
    computeCapability: presetComputeCapability(cluster.gpu.name),
    nodes,
    gpusPerNode: gpus / nodes,
    tensor,
    pipeline,
    data,
    context,
    expert,
    virtualStages,
    stageLayers,
    schedule,
    expertTensor: model.experts === null ? null : (layout.expertTensor ?? tensor),
    ...(cluster.groups === undefined && ordersDiffer(layout, cluster) ? { order: resolveRankOrder({ layout, training }) } : {}),
    ...effective(training, layout, model),
    ...(training.adapter === undefined ? {} : { trainsAdapters: true as const }),
    recompute: toLaunchRecompute(training),
    attentionBackend: training.attention === 'flash' && fusedAttentionKernel(cluster, training) === 'cudnn' ? 'fused' : training.attention,
    ...(slicing.split === undefined || !scheduleKind(schedule).sliced ? {} : { sliced: slicing.split }),
    slices: scheme.reduce((most, { tokens }) => Math.max(most, tokens.length), 1),
    predicted: `${formatDuration(iterationMs)} a step (${formatDurationRange(iterationMs, range)}); ${usedText({ peakBytes, usableBytes })} on the fullest GPU`,
  };
}

type Effective = Omit<TrainingSpec, (typeof otherwiseWritten)[number]>;

/** The training without what has no effect on this layout or model. */
function effective(training: TrainingSpec, { tensor, context }: Layout, { experts }: PlanRequest['model']): Effective {
  const isAsync = tensor > 1 && training.sequenceParallel && training.asyncTensorParallel === true;
  const dropped = new Set<string>([
    ...otherwiseWritten,
    ...(training.offloadOptimizer === true ? [] : ['offloadOptimizer']),
    ...((training.activationOffloadLayers ?? 0) > 0 ? [] : ['activationOffloadLayers']),
    ...(context > 1 ? [] : ['contextParallelComm']),
    ...(experts === null ? ['expertDispatcher', 'overlapExpertComm'] : []),
    ...(training.gemmPrecision === 'fp8' ? [] : ['fp8Recipe', 'fp8Format']),
    ...(isAsync ? [] : ['asyncTensorParallel']),
    ...(training.zeroStage > 0 ? [] : ['overlapParamGather']),
  ]);
  return Object.fromEntries(Object.entries(training).filter(([name]) => !dropped.has(name))) as unknown as Effective;
}

function toLaunchRecompute({
  recompute,
  recomputeLayers,
  recomputeGroup = 1,
  recomputeModules,
  recomputeEvery = 2,
}: PlanRequest['training']): Recompute {
  return {
    // TorchTitan's `op` and every n-th layer are options of its selective mode
    granularity: recompute === 'op' || recompute === 'every' ? 'selective' : recompute,
    ...(recompute === 'op' ? { option: 'op' } : recompute === 'every' ? { option: String(recomputeEvery) } : {}),
    ...(recompute === 'selective' && recomputeModules !== undefined ? { modules: recomputeModules } : {}),
    ...(recompute === 'full' && recomputeLayers !== undefined ? { layers: recomputeLayers } : {}),
    ...(recompute === 'full' && recomputeGroup > 1 ? { group: recomputeGroup } : {}),
  };
}

/** The fewest nodes that share the GPUs equally, none having more than there are. */
function nodesFor(gpus: number, gpusPerNode: number): number {
  let nodes = Math.ceil(gpus / gpusPerNode);
  while (gpus % nodes !== 0) nodes += 1;
  return nodes;
}
