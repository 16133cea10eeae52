import type { NamedProfile } from '../../../core/domain/profile';
import { freeNames } from '../../../core/domain/layout-choices';
import { gpusUsed, type PlanRequest } from '../../../core/domain/request';
import { settingsOfFound } from '../../../core/export/settings-of-plan';
import { ExpectedError, throwIfCancelled, type CancelSignal } from '../../../core/errors';
import { answerSearch } from '../../../core/layout-search/answer';
import { layoutText } from '../../../core/layout-search/labels';
import { toSearchProblem } from '../../../core/layout-search/problem';
import { toPlanRequest } from '../../../core/layout-search/request-of';
import type { MemoryPart, StageMemory } from '../../../core/memory-model/profile';
import { mayFit, memoryVerdict } from '../../../core/memory-model/verdict';
import { resolveRun } from '../../../core/plan-request/resolve';
import { assumedGpuName, type ResolveDefaults } from '../../../core/plan-request/scenario';
import { makePlan } from '../../../core/planner/make-plan';
import { chosenCandidate, type Candidate } from '../../../core/planner/plan';
import type { Run } from '../../../core/run/run';
import { counted, sentence, type Sentence } from '../../../core/sentence';
import { applyOverrides, settingTexts } from '../../../core/terapipe/overrides';
import type { LargestKind } from './kinds';
import { sizesFor, type Sizes } from './sizes';

/** How a size does: null where it is not legal, so that it cannot be planned. */
type Judge = (index: number) => boolean | null;

/** Sizes around one that is not legal that are tried in its place. */
const mostNeighbours = 32;

/** Indices of sizes. */
interface Bracket {
  /** The last that fits; null: none does. */
  readonly last: number | null;
  /** The first legal one above it, which does not fit; null: none was found. */
  readonly next: number | null;
}

/**
 * The last of `count` sizes that fits, where no size that fits is above a legal one that does not: doubles until one does not fit, then
 * halves. Sizes that are not legal are passed over.
 * @param raise another index that fits, from one that does up to one below the second: what a cheaper look finds.
 * @param known an index that fits; -1: none is known.
 */
function lastFitting(count: number, judge: Judge, raise?: (low: number, high: number) => number, known = -1): Bracket {
  let [low, high] = [known, count];
  while (high - low > 1) {
    const target = high === count ? Math.min(2 * low + 2, count - 1) : (low + high) >> 1;
    const legal = nearestLegal(target, low, high, judge);
    if (legal === null) high = target;
    else if (judge(legal) === true) low = raise?.(legal, high) ?? legal;
    else high = legal;
  }
  return { last: low < 0 ? null : low, next: firstLegal(high, count, judge) };
}

/** The first of `count` sizes that fits, and the last legal one below it; sizes need not be in order of what they need. */
function firstFitting(count: number, judge: Judge): { readonly first: number | null; readonly below: number | null } {
  let below: number | null = null;
  for (let index = 0; index < count; index++) {
    const fits = judge(index);
    if (fits === true) return { first: index, below };
    if (fits === false) below = index;
  }
  return { first: null, below };
}

/** The legal index between two, both excluded, that is nearest to one. */
function nearestLegal(target: number, low: number, high: number, judge: Judge): number | null {
  for (let away = 0; away <= mostNeighbours; away++)
    for (const index of away === 0 ? [target] : [target - away, target + away])
      if (index > low && index < high && judge(index) !== null) return index;
  return null;
}

function firstLegal(from: number, count: number, judge: Judge): number | null {
  for (let index = from; index < Math.min(count, from + mostNeighbours); index++) if (judge(index) !== null) return index;
  return null;
}

/** The stage that decides, and the largest part of its memory. Bytes. */
export interface LargestLimit {
  readonly stage: number;
  readonly stages: number;
  /** `activations`, `optimizer state`, ... */
  readonly part: string;
  readonly partBytes: number;
  readonly peakBytes: number;
  readonly usableBytes: number;
}

