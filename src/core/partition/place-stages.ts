import { groupAt, gpusOfGroup, sameKind, stageGpus } from '../cluster/groups';
import type { ClusterSpec, NodeGroup } from '../domain/cluster';
import { megatronBoundary } from '../time-model/boundary';
import { optimizerTime } from '../time-model/optimizer-time';
import { gradientExchangeTime } from '../time-model/gradient-exchange';
import type { CostInputs } from '../time-model/rates';
import { ExpectedError } from '../errors';
import { limitsOn } from '../memory-model/reserved';
import { maximumUnitsInFlight } from '../memory-model/curve';
import { generateSchedule, placeChunks, toScheduleProblem, scheduleKind } from '../schedules/registry';
import { usualSchedule, type ScheduleName } from '../domain/schedule-names';
import { canCut, cutLayers } from './cut-layers';
import type { Layout } from '../domain/request';
import { isUnmet, scheduleOn } from '../schedules/on-layout';
import { layersPeak, layersTime, wholeMicroBatch, type OfStage, type Watch } from './stage-budget';
import { cutContents, layersOfChunks } from './stages';
import { counted, sentence } from '../sentence';
import type { GpuMemory } from '../memory-model/profile';
import { maximum } from '../numbers';

/** Groups up to this number are tried in every order; more as written, and the other way round. */
const mostOrderedGroups = 4;
/** Micro-batches a stage that are ordered to count those in flight: where all of these are, so are all there are. */
const countedPerStage = 3;

/** A cluster of several kinds of nodes, and a layout whose stages are to be placed on them. */
export interface PlacementProblem extends Watch {
  readonly inputs: CostInputs & { readonly cluster: ClusterSpec };
  /** What the stages are cut for; null: 1F1B. */
  readonly schedule: ScheduleName | null;
}

/** What a placement is compared by. */
export interface PlacementScore {
  readonly fits: boolean;
  /**
   * Of 1F1B over the step's micro-batches: all stages once, the slowest once more for every further micro-batch, transfers of the fill and
   * drain, gradient all-reduce and optimizer.
   */
  readonly stepMs: number;
  /** The largest share of its GPU's usable memory that a stage needs. */
  readonly fullest: number;
}

/** Stages on groups with their layers, and whether those fit. */
export interface Placement extends PlacementScore {
  readonly layout: Layout;
}

/** Worse than every placement. */
const worst: PlacementScore = { fits: false, stepMs: Infinity, fullest: Infinity };

/**
 * The best order of the groups and cut of the layers for a layout's sizes. Every group takes stages in a row, as many as its GPUs make;
 * every replica runs over the same groups in the same order. Layers are cut so that the slowest stage is fastest within each GPU's memory
 * (`cutLayers`), times being those of a whole micro-batch; of the orders the one with the least step. What the layout fixes
 * (`stageNodeGroups`, `stageLayers`) stays. Where nothing fits, the placement that comes nearest.
 */
export function placeStages(problem: PlacementProblem): Placement {
  const best = placeStagesWithin(problem);
  if (best === null) throw moreStagesThanLayers(problem.inputs);
  return best;
}

export function moreStagesThanLayers({ model, layout }: CostInputs): ExpectedError {
  return new ExpectedError(
    'plan-more-stages-than-layers',
    sentence`${counted(layout.pipeline, 'stage')} for ${counted(model.layers, 'layer')} leaves stages empty`,
    sentence`raise layout.tensor or layout.data, or use fewer GPUs`,
  );
}

/**
 * The same; null where a single check of each order, of the many that the best cut takes, shows that none is as good as a known placement.
 */
export function placeStagesWithin(problem: PlacementProblem, known: PlacementScore = worst): Placement | null {
  const { cluster, layout } = problem.inputs;
  const orders = layout.stageNodeGroups === undefined ? groupOrders(cluster.groups ?? [], layout) : [layout.stageNodeGroups];
  const budgets = stageBudgets(problem);
  let best: Placement | null = null;
  for (const stageNodeGroups of orders) {
    const other = placed(problem, budgets, stageNodeGroups, best !== null && isBetter(best, known) ? best : known);
    if (other !== null && (best === null || isBetter(other, best))) best = other;
  }
  return best;
}

/** What fits before what does not, the faster of the first and the one nearest to fitting of the others. */
export function isBetter(a: PlacementScore, b: PlacementScore): boolean {
  if (a.fits !== b.fits) return a.fits;
  return a.fits ? a.stepMs < b.stepMs : a.fullest < b.fullest;
}

/**
 * Orders in which groups follow each other down the pipeline, as the group of each stage; orders that only swap groups of one kind and size
 * once.
 */
