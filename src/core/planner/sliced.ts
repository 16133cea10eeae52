import { analyticKinks, profileKinks } from '../cost/context-kinks';
import { tableKinks } from '../cost/table';
import type { CancelSignal } from '../errors';
import { formatNumber, formatPercent, plural } from '../format';
import type { LayerGroup } from '../model/layers';
import { hasAttention } from '../model/mixers';
import type { ModelSpec } from '../model/spec';
import { uniformLengths, uniformScheme, type Baselines } from '../solver/baselines';
import { workOf, type SliceWork } from '../solver/chunk-rules';
import type { SlicingProblem } from '../solver/problem';
import { solveSlicing, type SlicingSolution, type StandingTimes } from '../solver/solve';
import type { Cut } from './plan';
import type { CandidateSpec, Pipeline } from './predict';
import { slicingStages, type SlicingStages } from './slicing-cost';
import { defaultUnit, type PlanRequest } from './request';

/** How far the solver is. */
export interface SlicingEar {
  readonly signal?: CancelSignal | undefined;
  /** Called with 0..1. */
  readonly onProgress?: ((fraction: number) => void) | undefined;
  readonly onStanding?: ((standing: StandingTimes) => void) | undefined;
}

/** Chunks of more sequences than this are not tried: far beyond where a GPU is saturated. */
const maximumBatchSlice = 8;
/** A sequence is cut into at most so many units; a finer `slicing.unit` is coarsened to a multiple, and the certificate says so. */
const maximumUnits = 1024;
/** The same where two numbers per length stand for all slices of it. */
const maximumStructuredUnits = 4096;
/** Slice times tabulated at most: bounds time and memory of one plan. */
const maximumSliceTimes = 2 ** 19;
/** Slice times computed at most for lengths and pieces of the context, of which two are kept and a third checks them. */
const maximumStructuredTimes = 2 ** 20;
/** Slices that the solver might look at, were all of them under every threshold: about a second on one core. Where units are many few are, so a structured cost gets more. */
const visitBudget = 6e8;
const structuredVisitBudget = 4 * visitBudget;

/** TeraPipe's own: solved, best uniform and whole sequences. */
export function slicedSpecs(request: PlanRequest, pipeline: Pipeline, batch: number, ear: SlicingEar): CandidateSpec[] {
  const { training, layout, model } = request;
  const tokens = training.sequenceLength;
  const { unit, largestChunk, contextKinks, stages } = gridOf(request, pipeline, batch);
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
      ...(contextKinks === null ? {} : { contextKinks }),
    },
    ear,
  );
  const { slices } = solution.baselines.uniform;
  return [
    {
      id: 'terapipe',
      name: 'TeraPipe',
      schedule: 'TeraPipe',
      scheme: solution.scheme,
      certificate: {
        optimumMs: solution.latencyMs,
        lowerBoundMs: solution.lowerBoundMs,
        evaluations: solution.evaluations,
        judgedBy: stages.kind === 'equal' || stages.kind === 'proportional' ? solution.judgedBy : 'simulation',
        cuts: cutsOf(solution.baselines, tokens, unit),
        note: certificateNote(stages, pipeline, solution, unit, largestChunk, batch),
      },
    },
    {
      id: 'uniform',
      name: `best uniform, ${plural(slices, 'slice')}`,
      schedule: 'TeraPipe',
      scheme: uniformScheme({ batch, tokens, unit }, slices),
      certificate: null,
    },
    {
      id: 'whole',
      name: 'whole sequences',
      schedule: 'TeraPipe',
      scheme: Array.from({ length: batch }, () => ({ batch: 1, tokens: [tokens] })),
      certificate: null,
    },
  ];
}

type Grid = Required<Pick<SlicingProblem, 'unit'>> & {
  readonly largestChunk: number;
  readonly stages: SlicingStages;
  /** Null: nothing is known of the cost, or tabulating it is less work. */
  readonly contextKinks: ((batch: number) => readonly number[]) | null;
};

