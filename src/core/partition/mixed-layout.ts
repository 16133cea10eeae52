import { clusterText, gpusOfGroup } from '../cluster/groups';
import type { ClusterSpec, NodeGroup } from '../domain/cluster';
import type { LocatedPartial } from '../run/given';
import type { CostConstants } from '../domain/slice-cost';
import { ExpectedError } from '../errors';
import { formatCount } from '../format';
import type { Located, Place } from '../domain/located';
import { splitsHeads } from '../model/mixers';
import type { ModelSpec } from '../domain/model';
import { greatestCommonDivisor, listDivisors, minimum } from '../numbers';
import type { ScheduleName } from '../domain/schedule-names';
import {
  isBetter,
  moreStagesThanLayers,
  placeStagesWithin,
  type Placement,
  type PlacementProblem,
  type PlacementScore,
} from './place-stages';
import type { Layout, TrainingSpec } from '../domain/request';
import type { Watch } from './stage-budget';
import { counted, sentence, type Sentence } from '../sentence';

/** The input of the search for a layout on nodes of several kinds. */
interface MixedProblem extends Watch {
  readonly given: LocatedPartial<Layout>;
  readonly model: ModelSpec;
  readonly cluster: ClusterSpec;
  readonly constants: CostConstants;
  readonly schedule: ScheduleName | null;
  /** The training on a layout of these sizes. */
  readonly trainingOn: (layout: Layout) => TrainingSpec;
}

type Sizes = Pick<Layout, 'tensor' | 'pipeline' | 'data'>;

/**
 * Of the layouts on a cluster of several kinds of nodes that fit, the one with the shortest step (for every sequence of it), or the one
 * that comes nearest: every stage is on nodes of one kind, with as many GPUs as every other (tensor x data x context), tensor parallelism
 * inside nodes, and all GPUs are used; placed and cut as `placeStages` does. Replicas divide the global batch where any number that does is
 * possible.
 *
 * @throws ExpectedError `layout-groups`, placed where a file sets it, when the groups do not make whole stages with what is fixed.
 */
export function mixedLayout(problem: MixedProblem): Placement {
  const sizes = sizesToPlace(problem);
  const best = bestPlacement(problem, sizes);
  if (best !== null) return best;
  const [first] = sizes;
  throw first === undefined ? noSizes(problem.given, problem.cluster, problem.given.context?.value ?? 1) : moreStagesThanLayers(first);
}

/** The same, of layouts that fit; null where none does. */
export function fittingLayout(problem: MixedProblem): Placement | null {
  return bestPlacement(problem, sizesToPlace(problem), { fits: true, stepMs: Infinity, fullest: 1 });
}

/** A layout's sizes with the training on them, to be placed. */
type SizesToPlace = PlacementProblem['inputs'];

/** Layouts to be placed, least model parallelism first. */
function sizesToPlace({ given, model, cluster, constants, trainingOn }: MixedProblem): SizesToPlace[] {
  const groups = cluster.groups ?? [];
  const stageNodeGroups = given.stageNodeGroups?.value;
  const context = given.context?.value ?? 1;
  const shared = {
    context,
    expert: given.expert?.value ?? 1,
    ...(given.expertTensor === undefined ? {} : { expertTensor: given.expertTensor.value }),
    virtualStages: given.virtualStages?.value ?? 1,
    ...(given.stageLayers?.value === undefined ? {} : { stageLayers: given.stageLayers.value }),
  };
  const sizes =
    stageNodeGroups === undefined ? groupSizes(given, model, groups, context) : sizesWith(stageNodeGroups, given, groups, context);
  if (sizes.length === 0) throw noSizes(given, cluster, context);
  const all = sizes.map((size) => {
    const layout: Layout = { ...size, ...shared, ...(stageNodeGroups === undefined ? {} : { stageNodeGroups }) };
    return { model, training: trainingOn(layout), layout, cluster, constants };
  });
  const whole = all.filter(({ training, layout }) => training.globalBatch % (layout.data * training.microBatch) === 0);
  return whole.length > 0 ? whole : all;
}

/**
 * The placement with the best sizes, the first among equals; null if none is as good as `known`. The largest model parallelism is placed
 * first, since it fits most often and its result rules most others out early.
 */
function bestPlacement(
  { schedule, counter, signal }: MixedProblem,
  sizes: readonly SizesToPlace[],
  known?: PlacementScore,
): Placement | null {
  let best: Placement | null = null;
  for (const inputs of sizes.toReversed()) {
    const { globalBatch } = inputs.training;
    const against = best ?? known;
    const scaled = against === undefined ? undefined : { ...against, stepMs: against.stepMs * globalBatch };
    const placement = placeStagesWithin({ inputs, schedule, counter, signal }, scaled);
    if (placement === null) continue;
    const other = { ...placement, stepMs: placement.stepMs / globalBatch };
    if (against === undefined || !isBetter(against, other)) best = other;
  }
  return best;
}

/** Longest pipeline that is assumed; longer ones can be asked for. */
const mostAssumedStages = 128;

