import { memoized } from '../records';
import type { CandidateGroup, Sizes } from './candidate-group';
import { measuredChoices, type SearchProblem } from './search-problem';
import { ExpectedError } from '../errors';
import { formatCount } from '../format';
import { ordersDiffer } from '../cluster/boundaries';
import { joinedGpus } from '../domain/cluster';
import { isFsdp, rankOrders, runtimeProfile, splitsSequences, usualSequenceParallel } from '../domain/runtime';
import { sharesHeads, splitsModel, splitsState } from '../model/mixers';
import { dividesIntoGroups } from '../model/parameters';
import type { ModelSpec } from '../domain/model';
import type { Recompute, RecomputeModule } from '../domain/recompute';
import { supportedRecomputes, refusedTogether, type RecomputeWay } from '../domain/capabilities';
import { listDivisors } from '../numbers';
import { scheduleKind } from '../schedules/registry';
import { fillsStages } from '../partition/stages';
import { settingsAgainst } from '../schedules/runtimes';
import type { ScheduleName } from '../domain/schedule-names';
import { shardsEachPass } from '../time-model/sharding';
import { scheduleChoices, type ScheduleChoice } from './schedules';
import { mostSolvedSlices } from './solved-slices';
import { refusedSizes, refusedTensor } from './refused-sizes';
import { gpusUsed, type Layout, type PlanRequest, type TrainingSpec } from '../domain/request';
import { sentence } from '../sentence';

/** GPUs that a search spreads over: those of the cluster, or of the layout when that is fixed whole or launched with replicas. */
export function searchedGpus({ request, fixed, launched = false }: SearchProblem): number {
  const { layout, cluster, assumptions } = request;
  // where the files give no number of replicas, those of the launched layout may leave GPUs over
  const isGiven = launched && !assumptions.some(({ key }) => key === 'layout.data');
  const whole = isGiven || (['tensor', 'pipeline', 'data'] as const).every((key) => fixed.has(key));
  return whole ? gpusUsed(layout) : cluster.nodes * cluster.gpusPerNode;
}

const mostStages = 128;
const mostMicroBatch = 16;
/**
 * Context parallelism leaves each rank this many tokens of a sequence, as published layouts do: with fewer its kernels are short and its
 * exchanges take longer than what it saves.
 */
const leastContextTokens = 4096;
const mostExpert = 64;

/**
 * Every candidate group that launchers accept: sizes that use all GPUs, tensor parallelism inside a node that divides heads and widths,
 * sequences that context parallelism divides twice, a batch that replicas and micro-batches divide, expert sizes that divide experts and
 * replicas, and the schedules of `scheduleChoices`. Sources: the rules of `src/core/rules/checks`.
 *
 * Not tried unless fixed: tensor parallelism across nodes, expert sizes above 64, context parallelism that leaves a rank under 4,096
 * tokens, ZeRO 2 and 3 (their exchanges in every micro-batch are not timed), token slices together with context parallelism.
 */
