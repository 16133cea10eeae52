import { scheduleKind } from '../../schedules/registry';
import { nodeGroups } from '../../cluster/groups';
import { lacksBf16 } from '../../domain/cluster';
import { applyOverrides, settingTexts } from '../../terapipe/overrides';
import type { Run } from '../../run/run';
import { ExpectedError, type CancelSignal } from '../../errors';
import { formatCount } from '../../format';
import { fitsMemory } from '../../memory-model/verdict';
import { listDivisors } from '../../numbers';
import { overflowsByFragmentation, expandableSegments } from '../../memory-model/reserved';
import { recomputeChoices } from '../../layout-search/space';
import { buildPipeline } from '../../planner/predict/pipeline';
import { makePlan } from '../../planner/make-plan';
import { resolveRun } from '../../plan-request/resolve';
import { planScenario, type ResolveDefaults } from '../../plan-request/scenario';
import type { NamedProfile } from '../../domain/profile';
import { chosenCandidate, type Candidate, type Plan } from '../../planner/plan';
import { stepMs } from '../../planner/predict/predict';
import { mayRunInstead } from '../../schedules/runtimes';
import { supportedRecomputes, refusedTogether, searchKeySetter } from '../../domain/capabilities';
import { searchKeys } from '../../domain/layout-choices';
import type { Layout, PlanRequest, TrainingSpec } from '../../domain/request';
import type { ScheduleName } from '../../domain/schedule-names';
import type { Scheme } from '../../domain/scheme';
import { mostTriedOperations, scheduleOn } from '../../schedules/on-layout';
import { peakMemory } from '../../partition/chunk-order';
import { stageGpuMemory } from '../../partition/place-stages';
import { counted, lowerFirst, sentence, type Sentence } from '../../sentence';
import type { Change, Remedy, SetValue } from './remedy';

/** Remedies that are offered, at most. */
const mostRemedies = 4;
/** Plans that are made to find them, at most: a count, so that every machine offers the same. */
export const mostTrials = 5;

/**
 * Changes with which a step fits, cheapest first by the time per token. What does not fit in memory is not planned; of the others those
 * that cost least by a quick estimate are, at most `mostTrials`.
 *
 * @param planChanged throws ExpectedError where a run cannot be planned; `planRemedy`, in the product.
 * @throws CancelledError.
 */
export function findRemedies(run: Run, plan: Plan, planChanged: (run: Run) => Plan, signal?: CancelSignal): readonly Remedy[] {
  const chosen = chosenCandidate(plan);
  if (chosen.fits) return [];
  const found: Remedy[] = [...environmentRemedy(plan)];
  let trials = 0;
  const tried = (overrides: readonly string[]): Plan | null => {
    trials++;
    const changed = plannedOrNull(applyOverrides(run, overrides), planChanged);
    return changed !== null && chosenCandidate(changed).fits ? changed : null;
  };
  const other = otherSchedule(plan);
  if (other !== undefined && scheduleKind(other.schedule).ownRuntime === undefined) found.push(scheduleRemedy(chosen, other, null));
  else if (other !== undefined) {
    // Asked for, it is planned for its own runtime.
    const changed = tried([`schedule=${other.schedule}`]);
    if (changed !== null) found.push(scheduleRemedy(chosen, chosenCandidate(changed), withoutOthers(changed)));
  }
  const changes = memoryChanges(plan.request, chosen)
    .flatMap((change) => runnableChange(change))
    .filter((change) => fitsAfter(change, chosen));
  for (const change of cheapestFirst(changes, chosen, signal)) {
    if (trials === mostTrials) break;
    const changed = tried(settingTexts(change.sets));
    if (changed !== null) found.push(toRemedy(change, chosen, chosenCandidate(changed), withoutOthers(changed)));
  }
  return found.toSorted((a, b) => a.slower - b.slower).slice(0, mostRemedies);
}

