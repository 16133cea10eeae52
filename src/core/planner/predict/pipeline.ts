import type { ClusterSpec } from '../../domain/cluster';
import { sequenceFlops } from '../../model/flops';
import { mtpDepths } from '../../model/multi-token-prediction';
import { linearPeak, type CostInputs } from '../../time-model/rates';
import { profiledSplit, profiledStageCost } from '../../time-model/profile-cost';
import { splitLike, type SliceCost } from '../../domain/slice-cost';
import { tableCost } from '../../time-model/table';
import { contentsKey, type StageContents } from '../../memory-model/layer-tensors';
import type { GpuMemory } from '../../memory-model/profile';
import { usualSchedule } from '../../domain/schedule-names';
import type { PlanRequest } from '../../domain/request';
import { chunkCost } from '../../partition/offload';
import { scheduleChunks, type Chunks } from '../../partition/chunks';
import { scheduleOn, schedulesOn, type ScheduleOnLayout, type SchedulesOnLayout } from '../../schedules/on-layout';
import { stageGpuMemory, inputsByStage } from '../../partition/place-stages';
import { pipelineSends, type Sends } from '../../partition/sends';
import { cutContents, usualCut } from '../../partition/stages';
import { memoized } from '../../records';

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
  readonly sends: Sends;
  /** Arithmetic of a step, FLOP, and the peak of all GPUs together, FLOP per second. */
  readonly stepFlops: number;
  readonly peakFlops: number;
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
  const stageInputs = inputsByStage(inputs);
  const nodeKinds = [...new Set(stageInputs)];
  const costs = nodeKinds.map(costsOn);
  const partOn = (stage: number, contents: StageContents): Stage => {
    const own = stageInputs[stage] ?? inputs;
    const sliceCost = costs[nodeKinds.indexOf(own)] ?? costsOn(own);
    return { inputs: own, contents, cost: sliceCost(contents, layerShare(inputs, contents)) };
  };
  const stages = stageContents.map((contents, stage) => partOn(stage, contents));
  const known = new Map<ScheduleOnLayout, PipelineChunks>();
  const { training, model } = inputs;
  return {
    inputs,
    measured,
    stages,
    nodeKinds,
    gpuMemory: stageGpuMemory(inputs.cluster, inputs.layout),
    sends: pipelineSends(stages, nodeKinds, measured),
    stepFlops: training.globalBatch * sequenceFlops(model, training),
    peakFlops: totalPeakFlops(inputs, stages, nodeKinds),
    schedules: schedulesOn(inputs.layout),
    chunksOn: (schedule) => {
      const found = known.get(schedule);
      if (found !== undefined) return found;
      const chunks = scheduleChunks(inputs, schedule, stageLayers);
      const parts = chunks.chunkContents.map((contents, chunk) => partOn(chunks.stageOfChunk[chunk] ?? 0, contents));
      const made = { ...chunks, costs: parts.map(({ cost }) => cost) };
      known.set(schedule, made);
      return made;
    },
  };
}

function totalPeakFlops({ layout }: CostInputs, stages: readonly Stage[], nodeKinds: readonly CostInputs[]): number {
  const { tensor, data, context } = layout;
  return nodeKinds.reduce((sum, own) => {
    const gpus = tensor * stages.filter((stage) => stage.inputs === own).length * data * context;
    return sum + gpus * linearPeak(own.cluster, own.training);
  }, 0);
}

/** The stages of a request with their costs. */
export function buildPipeline(request: PlanRequest): Pipeline {
  const { model, training, layout, cluster, constants, costTable } = request;
  const inputs = { model, training, layout, cluster, constants };
  const differ = endsTakeTime(request);
  const costsOn = (own: CostInputs): PartCosts => {
    const known = new Map<string, SliceCost>();
    const sliceCost = partCosts(request, own);
    return (contents, share) => {
      const alike = differ ? contents : { ...contents, first: false, last: false };
      return memoized(known, `${contentsKey(alike)},${costTable === null ? 1 : share}`, () => sliceCost(contents, share));
    };
  };
  const stageLayers = layout.stageLayers ?? null;
  const stageContents =
    stageLayers === null
      ? cutContents(usualCut(model, training, layout.pipeline), model)
      : scheduleChunks(inputs, scheduleOn(request.schedule ?? usualSchedule, layout), stageLayers).stageContents;
  return pipelineFrom({ inputs, stageContents, stageLayers, costsOn, measured: costTable !== null });
}

/** Whether stages at the ends may take longer for what is outside the layers: not so of a model of nothing else, as papers time them. */
function endsTakeTime({ model, training, profile, costTable }: PlanRequest): boolean {
  const isOfLayers = model.vocab === 0 && model.stacks === undefined && mtpDepths(model) === 0;
  return !isOfLayers || (training.activationOffloadLayers ?? 0) > 0 || profile !== null || costTable !== null;
}

/**
 * The cost of a part of a stage, with `share` times the layers of a stage on average. A profile and a table have measured backward as a
 * whole: gradients of weights take the share of it that a trainer's profile or the analytic model gives them for the same slice. A table is
 * of one whole stage of as many layers as stages have on average: others, and chunks, take it in proportion to theirs.
 */
export function partCosts({ costTable, profile }: Pick<PlanRequest, 'costTable' | 'profile'>, inputs: CostInputs): PartCosts {
  const table = costTable === null ? null : tableCost(costTable);
  return (contents, share) => {
    const analytic = chunkCost(inputs, contents);
    if (table !== null) return splitLike(table, analytic, share);
    if (profile === null) return analytic;
    const measured = profiledStageCost(inputs, profile.profile, contents.layers, contents);
    return splitLike(measured, profiledSplit(measured, profile.profile, contents.layers, contents) ?? analytic);
  };
}

/** Layers of a part of the model over those of a stage on average. */
export function layerShare({ model, layout }: Pick<CostInputs, 'model' | 'layout'>, { layers }: Pick<StageContents, 'layers'>): number {
  return (layers * layout.pipeline) / model.layers;
}