export function* candidateGroups(
  problem: SearchProblem,
  skipping: Skipping = { tooLarge: () => false, onSkipped: () => undefined },
): Generator<CandidateGroup> {
  const { request, fixed } = problem;
  const { model, training, capabilities } = request;
  const recomputes: readonly RecomputeChoice[] = fixed.has('recompute')
    ? [training]
    : offloadsWithoutPipeline(training)
      ? [{ recompute: 'none' }]
      : recomputeChoices(model, training, supportedRecomputes(capabilities));
  const optimizers = searchedOptimizers(problem);
  const choices = new Map<string, readonly ScheduleChoice[]>();
  for (const sizes of searchedSizes(problem)) {
    const batch = training.globalBatch / sizes.data;
    const sharded = optimizers.flatMap((optimizer) => searchedGroups(problem, sizes, optimizer));
    const allowed = sharded.filter((optimizer) => refusedTogether(capabilities, { ...sizes, ...optimizer }, model) === undefined);
    if (allowed.length === 0) continue;
    const held = allowed
      .map((optimizer) => ({ optimizer, holding: Object.values({ ...sizes, ...optimizer }).join() }))
      .filter(({ optimizer, holding }) => !skipping.tooLarge({ layout: { ...sizes, virtualStages: 1 }, training: { ...training, ...optimizer }, keys: { time: '', sliced: '', holding } })); // prettier-ignore
    const { tensor, context, expert, expertTensor } = sizes;
    const comms = contextParallelComms(problem, sizes);
    const sequenceParallel = fixed.has('sequenceParallel')
      ? training.sequenceParallel
      : usualSequenceParallel(training, sizes.tensor).value;
    for (const microBatch of searchedMicroBatches(problem, batch)) {
      const count = batch / microBatch;
      const alike = `${sizes.pipeline},${sizes.data},${sizes.context > 1},${count}`;
      const possible = memoized(choices, alike, () => scheduleChoices(problem, sizes, count));
      const schedules = possible
        .map((choice) => ({ ...choice, layout: { ...sizes, virtualStages: choice.virtualStages } }))
        .filter(({ layout }) => refusedTogether(capabilities, layout, model) === undefined);
      skipping.onSkipped(schedules.length * recomputes.length * comms.length * (allowed.length - held.length));
      if (held.length === 0) continue;
      for (const [recompute, alike, comm] of recomputes.flatMap((recompute) =>
        groupsFor(recompute, schedules).flatMap((group) => comms.map((comm) => [recompute, group, comm] as const)),
      )) {
        const chunks = sizes.pipeline * (alike[0]?.chunks ?? 1);
        const chosen = withRecompute(training, recompute, chunks, model.layers);
        const computed = [
          tensor,
          context,
          expert,
          expertTensor,
          microBatch,
          chosen.recompute,
          chosen.recomputeLayers,
          ...(chosen.recomputeModules ?? []),
          comm.contextParallelComm,
        ].join();
        for (const { optimizer, holding } of held) {
          const trained = { ...chosen, ...optimizer, ...comm, sequenceParallel, microBatch };
          const { gradients } = shardsEachPass({ training: trained, layout: sizes });
          const time = gradients ? `${computed}, sharded on ${sizes.data} in ${trained.dataReplicate ?? 1}` : computed;
          const whole = { time, sliced: time, holding };
          for (const { layout, name, slices, solved } of alike) {
            if (cannotSplit(problem, name, trained)) continue;
            const keys = slices === 1 ? whole : { time, sliced: slicedKey(time, slices, solved), holding };
            yield { layout, training: trained, schedule: name, slices, ...(solved === true ? { solved } : {}), keys };
          }
        }
      }
    }
  }
}

function slicedKey(time: string, slices: number, solved: boolean | undefined): string {
  return `${time}/${slices}${solved === true ? ' solved' : ''}`;
}

/** A candidate group, or one of its cuts, with its slices solved for instead of equal. */
export function withSolvedSlices<Group extends CandidateGroup>(request: PlanRequest, group: Group): Group {
  const { keys } = group;
  const slices = mostSolvedSlices(request);
  return { ...group, slices, solved: true, keys: { ...keys, sliced: slicedKey(keys.time, slices, true) } };
}

/** Candidate groups that are skipped before they are made: their static memory by itself does not fit. */
export interface Skipping {
  readonly tooLarge: (group: Pick<CandidateGroup, 'layout' | 'training' | 'keys'>) => boolean;
  readonly onSkipped: (groups: number) => void;
}

/**
 * Whether nobody asks for a schedule, and no runtime that splits its backward has that together with what the files set: such a layout can
 * be planned, and not be run.
 */
export function cannotSplit({ request: { model }, schedules, fixed }: SearchProblem, name: ScheduleName, training: TrainingSpec): boolean {
  return schedules === undefined && !fixed.has('schedule') && settingsAgainst(scheduleKind(name), { model, training }).length > 0;
}