/** What a run is resolved with. */
interface Resolving {
  readonly defaults: ResolveDefaults;
  readonly found: readonly NamedProfile[];
  readonly signal?: CancelSignal | undefined;
}

/**
 * The plan of a changed run on the GPUs and with the sizes that `plan` assumed: only candidates that may be chosen, and not drawn.
 * @throws ExpectedError as `resolveRun` and `makePlan`; CancelledError.
 */
export function planRemedy(changed: Run, plan: Plan, { defaults, found, signal }: Resolving): Plan {
  const request = resolveRun(changed, { ...defaults, kept: planScenario(plan.request) }, found, signal);
  return makePlan(request, { signal, isCompared: false, drawnOperations: 0 });
}

/** Changes by the step that each would take for as many tokens under the schedule of the plan; what cannot be timed so comes last. */
function cheapestFirst(changes: readonly TriedChange[], chosen: Candidate, signal: CancelSignal | undefined): readonly TriedChange[] {
  const costs = new Map(changes.map((change) => [change, estimatedMs(change, chosen, signal)]));
  return changes.toSorted((a, b) => (costs.get(a) ?? Infinity) - (costs.get(b) ?? Infinity));
}

/** A step with a change, over the sequences of its batch, ms; `Infinity` where the schedule does not run on it. */
function estimatedMs(change: TriedChange, { schedule, scheme }: Candidate, signal: CancelSignal | undefined): number {
  const { training, layout } = change.request;
  const spec = { kind: scheduleOn(schedule, layout), scheme: schemeAfter(change, schedule, scheme) };
  const ms = stepMs(buildPipeline(change.request), spec, signal);
  return (ms ?? Infinity) / training.globalBatch;
}

/**
 * The allocator's setting with which no memory is lost to fragmentation, where that is all that a step lacks: the tensors of every stage
 * fit in what other uses leave. Runtimes that set it themselves lose none.
 */
function environmentRemedy({ request, candidates, chosen: id }: Plan): Remedy[] {
  const chosen = candidates.find((candidate) => candidate.id === id);
  if (chosen === undefined || !overflowsByFragmentation(request, chosen.memory.stages)) return [];
  const label = sentence`Set ${expandableSegments} in the environment`;
  return [{ sets: [], label, iterationMs: chosen.iterationMs, slower: 0, plan: null }];
}

function withoutOthers(plan: Plan): Plan {
  return { ...plan, candidates: [{ ...chosenCandidate(plan), timeline: null }] };
}

function plannedOrNull(run: Run, planChanged: (run: Run) => Plan): Plan | null {
  try {
    return planChanged(run);
  } catch (error) {
    if (error instanceof ExpectedError) return null;
    throw error;
  }
}

function toRemedy({ sets, label }: Change, before: Candidate, { iterationMs, tokensPerSecond }: Candidate, plan: Plan | null): Remedy {
  return { sets, label, iterationMs, slower: before.tokensPerSecond / tokensPerSecond - 1, plan };
}

/** The fastest other schedule that fits and that the runtime runs: the plan has it already. */
function otherSchedule(plan: Plan): Candidate | undefined {
  const { request, candidates } = plan;
  const { schedule } = chosenCandidate(plan);
  if (request.slicing.scheme !== null) return undefined;
  return candidates
    .filter((candidate) => candidate.fits && candidate.schedule !== schedule && mayRunInstead(candidate.schedule, request))
    .sort((a, b) => a.iterationMs - b.iterationMs)[0];
}

function scheduleRemedy(chosen: Candidate, best: Candidate, plan: Plan | null): Remedy {
  const name = best.id === 'rounds' ? best.name : best.schedule;
  const change = {
    sets: [['schedule', best.schedule]],
    label: plan === null ? sentence`Run ${name}` : sentence`Run ${name} under its own runtime`,
  } as const;
  return toRemedy(change, chosen, best, plan);
}

interface TriedChange extends Change {
  readonly request: PlanRequest;
}