/** A size that was planned. Times in ms. */
interface PlannedSize {
  readonly limit: LargestLimit;
  readonly fits: boolean;
  /** It may fit or not (`MemoryVerdict`). */
  readonly tight: boolean;
  readonly gpus: number;
  readonly layout: Sentence;
  readonly schedule: Candidate['name'];
  readonly iterationMs: number;
  readonly tokensPerSecond: number;
  /** Settings of the layout that a search chose; empty without one. */
  readonly sets: readonly string[];
}

/** A size that does not fit, or may not. */
export interface NextSize {
  readonly value: number;
  /** It may fit or not. */
  readonly tight: boolean;
  /** It needs this much over the usable memory; null where its tensors fit, and only the blocks that the allocator keeps do not. */
  readonly overBytes: number | null;
  readonly limit: LargestLimit;
}

/** What is the most that fits. */
export interface Largest {
  readonly what: LargestKind;
  /** Null: no size fits for certain. Tokens, sequences, layers, columns, experts or GPUs. */
  readonly value: number | null;
  /** Values are multiples of it; null: they are the numbers that divide something, or a list. */
  readonly step: number | null;
  /** The plan with `value`; null where no size fits. */
  readonly plan: PlannedSize | null;
  /** Settings with which `terapipe plan` gives that plan; null where no key of terapipe.json has the size, or none fits. */
  readonly sets: readonly string[] | null;
  /** The next size that does not fit, or may not; null: none was refused. */
  readonly next: NextSize | null;
  /**
   * The largest size that may fit, or the fewest GPUs; null: none beyond `value` may. With layouts that are searched only the next size is
   * looked at.
   */
  readonly mayFit: number | null;
  /** Why the first size that could not be planned could not; null: all could. */
  readonly because: Sentence | null;
  /** Plans or searches that were made. */
  readonly tried: number;
  readonly notes: readonly Sentence[];
}

interface LargestOptions {
  readonly defaults: ResolveDefaults;
  /** Profiles near the config, one of which is used where it matches; left out: none. */
  readonly found?: readonly NamedProfile[];
  /** Choose the layout again for each size; false: all keep that of the run's plan. */
  readonly isSearched?: boolean;
  /** The largest value that is tried; left out: all that the planner takes. */
  readonly most?: number;
  readonly signal?: CancelSignal;
  /** Hears each value that is planned. */
  readonly onTry?: (value: number) => void;
}

/**
 * The largest size of a kind with which a run fits, or the fewest GPUs: by bisection over plans, since the peak of a stage grows with each
 * of these (docs/model/memory.md, The largest that fits). The layout is that of the run's plan, or the best for each size.
 * @throws ExpectedError as `resolveRun` and `sizesFor`, where the run itself cannot be planned; CancelledError.
 */
export function largestThatFits(run: Run, what: LargestKind, options: LargestOptions): Largest {
  const { defaults, found: profiles = [], isSearched = false, most = Infinity, signal } = options;
  const isFewest = what === 'fewest-gpus';
  const asked = isFewest ? withoutGpus(run) : run;
  const request = resolveRun(asked, defaults, profiles, signal);
  const sizes = sizesFor(what, asked, request, isSearched);
  const values = sizes.values.filter((value) => value <= most);
  const base = isFewest ? asked : isSearched ? withMachine(asked, request) : withLayout(asked, request, what);
  const judged = judgedSizes(values, (value) => planSize(sizes.apply(base, value), sizes, options), options);
  const { last, next } = isFewest
    ? fewest(values.length, judged.fits)
    : lastFitting(values.length, judged.fits, isSearched ? (low, high) => raised(low, high) : undefined);
  const plan = last === null ? null : judged.at(last);
  const refused = next === null ? null : judged.at(next);
  const doubtful = isFewest ? firstFitting(last ?? values.length, judged.mayFit).first : lastDoubtful(next);
  const value = last === null ? null : (values[last] ?? null);
  return {
    what,
    value,
    step: sizes.step,
    plan,
    sets: value === null || plan === null ? null : setsFor(value, sizes, plan),
    next: next === null || refused === null || fitsSurely(refused) ? null : { value: values[next] ?? 0, ...overLimit(refused) },
    mayFit: doubtful === null ? null : (values[doubtful] ?? null),
    because: judged.firstRefusal(),
    tried: judged.tried(),
    notes: sizes.notes,
  };

  /** The last size that fits with the layout that was found for a smaller one, which is cheaper than to search. */
  function raised(low: number, high: number): number {
    const found = judged.at(low);
    if (found === null) return low;
    const kept = applyOverrides(base, layoutSets(found.sets, what), assumedGpuName);
    const fixed = judgedSizes(values, (value) => planSize(sizes.apply(kept, value), sizes, { ...options, isSearched: false }), options);
    return lastFitting(high, fixed.fits, undefined, low).last ?? low;
  }

  /** The last size that may fit, from the first that does not fit for certain; null where that one may not. */
  function lastDoubtful(next: number | null): number | null {
    if (next === null || judged.mayFit(next) !== true) return null;
    return isSearched ? next : lastFitting(values.length, judged.mayFit, undefined, next).last;
  }
}