/**
 * Schedules for which a recompute choice means the same layers: all, except for a share of each chunk's layers those with as many chunks.
 */
function groupsFor<T extends ScheduleChoice>({ share }: RecomputeChoice, schedules: readonly T[]): (readonly T[])[] {
  if (share === undefined) return [schedules];
  const groups = new Map<number, T[]>();
  for (const schedule of schedules) {
    const group = groups.get(schedule.chunks);
    if (group === undefined) groups.set(schedule.chunks, [schedule]);
    else group.push(schedule);
  }
  return [...groups.values()];
}

/**
 * Whether whole layers are on the host in a runtime that has that neither with a pipeline nor with recompute (Megatron-LM's
 * `TransformerConfig`).
 */
function offloadsWithoutPipeline({ activationOffloadLayers = 0, runtime }: TrainingSpec): boolean {
  return activationOffloadLayers > 0 && (runtime ?? 'megatron') === 'megatron';
}

function* searchedSizes(problem: SearchProblem): Generator<Sizes> {
  const { request, fixed } = problem;
  const { model, layout, training, cluster } = request;
  const gpus = searchedGpus(problem);
  const divisors = listDivisors(gpus);
  const among = (key: 'tensor' | 'pipeline' | 'context', free: (size: number) => boolean): number[] =>
    fixed.has(key) ? [layout[key]] : divisors.filter(free);
  const tensors = among('tensor', (size) => size <= joinedGpus(cluster) && splitsModel(model, size));
  const contexts = among(
    'context',
    (size) =>
      size === 1 ||
      (model.stacks === undefined && training.sequenceLength >= size * leastContextTokens && training.sequenceLength % (2 * size) === 0),
  );
  const pipelines = among(
    'pipeline',
    (size) =>
      size <= (offloadsWithoutPipeline(training) ? 1 : Math.min(model.layers, mostStages)) &&
      fillsStages(training.runtime, model.layers, size),
  );
  for (const tensor of tensors)
    for (const context of contexts)
      for (const pipeline of pipelines) {
        const data = gpus / (tensor * context * pipeline);
        if (!Number.isInteger(data) || (fixed.has('data') && data !== layout.data) || training.globalBatch % data !== 0) continue;
        if (contextParallelComms(problem, { tensor, context }).length === 0) continue;
        if (fixed.has('sequenceParallel') && training.sequenceParallel && !splitsSequences(training, tensor)) continue;
        for (const experts of expertSizes(problem, { tensor, context, data })) {
          const sizes = { tensor, pipeline, data, context, ...experts };
          if (refusedSizes(request, sizes) !== null) continue;
          for (const order of ordersFor(problem, sizes)) yield { ...sizes, ...order };
        }
      }
}

/**
 * Orders of ranks: as fixed, or both where they put other groups inside a node. Stages before replicas want experts that lie within the
 * ranks of one stage and replica (`initialize_model_parallel` of megatron/core/parallel_state.py).
 */
function ordersFor({ request: { layout, cluster, training }, fixed }: SearchProblem, sizes: Sizes): Pick<Layout, 'order'>[] {
  const { order } = layout;
  if (fixed.has('order') || !ordersDiffer(sizes, cluster)) return [order === undefined ? {} : { order }];
  const { tensor, context, expert, expertTensor = tensor } = sizes;
  const usual = runtimeProfile(training).rankOrder;
  const free = rankOrders.filter((one) => one === 'tp-cp-ep-dp-pp' || expert === 1 || expert * expertTensor === tensor * context);
  return free.map((one) => (one === usual ? {} : { order: one })).sort((a, b) => Number('order' in a) - Number('order' in b));
}

/**
 * How context parallelism may exchange: as fixed, or round a ring and, where the heads divide, by all-to-all, whose group may cross nodes.
 * Those of a state are always exchanged, and a group of theirs is repeated where need be.
 */