/** The finest slices and largest chunks that can be afforded: with a declared structure of the cost many more than in a table of it. */
function gridOf(request: PlanRequest, pipeline: Pipeline, batch: number): Grid {
  const { training, slicing, costTable, profile } = request;
  const tokens = training.sequenceLength;
  const asked = slicing.unit ?? defaultUnit(tokens);
  const measuredBatch = costTable !== null ? 1 : (profile?.profile.largestBatch ?? maximumBatchSlice);
  const largest = Math.min(batch, maximumBatchSlice, measuredBatch);
  const structured = coarsened(asked, tokens, maximumStructuredUnits);
  const stages = slicingStages(pipeline, structured, largest);
  const kinks = kinksOf(request, pipeline, stages, largest, structured);
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
  const affordable = Math.max(1, Math.floor(maximumSliceTimes / ((tableUnits * (tableUnits + 1)) / 2)));
  return { unit, largestChunk: Math.min(largest, affordable), contextKinks: null, stages };
}

function coarsened(unit: number, tokens: number, mostUnits: number): number {
  return unit * Math.ceil(tokens / unit / mostUnits);
}

/**
 * Contexts between which the cost of `stages` is affine in the context, for chunks of 1 to `largest` sequences. Null where nothing is known: the slowest of stages with different numbers of layers, or of
 * layers that attend, or on different GPUs, changes with the context.
 */
function kinksOf(
  request: PlanRequest,
  { inputs: common, stageInputs, shapes }: Pipeline,
  stages: SlicingStages,
  largest: number,
  unit: number,
): readonly (readonly number[])[] | null {
  const { costTable, profile } = request;
  const tokens = request.training.sequenceLength;
  if (costTable !== null) return Array.from({ length: largest }, () => tableKinks(costTable));
  const isOfOne = stages.stage !== null;
  const growing = shapes.map(({ layers, groups }) => `${layers},${attendingLayers(groups) ?? layers}`);
  if (!isOfOne && (new Set(growing).size > 1 || new Set(stageInputs).size > 1)) return null;
  const inputs = stageInputs[stages.stage ?? 0] ?? common;
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

/** Arithmetic of a slice as Seq1F1B counts it; a gated feed-forward has half as much again, and a token visits only the active experts. */
function sliceWork(model: ModelSpec): SliceWork {
  return workOf({ ...model, ffn: model.ffn * (model.gatedMlp ? 1.5 : 1) * (model.experts?.active ?? 1) });
}

/** How others would cut every sequence. */
function cutsOf({ wholeMs, uniform, equalTime, equalWork }: Baselines, tokens: number, unit: number): readonly Cut[] {
  return [
    { rule: 'whole', tokens: [tokens], latencyMs: wholeMs },
    { rule: 'uniform', tokens: uniformLengths(tokens, unit, uniform.slices), latencyMs: uniform.latencyMs },
    ...(equalWork === null ? [] : [{ rule: 'equal-work', tokens: equalWork.tokens, latencyMs: equalWork.latencyMs } as const]),
    { rule: 'equal-time', tokens: equalTime.tokens, latencyMs: equalTime.latencyMs },
  ];
}

/** What was proved, for which stages and slices. */
function certificateNote(
  { kind, factors, apart }: SlicingStages,
  { shapes, stageInputs }: Pipeline,
  { exact }: SlicingSolution,
  unit: number,
  largestChunk: number,
  batch: number,
): string {
  const limits = `slices in multiples of ${unit} tokens${largestChunk < batch ? `, at most ${plural(largestChunk, 'sequence')} at a time` : ''}`;
  const inProportion = `stages that take ${formatNumber(Math.min(...(factors ?? [1])))} to ${formatNumber(Math.max(...(factors ?? [1])))} times as long`;
  const isEven = new Set(shapes.map(({ layers }) => layers)).size === 1 && new Set(stageInputs).size === 1;
  const found = exact ? 'proved optimal' : 'best found, bound not closed';
  switch (kind) {
    case 'equal':
      return `${found} for equal stages, ${limits}`;
    case 'proportional':
      return `${found} for ${inProportion}, ${limits}`;
    case 'nearly':
      return `${found} for ${inProportion}, ${limits}; stages keep that proportion within ${formatPercent(apart)}, so the simulation judges it`;
    case 'slowest':
      return `${found} for equal stages, ${limits}; stages differ${isEven ? ' at the ends' : ''}, so this is the bottleneck stage's optimum and the simulation judges it`;
  }
}
