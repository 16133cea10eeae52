import { analyticKinks, profileKinks } from '../../time-model/context-kinks';
import { tableKinks } from '../../time-model/table';
import { throwIfCancelled, type CancelSignal } from '../../errors';
import { formatDuration, formatNumber, formatPercent } from '../../format';
import { sliceWork } from '../../slicing/chunk-rules';
import type { LayerGroup } from '../../model/layers';
import { hasAttention } from '../../model/mixers';
import type { Baselines } from '../../slicing/baselines';
import type { SlicingProblem } from '../../slicing/problem';
import type { Scheme } from '../../domain/scheme';
import { solveSlicing, type SlicingSolution, type IncumbentTimes } from '../../slicing/solve';
import type { Certificate, BaselineSlicing } from '../plan';
import type { Pipeline } from '../predict/pipeline';
import type { CandidateSpec } from '../predict/predict';
import { fitsOn } from '../../partition/chunk-order';
import { keptTimes } from './kept-times';
import { slicesGrow, slicingStages, type SlicingStages } from './terapipe-cost';
import { slicedStepTime } from './terapipe-time';
import { leastCommonMultiple, maximum, minimum } from '../../numbers';
import { defaultUnit, type PlanRequest } from '../../domain/request';
import { joinClauses, counted, sentence, type Sentence } from '../../sentence';

/** How far the solver is. */
export interface SlicingListener {
  readonly signal?: CancelSignal | undefined;
  /** Called with 0..1. */
  readonly onProgress?: ((fraction: number) => void) | undefined;
  readonly onIncumbent?: ((incumbent: IncumbentTimes) => void) | undefined;
}

/** Chunks of more sequences than this are not tried: far beyond where a GPU is saturated. */
const maximumBatchSlice = 8;
/** A sequence is cut into at most this many units; a finer `slicing.unit` is coarsened to a multiple, and the certificate records it. */
const maximumUnits = 1024;
/** The same where two numbers per length stand for all slices of it. */
const maximumStructuredUnits = 4096;
/** Slice times tabulated at most: bounds time and memory of one plan. */
const maximumSliceTimes = 2 ** 19;
/** Slice times computed at most for lengths and pieces of the context: two are kept and a third checks them. */
const maximumStructuredTimes = 2 ** 20;
/**
 * Slices that the solver could visit if all were under every threshold: about a second on one core. With many units few are, so a
 * structured cost gets more.
 */
const visitBudget = 6e8;
const structuredVisitBudget = 4 * visitBudget;

/** TeraPipe's own: the fastest cut known, best uniform and whole sequences. */
export function slicedSpecs(request: PlanRequest, pipeline: Pipeline, batch: number, listener: SlicingListener): CandidateSpec[] {
  const tokens = request.training.sequenceLength;
  const kind = pipeline.schedules.TeraPipe;
  const { scheme, certificate, uniform } = bestSlices(request, pipeline, batch, listener);
  return [
    { id: 'terapipe', name: 'TeraPipe', kind, scheme, certificate },
    {
      id: 'uniform',
      name: sentence`best uniform, ${counted(uniform.length, 'slice')}`,
      kind,
      scheme: alike(batch, uniform),
      certificate: null,
    },
    { id: 'whole', name: sentence`whole sequences`, kind, scheme: alike(batch, [tokens]), certificate: null },
  ];
}

/** The fastest known slices of a batch that fit, and what is proved about them. */
export interface BestSlices {
  readonly scheme: Scheme;
  readonly certificate: Certificate;
  /** Simulated, without what follows the pipeline where that is the same for all cuts, ms. */
  readonly pipelineMs: number;
  readonly fits: boolean;
  /** The best equal slices of a sequence. */
  readonly uniform: readonly number[];
}

