import { formatCount, formatPercent } from '../../format';
import { leastCommonMultiple } from '../../numbers';
import { uniformLengths } from '../../slicing/baselines';
import { equalWorkLengths, sliceWork } from '../../slicing/chunk-rules';
import { graphMakespan } from '../../slicing/makespan/pass-graph';
import type { MakespanProblem, MakespanSolution } from '../../slicing/makespan/problem';
import { shortestMakespan } from '../../slicing/makespan/search';
import { analyticKinks, profileKinks } from '../../time-model/context-kinks';
import { tableKinks } from '../../time-model/table';
import { defaultUnit, type PlanRequest } from '../../domain/request';
import { fitsOn } from '../../partition/chunk-order';
import { memoized } from '../../records';
import { operationCount, unlessUnmet, type ScheduleOnLayout } from '../../schedules/on-layout';
import { makespanProblem, cutAlike, type KeptGraphs } from './makespan-problem';
import type { Pipeline } from '../predict/pipeline';
import { idBySchedule, type Certificate, type BaselineSlicing } from '../plan';
import type { CandidateSpec } from '../predict/predict';
import type { SlicingListener } from './terapipe-slices';
import { sentence, type Sentence } from '../../sentence';

/** How long to look for the slices of a schedule. */
export interface CutEffort {
  readonly mostSteps: number;
  /** Of a candidate; fewer slices are tried where there would be more. */
  readonly mostOperations: number;
  readonly tolerance: number;
}

/** Can cancel a search, and is notified of its steps. */
interface CutListener extends Pick<SlicingListener, 'signal'> {
  readonly onSteps?: ((steps: number) => void) | undefined;
}

/** Where a search for slices begins, and ends. */
export interface CutSearch extends CutListener {
  readonly effort: CutEffort;
  /** Cuts that the answer must not be slower than. */
  readonly known: readonly (readonly number[])[];
  /** Only slices with which the pipeline ends before this are wanted, ms. */
  readonly belowMs?: number | undefined;
  /** Of other problems, which may be alike; left out: none. */
  readonly graphs?: KeptGraphs | undefined;
}

/** The best slices that a search found, and their certificate. */
interface MakespanSearchResult {
  readonly lengths: readonly number[];
  readonly solution: MakespanSolution;
  /** Takes as long as simulating tens of other cuts. */
  readonly certificate: () => Certificate;
}

/** Slices of a sequence at most. */
const mostSlices = 256;
/** A sequence is cut into at most this many units where its times are affine in the context, and where nothing is known of them. */
const mostUnits = { affine: 2048, unknown: 512 };
/** Verdicts on the memory of cuts that are kept at a time. */
const mostKeptFits = 4096;
/** Numbers of slices of equal work that are compared. */
const mostEqualWork = 32;

/**
 * The slices of every sequence, all alike, with which a schedule's simulated pipeline ends first, and how far they may be from the best
 * possible. Null where micro-batches do not come out even, the schedule cannot run, or no cut that was met fits memory and is wanted.
 * @throws CancelledError.
 */
