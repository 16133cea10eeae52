import { throwIfCancelled } from '../../errors';
import {
  ascending,
  createCount,
  isAllowed,
  isWithin,
  timed,
  timesOfEnds,
  pathWeight,
  type Count,
  type TimedSlices,
  type Work,
} from './cuts';
import { improve } from './improve';
import { allWindows, toCells, widerCells, type Windows } from './layers';
import { longestPath, graphMakespan, stagePaths } from './pass-graph';
import { cutsIn, forEachCut, splitPart, type Part } from './parts';
import type { MakespanProblem, MakespanSolution, SearchLimits } from './problem';
import { relax, type Grids, type Relaxed } from './relaxation';
import { sampleSliceTimes, type SliceTimes } from './slice-times';

/** Cells of a sequence at most, about: few, to find weights with, and many, to prove with. */
const coarseCells = 64;
const fineCells = 320;
/** Makespans that differ by less than this share differ by rounding. */
const rounding = 1e-9;
/** Parts of the space with this few cuts are tried one by one. */
const fewCuts = 24;
/** Cuts so near to the best by this share are improved by moving their ends. */
const worthImproving = 0.01;
/** Gaps that are aimed at one after the other, so that no part is bounded closely while others are not bounded at all. */
const goals = [0.048, 0.02, 0.01, 0.005, 0.0025, 0.001, 0];
/** Equal slices are tried in numbers that grow by this factor before it is known which numbers matter. */
const growth = 1.3;
const stepsBetweenLooks = 2 ** 18;

/** A search under way. */
interface Search {
  readonly problem: MakespanProblem;
  readonly tolerance: number;
  readonly belowMs: number;
  readonly work: Work & { readonly steps: () => number };
  readonly costs: SliceTimes;
  readonly mostSlices: number;
  /** By number of slices; null where the schedule cannot run. */
  readonly counts: Map<number, Count | null>;
  /** Parts that are open, the one with the least bound last. */
  readonly open: Part[];
  best: { readonly lengths: readonly number[]; readonly makespanMs: number } | null;
  /** Index into `goals`. */
  level: number;
  relaxed: number;
}

/**
 * Cuts all sequences alike so that a schedule ends as early as it can: best first, branch and bound over the number of slices and where
 * they end. Every part is bounded from below by a relaxation that holds for all cuts in it, so that the gap of the answer is known whenever
 * the search stops (docs/model/slicing.md, The makespan as it is). Deterministic except for a deadline from outside.
 * @returns null where the schedule cannot run, or no cut met fits or ends before `belowMs`.
 * @throws RangeError for times that are none; CancelledError.
 */
export function shortestMakespan(problem: MakespanProblem, limits: SearchLimits): MakespanSolution | null {
  const work = createWork(limits);
  const costs = sampleSliceTimes(problem, limits.signal);
  work.spend(costs.asked * costs.times);
  const search: Search = {
    problem,
    tolerance: Math.max(rounding, limits.tolerance ?? 0),
    belowMs: limits.belowMs ?? Infinity,
    work,
    costs,
    mostSlices: Math.min(problem.mostSlices, costs.units),
    counts: new Map(),
    open: [],
    best: null,
    level: 0,
    relaxed: 0,
  };
  const grids = begin(search);
  proceed(search, grids);
  limits.onSteps?.(work.steps());
  return toSolution(search);
}

function createWork({ mostSteps, isOver, signal }: SearchLimits): Search['work'] {
  let steps = 0;
  let nextLook = stepsBetweenLooks;
  let late = false;
  return {
    spend: (more) => {
      steps += more;
      if (steps < nextLook) return;
      nextLook = steps + stepsBetweenLooks;
      throwIfCancelled(signal);
      late ||= isOver?.() === true;
    },
    isOver: () => late || steps >= mostSteps,
    steps: () => steps,
  };
}

/**
 * Tries others' cuts, and opens a part for every number of slices whose work by itself takes less than the best of them.
 */