/** The best slices of `batch` sequences that go through the pipeline together. @throws CancelledError. */
export function bestSlices(request: PlanRequest, pipeline: Pipeline, batch: number, listener: SlicingListener): BestSlices {
  const solved = solveGrid(request, pipeline, batch, listener);
  const { solution, grid } = solved;
  const best = fastestSlices(request, pipeline, batch, solved, listener);
  return {
    scheme: best.scheme,
    certificate: {
      optimumMs: solution.latencyMs,
      lowerBoundMs: solution.lowerBoundMs,
      evaluations: solution.evaluations,
      judgedBy: best.judgedBy,
      cuts: baselineCuts(solution.baselines, request.training.sequenceLength),
      note: certificateNote(grid, pipeline, solution, best, batch),
    },
    pipelineMs: best.bestMs - (best.collectivesMs ?? 0),
    fits: best.fits,
    uniform: solution.baselines.uniform.tokens,
  };
}

/** Every sequence by itself, cut alike. */
function alike(batch: number, tokens: readonly number[]): Scheme {
  return Array.from({ length: batch }, () => ({ batch: 1, tokens }));
}

interface SolvedGrid {
  readonly grid: Grid;
  readonly solution: SlicingSolution;
}

/** The optimum of eq. 5 on the finest slices that can be afforded. */
function solveGrid(request: PlanRequest, pipeline: Pipeline, batch: number, listener: SlicingListener): SolvedGrid {
  const { training, layout, model } = request;
  const tokens = training.sequenceLength;
  const grid = sliceGrid(request, pipeline, batch);
  const { unit, largestChunk, contextKinks, stages } = grid;
  const units = Math.ceil(tokens / unit);
  const solution = solveSlicing(
    {
      batch,
      tokens,
      unit,
      stages: layout.pipeline,
      cost: stages.cost,
      ...(stages.factors === null ? {} : { stageFactors: stages.factors }),
      maximumBatchSlice: largestChunk,
      maximumEvaluations: Math.max(
        16,
        Math.floor((contextKinks === null ? visitBudget : structuredVisitBudget) / ((units * units * largestChunk) / 2)),
      ),
      work: sliceWork(model),
      grows: slicesGrow(request),
      ...(contextKinks === null ? {} : { contextKinks }),
    },
    listener,
  );
  return { grid, solution };
}

/**
 * Lists of slice lengths for a runtime that cuts all micro-batches alike: the optimum of eq. 5 for units of one, two, four, ... times the
 * asked length, and on each of them equal slices and those of equal work and of equal time.
 * @param multiple that every length is of.
 */
export function solvedAlike(
  request: PlanRequest,
  pipeline: Pipeline,
  multiple: number,
  { signal }: Pick<SlicingListener, 'signal'>,
): readonly (readonly number[])[] {
  const { training, layout, model } = request;
  const tokens = training.sequenceLength;
  const { microBatch } = training;
  const batch = training.globalBatch / layout.data / microBatch;
  if (!Number.isInteger(batch) || tokens % multiple !== 0) return [];
  const lists: (readonly number[])[] = [];
  const asked = leastCommonMultiple(request.slicing.unit ?? defaultUnit(tokens), multiple);
  for (let unit = asked, solved = 0; 2 * unit <= tokens && solved < mostUnitsTried; unit *= 2, solved += 1) {
    throwIfCancelled(signal);
    const grid = sliceGrid({ ...request, slicing: { ...request.slicing, unit } }, pipeline, microBatch);
    const { cost } = grid.stages;
    const kinks = microBatch <= grid.largestChunk ? (grid.contextKinks?.(microBatch) ?? null) : null;
    unit = Math.max(unit, grid.unit);
    const { scheme, baselines } = solveSlicing(
      {
        batch,
        tokens,
        unit,
        stages: layout.pipeline,
        maximumBatchSlice: 1,
        cost: (_, length, context) => cost(microBatch, length, context),
        ...(grid.stages.factors === null ? {} : { stageFactors: grid.stages.factors }),
        maximumEvaluations: Math.max(16, Math.floor(visitBudget / (Math.ceil(tokens / unit) ** 2 / 2))),
        work: sliceWork(model),
        ...(kinks === null ? {} : { contextKinks: kinks }),
      },
      { signal },
    );
    lists.push(scheme[0]?.tokens ?? [], baselines.uniform.tokens, baselines.equalTime.tokens);
    if (baselines.equalWork !== null) lists.push(baselines.equalWork.tokens);
  }
  return lists.filter((lengths) => lengths.every((length) => length % multiple === 0));
}