export function shortestCut(
  request: PlanRequest,
  pipeline: Pipeline,
  kind: ScheduleOnLayout,
  { effort, known: cuts, belowMs, graphs, signal, onSteps }: CutSearch,
): MakespanSearchResult | null {
  const { training, layout, slicing } = request;
  const { sequenceLength: tokens, microBatch, sequenceParallel } = training;
  const microBatches = training.globalBatch / layout.data / microBatch;
  if (!Number.isInteger(microBatches)) return null;
  const whole = operationCount(kind, layout, cutAlike({ microBatches, microBatch }, [tokens]));
  const slices = Math.min(mostSlices, Math.floor(effort.mostOperations / whole));
  if (slices < 1) return null;
  const asked = leastCommonMultiple(slicing.unit ?? defaultUnit(tokens), sequenceParallel ? layout.tensor : 1);
  const { unit, contextKinks } = coarsenedUnits(request, pipeline, asked);
  const equalWork = Array.from({ length: Math.min(slices, mostEqualWork) }, (_, index) =>
    equalWorkLengths(tokens, index + 1, unit, sliceWork(request.model)),
  ).flatMap((cut) => (cut === null ? [] : [cut]));
  const known = [[tokens], ...equalWork, ...cuts.filter((cut) => cut.length <= slices)];
  const problem = unlessUnmet(() =>
    makespanProblem(pipeline, kind, { microBatches, microBatch, tokens, unit, mostSlices: slices, contextKinks, known }, graphs),
  );
  if (problem === null) return null;
  const { mostSteps, tolerance } = effort;
  const chunks = pipeline.chunksOn(kind);
  /** Almost half of the cuts that are met were met before. */
  const keptFits = new Map<string, boolean>();
  const fits = (lengths: readonly number[]): boolean => {
    if (keptFits.size > mostKeptFits) keptFits.clear();
    return memoized(keptFits, lengths.join(), () => fitsOn(chunks, cutAlike({ microBatches, microBatch }, lengths), pipeline.gpuMemory));
  };
  const within = withinMemory(problem, fits, (bounded) => shortestMakespan(bounded, { mostSteps, tolerance, belowMs, signal, onSteps }));
  if (within === null) return null;
  const { solution, fewest } = within;
  const { lengths, makespanMs, lowerBoundMs, parts } = solution;
  return {
    lengths,
    solution,
    certificate: () => ({
      optimumMs: makespanMs,
      lowerBoundMs,
      evaluations: parts,
      judgedBy: 'makespan',
      cuts: comparedCuts(problem, equalWork),
      note: sentence`${gapText(solution)} for slices in multiples of ${unit} tokens, ${numbersText(fewest, slices)}, all sequences cut alike`,
    }),
  };
}

function numbersText(fewest: number, most: number): Sentence {
  return fewest === 1
    ? sentence`at most ${formatCount(most)} of a sequence`
    : sentence`${formatCount(fewest)} to ${formatCount(most)} of a sequence, as fewer do not fit memory`;
}

/** What was found among cuts into as many slices as fit. */
interface WithinMemory {
  readonly solution: MakespanSolution;
  /** Fewest slices that were looked through. */
  readonly fewest: number;
}

/** How often more slices are asked for where the best of this many does not fit, and by which share more. */
const moreSlices = { times: 4, share: 1.15 };

/** Units of a sequence up to which every cut is looked through for one that fits. */
const fewUnits = 12;

/**
 * The best cut where it fits; else of few units the best of all that fit; else the best of those into more slices, from the fewest on of
 * which equal ones fit: with more slices in turn a stage holds less of a sequence. Null where none was met that fits.
 */
function withinMemory(
  problem: MakespanProblem,
  fits: (lengths: readonly number[]) => boolean,
  solve: (problem: MakespanProblem) => MakespanSolution | null,
): WithinMemory | null {
  const { tokens, unit } = problem;
  const free = solve(problem);
  if (free === null || fits(free.lengths)) return free === null ? null : { solution: free, fewest: 1 };
  const units = Math.ceil(tokens / unit);
  if (units <= fewUnits) {
    const solution = solve({ ...problem, fits });
    return solution === null ? null : { solution, fewest: 1 };
  }
  const most = Math.min(problem.mostSlices, units);
  const equalFit = (slices: number): boolean => fits(uniformLengths(tokens, unit, slices));
  let [below, fewest] = [free.lengths.length, most];
  const cutWithin = (from: number): WithinMemory | null => {
    const known = (problem.known ?? []).filter((cut) => cut.length >= from);
    const solution = solve({ ...problem, known, fits, mayFit: (slices) => slices >= from });
    return solution === null ? null : { solution, fewest: from };
  };
  if (below >= most || !equalFit(most)) return cutWithin(1);
  while (fewest - below > 1) {
    const middle = (below + fewest) >> 1;
    if (equalFit(middle)) fewest = middle;
    else below = middle;
  }
  const least = fewest;
  for (let tries = 0; tries < moreSlices.times && fewest <= most; tries++) {
    const from = fewest;
    const known = (problem.known ?? []).filter((cut) => cut.length >= from && fits(cut));
    const solution = solve({ ...problem, known, mayFit: (slices) => slices >= from });
    if (solution !== null && fits(solution.lengths)) return { solution, fewest };
    fewest = Math.max(fewest + 1, Math.round(fewest * moreSlices.share));
  }
  return cutWithin(least);
}

