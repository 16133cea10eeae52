import { memoized } from '../../records';
import type { ClusterSpec } from '../../domain/cluster';
import { mtpDepths } from '../../model/multi-token-prediction';
import type { CostInputs } from '../../time-model/rates';
import { profiledStageCost } from '../../time-model/profile-cost';
import { splitLike, type SliceCost } from '../../domain/slice-cost';
import { tableCost } from '../../time-model/table';
import { contentsKey, type StageContents } from '../../memory-model/layer-tensors';
import type { GpuMemory } from '../../memory-model/profile';
import { usualSchedule } from '../../domain/schedule-names';
import type { PlanRequest } from '../../domain/request';
import { chunkCost } from '../../partition/offload';
import { chunksOf, type Chunks } from '../../partition/chunks';
import { scheduleOn, schedulesOn, type ScheduleOnLayout, type SchedulesOnLayout } from '../../schedules/on-layout';
import { gpuMemoryOf, stageInputsOf } from '../../partition/place-stages';
import { cutContents, usualCut } from '../../partition/stages';

/** A stage of a pipeline. */
export interface Stage {
  /** What its times are predicted from; one object for all stages on nodes of one kind. */
  readonly inputs: CostInputs;
  readonly contents: StageContents;
  /** Of a slice; stages of one shape on one kind of node share a function. */
  readonly cost: SliceCost;
}

/** The layers as the chunks of a schedule hold them, with what each chunk costs. */
export interface PipelineChunks extends Chunks {
  readonly costs: readonly SliceCost[];
}

/** The cost of a part of a stage. `share` is how many times the layers of a stage on average it has. */
type PartCosts = (contents: StageContents, share: number) => SliceCost;

/** What a pipeline is made of. */
interface PipelineParts {
  readonly inputs: CostInputs & { readonly cluster: ClusterSpec };
  /** Of each stage. */
  readonly stageContents: readonly StageContents[];
  /** Layers of each stage, or of each chunk, where they are decided; null: as equal as the schedule's chunks allow. */
  readonly stageLayers: readonly number[] | null;
  /** Called once for each kind of node. Parts of one shape share a function. */
  readonly costsOn: (inputs: CostInputs) => PartCosts;
  /** Times come from a table that already holds the transfers. */
  readonly measured: boolean;
}

/** The stages of a request: what every candidate of it shares. */
export interface Pipeline extends Pick<PipelineParts, 'inputs' | 'measured'> {
  readonly stages: readonly Stage[];
  /** The inputs of `stages` that differ: one for each kind of node. */
  readonly nodeKinds: readonly CostInputs[];
  readonly gpuMemory: GpuMemory;
  /** What each schedule is here. */
  readonly schedules: SchedulesOnLayout;
  /**
   * The layers as the chunks of a schedule hold them, worked out once. @throws ExpectedError `schedule-unmet` when there are fewer layers
   * than chunks.
   */
  readonly chunksOn: (schedule: ScheduleOnLayout) => PipelineChunks;
}

/** The pipeline of some parts. */
export function pipelineFrom({ inputs, stageContents, stageLayers, costsOn, measured }: PipelineParts): Pipeline {
  const stageInputs = stageInputsOf(inputs);
  const costs = new Map<CostInputs, PartCosts>();
  const partOn = (stage: number, contents: StageContents): Stage => {
    const own = stageInputs[stage] ?? inputs;
    return { inputs: own, contents, cost: memoized(costs, own, () => costsOn(own))(contents, shareOf(inputs, contents)) };
  };
  const known = new Map<ScheduleOnLayout, PipelineChunks>();
  const chunksOn = (schedule: ScheduleOnLayout): PipelineChunks => {
    const chunks = chunksOf(inputs, schedule, stageLayers);
    return { ...chunks, costs: chunks.chunkContents.map((contents, chunk) => partOn(chunks.stageOfChunk[chunk] ?? 0, contents).cost) };
  };
  return {
    inputs,
    measured,
    stages: stageContents.map((contents, stage) => partOn(stage, contents)),
    nodeKinds: [...new Set(stageInputs)],
    gpuMemory: gpuMemoryOf(inputs.cluster, inputs.layout),
    schedules: schedulesOn(inputs.layout),
    chunksOn: (schedule) => memoized(known, schedule, () => chunksOn(schedule)),
  };
}

/** The stages of a request with their costs. */
export function pipelineOf(request: PlanRequest): Pipeline {
  const { model, training, layout, cluster, constants, costTable } = request;
  const inputs = { model, training, layout, cluster, constants };
  const differ = endsTakeTime(request);
  const costsOn = (own: CostInputs): PartCosts => {
    const known: Record<string, SliceCost> = {};
    const costOf = partCosts(request, own);
    return (contents, share) => {
      const alike = differ ? contents : { ...contents, first: false, last: false };
      return (known[`${contentsKey(alike)},${costTable === null ? 1 : share}`] ??= costOf(contents, share));
    };
  };
  const stageLayers = layout.stageLayers ?? null;
  const stageContents =
    stageLayers === null
      ? cutContents(usualCut(model, training, layout.pipeline), model)
      : chunksOf(inputs, scheduleOn(request.schedule ?? usualSchedule, layout), stageLayers).stageContents;
  return pipelineFrom({ inputs, stageContents, stageLayers, costsOn, measured: costTable !== null });
}

/** Whether stages at the ends may take longer for what is outside the layers: not so of a model of nothing else, as papers time them. */
function endsTakeTime({ model, training, profile, costTable }: PlanRequest): boolean {
  const isOfLayers = model.vocab === 0 && model.stacks === undefined && mtpDepths(model) === 0;
  return !isOfLayers || (training.activationOffloadLayers ?? 0) > 0 || profile !== null || costTable !== null;
}

/**
 * The cost of a part of a stage, with `share` times the layers of a stage on average. A profile and a table have measured backward as a
 * whole: gradients of weights take the share of it that the analytic model gives them for the same slice. A table is of one whole stage of
 * as many layers as stages have on average: others, and chunks, take it in proportion to theirs.
 */
export function partCosts({ costTable, profile }: Pick<PlanRequest, 'costTable' | 'profile'>, inputs: CostInputs): PartCosts {
  const table = costTable === null ? null : tableCost(costTable);
  return (contents, share) => {
    const analytic = chunkCost(inputs, contents);
    if (table !== null) return splitLike(table, analytic, share);
    return profile === null ? analytic : splitLike(profiledStageCost(inputs, profile.profile, contents.layers, contents), analytic);
  };
}

/** Layers of a part of the model over those of a stage on average. */
export function shareOf({ model, layout }: Pick<CostInputs, 'model' | 'layout'>, { layers }: Pick<StageContents, 'layers'>): number {
  return (layers * layout.pipeline) / model.layers;
}