/** Units that lists are solved for. */
const mostUnitsTried = 6;

/** The chosen slices, and what judged them. */
interface FastestSlices {
  readonly scheme: Scheme;
  readonly judgedBy: Certificate['judgedBy'];
  /** The simulated time is that of eq. 5 to the rounding, which no cut is below. */
  readonly isOptimum: boolean;
  /** How the cut was found, where it is another than the optimum of eq. 5. */
  readonly instead: Sentence | null;
  /** Simulated, of the optimum of eq. 5 and of this one, ms. */
  readonly solvedMs: number;
  readonly bestMs: number;
  /** What follows the pipeline in both, where that is the same for all cuts. */
  readonly collectivesMs: number | null;
  readonly fits: boolean;
}

/** Times that differ by less than this share are the same. */
const rounding = 1e-9;

/**
 * Of all cuts that are known the one whose simulated step is fastest and fits: eq. 5 has every stage take as long as the slowest, and
 * forward and backward of a slice wait for the same one, so that where stages differ another cut can win. In addition to the optimum of eq.
 * 5 there are those of units twice, four times, ... as long, so that a finer unit never loses, and on each of these the baselines.
 */
function fastestSlices(
  request: PlanRequest,
  pipeline: Pipeline,
  batch: number,
  first: SolvedGrid,
  listener: SlicingListener,
): FastestSlices {
  const { grid, solution } = first;
  const timeMs = slicedStepTime(pipeline);
  const solvedMs = timeMs(solution.scheme);
  const isKnown = grid.stages.kind === 'equal' || grid.stages.kind === 'proportional';
  const lateMs = timeMs.lateMs(solution.scheme);
  const leastMs = timeMs.collectivesMs === null ? -Infinity : solution.lowerBoundMs + timeMs.collectivesMs;
  const isBest = isKnown && solvedMs - lateMs <= leastMs * (1 + rounding);
  const isOptimum = isBest && lateMs <= solvedMs * rounding;
  const judgedBy = isKnown ? solution.judgedBy : 'simulation';
  const chunks = pipeline.chunksOn(pipeline.schedules.TeraPipe);
  const fits = (scheme: Scheme): boolean => fitsOn(chunks, scheme, pipeline.gpuMemory);
  const { collectivesMs } = timeMs;
  const solvedFits = fits(solution.scheme);
  const solved = { scheme: solution.scheme, judgedBy, isOptimum, instead: null, solvedMs, collectivesMs, fits: solvedFits };
  if (isOptimum && solvedFits) return { ...solved, bestMs: solvedMs };
  const ranked = knownCuts(request, pipeline, batch, { ...first, finestOnly: isBest && solvedFits }, listener)
    .map((cut) => ({ ...cut, ms: timeMs(cut.scheme) }))
    .sort((a, b) => a.ms - b.ms);
  const fitting = ranked.find(({ scheme }) => (scheme === solution.scheme ? solvedFits : fits(scheme)));
  const [fastest, fastestFits] = [fitting ?? ranked[0], fitting !== undefined];
  if (fastest === undefined || (fastest.ms >= solvedMs * (1 - rounding) && solvedFits === fastestFits))
    return { ...solved, bestMs: solvedMs };
  const { scheme, name, ms } = fastest;
  return { ...solved, scheme, judgedBy: 'simulation', isOptimum: false, instead: name, bestMs: ms, fits: fastestFits };
}

