import type { CancelSignal } from '../errors';
import { bestEqualMs, type Baselines } from './baselines';
import { flowShopBounds, flowShopMs, type Objective } from './flow-shop';
import { searchFlowShop } from './flow-shop-search';
import { jointRows, batchPartitions } from './one-scheme';
import type { SlicingProblem } from './problem';
import { solveOneSchemeRounds } from './one-scheme-rounds';
import { mayTryAll, trySharedCuts } from './one-scheme-trial';
import { solveRounds, type RoundsResult } from './rounds';
import { solveFlowShopRounds } from './flow-shop-rounds';
import { roundingSlack, searchThresholds, type FoundScheme, type SearchOptions } from './search';
import { chunkSliceTimes, type SliceRows } from './slice-rows';

/** Chunks of every round, and what is proved of them: `boundMs` in the problem's ms. */
export interface Solved {
  readonly rounds: readonly FoundScheme['chunks'][];
  readonly boundMs: number;
  readonly exact: boolean;
  readonly evaluations: number;
}

interface MethodOptions {
  readonly signal: CancelSignal | undefined;
  /** The best plan, the bound, and the gap there was at first; times over the largest stage factor. */
  readonly onMove: (best: FoundScheme | null, boundMs: number, startGapMs: number) => void;
}

/** Thresholds solved when nothing else limits them. */
const defaultEvaluations = 100_000;
/** Labels of begun plans before the flow shop is left to its bounds: about a second. */
const mostLabels = 1_000_000;
/** The same over all sizes of rounds: some seconds. */
const mostRoundLabels = 4_000_000;
/** Visits of slices that solving rounds may take, over all of them. */
const roundVisits = 2e9;

/**
 * Solves by what the problem asks for: only the thresholds, one scheme for all chunks, rounds, or stages that differ. Null: every scheme
 * holds a forbidden slice.
 */
export function chooseMethod(
  problem: SlicingProblem,
  kinds: readonly SliceRows[],
  formula: Objective,
  judgedBy: 'formula' | 'simulation',
  baselines: Baselines,
  options: MethodOptions,
): Solved | null {
  const { batch, maximumInFlight = Infinity, forwardOnly = false, oneScheme = false } = problem;
  const search = (searched: readonly SliceRows[], sequences: number, objective: Objective, capMs: number): Solved | null =>
    searched.length === 0 ? null : searchedPlan(problem, searched, sequences, objective, capMs, baselines, options);
  const unlimited = search(kinds, batch, formula, bestEqualMs(baselines));
  if (unlimited === null) return null;
  if (oneScheme && judgedBy === 'simulation' && problem.maximumEvaluations === undefined && mayTryAll({ kinds, sequences: batch })) {
    const maximumSlices = forwardOnly ? Infinity : maximumInFlight;
    const tried = trySharedCuts({ kinds, sequences: batch, factors: problem.stageFactors ?? [], maximumSlices }, options.signal);
    return tried === null ? null : asSolved(tried, 1);
  }
  const shared = oneScheme ? withOneScheme(problem, kinds, formula, unlimited, search) : unlimited;
  const fits = ({ rounds }: Solved): boolean =>
    forwardOnly || rounds.flat().reduce((sum, { ends }) => sum + ends.length, 0) <= maximumInFlight;
  if (judgedBy === 'formula' && fits(shared)) return shared;
  if (judgedBy === 'simulation' && (forwardOnly || maximumInFlight === Infinity || oneScheme)) {
    const simulated = onFlowShop(problem, kinds, shared, search, options.signal);
    if (fits(simulated)) return simulated;
  }
  if (oneScheme)
    return inOneSchemeRounds(
      problem,
      kinds,
      judgedBy === 'formula' ? null : flowShopBounds(problem.stageFactors ?? []),
      formula,
      search,
      options,
    );
  return judgedBy === 'formula' ? inRounds(problem, kinds, formula, options) : inFlowShopRounds(problem, kinds, options);
}

function searchedPlan(
  problem: SlicingProblem,
  kinds: readonly SliceRows[],
  sequences: number,
  objective: Objective,
  capMs: number,
  baselines: Baselines,
  { signal, onMove }: MethodOptions,
): Solved | null {
  const { equalTime, uniform } = baselines;
  let startGapMs = 0;
  const searchOptions: SearchOptions = {
    signal,
    maximumEvaluations: problem.maximumEvaluations ?? defaultEvaluations,
    tolerance: problem.tolerance ?? 0,
    onMove: (best, boundMs) => {
      if (best !== null && startGapMs === 0) startGapMs = best.objectiveMs - boundMs;
      onMove(best, boundMs, startGapMs);
    },
  };
  const hintMs = equalTime.latencyMs < uniform.latencyMs ? equalTime.slowestMs : uniform.slowestMs;
  const weight = objective.slowest / objective.sum;
  const { best, boundMs, exact, evaluations } = searchThresholds(
    { kinds, sequences, weight, capMs: capMs / objective.sum, hintMs },
    searchOptions,
  );
  return best === null ? null : { rounds: [best.chunks], boundMs: boundMs * objective.sum, exact, evaluations };
}

