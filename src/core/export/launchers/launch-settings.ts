import { placementText } from '../../cluster/groups';
import { ExpectedError } from '../../errors';
import type { ModelSpec } from '../../domain/model';
import { formatCount, formatDuration, formatDurationRange } from '../../format';
import { usedText } from '../../memory-model/verdict';
import { chosenOf, peakBytesOf, type Plan } from '../../planner/plan';
import { gpusUsed, type CudaGraphScope, type ExpertDispatcher, type PlanRequest, type TrainingSpec } from '../../domain/request';
import { requestOf } from '../../layout-search/request-of';
import type { FoundPlan, SearchResult } from '../../layout-search/result';
import { usualCut } from '../../partition/stages';
import type { Precision } from '../../domain/cluster';
import { attentionKernelOf } from '../../time-model/rates';
import type { Fp8Recipe, NarrowFormat } from '../../domain/number-formats';
import { scheduleKind } from '../../schedules/registry';
import { ordersDiffer } from '../../cluster/boundaries';
import type { RankOrder } from '../../domain/rank-order';
import { rankOrderOf } from '../../domain/runtime';
import type { ScheduleName } from '../../domain/schedule-names';
import type { Scheme } from '../../domain/scheme';
import type { SequenceSplit } from '../../domain/sequence-split';
import { printable } from '../../text';
import { say, sentence, type Sentence } from '../../sentence';

/** How activations are recomputed, in Megatron's terms. */
interface Recompute {
  readonly granularity: 'none' | 'selective' | 'full';
  /** TorchTitan's kind of selective recompute: `op`, or a period in layers. */
  readonly option?: string;
  /** Parts of a layer that a selective recompute covers; undefined: the launcher's own choice. */
  readonly modules?: readonly string[];
  /** Layers of every (virtual) stage that a full recompute covers; undefined: all of them. */
  readonly layers?: number;
  /** Layers recomputed together; undefined: each by itself. */
  readonly group?: number;
}

/**
 * A plan as a launcher's settings: sizes of the parallel groups, batches, and how the step runs. Lengths in tokens, batches in sequences.
 */
export interface LaunchSettings {
  readonly title: string;
  readonly model: ModelSpec;
  readonly gpu: string;
  readonly nodes: number;
  readonly gpusPerNode: number;
  readonly tensor: number;
  readonly pipeline: number;
  readonly data: number;
  readonly context: number;
  readonly expert: number;
  /** Tensor size inside the experts; null: there are none. */
  readonly expertTensor: number | null;
  readonly virtualStages: number;
  /** Transformer layers of each stage in the order of the model, virtual stages counted: `pipeline` x `virtualStages` entries. */
  readonly stageLayers: readonly number[];
  readonly sequenceLength: number;
  readonly microBatch: number;
  readonly globalBatch: number;
  readonly precision: Precision;
  /** Format of the layers' GEMMs; absent: as `precision`. */
  readonly gemmPrecision?: NarrowFormat;
  readonly zeroStage: 0 | 1 | 2 | 3;
  /** Collectives overlap compute; absent: as the launcher does. */
  /** In which order ranks are numbered; absent: which groups lie inside a node does not depend on it. */
  readonly order?: RankOrder;
  readonly overlapGradReduce?: boolean;
  readonly overlapParamGather?: boolean;
  readonly sequenceParallel: boolean;
  readonly recompute: Recompute;
  /** The optimizer and its state are on the host; absent: on the GPU. */
  readonly offloadOptimizer?: boolean;
  /** Layers of each stage whose activations wait on the host; absent: none. */
  readonly activationOffloadLayers?: number;
  /** Communication of context parallelism; absent: as the launcher does. */
  readonly contextParallelComm?: 'all-to-all' | 'ring';
  /** How layers are issued, and experts reached; absent: as the launcher does. */
  readonly cudaGraphs?: CudaGraphScope;
  readonly expertDispatcher?: ExpertDispatcher;
  readonly overlapExpertComm?: boolean;
  /** How FP8 is scaled; absent: not in FP8, or as the launcher does. */
  readonly fp8Recipe?: Fp8Recipe;
  readonly fp8ParamGather?: boolean;
  /** Tensor-parallel collectives overlap with their GEMMs; absent: one after the other. */
  readonly asyncTensorParallel?: boolean;
  readonly dropout: boolean;
  readonly fusedCrossEntropy: boolean;
  /** Gradients add up and are exchanged in fp32, not in two bytes. */
  readonly gradAccumulationFp32: boolean;
  readonly attention: 'flash' | 'unfused';
  /** The same with the kernel that it was timed with, as Megatron-LM names its backends: `fused` is cuDNN. */
  readonly attentionBackend: 'flash' | 'fused' | 'unfused';
  /** As the planner names it: `1F1B`, `TeraPipe`, `ZBVZeroBubble`, ... */
  readonly schedule: ScheduleName;
  /** Token slices that a sequence is cut into; 1: whole. */
  readonly slices: number;
  /** How the flags of a runtime of slices cut every sequence; absent: they do not. */
  readonly sliced?: SequenceSplit;
  /** What of the plan the launcher does not run, where another candidate is written and predicted in its place. */
  readonly replaced?: Remark;
  /** The run trains adapters alone, which only the launching file sets. */
  readonly trainsAdapters?: true;
  /** What the plan expects of it, in one line. */
  readonly predicted: string;
}