/** `proved optimal`, `at most 1.3 % above the best possible`. */
function gapText({ exact, makespanMs, lowerBoundMs }: Pick<MakespanSolution, 'exact' | 'makespanMs' | 'lowerBoundMs'>): Sentence {
  return exact ? sentence`proved optimal` : sentence`at most ${formatPercent(makespanMs / lowerBoundMs - 1)} above the best possible`;
}

/** A schedule that has one candidate, with these slices. */
export function shortestSpec(request: PlanRequest, kind: ScheduleOnLayout, found: MakespanSearchResult): CandidateSpec {
  const { training, layout } = request;
  const { microBatch } = training;
  const scheme = cutAlike({ microBatches: training.globalBatch / layout.data / microBatch, microBatch }, found.lengths);
  return {
    id: idBySchedule[kind.schedule],
    name: kind.schedule,
    kind,
    scheme,
    certificate: found.certificate(),
  };
}

/** Units of the asked length, or doubled until there are few enough, and the contexts between which times are affine. */
function coarsenedUnits(
  { costTable, profile, training }: PlanRequest,
  { nodeKinds }: Pipeline,
  asked: number,
): { readonly unit: number; readonly contextKinks: readonly number[] | null } {
  const { sequenceLength: tokens, microBatch } = training;
  const coarsened = (most: number): number => {
    let unit = asked;
    while (Math.ceil(tokens / unit) > most) unit *= 2;
    return unit;
  };
  const unit = coarsened(mostUnits.affine);
  const lengths = Array.from({ length: Math.floor(tokens / unit) }, (_, index) => (index + 1) * unit);
  const kinks = nodeKinds.map((inputs) =>
    costTable !== null
      ? tableKinks(costTable)
      : profile === null
        ? analyticKinks(inputs, microBatch, lengths)
        : profileKinks(inputs, profile.profile, microBatch, lengths),
  );
  if (kinks.includes(null)) return { unit: coarsened(mostUnits.unknown), contextKinks: null };
  const inner = kinks.flatMap((each) => each ?? []).filter((kink) => kink > 0 && kink < tokens);
  // Kinks between the same two starts are one.
  return { unit, contextKinks: [...new Set(inner.map((kink) => Math.floor(kink / unit) * unit + unit / 2))] };
}

/** Whole sequences, the best equal slices and the best of equal work, by the same makespan. */
function comparedCuts(problem: MakespanProblem, equalWork: readonly (readonly number[])[]): readonly BaselineSlicing[] {
  const { tokens, unit } = problem;
  const most = Math.min(problem.mostSlices, Math.ceil(tokens / unit), 2 * mostEqualWork);
  const equal = Array.from({ length: most }, (_, index) => uniformLengths(tokens, unit, index + 1));
  const best = (rule: BaselineSlicing['rule'], cuts: readonly (readonly number[])[]): BaselineSlicing[] => {
    const judged = cuts.map((cut): BaselineSlicing => ({ rule, tokens: cut, latencyMs: simulatedMs(problem, cut) }));
    const [first, ...others] = judged;
    return first === undefined ? [] : [others.reduce((least, each) => (each.latencyMs < least.latencyMs ? each : least), first)];
  };
  return [...best('whole', [[tokens]]), ...best('uniform', equal), ...best('equal-work', equalWork)];
}

/** The makespan of a cut, ms; `Infinity` where the schedule cannot run it. */
function simulatedMs({ times, writeTimes, buildGraph }: MakespanProblem, lengths: readonly number[]): number {
  const graph = buildGraph(lengths.length);
  if (graph === null) return Infinity;
  const ms = new Float64Array(lengths.length * times + 1);
  const out = new Float64Array(times);
  let context = 0;
  lengths.forEach((length, slice) => {
    writeTimes(length, context, out);
    ms.set(out, slice * times);
    context += length;
  });
  return graphMakespan(graph, ms);
}