function groupOrders(groups: readonly NodeGroup[], layout: Pick<Layout, 'tensor' | 'data' | 'context'>): (readonly number[])[] {
  const written = groups.map((_, index) => index);
  const orders = groups.length <= mostOrderedGroups ? permutations(written) : [written, written.toReversed()];
  const stages = groups.map((group) => gpusOfGroup(group) / (layout.tensor * layout.data * layout.context));
  const like = written.map((index) =>
    written.find((other) => sameKind(groupAt(groups, other), groupAt(groups, index)) && stages[other] === stages[index]),
  );
  const distinct = new Map(orders.map((order) => [order.map((index) => like[index]).join(), order]).reverse() as [string, number[]][]);
  return [...distinct.values()].reverse().map((order) => order.flatMap((index) => Array.from({ length: stages[index] ?? 0 }, () => index)));
}

function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) => permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]));
}

/** Time of layers on each group, and peak memory. */
interface Budgets {
  readonly timeMs: readonly OfStage[];
  readonly peakBytes: OfStage;
}

function stageBudgets(problem: PlacementProblem): Budgets {
  const { inputs, schedule } = problem;
  const { cluster } = inputs;
  return {
    timeMs: (cluster.groups ?? []).map((group) => layersTime({ ...inputs, cluster: group }, problem)),
    peakBytes: layersPeak(inputs, () => microBatchesInFlight(schedule ?? usualSchedule, inputs), problem),
  };
}

function microBatchCount({ training, layout }: CostInputs): number {
  return Math.max(1, Math.floor(training.globalBatch / layout.data / training.microBatch));
}

/**
 * Whole micro-batches that each stage holds at most, chunks of a stage counted as parts of one. Orders that are planned stay within the
 * memory there is: they are counted as 1F1B.
 */
function microBatchesInFlight(wanted: ScheduleName, inputs: CostInputs): readonly number[] {
  const { layout, training } = inputs;
  const { groupedMicroBatches } = training;
  const microBatches = microBatchCount(inputs);
  const count = (name: ScheduleName): readonly number[] => {
    const kind = scheduleOn(name, layout);
    const most = Math.min(microBatches, countedPerStage * layout.pipeline);
    const scheme = Array.from({ length: most }, () => ({ batch: 1, tokens: [1] }));
    const schedule = generateSchedule(kind.name, { ...toScheduleProblem(scheme, layout.pipeline, kind.chunks), groupedMicroBatches });
    return Array.from({ length: layout.pipeline }, (_, stage) => {
      const inFlight = maximumUnitsInFlight(schedule, stage) / kind.chunks;
      return inFlight >= most ? microBatches : inFlight;
    });
  };
  try {
    return count(scheduleKind(wanted).planned ? usualSchedule : wanted);
  } catch (error) {
    if (isUnmet(error)) return count('GPipe');
    throw error;
  }
}

/** The best cut for an order of groups; null where it is worse than what is known. */
function placed(
  { inputs, schedule }: PlacementProblem,
  budgets: Budgets,
  stageNodeGroups: readonly number[],
  known: PlacementScore,
): Placement | null {
  const { cluster, layout } = inputs;
  const groups = cluster.groups ?? [];
  const usable = stageNodeGroups.map((group) => limitsOn(inputs, groupAt(groups, group).gpu.memoryBytes).usableBytes);
  const timeMs: OfStage = (stage, from, to) => budgets.timeMs[stageNodeGroups[stage] ?? 0]?.(stage, from, to) ?? Infinity;
  const fullness: OfStage = (stage, from, to) => budgets.peakBytes(stage, from, to) / (usable[stage] ?? 0);
  const cut = layout.stageLayers === undefined ? bestCut(inputs, timeMs, fullness, known) : stageTotals(layout, layout.stageLayers);
  if (cut === null) return null;
  const fullest = maximum(ofStages(cut, fullness));
  const times = ofStages(cut, timeMs);
  const placedLayout = { ...layout, stageNodeGroups, stageLayers: layout.stageLayers ?? cutChunkLayers(cut, layout, schedule) };
  return {
    layout: placedLayout,
    fits: fullest <= 1,
    stepMs:
      times.reduce((sum, ms) => sum + ms, 0) +
      (microBatchCount(inputs) - 1) * maximum(times) +
      afterPipelineMs({ ...inputs, layout: placedLayout }, cut),
    fullest,
  };
}

/** Added to what is known where cuts are held against it, for sums that are rounded otherwise. */
const rounding = 1 + 1e-9;

/**
 * The cut with the fastest slowest stage that fits, or the one that comes nearest to fitting; null where neither can be as good as what is
 * known, or there is none.
 */