/** The fewest that fit, and the most below that do not. */
function fewest(count: number, fits: Judge): { readonly last: number | null; readonly next: number | null } {
  const { first, below } = firstFitting(count, fits);
  return { last: first, next: below };
}

function overLimit({ limit, fits, tight }: PlannedSize): Omit<NextSize, 'value'> {
  return { tight, overBytes: fits ? null : limit.peakBytes - limit.usableBytes, limit };
}

function fitsSurely({ fits, tight }: Pick<PlannedSize, 'fits' | 'tight'>): boolean {
  return fits && !tight;
}

/** Settings for one size; null where no key has it. */
function setsFor(value: number, { sets }: Sizes, plan: PlannedSize): readonly string[] | null {
  const own = sets(value);
  const keys = new Set(own.map(keyOfSet));
  return own.length === 0 ? null : [...own, ...plan.sets.filter((set) => !keys.has(keyOfSet(set)))];
}

function keyOfSet(set: string): string {
  return set.slice(0, set.indexOf('='));
}

/** Settings of a layout that hold for other sizes too. */
function layoutSets(sets: readonly string[], what: LargestKind): readonly string[] {
  return sets.filter((set) => {
    const key = keyOfSet(set);
    if (key === 'layout.stageLayers') return what !== 'layers';
    if (key === 'training.microBatch') return what !== 'micro-batch';
    return key.startsWith('layout.') || key === 'training.microBatch' || key.startsWith('training.recompute');
  });
}

/** Sizes by index, each planned once. */
function judgedSizes(
  values: readonly number[],
  plan: (value: number) => PlannedSize,
  { signal, onTry }: Pick<LargestOptions, 'signal' | 'onTry'>,
) {
  const known = new Map<number, PlannedSize | ExpectedError>();
  const outcome = (index: number): PlannedSize | ExpectedError => {
    const found = known.get(index);
    if (found !== undefined) return found;
    throwIfCancelled(signal);
    const value = values[index] ?? 0;
    onTry?.(value);
    const planned = orRefusal(() => plan(value));
    known.set(index, planned);
    return planned;
  };
  const at = (index: number): PlannedSize | null => {
    const planned = outcome(index);
    return planned instanceof ExpectedError ? null : planned;
  };
  return {
    at,
    fits: (index: number): boolean | null => orNull(at(index), fitsSurely),
    mayFit: (index: number): boolean | null => orNull(at(index), mayFit),
    tried: (): number => known.size,
    firstRefusal: (): Sentence | null => [...known.values()].find((one) => one instanceof ExpectedError)?.what ?? null,
  };
}

function orNull(planned: PlannedSize | null, judge: (planned: PlannedSize) => boolean): boolean | null {
  return planned === null ? null : judge(planned);
}

function orRefusal<T>(work: () => T): T | ExpectedError {
  try {
    return work();
  } catch (error) {
    if (error instanceof ExpectedError) return error;
    throw error;
  }
}

/** The run with the GPUs of its plan, so that they stay while one size grows. */
function withMachine(run: Run, { cluster }: PlanRequest): Run {
  const nodes = cluster.groups === undefined ? [`cluster.nodes=${cluster.nodes}`, `cluster.gpusPerNode=${cluster.gpusPerNode}`] : [];
  return applyOverrides(run, nodes, assumedGpuName);
}