function begin(search: Search): Grids {
  const { problem, costs, mostSlices, work } = search;
  const { units } = costs;
  for (const lengths of problem.known ?? []) offerLengths(search, lengths);
  const tried = new Set<number>();
  for (let slices = 1; slices <= mostSlices; slices = Math.max(slices + 1, Math.round(slices * growth))) {
    offerEqual(search, slices);
    tried.add(slices);
  }
  improveBest(search);
  const typical = Math.max(1, Math.round(units / Math.max(1, search.best?.lengths.length ?? 1)));
  const size = Math.max(1, Math.ceil((units - 1) / fineCells));
  const fine = toCells(costs, size, typical);
  const grids = { costs, fine, coarse: widerCells(fine, Math.max(1, Math.ceil((units - 1) / (coarseCells * size)))) };
  work.spend((units * units * costs.times) / 2);
  const loads = leastLoads(grids, mostSlices, problem, work);
  for (let slices = 1; slices <= mostSlices; slices++) {
    if (problem.mayFit?.(slices) === false || (loads[slices] ?? 0) >= bestMs(search)) continue;
    if (!tried.has(slices)) offerEqual(search, slices);
    const count = countFor(search, slices);
    if (count !== null) search.open.push({ count, windows: allWindows(slices, units), boundMs: loads[slices] ?? 0, relaxed: null });
  }
  search.open.sort((a, b) => b.boundMs - a.boundMs);
  return grids;
}

/** Takes the part with the least bound, and bounds it more closely or halves it, until none is left that may hold a better cut. */
function proceed(search: Search, grids: Grids): void {
  const { open, work } = search;
  for (let part = open.at(-1); part !== undefined && !work.isOver(); part = open.at(-1)) {
    if (part.boundMs >= bestMs(search) * (1 - search.tolerance)) return;
    if (part.boundMs >= goalMs(search)) {
      search.level++;
      continue;
    }
    open.pop();
    const parts = part.relaxed?.isEarly !== false ? [part] : splitPart(part);
    for (const each of parts) {
      const left = work.isOver() ? each : bounded(search, each, grids);
      if (left !== null) insert(open, left);
    }
  }
}

function toSolution({ best, open, relaxed, work }: Search): MakespanSolution | null {
  if (best === null) return null;
  const { lengths, makespanMs } = best;
  const lowerBoundMs = open.reduce((least, { boundMs }) => Math.min(least, boundMs), makespanMs);
  return { lengths, makespanMs, lowerBoundMs, exact: lowerBoundMs >= makespanMs * (1 - rounding), parts: relaxed, steps: work.steps() };
}

/** What a cut has to be faster than, ms. */
function bestMs({ best, belowMs }: Search): number {
  return best?.makespanMs ?? belowMs;
}

/** A bound so high is high enough for now. */
function goalMs(search: Search): number {
  return bestMs(search) * (1 - Math.max(search.tolerance, goals[search.level] ?? 0));
}

function insert(open: Part[], part: Part): void {
  let at = open.length;
  while (at > 0 && (open[at - 1]?.boundMs ?? 0) < part.boundMs) at--;
  open.splice(at, 0, part);
}

/** A part with a closer bound and closer windows; null where it holds no cut faster than the best. */
function bounded(search: Search, part: Part, grids: Grids): Part | null {
  const { costs, work } = search;
  const { count, windows } = part;
  search.relaxed++;
  if (cutsIn(windows, fewCuts) <= fewCuts) {
    forEachCut(windows, (ends) => {
      if (isAllowed(costs, ends)) offer(search, count, { ends, ms: timesOfEnds(costs, ends) });
    });
    return null;
  }
  if (part.relaxed === null && count.open === null) offerDrawn(search, count);
  const wanted = {
    goalMs: goalMs(search),
    bestMs: bestMs(search) * (1 - rounding),
    onCut: (cut: TimedSlices) => void offer(search, count, cut),
  };
  const relaxed = relax(count, windows, grids, wanted, work);
  offerMean(search, part, relaxed);
  const boundMs = Math.max(part.boundMs, relaxed.boundMs);
  if (relaxed.windows === null || boundMs >= bestMs(search) * (1 - rounding)) return null;
  return { count, windows: relaxed.windows, boundMs, relaxed };
}