/** Micro-batches that each replica accumulates in a step. */
export function accumulationSteps({ globalBatch, data, microBatch }: Pick<LaunchSettings, 'globalBatch' | 'data' | 'microBatch'>): number {
  return globalBatch / (data * microBatch);
}

/** Whether a plan runs token slices, which no launcher does. */
export function runsSlices({ schedule, slices }: Pick<LaunchSettings, 'schedule' | 'slices'>): boolean {
  return slices > 1 || scheduleKind(schedule).sliced;
}

/** A planned step and its launcher settings. */
export interface PlannedStep {
  readonly plan: LaunchSettings;
  readonly request: PlanRequest;
  readonly schedule: ScheduleName;
  readonly scheme: Scheme;
  readonly iterationMs: number;
}

/** The plan's chosen candidate. @throws ExpectedError as `launchSettingsOf`. */
export function stepOf(plan: Plan): PlannedStep {
  const { schedule, scheme, iterationMs } = chosenOf(plan);
  return { plan: launchSettingsOf(plan), request: plan.request, schedule, scheme, iterationMs };
}

/** A layout that a search found, as a step. */
export function stepOfFound(result: Pick<SearchResult, 'request' | 'cost'>, found: FoundPlan): PlannedStep {
  const { scheme, iterationMs, point } = found;
  return {
    plan: launchSettingsOfFound(result, found),
    request: requestOf(result.request, found),
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
export function launchSettingsOf(plan: Plan): LaunchSettings {
  const { request } = plan;
  const placement = placementText(request.cluster, request.layout);
  if (placement !== null)
    throw new ExpectedError(
      'export-groups',
      sentence`Launchers cannot choose the nodes of a stage, and this plan needs ${placement}`,
      sentence`plan one kind of nodes, or set layout.stageLayers in the launcher and order hosts like stages`,
    );
  const chosen = chosenOf(plan);
  return launchSettings(request, {
    ...chosen,
    stageLayers: stageLayersOf(request),
    peakBytes: peakBytesOf(chosen),
    usableBytes: chosen.memory.capacityBytes - chosen.memory.marginBytes,
    range: plan.cost.range,
  });
}

/** The same of a layout that a search found. */
export function launchSettingsOfFound({ request, cost }: Pick<SearchResult, 'request' | 'cost'>, found: FoundPlan): LaunchSettings {
  const requested = requestOf(request, found);
  const { schedule } = found.point;
  return launchSettings(requested, {
    ...found,
    schedule,
    stageLayers: stageLayersOf(requested),
    usableBytes: found.verdict.usableBytes,
    range: cost.range,
  });
}

function stageLayersOf({ model, training, layout: { pipeline, virtualStages, stageLayers } }: PlanRequest): readonly number[] {
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
    ...(cluster.groups === undefined && ordersDiffer(layout, cluster) ? { order: rankOrderOf({ layout, training }) } : {}),
    sequenceLength: training.sequenceLength,
    microBatch: training.microBatch,
    globalBatch: training.globalBatch,
    precision: training.precision,
    ...(training.gemmPrecision === undefined ? {} : { gemmPrecision: training.gemmPrecision }),
    ...(training.overlapGradReduce === undefined ? {} : { overlapGradReduce: training.overlapGradReduce }),
    ...(training.overlapParamGather === undefined ? {} : { overlapParamGather: training.overlapParamGather }),
    ...(training.adapter === undefined ? {} : { trainsAdapters: true as const }),
    zeroStage: training.zeroStage,
    sequenceParallel: training.sequenceParallel,
    recompute: recomputeOf(training),
    ...(training.offloadOptimizer === true ? { offloadOptimizer: true } : {}),
    ...((training.activationOffloadLayers ?? 0) > 0 ? { activationOffloadLayers: training.activationOffloadLayers } : {}),
    ...(context > 1 && training.contextParallelComm !== undefined ? { contextParallelComm: training.contextParallelComm } : {}),
    ...issuedAs(training, model.experts !== null),
    ...(tensor > 1 && training.sequenceParallel && training.asyncTensorParallel === true ? { asyncTensorParallel: true } : {}),
    dropout: training.dropout,
    fusedCrossEntropy: training.fusedCrossEntropy,
    gradAccumulationFp32: training.gradAccumulationFp32,
    attention: training.attention,
    attentionBackend: training.attention === 'flash' && attentionKernelOf(cluster, training) === 'cudnn' ? 'fused' : training.attention,
    ...(slicing.split === undefined || !scheduleKind(schedule).sliced ? {} : { sliced: slicing.split }),
    slices: scheme.reduce((most, { tokens }) => Math.max(most, tokens.length), 1),
    predicted: `${formatDuration(iterationMs)} a step (${formatDurationRange(iterationMs, range)}); ${usedText({ peakBytes, usableBytes })} on the fullest GPU`,
  };
}

type Issued = Pick<LaunchSettings, 'cudaGraphs' | 'expertDispatcher' | 'overlapExpertComm' | 'fp8Recipe' | 'fp8ParamGather'>;

function issuedAs(
  { cudaGraphs, expertDispatcher, overlapExpertComm, gemmPrecision, fp8Recipe, fp8ParamGather }: TrainingSpec,
  hasExperts: boolean,
): Issued {
  return {
    ...(cudaGraphs === undefined ? {} : { cudaGraphs }),
    ...(hasExperts && expertDispatcher !== undefined ? { expertDispatcher } : {}),
    ...(hasExperts && overlapExpertComm !== undefined ? { overlapExpertComm } : {}),
    ...(gemmPrecision !== 'fp8' || fp8Recipe === undefined ? {} : { fp8Recipe }),
    ...(fp8ParamGather === undefined ? {} : { fp8ParamGather }),
  };
}

function recomputeOf({
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

/** A remark about exported settings, for people. */
export interface Remark {
  readonly what: Sentence;
  readonly reason: Sentence;
  /** Set by whoever starts the file: on how many nodes and GPUs. */
  readonly isOfStart?: true;
}

/** Remarks at the top of a file, each on one line whatever the title holds. */
export function headerLines(plan: LaunchSettings, gaps: readonly Remark[]): readonly string[] {
  const { title, tensor, pipeline, data, context, expert, gpu, predicted } = plan;
  const sizes = [`tensor ${tensor}`, `pipeline ${pipeline}`, `data ${data}`, ...(context > 1 ? [`context ${context}`] : [])].join(' x ');
  return [
    printable(
      `${title}, as planned by TeraPipe: ${sizes}${expert > 1 ? `, expert ${expert}` : ''} on ${formatCount(gpusUsed(plan))} ${gpu}.`,
    ),
    printable(`Predicted: ${predicted}.`),
    ...gaps.map(({ what, reason }) => printable(`Not written: ${say(what)}: ${say(reason)}.`)),
  ];
}