/** Cuts worth simulating, each with how it was found; those of the finest unit only with `finestOnly`. */
function knownCuts(
  request: PlanRequest,
  pipeline: Pipeline,
  batch: number,
  first: SolvedGrid & { readonly finestOnly: boolean },
  { signal }: SlicingListener,
): { readonly name: Sentence; readonly scheme: Scheme }[] {
  const tokens = request.training.sequenceLength;
  const known = new Map<string, { readonly name: Sentence; readonly scheme: Scheme }>();
  const add = (name: Sentence, scheme: Scheme): void => {
    const key = scheme.map(({ batch: groupSize, tokens: lengths }) => `${groupSize}:${lengths.join()}`).join(' ');
    if (!known.has(key)) known.set(key, { name, scheme });
  };
  let solved: SolvedGrid = first;
  for (;;) {
    const { unit } = solved.grid;
    const { uniform, equalWork, equalTime } = solved.solution.baselines;
    add(sentence`slices in multiples of ${unit} tokens`, solved.solution.scheme);
    add(sentence`equal slices`, alike(batch, uniform.tokens));
    if (equalWork !== null) add(sentence`slices of equal work`, alike(batch, equalWork.tokens));
    add(sentence`slices of equal time`, alike(batch, equalTime.tokens));
    if (first.finestOnly || 2 * unit >= tokens) break;
    throwIfCancelled(signal);
    solved = solveGrid({ ...request, slicing: { ...request.slicing, unit: 2 * unit } }, pipeline, batch, { signal });
  }
  add(sentence`whole sequences`, alike(batch, [tokens]));
  return [...known.values()];
}

type Grid = Required<Pick<SlicingProblem, 'unit'>> & {
  readonly largestChunk: number;
  readonly stages: SlicingStages;
  /** Null: nothing is known of the cost, or tabulating it is less work. */
  readonly contextKinks: ((batch: number) => readonly number[]) | null;
};

/** The finest slices and largest chunks that can be afforded: with a declared structure of the cost many more than in a table of it. */
function sliceGrid(request: PlanRequest, pipeline: Pipeline, batch: number): Grid {
  const { training, slicing, costTable, profile } = request;
  const tokens = training.sequenceLength;
  const asked = slicing.unit ?? defaultUnit(tokens);
  const measuredBatch = costTable !== null ? 1 : (profile?.profile.largestBatch ?? maximumBatchSlice);
  const largest = Math.min(batch, maximumBatchSlice, measuredBatch);
  const structured = coarsened(asked, tokens, maximumStructuredUnits);
  const stages = slicingStages(pipeline, structured, largest);
  const kinks = contextKinks(request, pipeline, stages, largest, structured);
  const units = Math.ceil(tokens / structured);
  if (kinks !== null) {
    // Two ends and the middle of every segment for every length.
    const work = kinks.map((each) => 3 * units * (each.length + 1));
    const tabulated = units > maximumUnits ? Infinity : (units * (units + 1)) / 2;
    let sum = 0;
    const affordable = work.findIndex((each) => (sum += each) > maximumStructuredTimes);
    if ((work[0] ?? Infinity) < Math.min(tabulated, maximumStructuredTimes))
      return {
        unit: structured,
        largestChunk: affordable < 0 ? largest : Math.max(1, affordable),
        contextKinks: (sequences) => kinks[sequences - 1] ?? [],
        stages,
      };
  }
  const unit = coarsened(asked, tokens, maximumUnits);
  const tableUnits = Math.ceil(tokens / unit);
  const largestChunk = Math.min(largest, Math.max(1, Math.floor(maximumSliceTimes / ((tableUnits * (tableUnits + 1)) / 2))));
  return { unit, largestChunk, contextKinks: null, stages: { ...stages, cost: keptTimes(stages.cost, tokens, unit) } };
}

/** Doubled until there are few enough, so that a unit and its double are coarsened to the same unit. */
function coarsened(unit: number, tokens: number, mostUnits: number): number {
  let coarse = unit;
  while (Math.ceil(tokens / coarse) > mostUnits) coarse *= 2;
  return coarse;
}

/**
 * Contexts between which the cost of `stages` is affine in the context, for chunks of 1 to `largest` sequences. Null where nothing is
 * known: the slowest of stages with different numbers of layers, or of layers that attend, or on different GPUs, changes with the context.
 */