function countFor({ counts, problem, work }: Search, slices: number): Count | null {
  const found = counts.get(slices);
  if (found !== undefined) return found;
  const graph = problem.buildGraph(slices);
  const made = graph === null ? null : createCount(slices, graph);
  if (graph !== null) work.spend(4 * graph.previous.length);
  counts.set(slices, made);
  return made;
}

function toLengths({ problem: { tokens, unit }, costs: { units } }: Search, ends: Int32Array): number[] {
  return [...ends, units].map((end, index) => Math.min(tokens, end * unit) - (index === 0 ? 0 : (ends[index - 1] ?? 0) * unit));
}

function fits(search: Search, ends: Int32Array): boolean {
  return search.problem.fits?.(toLengths(search, ends)) ?? true;
}

/** Takes a cut where it is the best that fits. @returns its makespan, ms. */
function offer(search: Search, { graph }: Count, { ends, ms }: TimedSlices): number {
  search.work.spend(graph.previous.length);
  const makespanMs = graphMakespan(graph, ms);
  if (makespanMs < bestMs(search) && fits(search, ends)) search.best = { lengths: toLengths(search, ends), makespanMs };
  return makespanMs;
}

/** The same of a cut as others' rules make it, which may end anywhere. */
function offerLengths(search: Search, lengths: readonly number[]): void {
  const { problem, costs, work, mostSlices } = search;
  const count = lengths.length > mostSlices ? null : countFor(search, lengths.length);
  if (count === null) return;
  const ms = new Float64Array(lengths.length * costs.times + 1);
  const out = new Float64Array(costs.times);
  let context = 0;
  lengths.forEach((length, slice) => {
    problem.writeTimes(length, context, out);
    ms.set(out, slice * costs.times);
    context += length;
  });
  work.spend(count.graph.previous.length);
  const makespanMs = graphMakespan(count.graph, ms);
  count.paths.push(longestPath(count.graph, ms));
  if (makespanMs < bestMs(search) && (problem.fits?.(lengths) ?? true)) search.best = { lengths, makespanMs };
}

function addCut({ costs }: Search, count: Count, ends: Int32Array): TimedSlices | null {
  if (!isAllowed(costs, ends)) return null;
  const cut = { ends, ms: timesOfEnds(costs, ends) };
  count.cuts.push(cut);
  return cut;
}

/** The best cut, drawn out or pressed to another number of slices. */
function offerDrawn(search: Search, count: Count): void {
  const { best, costs, problem } = search;
  const { slices } = count;
  if (best === null || slices < 2) return;
  let done = 0;
  const known = [0, ...best.lengths.map((length) => (done += length) / problem.unit)];
  const windows = allWindows(slices, costs.units);
  const drawn = Int32Array.from({ length: slices - 1 }, (_, index) => {
    const at = ((index + 1) * (known.length - 1)) / slices;
    const [before = 0, after = before] = [known[Math.floor(at)], known[Math.ceil(at)]];
    return Math.round(before + (at - Math.floor(at)) * (after - before));
  });
  const seed = ascending(drawn, windows);
  const cut = seed === null ? null : addCut(search, count, seed);
  if (seed === null || cut === null) return;
  const knownMs = bestMs(search);
  const makespanMs = offer(search, count, cut);
  count.paths.push(longestPath(count.graph, cut.ms));
  if (makespanMs < knownMs) offerImproved(search, count, { cut, makespanMs });
}