function bestCut(inputs: CostInputs, timeMs: OfStage, fullness: OfStage, known: PlacementScore): readonly number[] | null {
  const { model, layout } = inputs;
  const mayBeEmpty = (stage: number): boolean => model.vocab > 0 && (stage === 0 || stage === layout.pipeline - 1);
  const problem = { layers: model.layers, stages: layout.pipeline, mayBeEmpty };
  // the slowest stage runs every micro-batch
  const mostMs = known.fits ? (rounding * known.stepMs) / microBatchCount(inputs) : Infinity;
  const mostFull = known.fits ? 1 : Math.max(1, rounding * known.fullest);
  const within =
    (ms: number, share: number): OfStage =>
    (stage, from, to) => {
      // whichever is asked first spares the other
      if (ms === Infinity && fullness(stage, from, to) > share) return Infinity;
      const own = timeMs(stage, from, to);
      return own <= ms && (ms === Infinity || fullness(stage, from, to) <= share) ? own : Infinity;
    };
  if (known !== worst) {
    const asGood = within(mostMs, mostFull);
    // some stage has as many layers as they have on average
    const average = Math.ceil(model.layers / layout.pipeline);
    const isRoom = Array.from({ length: layout.pipeline }, (_, stage) => stage).some((stage) => asGood(stage, 0, average) < Infinity);
    if ((model.layerKinds === undefined && !isRoom) || !canCut({ ...problem, timeMs: asGood })) return null;
  }
  const fitting = cutLayers({ ...problem, timeMs: within(Infinity, 1) });
  if (fitting !== null || known.fits) return fitting?.stageLayers ?? null;
  return cutLayers({ ...problem, timeMs: fullness })?.stageLayers ?? null;
}

/** A value for every stage of a cut. */
function ofStages(cut: readonly number[], value: OfStage): number[] {
  let from = 0;
  return cut.map((layers, stage) => {
    const start = from;
    from += layers;
    return value(stage, start, from);
  });
}

/** Layers of each stage of a cut that may be of chunks. */
function stageTotals({ pipeline }: Layout, stageLayers: readonly number[]): readonly number[] {
  const totals = Array.from({ length: pipeline }, () => 0);
  stageLayers.forEach((layers, chunk) => (totals[chunk % pipeline] = (totals[chunk % pipeline] ?? 0) + layers));
  return totals;
}

/** A cut as a layout has it: with virtual stages the layers of every chunk. */
function cutChunkLayers(cut: readonly number[], layout: Layout, schedule: ScheduleName | null): readonly number[] {
  if (layout.virtualStages === 1) return cut;
  return layersOfChunks(cut, placeChunks(scheduleOn(schedule ?? usualSchedule, layout).placement, layout.pipeline, layout.virtualStages));
}

/** Transfers of the fill and the drain, then the slowest gradient all-reduce and optimizer after the pipeline, ms. */
function afterPipelineMs(inputs: PlacementProblem['inputs'], cut: readonly number[]): number {
  const stageInputs = inputsByStage(inputs);
  const { batch, tokens } = wholeMicroBatch(inputs);
  let sendsMs = 0;
  for (let stage = 1; stage < cut.length; stage++) {
    const [from, to] = [stageInputs[stage - 1], stageInputs[stage]];
    if (from !== undefined && to !== undefined)
      sendsMs += megatronBoundary(from, batch, tokens, { to }) + megatronBoundary(to, batch, tokens, { to: from });
  }
  const last = cutContents(cut, inputs.model).map((contents, stage) => {
    const own = stageInputs[stage] ?? inputs;
    return gradientExchangeTime(own, contents) + optimizerTime(own, contents);
  });
  return sendsMs + maximum(last);
}

/**
 * What the times of each stage are predicted from: the nodes of its kind as a plain cluster, with the stages that lie on them. One object
 * for all stages of a kind; on a plain cluster the inputs as they are.
 */
export function inputsByStage(inputs: CostInputs & { readonly cluster: ClusterSpec }): readonly CostInputs[] {
  const { cluster, layout } = inputs;
  const { groups } = cluster;
  if (groups === undefined) return Array.from({ length: layout.pipeline }, () => inputs);
  const { stageNodeGroups = [], ...sizes } = layout;
  /** Each stage takes the next GPUs of its group, for all replicas. */
  const order = 'tp-cp-ep-dp-pp';
  const known = new Map<number, CostInputs>();
  return stageNodeGroups.map((group) => {
    let own = known.get(group);
    const pipeline = stageNodeGroups.filter((other) => other === group).length;
    if (own === undefined) known.set(group, (own = { ...inputs, cluster: groupAt(groups, group), layout: { ...sizes, order, pipeline } }));
    return own;
  });
}

/** Memory of the GPUs that a layout's stages run on. */
export function stageGpuMemory(cluster: ClusterSpec, layout: Pick<Layout, 'stageNodeGroups'>): GpuMemory {
  return stageGpus(cluster, layout) ?? cluster.gpu.memoryBytes;
}
