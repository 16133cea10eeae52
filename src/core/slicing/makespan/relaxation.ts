import { ascending, isAllowed, isWithin, timed, timesOfEnds, pathWeight, type Count, type TimedSlices, type Work } from './cuts';
import {
  allSlices,
  allWindows,
  openArcs,
  cellLayers,
  cheapestWay,
  closeSlices,
  tightened,
  unitLayers,
  type Cells,
  type Layers,
  type OpenSlices,
  type Weights,
  type Windows,
} from './layers';
import { solveGame, type GameValue } from './matrix-game';
import type { SliceTimes } from './slice-times';
import { append } from '../../records';

/** The costs of slices, exact and by cells of two sizes. */
export interface Grids {
  readonly costs: SliceTimes;
  /** Few cells, to find weights with; and many, to prove with. */
  readonly coarse: Cells;
  readonly fine: Cells;
}

/** What is known of the cuts within windows. */
export interface Relaxed {
  /** None of them takes less, ms. */
  readonly boundMs: number;
  /** Windows of the cuts that may be faster than the best known; null if there are none. */
  readonly windows: Windows | null;
  /** The goal was reached before more could be known. */
  readonly isEarly: boolean;
  /** Cuts whose mix attains the bound, approximately, with their shares. */
  readonly mix: readonly { readonly cut: TimedSlices; readonly share: number }[];
}

/** When a relaxation may stop, and where it reports cuts. */
interface RelaxationGoal {
  /** A bound this high is enough. */
  readonly goalMs: number;
  /** The best known makespan. */
  readonly bestMs: number;
  /** Called with every cut that it finds. */
  readonly onCut: (cut: TimedSlices) => void;
}

/** Rounds of the game with few cells and with many. */
const mostRounds = 60;
const fineRounds = 2;
/** Where value and bound are as near as this share, the game is solved. */
const solved = 2e-5;
/** The same where the value is below the goal, as a share of what it is below: more precision would not settle the part. */
const hopeless = 0.1;
/** Pairs of places up to which units are taken as they are. */
const unitPairs = 40_000;
/** Paths through a long slice that the game begins with, at most. */
const mostCrossings = 24;
/** Paths and cuts that are kept at most. */
const mostKept = 120;

/**
 * A lower bound on the makespan of all cuts within windows: the value of the game in which one side mixes paths through the schedule and
 * the other mixes cuts (docs/model/slicing.md, The bound). Each round answers either side's mix: the longest path with the mean times of
 * the cuts, and the cheapest cut for the mean weights of the paths, which is a bound by itself.
 */
export function relax(count: Count, windows: Windows, grids: Grids, wanted: RelaxationGoal, work: Work): Relaxed {
  const { costs } = grids;
  const arcs = openArcs((count.open ??= openSlices(count, grids, wanted.bestMs, work)));
  const within = count.cuts.filter(({ ends }) => isWithin(ends, windows));
  const isSmall = countPairs(windows) <= unitPairs;
  const buildLayers = (weights: Weights, isFine: boolean): Layers => {
    const layers = isSmall
      ? unitLayers(costs, weights, windows, arcs)
      : cellLayers(isFine ? grids.fine : grids.coarse, weights, windows, arcs);
    work.spend(countSteps(layers, costs.times));
    return layers;
  };
  const add = (ends: Int32Array): boolean => {
    const placed = ascending(ends, windows);
    if (placed === null || !isAllowed(costs, placed) || within.some((cut) => isSame(cut.ends, placed))) return false;
    const cut = { ends: placed, ms: timesOfEnds(costs, placed) };
    within.push(cut);
    count.cuts.push(cut);
    wanted.onCut(cut);
    return true;
  };
  let best: { boundMs: number; weights: Weights } = { boundMs: -Infinity, weights: count.paths[0] ?? new Float64Array(0) };
  const tryWeights = (weights: Weights, isFine: boolean): { readonly ms: number; readonly isNew: boolean } => {
    const way = cheapestWay(buildLayers(weights, isFine));
    if (way.ms > best.boundMs) best = { boundMs: way.ms, weights };
    return { ms: way.ms, isNew: way.ms < Infinity && add(way.ends) };
  };
  if (within.length === 0) for (const path of count.paths.slice(0, 3)) tryWeights(path, false);
  if (within.length === 0) add(windowMiddles(windows));
  let game: GameValue | null = null;
  const payoffs = createPayoffs(count.paths, within);
  const playRounds = (rounds: number, isFine: boolean): void => {
    for (let round = 0; round < rounds && !work.isOver() && within.length > 0 && best.boundMs < wanted.goalMs; round++) {
      game = payoffs.game();
      work.spend((count.paths.length ** 2 * (count.paths.length + within.length)) >> 4);
      const mean = meanCut(within, game.columns);
      const { makespanMs, path } = timed(count.graph, mean, work);
      const isLonger = makespanMs > game.value * (1 + solved / 10);
      const { ms, isNew } = tryWeights(mixed(count.paths, game.rows), isFine);
      if (isLonger) count.paths.push(path);
      if (makespanMs - ms <= solved * makespanMs + hopeless * Math.max(0, wanted.goalMs - makespanMs) || !(isLonger || isNew)) break;
    }
  };
  playRounds(mostRounds, false);
  if (!isSmall && best.boundMs < wanted.goalMs) {
    best = { ...best, boundMs: cheapestWay(buildLayers(best.weights, true)).ms };
    playRounds(fineRounds, true);
  }
  const isEarly = best.boundMs >= wanted.goalMs && best.boundMs < wanted.bestMs;
  const tight = isEarly ? null : tightened(buildLayers(best.weights, true), windows, wanted.bestMs);
  game ??= within.length > 0 ? payoffs.game() : null;
  const shares: Float64Array = game?.columns ?? new Float64Array(0);
  const mix = within.flatMap((cut, index) => ((shares[index] ?? 0) > 1e-9 ? [{ cut, share: shares[index] ?? 0 }] : []));
  forget(count, game?.rows ?? null);
  if (tight === null) return { boundMs: best.boundMs, windows, isEarly, mix };
  return { boundMs: Math.max(best.boundMs, tight.way.ms), windows: tight.windows, isEarly, mix };
}