/** Slices that are equal up to one unit, longer ones first. */
function offerEqual(search: Search, slices: number): void {
  const { units } = search.costs;
  const short = Math.floor(units / slices);
  const longer = units - short * slices;
  const count = search.problem.mayFit?.(slices) === false ? null : countFor(search, slices);
  const ends = Int32Array.from({ length: slices - 1 }, (_, index) => (index + 1) * short + Math.min(index + 1, longer));
  const cut = count === null ? null : addCut(search, count, ends);
  if (count === null || cut === null) return;
  offer(search, count, cut);
  count.paths.push(timed(count.graph, cut.ms, search.work).path);
}

/** The mean of a mix as a cut; near to the best it is improved. */
function offerMean(search: Search, { count, windows }: Part, { mix }: Relaxed): void {
  const mean = new Float64Array(count.slices - 1);
  for (const { cut, share } of mix) cut.ends.forEach((end, index) => (mean[index] = (mean[index] ?? 0) + share * end));
  const ends = mix.length > 0 ? ascending(Int32Array.from(mean, Math.round), windows) : null;
  const cut = ends === null ? null : addCut(search, count, ends);
  if (cut === null) return;
  const makespanMs = offer(search, count, cut);
  if (makespanMs <= bestMs(search) * (1 + worthImproving)) offerImproved(search, count, { cut, makespanMs });
}

/** The best cut, to the nearest units, with its ends moved. */
function improveBest(search: Search): void {
  const lengths = search.best?.lengths ?? [];
  const count = lengths.length === 0 ? null : countFor(search, lengths.length);
  if (count === null || search.work.isOver()) return;
  let done = 0;
  const ends = Int32Array.from(lengths.slice(0, -1), (length) => Math.round((done += length) / search.problem.unit));
  const windows: Windows = allWindows(lengths.length, search.costs.units);
  const cut = isWithin(ends, windows) ? addCut(search, count, ends) : null;
  if (cut !== null) offerImproved(search, count, { cut, makespanMs: offer(search, count, cut) });
}

function offerImproved(search: Search, count: Count, from: { readonly cut: TimedSlices; readonly makespanMs: number }): void {
  const better = improve(count, search.costs, from, (ends) => fits(search, ends), search.work);
  count.cuts.push(better.cut);
  offer(search, count, better.cut);
}

/** For every number of slices the least work of the stage that has most with the sequence whole: no schedule ends sooner. By cells. */
function leastLoads({ coarse, costs }: Grids, mostSlices: number, { buildGraph }: MakespanProblem, work: Work): Float64Array {
  const loads = new Float64Array(mostSlices + 1);
  const graph = buildGraph(1);
  const whole = timesOfEnds(costs, new Int32Array(0));
  const heaviest = (graph === null ? [] : stagePaths(graph)).toSorted((a, b) => pathWeight(b, whole) - pathWeight(a, whole))[0];
  if (heaviest === undefined) return loads;
  const { count, least, prices } = coarse;
  const rest = new Float64Array(count * count);
  let constant = 0;
  for (let time = 0; time < costs.times; time++) {
    const weight = heaviest[time] ?? 0;
    if (weight === 0) continue;
    constant += weight * (prices[time]?.[costs.units] ?? 0);
    const column = least[time];
    for (let at = 0; at < rest.length; at++) rest[at] = (rest[at] ?? 0) + weight * (column?.[at] ?? Infinity);
  }
  let reached = new Float64Array(count).fill(Infinity);
  reached[0] = 0;
  for (let slices = 1; slices <= mostSlices; slices++) {
    const next = new Float64Array(count).fill(Infinity);
    work.spend(Math.ceil((count * count) / 8));
    for (let from = 0; from < count; from++) {
      const ms = reached[from] ?? Infinity;
      if (ms === Infinity) continue;
      for (let to = from; to < count; to++) next[to] = Math.min(next[to] ?? Infinity, ms + (rest[from * count + to] ?? Infinity));
    }
    loads[slices] = constant + (next[count - 1] ?? Infinity);
    reached = next;
  }
  return loads;
}