/** The same with its layout and batch. Stages are cut again where the number of layers is asked for. */
function withLayout(run: Run, request: PlanRequest, what: LargestKind): Run {
  const { layout, training } = request;
  const sizes = (['tensor', 'pipeline', 'data', 'context', 'expert', 'virtualStages'] as const)
    .filter((name) => name !== 'expert' || request.model.experts !== null)
    .map((name) => `layout.${name}=${layout[name]}`);
  const batch = [`training.microBatch=${training.microBatch}`, `training.globalBatch=${training.globalBatch}`];
  const { stageLayers, ...others } = run.layout;
  const cut = what === 'layers' && stageLayers !== undefined ? { ...run, layout: others } : run;
  return applyOverrides(withMachine(cut, request), [...sizes, ...batch], assumedGpuName);
}

/** The run without what fixes its number of GPUs. */
function withoutGpus({ nodes, ...run }: Run): Run {
  const { data, ...layout } = run.layout;
  const isFree = nodes === undefined && data === undefined;
  return isFree ? run : { ...run, layout };
}

/** The plan of a run, or of the best of its layouts. @throws ExpectedError where it cannot be planned. */
function planSize(run: Run, { pins }: Sizes, { defaults, found, isSearched = false, signal }: LargestOptions): PlannedSize {
  const request = resolveRun(run, defaults, found, signal);
  requireAllGpus(request);
  if (!isSearched) return planned(request, [], signal);
  const searched = freeNames.layout.filter((key) => !pins.includes(key));
  const result = answerSearch(
    toSearchProblem(run, request, searched),
    { improvements: false, tables: false },
    { ...(signal && { signal }) },
  );
  const sets = settingTexts(Object.entries(settingsOfFound(result, result.best, {})));
  return planned(toPlanRequest(result.request, result.best), sets, signal);
}

/** A layout that the files fix runs on its own number of GPUs only. */
function requireAllGpus({ layout, cluster }: PlanRequest): void {
  const [used, there] = [gpusUsed(layout), cluster.nodes * cluster.gpusPerNode];
  if (cluster.groups !== undefined || used === there) return;
  throw new ExpectedError(
    'layout-world-size',
    sentence`The layout that the files give uses ${counted(used, 'GPU')}, not ${there}`,
    sentence`leave a size of it open, or search it`,
  );
}

function planned(request: PlanRequest, sets: readonly string[], signal: CancelSignal | undefined): PlannedSize {
  const plan = makePlan(request, { isCompared: false, drawnOperations: 0, signal });
  const chosen = chosenCandidate(plan);
  const { fits, tight, stage, stages, peakBytes, usableBytes } = memoryVerdict(chosen.memory);
  const tightest = chosen.memory.stages.find((one) => one.stage === stage);
  const part = tightest === undefined ? { part: 'weights', partBytes: 0 } : largestPart(tightest);
  return {
    fits,
    tight,
    limit: { stage, stages, ...part, peakBytes, usableBytes },
    gpus: gpusUsed(plan.request.layout),
    layout: layoutText(plan.request),
    schedule: chosen.name,
    iterationMs: chosen.iterationMs,
    tokensPerSecond: chosen.tokensPerSecond,
    sets,
  };
}

const groups: Readonly<Record<string, readonly MemoryPart[]>> = {
  weights: ['weights'],
  gradients: ['gradients'],
  'optimizer state': ['optimizer'],
  activations: ['activations', 'keysValues', 'keptForWeights'],
  'logits and workspaces': ['dummyGradients', 'workspaces', 'logits', 'backwardOperation'],
};

function largestPart({ parts }: Pick<StageMemory, 'parts'>): Pick<LargestLimit, 'part' | 'partBytes'> {
  const sums = Object.entries(groups).map(([part, names]) => ({ part, partBytes: names.reduce((bytes, name) => bytes + parts[name], 0) }));
  return sums.reduce((most, one) => (one.partBytes > most.partBytes ? one : most));
}