/** A change, labelled where only the training script can make it; empty where the launcher does not run it. */
function runnableChange(change: TriedChange): TriedChange[] {
  const { capabilities, layout, training, model } = change.request;
  const names = change.sets.map(([key]) => key.split('.').at(-1));
  const keys = searchKeys.filter((key) => names.includes(key));
  const isRefused = refusedTogether(capabilities, { ...layout, zeroStage: training.zeroStage }, model) !== undefined;
  if (isRefused || keys.some((key) => searchKeySetter(capabilities, key) === 'nobody')) return [];
  const isElsewhere = keys.some((key) => searchKeySetter(capabilities, key) === 'elsewhere');
  return [isElsewhere ? { ...change, label: sentence`${change.label} (in the training script)` } : change];
}

/** The usual measures. */
function memoryChanges(request: PlanRequest, chosen: Candidate): TriedChange[] {
  const { training, layout } = request;
  const smallerBatches = listDivisors(training.microBatch)
    .filter((size) => size < training.microBatch)
    .reverse();
  const hasFastBf16 = nodeGroups(request.cluster).every(({ gpu }) => !lacksBf16(gpu));
  const batches = smallerBatches.map((size) => trained(request, { microBatch: size }, sentence`Use a micro-batch of ${formatCount(size)}`));
  return [
    ...(layout.tensor > 1 && !training.sequenceParallel && training.sequenceLength % layout.tensor === 0
      ? [trained(request, { sequenceParallel: true }, sentence`Use sequence parallelism`)]
      : []),
    ...(training.attention === 'unfused' && hasFastBf16 ? [trained(request, { attention: 'flash' }, sentence`Use FlashAttention`)] : []),
    ...(training.zeroStage === 0 && layout.data > 1 ? [trained(request, { zeroStage: 1 }, sentence`Shard the optimizer (ZeRO 1)`)] : []),
    ...batches,
    ...selectiveRecomputes(request),
    ...batches.flatMap((batch) => selectiveRecomputes(batch.request).map((each) => together(batch, each))),
    ...(training.recompute === 'full' && training.recomputeLayers === undefined ? [] : [fewestRecomputed(request, chosen)]),
    ...(layout.stageNodeGroups !== undefined || layout.stageLayers !== undefined
      ? []
      : [...otherPipelines(request), ...batches.flatMap((batch) => otherPipelines(batch.request).map((each) => together(batch, each)))]),
    ...otherTensors(request),
  ];
}

/** Settings of training, as one change. */
function trained(request: PlanRequest, set: Partial<TrainingSpec>, label: Sentence): TriedChange {
  return {
    sets: Object.entries(set).map(([key, value]) => [`training.${key}`, value as SetValue] as const),
    label,
    request: { ...request, training: { ...request.training, ...set } },
  };
}

/** Two changes at once; the second was made on top of the first. */
function together(first: TriedChange, second: TriedChange): TriedChange {
  return { sets: [...first.sets, ...second.sets], label: sentence`${first.label}, ${lowerFirst(second.label)}`, request: second.request };
}

/** Recompute of parts of every layer that saves more memory than what is recomputed already. */
function selectiveRecomputes(request: PlanRequest): TriedChange[] {
  const { training, model, capabilities } = request;
  if (training.recompute !== 'none') return [];
  return recomputeChoices(model, training, supportedRecomputes(capabilities)).flatMap(({ recompute, recomputeModules }) =>
    recompute !== 'selective'
      ? []
      : recomputeModules === undefined
        ? [trained(request, { recompute }, sentence`Recompute attention`)]
        : [trained(request, { recompute, recomputeModules }, sentence`Recompute ${recomputeModules.join(', ')}`)],
  );
}