function contextParallelComms(
  { request: { training, model }, fixed }: SearchProblem,
  { tensor, context }: Pick<Layout, 'tensor' | 'context'>,
): readonly Pick<TrainingSpec, 'contextParallelComm'>[] {
  const { contextParallelComm } = training;
  const given = contextParallelComm === undefined ? {} : { contextParallelComm };
  if (context === 1 || (fixed.has('context') && fixed.has('contextParallelComm'))) return [given];
  const { state } = model;
  const ranks = tensor * context;
  if (state !== undefined && !splitsState({ ...state, groups: ranks }, ranks)) return fixed.has('context') ? [given] : [];
  const possible = (['all-to-all', 'ring'] as const).filter((comm) => comm === 'ring' || sharesHeads(model, ranks));
  if (!fixed.has('contextParallelComm')) return possible.map((comm) => ({ contextParallelComm: comm }));
  return possible.includes(contextParallelComm ?? 'all-to-all') ? [given] : [];
}

function expertSizes(
  { request, fixed }: SearchProblem,
  { tensor, context, data }: Pick<Layout, 'tensor' | 'context' | 'data'>,
): Pick<Layout, 'expert' | 'expertTensor'>[] {
  const { model, layout } = request;
  const kept = layout.expertTensor === undefined || !fixed.has('expertTensor') ? {} : { expertTensor: layout.expertTensor };
  if (model.experts === null) return [{ expert: fixed.has('expert') ? layout.expert : 1, ...kept }];
  const { count } = model.experts;
  const sizes = fixed.has('expert') ? [layout.expert] : listDivisors(count).filter((size) => size <= mostExpert);
  const tensors = fixed.has('expertTensor') || tensor === 1 ? [kept] : [{}, { expertTensor: 1 }];
  return sizes.flatMap((expert) =>
    tensors.flatMap((of: Pick<Layout, 'expertTensor'>) => {
      const ranks = (tensor * context * data) / (of.expertTensor ?? tensor);
      return ranks % expert === 0 && model.ffn % (of.expertTensor ?? tensor) === 0 ? [{ expert, ...of }] : [];
    }),
  );
}

function searchedMicroBatches({ request, fixed }: SearchProblem, batch: number): number[] {
  const { microBatch } = request.training;
  if (fixed.has('microBatch')) return batch % microBatch === 0 ? [microBatch] : [];
  const sizes: number[] = [];
  const most = Math.min(mostMicroBatch, measuredChoices(request)?.mostMicroBatch ?? Infinity);
  for (let size = 1; size <= most; size *= 2) if (batch % size === 0) sizes.push(size);
  return sizes;
}

/** What to recompute; `share` of a full one's layers instead of all. */
type RecomputeChoice = Recompute & { readonly share?: number };

/** Recompute choices worth trying, those that cost least first. */
export function recomputeChoices(
  { experts, latent }: ModelSpec,
  { attention, overlapExpertComm }: Pick<TrainingSpec, 'attention' | 'overlapExpertComm'>,
  ways: readonly RecomputeWay[],
): RecomputeChoice[] {
  const scores: RecomputeModule[] = attention === 'unfused' ? ['core_attn'] : [];
  const light: RecomputeModule[] = [...scores, 'layernorm', ...(latent ? (['mla_up_proj'] as const) : []), ...(experts === null ? [] : (['moe_act'] as const))]; // prettier-ignore
  const wide: RecomputeModule[] = [...scores, experts === null ? 'mlp' : 'moe'];
  const choices: readonly (readonly [RecomputeWay, RecomputeChoice])[] = [
    ['none', { recompute: 'none' }],
    ...(scores.length > 0 ? [['core', { recompute: 'selective' }] as const] : []),
    ['modules', { recompute: 'selective', recomputeModules: light }],
    ['modules', { recompute: 'selective', recomputeModules: wide }],
    ['op', { recompute: 'op' }],
    ['share', { recompute: 'full', share: 0.5 }],
    ['full', { recompute: 'full' }],
  ];
  // where the all-to-all of experts is hidden behind another chunk, no expert layer is recomputed whole (the rule `expert-overlap`)
  const isRefused = ({ recompute, recomputeModules }: RecomputeChoice): boolean =>
    experts !== null && overlapExpertComm === true && (recompute === 'full' || recomputeModules?.includes('moe') === true);
  return choices.flatMap(([way, choice]) => (ways.includes(way) && !isRefused(choice) ? [choice] : []));
}