/**
 * Slices that a cut may have which takes less than the best known. A long slice holds up all stages one after the other: with its times
 * made long the longest path goes through them, and the cheapest cut for that path with that slice bounds every cut that has it.
 */
function openSlices(count: Count, { coarse }: Grids, bestMs: number, work: Work): OpenSlices {
  const { slices, graph, cuts } = count;
  const open = allSlices(coarse, slices);
  const windows = allWindows(slices, coarse.costs.units);
  const usual = cuts[0]?.ms;
  if (usual === undefined) return open;
  const times = coarse.costs.times;
  for (let slice = 0; slice < slices && !work.isOver(); slice++) {
    const inflated = usual.slice();
    for (let time = 0; time < times; time++) inflated[slice * times + time] = 3 * (usual[slice * times + time] ?? 0);
    const { path } = timed(graph, inflated, work);
    if (slices <= mostCrossings || slice % Math.ceil(slices / mostCrossings) === 0) count.paths.push(path);
    const layers = cellLayers(coarse, path, windows, openArcs(open));
    work.spend(2 * countSteps(layers, times));
    closeSlices(open, layers, bestMs);
  }
  return open;
}

/** The game of paths against cuts; both sets grow. */
function createPayoffs(paths: readonly Weights[], cuts: readonly TimedSlices[]): { readonly game: () => GameValue } {
  const known: number[][] = [];
  return {
    game: () => {
      paths.forEach((path, index) => {
        const row = (known[index] ??= []);
        for (let column = row.length; column < cuts.length; column++) row.push(pathWeight(path, cuts[column]?.ms ?? path));
      });
      return solveGame(paths.length, cuts.length, (row, column) => known[row]?.[column] ?? 0);
    },
  };
}

/** Keeps the newest cuts, and the paths that count or are new, where there are too many. */
function forget({ paths, cuts }: Count, shares: Float64Array | null): void {
  if (cuts.length > mostKept) cuts.splice(0, cuts.length - mostKept);
  if (paths.length <= mostKept) return;
  const kept = paths.filter((_, index) => (shares?.[index] ?? 1) > 0 || index >= paths.length - mostKept / 2);
  paths.length = 0;
  append(paths, kept);
}

function isSame(a: Int32Array, b: Int32Array): boolean {
  return a.every((value, index) => value === b[index]);
}

function windowMiddles({ low, high }: Windows): Int32Array {
  return low.map((from, index) => (from + (high[index] ?? from)) >> 1);
}

function meanCut(cuts: readonly TimedSlices[], shares: Float64Array): Float64Array {
  const mean = new Float64Array(cuts[0]?.ms.length ?? 0);
  cuts.forEach(({ ms }, index) => {
    const share = shares[index] ?? 0;
    if (share > 0) for (let at = 0; at < mean.length; at++) mean[at] = (mean[at] ?? 0) + share * (ms[at] ?? 0);
  });
  return mean;
}

function mixed(paths: readonly Weights[], shares: Float64Array): Weights {
  const mean = new Float64Array(paths[0]?.length ?? 0);
  paths.forEach((path, index) => {
    const share = shares[index] ?? 0;
    if (share > 0) for (let at = 0; at < mean.length; at++) mean[at] = (mean[at] ?? 0) + share * (path[at] ?? 0);
  });
  return mean;
}

function countPairs({ low, high }: Windows): number {
  let pairs = 0;
  for (let index = 1; index < low.length; index++)
    pairs += ((high[index] ?? 0) - (low[index] ?? 0) + 1) * ((high[index - 1] ?? 0) - (low[index - 1] ?? 0) + 1);
  return pairs;
}

function countSteps({ places }: Layers, times: number): number {
  let pairs = 0;
  for (let index = 1; index < places.length; index++) {
    const [a, b] = [places[index - 1], places[index]];
    if (a !== undefined && b !== undefined) pairs += (a.to - a.from + 1) * (b.to - b.from + 1);
  }
  return Math.ceil((pairs * times) / 8);
}