function contextKinks(
  request: PlanRequest,
  { inputs: common, stages: own, nodeKinds }: Pipeline,
  stages: SlicingStages,
  largest: number,
  unit: number,
): readonly (readonly number[])[] | null {
  const { costTable, profile } = request;
  const tokens = request.training.sequenceLength;
  if (costTable !== null) return Array.from({ length: largest }, () => tableKinks(costTable));
  const isOfOne = stages.stage !== null;
  const growing = own.map(({ contents: { layers, groups } }) => `${layers},${attendingLayers(groups) ?? layers}`);
  if (!isOfOne && (new Set(growing).size > 1 || nodeKinds.length > 1)) return null;
  const inputs = own[stages.stage ?? 0]?.inputs ?? common;
  const lengths = Array.from({ length: Math.floor(tokens / unit) }, (_, index) => (index + 1) * unit);
  const found: (readonly number[])[] = [];
  for (let batch = 1; batch <= largest; batch++) {
    const kinks = profile === null ? analyticKinks(inputs, batch, lengths) : profileKinks(inputs, profile.profile, batch, lengths);
    if (kinks === null) return null;
    // Kinks between the same two starts are one to the solver.
    found.push([...new Set(kinks.filter((kink) => kink > 0 && kink < tokens).map((kink) => Math.floor(kink / unit) * unit + unit / 2))]);
  }
  return found;
}

/** Layers whose time grows with the context; undefined where all are alike. */
function attendingLayers(groups: readonly LayerGroup[] | undefined): number | undefined {
  return groups?.reduce((sum, { kind, layers }) => sum + (hasAttention(kind) ? layers : 0), 0);
}

/** How others would cut every sequence. */
function baselineCuts({ wholeMs, uniform, equalTime, equalWork }: Baselines, tokens: number): readonly BaselineSlicing[] {
  return [
    { rule: 'whole', tokens: [tokens], latencyMs: wholeMs },
    { rule: 'uniform', tokens: uniform.tokens, latencyMs: uniform.latencyMs },
    ...(equalWork === null ? [] : [{ rule: 'equal-work', tokens: equalWork.tokens, latencyMs: equalWork.latencyMs } as const]),
    { rule: 'equal-time', tokens: equalTime.tokens, latencyMs: equalTime.latencyMs },
  ];
}

/** What was proved, for which stages and slices, and what was taken instead. */
function certificateNote(
  { unit, largestChunk, stages: { kind, factors, apart } }: Grid,
  { stages, nodeKinds }: Pipeline,
  { exact }: SlicingSolution,
  { isOptimum, instead, solvedMs, bestMs }: FastestSlices,
  batch: number,
): Sentence {
  const multiples = sentence`slices in multiples of ${unit} tokens`;
  const limits = largestChunk < batch ? sentence`${multiples}, at most ${counted(largestChunk, 'sequence')} at a time` : multiples;
  const [least, most] = [minimum(factors ?? [1]), maximum(factors ?? [1])];
  const inProportion = sentence`stages that take ${formatNumber(least)} to ${formatNumber(most)} times as long`;
  const isEven = new Set(stages.map(({ contents }) => contents.layers)).size === 1 && nodeKinds.length === 1;
  const found = !exact
    ? sentence`best found, not proven optimal`
    : isOptimum
      ? sentence`proved optimal`
      : sentence`proved optimal by equation 5`;
  const proved = (): Sentence[] => {
    switch (kind) {
      case 'equal':
        return [sentence`${found} for equal stages, ${limits}`];
      case 'proportional':
        return [sentence`${found} for ${inProportion}, ${limits}`];
      case 'nearly':
        return [
          sentence`${found} for ${inProportion}, ${limits}`,
          sentence`stages keep that proportion within ${formatPercent(apart)}, so the simulation judges it`,
        ];
      case 'slowest':
        return [
          sentence`${found} for stages all as slow as the slowest, ${limits}`,
          isEven ? sentence`stages differ at the ends, so the simulation judges it` : sentence`stages differ, so the simulation judges it`,
        ];
    }
  };
  const otherwise = instead === null ? [] : [sentence`simulated, ${instead} are faster by ${formatDuration(solvedMs - bestMs)} and taken`];
  return sentence`${joinClauses([...proved(), ...otherwise])}`;
}