/** Sizes that make whole stages of every group, least model parallelism first. */
function groupSizes(given: LocatedPartial<Layout>, model: ModelSpec, groups: readonly NodeGroup[], context: number): Sizes[] {
  const gpus = groups.map(gpusOfGroup);
  const perNode = groups.map(({ gpusPerNode }) => gpusPerNode).reduce(greatestCommonDivisor);
  const divides = (size: number): boolean => gpus.every((count) => count % size === 0);
  const tensors = given.tensor === undefined ? listDivisors(perNode).filter((tensor) => splitsHeads(model, tensor)) : [given.tensor.value];
  return tensors
    .flatMap((tensor) => {
      const replicas = given.data === undefined ? listDivisors(gpus.reduce(greatestCommonDivisor)) : [given.data.value];
      return replicas
        .filter((data) => divides(tensor * data * context))
        .map((data) => ({ tensor, data, pipeline: gpus.reduce((sum, count) => sum + count, 0) / (tensor * data * context) }));
    })
    .filter(({ pipeline }) => pipeline === (given.pipeline?.value ?? pipeline) && pipeline <= model.layers)
    .filter(({ pipeline }, _, all) => pipeline <= mostAssumedStages || all.length === 1)
    .sort((a, b) => a.tensor * a.pipeline - b.tensor * b.pipeline || b.pipeline - a.pipeline);
}

/**
 * Sizes for stages whose groups are decided: each group has room for its stages; of tensor and data what is open is as large as the fullest
 * group allows.
 */
function sizesWith(
  stageNodeGroups: readonly number[],
  given: LocatedPartial<Layout>,
  groups: readonly NodeGroup[],
  context: number,
): Sizes[] {
  const missing = stageNodeGroups.find((group) => groups[group] === undefined);
  if (missing !== undefined)
    throw groupsError(
      sentence`layout.stageNodeGroups names group ${formatCount(missing)}, but there are ${formatCount(groups.length)}, counted from 0`,
      sentence`use numbers from 0 to ${formatCount(groups.length - 1)}`,
      given.stageNodeGroups,
    );
  const pipeline = stageNodeGroups.length;
  if (given.pipeline !== undefined && given.pipeline.value !== pipeline)
    throw groupsError(
      sentence`layout.stageNodeGroups has ${counted(pipeline, 'entry', 'entries')} for ${counted(given.pipeline.value, 'stage')}`,
      sentence`give it one for each stage, or leave layout.pipeline out`,
      given.stageNodeGroups,
    );
  const room = minimum(
    groups.flatMap((group, index) => {
      const stages = stageNodeGroups.filter((other) => other === index).length;
      return stages === 0 ? [] : [Math.floor(gpusOfGroup(group) / stages / context)];
    }),
  );
  const perNode = groups.map(({ gpusPerNode }) => gpusPerNode).reduce(greatestCommonDivisor);
  const tensors = given.tensor === undefined ? listDivisors(perNode) : [given.tensor.value];
  return tensors
    .map((tensor) => ({ tensor, pipeline, data: given.data?.value ?? Math.floor(room / tensor) }))
    .filter(({ tensor, data }) => data >= 1 && tensor * data <= room)
    .sort((a, b) => a.tensor - b.tensor);
}

function noSizes(given: LocatedPartial<Layout>, cluster: ClusterSpec, context: number): ExpectedError {
  const groups = cluster.groups ?? [];
  const common = groups.map(gpusOfGroup).reduce(greatestCommonDivisor);
  const [tensor, data] = [given.tensor?.value ?? 1, given.data?.value ?? 1];
  const perStage = tensor * data * context;
  const stages = groups.reduce((sum, group) => sum + gpusOfGroup(group), 0) / perStage;
  const [source] = [given.stageNodeGroups, given.pipeline, given.tensor, given.data, given.context].filter(
    (setting) => setting !== undefined,
  );
  const isWhole = given.tensor !== undefined && given.data !== undefined && common % perStage === 0;
  if (given.stageNodeGroups === undefined && isWhole && given.pipeline !== undefined)
    return groupsError(
      sentence`${clusterText(cluster)} make ${counted(stages, 'stage')} of ${counted(perStage, 'GPU')}, not ${formatCount(given.pipeline.value)}`,
      sentence`set layout.pipeline to ${formatCount(stages)}, or leave layout.pipeline, layout.tensor or layout.data out`,
      source,
    );
  return groupsError(
    sentence`${clusterText(cluster)} cannot be split into whole stages with the fixed part of the layout`,
    given.stageNodeGroups === undefined
      ? sentence`let tensor x data x context divide ${formatCount(common)}, or name the group of each stage in layout.stageNodeGroups`
      : sentence`use smaller layout.tensor and layout.data, or fewer stages on the fullest group`,
    source,
  );
}

function groupsError(message: Sentence, remedy: Sentence, setting: Located<unknown> | undefined): ExpectedError {
  const place: Place | undefined = setting?.source.kind === 'file' ? setting.source.place : undefined;
  return new ExpectedError('layout-groups', message, remedy, place);
}
