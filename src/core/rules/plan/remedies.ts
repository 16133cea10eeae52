import { scheduleKind } from '../../schedules/registry';
import { nodeGroups } from '../../cluster/groups';
import { lacksBf16 } from '../../spec/cluster';
import { applyOverrides } from '../../formats/overrides';
import type { Run } from '../../formats/run';
import { ExpectedError, type CancelSignal } from '../../errors';
import { formatCount, formatDuration } from '../../format';
import { fitsMemory } from '../../memory-model/verdict';
import { divisorsOf } from '../../numbers';
import { chosenOf, type Candidate, type Plan } from '../../planner/plan';
import { isRun } from '../../schedules/needs';
import { mostTrialOperations, recomputeByStage } from '../../planner/recompute-by-stage';
import type { PlanRequest } from '../../spec/request';
import { memoryOf } from '../../partition/scheduling';
import { gpuMemoryOf } from '../../partition/stage-inputs';
import { counted, sentence, type Sentence } from '../../sentence';
import type { Change, Remedy } from './remedy';

/** As many are offered, and beside recompute of all stages alike that of each stage. */
const mostRemedies = 3;
/** Plans that are made to find them, at most: a count, so that every machine offers the same. */
export const mostTrials = 5;

/**
 * Looks for the smallest changes with which a step fits: yields a run with a change, is sent its plan (null where it cannot be planned),
 * and returns those that fit, smallest change first. The caller plans, here or on another
 * thread. At most `mostTrials` are yielded; what does not fit by memory alone is not.
 */
function* remediesFor(run: Run, plan: Plan, signal: CancelSignal | undefined): Generator<Run, readonly Remedy[], Plan | null> {
  const chosen = chosenOf(plan);
  if (chosen.fits) return [];
  const found: Remedy[] = [];
  let trials = 0;
  const other = otherSchedule(plan);
  if (other !== undefined && scheduleKind(other.schedule).ownRuntime === undefined) found.push(scheduleRemedy(chosen, other, null));
  else if (other !== undefined) {
    // Asked for, it is planned for its own runtime.
    trials++;
    const changed = yield applyOverrides(run, [`schedule=${other.schedule}`]);
    if (changed !== null && chosenOf(changed).fits) found.push(scheduleRemedy(chosen, chosenOf(changed), chosenAlone(changed)));
  }
  for (const change of changesOf(plan.request, chosen)) {
    if (found.length === mostRemedies || trials === mostTrials) break;
    if (!fitsAfter(change, chosen)) continue;
    trials++;
    const changed = yield applyOverrides(
      run,
      change.sets.map(([key, value]) => `${key}=${value}`),
    );
    if (changed !== null && chosenOf(changed).fits) found.push(remedyOf(change, chosen, chosenOf(changed), chosenAlone(changed)));
  }
  const byStage = stagesRecomputed(plan, found, signal);
  return byStage === null ? found : [...found, byStage];
}

/** Steps that differ by less than this share are as fast. */
const asFast = 0.005;

/**
 * Recompute of another number of layers on each stage, where that is faster than of as many on all of them: what is lost to flags that
 * cannot say so. With the slices of the plan, or those that were solved for the change that recomputes alike.
 */
function stagesRecomputed(plan: Plan, found: readonly Remedy[], signal: CancelSignal | undefined): Remedy | null {
  const { request } = plan;
  if (request.training.recompute === 'full') return null;
  const chosen = chosenOf(plan);
  const alike = found.filter(({ sets }) => sets.some(([key, value]) => key === 'training.recompute' && value === 'full'));
  if (alike.length === 0) return null;
  const schemes = [chosen, ...alike.flatMap((remedy) => (remedy.plan === null ? [] : [chosenOf(remedy.plan)]))]
    .filter(({ schedule }) => schedule === chosen.schedule)
    .map(({ scheme }) => scheme);
  const best = recomputeByStage(request, chosen, schemes, signal);
  if (best === null || best.layers.every((layers) => layers === best.layers[0])) return null;
  const alikeMs = Math.min(...alike.map(({ iterationMs }) => iterationMs));
  if (!(best.prediction.iterationMs < alikeMs * (1 - asFast))) return null;
  const label = sentence`Recompute ${layersByStage(best.layers)} (no launcher's flags can say so)`;
  return {
    sets: [],
    label,
    iterationMs: best.prediction.iterationMs,
    slower: chosen.tokensPerSecond / best.prediction.tokensPerSecond - 1,
    plan: null,
  };
}