function withRecompute(training: TrainingSpec, choice: RecomputeChoice, chunks: number, layers: number): TrainingSpec {
  const chosenLayers = choice.share === undefined ? choice.recomputeLayers : Math.max(1, Math.floor((choice.share * layers) / chunks));
  return {
    ...training,
    recompute: choice.recompute,
    ...(choice.recomputeModules === undefined ? {} : { recomputeModules: choice.recomputeModules }),
    ...(chosenLayers === undefined ? {} : { recomputeLayers: chosenLayers }),
  };
}

function searchedOptimizers({ request, fixed, triesHost = false }: SearchProblem): Pick<TrainingSpec, 'zeroStage' | 'offloadOptimizer'>[] {
  const { zeroStage, offloadOptimizer, optimizer } = request.training;
  const stages = fixed.has('zeroStage') ? [zeroStage] : ([1, 0] as const);
  return stages.flatMap((stage) => {
    const offloads =
      fixed.has('offloadOptimizer') || !triesHost
        ? [offloadOptimizer]
        : stage >= 1 && optimizer !== 'none'
          ? [undefined, true]
          : [undefined];
    return offloads.map((offload) => ({
      zeroStage: stage,
      ...(offload === undefined && offloadOptimizer === undefined ? {} : { offloadOptimizer: offload ?? false }),
    }));
  });
}

/**
 * Groups of HSDP: as the files have them where replicas divide into as many, none without sharding; free, of a runtime that shards weights
 * one group and groups of whole nodes, which gather their weights over fewer links.
 */
function searchedGroups<T extends Pick<TrainingSpec, 'zeroStage'>>(
  { request: { model, training, cluster }, fixed }: SearchProblem,
  sizes: Sizes,
  optimizer: T,
): (T & Pick<TrainingSpec, 'dataReplicate'>)[] {
  const { tensor, context, data } = sizes;
  const { dataReplicate } = training;
  if (optimizer.zeroStage === 0) return [{ ...optimizer, ...(dataReplicate === undefined ? {} : { dataReplicate: 1 }) }];
  const isFree = !fixed.has('dataReplicate') && isFsdp(training) && optimizer.zeroStage >= 2;
  if (!isFree) return dividesIntoGroups(model, training, sizes) ? [optimizer] : [];
  const ofNodes = (groups: number): boolean => ((tensor * context * data) / groups) % cluster.gpusPerNode === 0;
  return listDivisors(data)
    .filter((groups) => groups === 1 || (groups < data * context && (groups === dataReplicate || ofNodes(groups))))
    .map((groups) => ({ ...optimizer, ...(groups === 1 && dataReplicate === undefined ? {} : { dataReplicate: groups }) }));
}

/** Nothing is left to choose from. */
export function nothingToSearch(problem: SearchProblem): ExpectedError {
  const { training, layout } = problem.request;
  const refused = problem.fixed.has('tensor') ? refusedTensor(problem.request, layout.tensor) : null;
  if (refused !== null)
    return new ExpectedError(
      'search-no-layout',
      sentence`No launcher accepts a layout with the fixed settings: ${refused}`,
      sentence`fix another tensor size, or leave it open`,
    );
  return new ExpectedError(
    'search-no-layout',
    sentence`No layout that launchers accept uses ${formatCount(searchedGpus(problem))} GPUs for ${formatCount(training.globalBatch)} sequences per step with the fixed settings`,
    sentence`change training.globalBatch or the number of nodes, or leave more of layout open`,
  );
}