type Search = (kinds: readonly SliceRows[], sequences: number, objective: Objective, capMs: number) => Solved | null;

/**
 * All chunks cut alike: the unlimited optimum where it is, else the best over partitions of the batch, each of them one chunk with summed
 * times.
 */
function withOneScheme(
  { batch, maximumBatchSlice = batch }: SlicingProblem,
  kinds: readonly SliceRows[],
  formula: Objective,
  unlimited: Solved,
  search: Search,
): Solved {
  const chunks = unlimited.rounds.flat();
  if (new Set(chunks.map(({ ends }) => ends.join())).size === 1) return unlimited;
  const { partitions, complete } = batchPartitions(batch, Math.min(batch, maximumBatchSlice));
  let best: Solved | null = null;
  let bestMs = Infinity;
  let boundMs = Infinity;
  let { evaluations } = unlimited;
  for (const sizes of partitions) {
    const joint = search([jointRows(kinds, sizes)], batch, formula, bestMs);
    if (joint === null) continue;
    const ends = joint.rounds[0]?.[0]?.ends ?? new Uint32Array(0);
    evaluations += joint.evaluations;
    boundMs = Math.min(boundMs, joint.boundMs);
    const ms = chunksObjective(
      kinds,
      sizes.map((sequences) => ({ sequences, ends })),
      formula,
    );
    if (ms >= bestMs) continue;
    bestMs = ms;
    best = { ...joint, rounds: [sizes.map((sequences) => ({ sequences, ends }))] };
  }
  if (best === null) return unlimited;
  const proved = complete ? Math.min(boundMs, bestMs) : unlimited.boundMs;
  return { ...best, boundMs: proved, exact: proved >= bestMs * (1 - roundingSlack), evaluations };
}

function inRounds(problem: SlicingProblem, kinds: readonly SliceRows[], objective: Objective, { signal }: MethodOptions): Solved | null {
  const limits = roundLimits(problem, kinds);
  const weight = objective.slowest / objective.sum;
  const solved = solveRounds({ kinds, sequences: problem.batch, weight, ...limits }, signal);
  return asSolved(solved, objective.sum);
}

/** The same on stages that differ. */
function inFlowShopRounds(problem: SlicingProblem, kinds: readonly SliceRows[], { signal }: MethodOptions): Solved | null {
  const { batch, stageFactors: factors = [], maximumEvaluations } = problem;
  const maximumLabels = maximumEvaluations === undefined ? mostRoundLabels : 0;
  return asSolved(solveFlowShopRounds({ kinds, sequences: batch, factors, maximumLabels, ...roundLimits(problem, kinds) }, signal), 1);
}

/**
 * One scheme for all chunks in rounds. On stages that differ (`bounds`) the rounds that are best by equation 5 and by its lower bounds are
 * simulated; these say how far the fastest may be from the best.
 */