/** `5 layers on stages 0 to 2, 1 layer on stage 3`; stages without any are left out. */
function layersByStage(layers: readonly number[]): Sentence {
  const parts: Sentence[] = [];
  for (let from = 0, to = 0; from < layers.length; from = to) {
    const count = layers[from] ?? 0;
    while (to < layers.length && layers[to] === count) to++;
    if (count === 0) continue;
    const on = to - from === 1 ? sentence`stage ${formatCount(from)}` : sentence`stages ${formatCount(from)} to ${formatCount(to - 1)}`;
    parts.push(sentence`${counted(count, 'layer')} on ${on}`);
  }
  return parts.reduce((a, b) => sentence`${a}, ${b}`);
}

function chosenAlone(plan: Plan): Plan {
  return { ...plan, candidates: [{ ...chosenOf(plan), timeline: null }] };
}

/** The same on this thread. @param planOf throws ExpectedError where a run cannot be planned. @throws CancelledError. */
export function findRemedies(run: Run, plan: Plan, planOf: (run: Run) => Plan, signal?: CancelSignal): readonly Remedy[] {
  const search = remediesFor(run, plan, signal);
  let step = search.next();
  while (step.done !== true) step = search.next(plannedOrNull(step.value, planOf));
  return step.value;
}

function plannedOrNull(run: Run, planOf: (run: Run) => Plan): Plan | null {
  try {
    return planOf(run);
  } catch (error) {
    if (error instanceof ExpectedError) return null;
    throw error;
  }
}

function remedyOf({ sets, label }: Change, before: Candidate, { iterationMs, tokensPerSecond }: Candidate, plan: Plan | null): Remedy {
  return { sets, label, iterationMs, slower: before.tokensPerSecond / tokensPerSecond - 1, plan };
}

/**
 * The fastest other schedule that fits and that the runtime runs: the plan has it already.
 */
function otherSchedule(plan: Plan): Candidate | undefined {
  const { request, candidates } = plan;
  const { schedule } = chosenOf(plan);
  if (request.slicing.scheme !== null) return undefined;
  return candidates
    .filter((candidate) => candidate.fits && candidate.schedule !== schedule && mayRun(request, candidate))
    .sort((a, b) => a.iterationMs - b.iterationMs)[0];
}

function scheduleRemedy(chosen: Candidate, best: Candidate, plan: Plan | null): Remedy {
  const name = best.id === 'rounds' ? best.name : best.schedule;
  const change = { sets: [['schedule', best.schedule]], label: sentence`Run ${name} (${formatDuration(best.iterationMs)})` } as const;
  return remedyOf(change, chosen, best, plan);
}

/** Whether a candidate may be chosen: a remedy must not need another runtime. */
function mayRun(request: PlanRequest, { schedule }: Candidate): boolean {
  return request.runs?.includes(schedule) ?? isRun(schedule, request);
}

interface TriedChange extends Change {
  readonly request: PlanRequest;
}