/** More stages on the same GPUs, replicas fewer. */
function otherPipelines(request: PlanRequest): TriedChange[] {
  const { layout, model } = request;
  const gpus = layout.pipeline * layout.data;
  return listDivisors(model.layers)
    .filter((pipeline) => pipeline > layout.pipeline && gpus % pipeline === 0)
    .flatMap((pipeline) => laidOut(request, { pipeline, data: gpus / pipeline }, sentence`Use ${formatCount(pipeline)} stages`));
}

/** Tensor parallelism of twice the size within a node, replicas half as many. */
function otherTensors(request: PlanRequest): TriedChange[] {
  const { layout, model, cluster, training } = request;
  const tensor = 2 * layout.tensor;
  const isWhole = layout.data % 2 === 0 && model.heads % tensor === 0 && training.sequenceLength % tensor === 0;
  if (!isWhole || tensor > cluster.gpusPerNode || layout.stageNodeGroups !== undefined || model.experts !== null) return [];
  return laidOut(request, { tensor, data: layout.data / 2 }, sentence`Use tensor parallelism of ${formatCount(tensor)}`);
}

function laidOut(request: PlanRequest, sizes: Partial<Layout> & Pick<Layout, 'data'>, label: Sentence): TriedChange[] {
  const { training } = request;
  if (!Number.isInteger(training.globalBatch / sizes.data / training.microBatch)) return [];
  return [
    {
      sets: Object.entries(sizes).map(([key, value]) => [`layout.${key}`, value as number] as const),
      label,
      request: { ...request, layout: { ...request.layout, ...sizes } },
    },
  ];
}

/**
 * Recompute of as few layers of each stage (chunk) as fit by the memory of the chosen schedule, which costs the least; of all of them where
 * not fewer do. Slices are solved again when it is planned: what is recomputed changes their times.
 */
function fewestRecomputed(request: PlanRequest, chosen: Candidate): TriedChange {
  const { training, layout, model, capabilities } = request;
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
  if (!supportedRecomputes(capabilities).includes('share')) return of(most);
  let [below, fewest] = [0, most];
  while (fewest - below > 1) {
    const middle = (below + fewest) >> 1;
    if (fitsAfter(of(middle), chosen)) fewest = middle;
    else below = middle;
  }
  return of(fewest);
}

/** By the memory of the chosen schedule only. */
function fitsAfter(change: TriedChange, chosen: Candidate): boolean {
  const { request, sets } = change;
  const { model, training, layout, cluster } = request;
  const isSliced = scheduleKind(chosen.schedule).sliced;
  if (isSliced && sets.some(([key]) => key === 'training.microBatch')) return false;
  const operations = (units: number): number => 2 * units * layout.pipeline * chosen.chunksPerStage;
  // counted before anything of that length is made
  if (!isSliced && operations(training.globalBatch / layout.data / training.microBatch) > mostTriedOperations) return false;
  const scheme = schemeAfter(change, chosen.schedule, chosen.scheme);
  const units = scheme.reduce((sum, { tokens }) => sum + tokens.length, 0);
  if (operations(units) > mostTriedOperations) return false;
  const memory = peakMemory({ model, training, layout }, chosen.schedule, scheme, stageGpuMemory(cluster, layout));
  return memory !== null && fitsMemory(memory);
}

/** The scheme of the plan with a change: its slices, or whole sequences in the micro-batches that there are then. */
function schemeAfter({ request: { training, layout } }: TriedChange, schedule: ScheduleName, scheme: Scheme): Scheme {
  const batches = training.globalBatch / layout.data;
  if (scheduleKind(schedule).sliced) {
    const [first] = scheme;
    const size = first?.batch ?? 1;
    return scheme.every((chunk) => chunk === first || JSON.stringify(chunk) === JSON.stringify(first))
      ? Array.from({ length: Math.max(1, Math.round(batches / size)) }, () => first ?? { batch: 1, tokens: [training.sequenceLength] })
      : scheme;
  }
  const microBatches = Math.ceil(batches / training.microBatch);
  return Array.from({ length: microBatches }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
}