function inOneSchemeRounds(
  problem: SlicingProblem,
  kinds: readonly SliceRows[],
  bounds: readonly Objective[] | null,
  formula: Objective,
  search: Search,
  { signal }: MethodOptions,
): Solved | null {
  const { batch, maximumBatchSlice = batch, maximumEvaluations, stageFactors: factors = [] } = problem;
  const { partitions, complete } = batchPartitions(batch, Math.min(batch, maximumBatchSlice));
  const maximumLabels = maximumEvaluations === undefined ? mostLabels : 0;
  const solve = (objective: Objective): Solved | null => {
    const weight = objective.slowest / objective.sum;
    const limits = roundLimits(problem, kinds);
    const leastMs = (searched: readonly SliceRows[]): number => {
      const free = search(searched, batch, objective, Infinity)?.boundMs ?? Infinity;
      const work = search(searched, batch, { sum: objective.sum, slowest: 0 }, Infinity)?.boundMs ?? Infinity;
      // The slowest slices of all rounds add up to the work over the slices of a round at least.
      return Math.max(free, work * (1 + weight / limits.maximumSlices));
    };
    const bounded = partitions.flatMap((sizes) => {
      const boundMs = leastMs([jointRows(kinds, sizes)]) / objective.sum;
      return boundMs === Infinity ? [] : [{ sizes, boundMs }];
    });
    const wanted = { kinds, sequences: batch, weight, maximumLabels, partitions: bounded, ...limits };
    const solved = asSolved(solveOneSchemeRounds(wanted, signal), objective.sum);
    return solved === null || complete ? solved : { ...solved, boundMs: Math.min(solved.boundMs, leastMs(kinds)), exact: false };
  };
  const first = solve(formula);
  if (bounds === null || first === null) return first;
  const simulate = (rounds: Solved['rounds']): number =>
    rounds.reduce((sum, chunks) => sum + flowShopMs(chunkSliceTimes(kinds, chunks), factors), 0);
  let best = { rounds: first.rounds, ms: simulate(first.rounds) };
  let [boundMs, evaluations] = [0, first.evaluations];
  const offer = (rounds: Solved['rounds']): void => {
    const ms = simulate(rounds);
    if (ms < best.ms) best = { rounds, ms };
  };
  offer(first.rounds.map((chunks) => chunks.toReversed()));
  for (const bound of bounds) {
    const found = solve(bound);
    if (found === null) continue;
    offer(found.rounds);
    offer(found.rounds.map((chunks) => chunks.toReversed()));
    boundMs = Math.max(boundMs, found.boundMs);
    evaluations += found.evaluations;
  }
  const exact = boundMs >= best.ms * (1 - roundingSlack);
  return { rounds: best.rounds, boundMs: exact ? best.ms : Math.min(boundMs, best.ms), exact, evaluations };
}

function roundLimits({ batch, maximumInFlight = Infinity, maximumEvaluations }: SlicingProblem, kinds: readonly SliceRows[]) {
  const units = kinds[0]?.units ?? 1;
  const maximumSlices = Math.min(maximumInFlight, batch * units);
  const visits = (kinds.length * units * units * Math.min(maximumSlices, units)) / 2;
  return { maximumSlices, maximumEvaluations: maximumEvaluations ?? Math.max(2, Math.floor(roundVisits / visits / batch)) };
}

function asSolved({ rounds, boundMs, exact, evaluations }: RoundsResult, sum: number): Solved | null {
  return rounds === null ? null : { rounds, boundMs: boundMs * sum, exact, evaluations };
}

/**
 * Stages that differ so that eq. 5 is only an upper bound: the plan best by it and those best by lower bounds are simulated, and the
 * fastest is improved until none better is left, or until that takes too long; then the bounds say how far it may be.
 */
function onFlowShop(
  problem: SlicingProblem,
  kinds: readonly SliceRows[],
  first: Solved,
  search: Search,
  signal: CancelSignal | undefined,
): Solved {
  const { batch, stageFactors: factors = [], oneScheme = false } = problem;
  const simulate = (chunks: FoundScheme['chunks']): number => flowShopMs(chunkSliceTimes(kinds, chunks), factors);
  let chunks: FoundScheme['chunks'] = first.rounds.flat();
  let ms = simulate(chunks);
  let { evaluations } = first;
  let boundMs = 0;
  const offer = (other: FoundScheme['chunks']): void => {
    const otherMs = simulate(other);
    if (otherMs >= ms) return;
    [chunks, ms] = [other, otherMs];
  };
  offer(chunks.toReversed());
  for (const bound of flowShopBounds(factors)) {
    const found = search(kinds, batch, bound, ms);
    if (found === null) continue;
    evaluations += found.evaluations;
    boundMs = Math.max(boundMs, found.boundMs);
    if (!oneScheme) offer(found.rounds.flat());
  }
  let exact = boundMs >= ms * (1 - roundingSlack);
  if (!exact && !oneScheme) {
    const labels = problem.maximumEvaluations === undefined ? mostLabels : 0;
    const better = searchFlowShop({ kinds, sequences: batch, factors, capMs: ms * (1 - roundingSlack), maximumLabels: labels }, signal);
    if (better.chunks !== null) offer(better.chunks);
    exact = better.complete;
  }
  return { rounds: [chunks], boundMs: exact ? ms : Math.min(boundMs, ms), exact, evaluations };
}

function chunksObjective(kinds: readonly SliceRows[], chunks: FoundScheme['chunks'], { sum, slowest }: Objective): number {
  const times = chunkSliceTimes(kinds, chunks);
  return sum * times.reduce((total, ms) => total + ms, 0) + slowest * times.reduce((most, ms) => Math.max(most, ms), 0);
}