/** The usual measures, cheapest in time first. */
function changesOf(request: PlanRequest, chosen: Candidate): TriedChange[] {
  const { training, layout, model } = request;
  const train = (key: keyof typeof training, value: string | number | boolean, label: Sentence): TriedChange => ({
    sets: [[`training.${key}`, value]],
    label,
    request: { ...request, training: { ...training, [key]: value } },
  });
  const smallerBatches = divisorsOf(training.microBatch)
    .filter((size) => size < training.microBatch)
    .reverse();
  const gpus = layout.pipeline * layout.data;
  const deeper = (layout.stageNodeGroups === undefined ? divisorsOf(model.layers) : []).filter(
    (pipeline) => pipeline > layout.pipeline && gpus % pipeline === 0 && training.globalBatch % (gpus / pipeline) === 0,
  );
  const hasFastBf16 = nodeGroups(request.cluster).every(({ gpu }) => !lacksBf16(gpu));
  return [
    ...(layout.tensor > 1 && !training.sequenceParallel && training.sequenceLength % layout.tensor === 0
      ? [train('sequenceParallel', true, sentence`Use sequence parallelism`)]
      : []),
    ...(training.attention === 'unfused' && hasFastBf16 ? [train('attention', 'flash', sentence`Use FlashAttention`)] : []),
    ...(training.zeroStage === 0 && layout.data > 1 ? [train('zeroStage', 1, sentence`Shard the optimizer (ZeRO 1)`)] : []),
    ...smallerBatches.map((size) => train('microBatch', size, sentence`Use a micro-batch of ${formatCount(size)}`)),
    ...(training.recompute === 'none' ? [train('recompute', 'selective', sentence`Recompute attention`)] : []),
    ...(training.recompute === 'full' ? [] : [fewestRecomputed(request, chosen)]),
    ...deeper.map((pipeline) => ({
      sets: [
        ['layout.pipeline', pipeline],
        ['layout.data', gpus / pipeline],
      ] as const,
      label: sentence`Use ${formatCount(pipeline)} stages`,
      request: { ...request, layout: { ...layout, pipeline, data: gpus / pipeline } },
    })),
  ];
}

/**
 * Recompute of as few layers of each stage (chunk) as fit by the memory of the chosen schedule, which costs the least; of all of them where
 * not fewer do. Slices are solved for anew when it is planned: what is recomputed changes their times.
 */
function fewestRecomputed(request: PlanRequest, chosen: Candidate): TriedChange {
  const { training, layout, model } = request;
  const most = Math.ceil(model.layers / (layout.pipeline * layout.virtualStages));
  const of = (layers: number): TriedChange => {
    const isAll = layers === most;
    return {
      sets: [['training.recompute', 'full'], ...(isAll ? [] : [['training.recomputeLayers', layers] as const])],
      label: isAll
        ? sentence`Recompute all layers`
        : layout.virtualStages > 1
          ? sentence`Recompute ${formatCount(layers)} of up to ${counted(most, 'layer')} of each virtual stage`
          : sentence`Recompute ${formatCount(layers)} of up to ${counted(most, 'layer')} of each stage`,
      request: { ...request, training: { ...training, recompute: 'full', ...(isAll ? {} : { recomputeLayers: layers }) } },
    };
  };
  if (!mayShareRecompute(training)) return of(most);
  let [below, fewest] = [0, most];
  while (fewest - below > 1) {
    const middle = (below + fewest) >> 1;
    if (fitsAfter(of(middle), chosen)) fewest = middle;
    else below = middle;
  }
  return of(fewest);
}

/** Whether launchers recompute a part of a stage's layers: Megatron-LM's block method. Others know all of them. */
function mayShareRecompute({ runtime = 'megatron' }: PlanRequest['training']): boolean {
  return runtime === 'megatron' || runtime === 'terapipe';
}

/** By the memory of the chosen schedule alone. */
function fitsAfter({ request, sets }: TriedChange, chosen: Candidate): boolean {
  const { model, training, layout, cluster } = request;
  const { sliced } = scheduleKind(chosen.schedule);
  if (sliced && sets.some(([key]) => key === 'training.microBatch')) return false;
  const microBatches = Math.ceil(training.globalBatch / layout.data / training.microBatch);
  const units = sliced ? chosen.scheme.reduce((sum, { tokens }) => sum + tokens.length, 0) : microBatches;
  if (2 * units * layout.pipeline * chosen.chunksPerStage > mostTrialOperations) return false;
  const scheme = sliced
    ? chosen.scheme
    : Array.from({ length: microBatches }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
  const memory = memoryOf({ model, training, layout }, chosen.schedule, scheme, gpuMemoryOf(cluster, layout));
  return memory !== null && fitsMemory(memory);
}
