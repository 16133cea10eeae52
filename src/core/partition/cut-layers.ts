/** Consecutive layers to be divided over consecutive stages. */
interface CutProblem {
  readonly layers: number;
  readonly stages: number;
  /**
   * Time of layers `from` to `to` (not included) on a stage, ms, at least 0; `Infinity` where they do not fit on it. More layers never take
   * less.
   */
  readonly timeMs: (stage: number, from: number, to: number) => number;
  /** Stages that may have no layer. */
  readonly mayBeEmpty: (stage: number) => boolean;
}

/** Layers of each stage, and their cost. */
interface LayerSplit {
  readonly stageLayers: readonly number[];
  readonly slowestMs: number;
  readonly totalMs: number;
}

/** Halvings between two checks for a strictly faster cut. */
const halvings = 6;
/** Times that the second of two programs may ask for; where it would ask for more, the first one's cut stays. */
const maximumTimes = 8_000_000;

/**
 * The cut whose slowest stage is fastest, and of those the one with the least time in all. The first by halving: whether all stages can
 * stay below a time is decided by how far the stages before and after a boundary can reach, and between those windows exactly. The second
 * by a dynamic program over the same windows: `best[s][j] = min over i of best[s - 1][i] + time(s, i, j)`. Exact, except for the second
 * where its windows are so wide that it would take more than `maximumTimes` times. Null where every cut has a stage that does not fit.
 */
export function cutLayers(problem: CutProblem): LayerSplit | null {
  const bounded = boundCut(problem);
  const quickest = fastestSlowest(bounded);
  if (quickest === null) return null;
  const slowestMs = slowestStageMs(bounded, quickest);
  const ends = leastTotal(bounded, (ms) => ms <= slowestMs) ?? quickest;
  let [from, totalMs] = [0, 0];
  const stageLayers = Array.from(ends, (to, stage) => {
    const layers = to - from;
    totalMs += problem.timeMs(stage, from, to);
    from = to;
    return layers;
  });
  return { stageLayers, slowestMs, totalMs };
}

/** Whether any cut exists: one feasibility check instead of the whole search. */
export function canCut(problem: CutProblem): boolean {
  return cutUnder(boundCut(problem), (ms) => ms < Infinity) !== null;
}

/** Where each stage ends: layers up to it, its own included. */
type Ends = Int32Array;
type IsAllowed = (ms: number) => boolean;

interface Bounded extends CutProblem {
  /** Layers that each stage needs at least, and those before and after it together. */
  readonly fewest: Int32Array;
  readonly earlier: Int32Array;
  readonly later: Int32Array;
}

function boundCut(problem: CutProblem): Bounded {
  const { stages } = problem;
  const fewest = Int32Array.from({ length: stages }, (_, stage) => (problem.mayBeEmpty(stage) ? 0 : 1));
  const earlier = new Int32Array(stages);
  const later = new Int32Array(stages);
  for (let stage = 1; stage < stages; stage++) earlier[stage] = (earlier[stage - 1] ?? 0) + (fewest[stage - 1] ?? 0);
  for (let stage = stages - 2; stage >= 0; stage--) later[stage] = (later[stage + 1] ?? 0) + (fewest[stage + 1] ?? 0);
  return { ...problem, fewest, earlier, later };
}

/** A cut whose slowest stage no other undercuts; null for none. */
function fastestSlowest(problem: Bounded): Ends | null {
  let best = cutUnder(problem, (ms) => ms < Infinity);
  let below = 0;
  for (let halving = 0; best !== null; halving++) {
    const bestMs = slowestStageMs(problem, best);
    const middle = (below + bestMs) / 2;
    const isLast = halving % (halvings + 1) === halvings || middle <= below || middle >= bestMs;
    const found = cutUnder(problem, isLast ? (ms) => ms < bestMs : (ms) => ms <= middle);
    if (found !== null) best = found;
    else if (isLast) return best;
    else below = middle;
  }
  return null;
}

function slowestStageMs({ timeMs }: Bounded, ends: Ends): number {
  return ends.reduce((slowest, to, stage) => Math.max(slowest, timeMs(stage, ends[stage - 1] ?? 0, to)), 0);
}

/** A cut all of whose stages are allowed, or null where there is none. */
function cutUnder(problem: Bounded, isAllowed: IsAllowed): Ends | null {
  const greedy = greedyUnder(problem, isAllowed);
  if (greedy !== null) return greedy;
  const windows = windowsUnder(problem, isAllowed);
  return windows === null ? null : cutWithin(problem, isAllowed, windows);
}

/** The cut in which every stage takes as many layers as are allowed; null where that leaves some, or a stage without. */
function greedyUnder({ layers, stages, timeMs, fewest, later }: Bounded, isAllowed: IsAllowed): Ends | null {
  const ends = new Int32Array(stages);
  let from = 0;
  /** Layers of the stage before: often as many as this one can take. */
  let count = 0;
  for (let stage = 0; stage < stages; stage++) {
    const most = layers - (later[stage] ?? 0);
    const least = from + (fewest[stage] ?? 0);
    if (least > most || !isAllowed(timeMs(stage, from, least))) return null;
    const start = from;
    from = lastWhere(least, most, start + count, (to) => isAllowed(timeMs(stage, start, to)));
    count = from - start;
    ends[stage] = from;
  }
  return from === layers ? ends : null;
}

/**
 * The last number up to `most` for which a condition holds that holds for `first` and for all numbers before one it holds for. Searches
 * outwards from `guess`.
 */
function lastWhere(first: number, most: number, guess: number, holds: (value: number) => boolean): number {
  let low = first;
  let beyond = most + 1;
  const start = Math.min(most, Math.max(first, guess));
  if (start === first || holds(start)) {
    low = start;
    for (let step = 1; low + step < beyond; step *= 2)
      if (holds(low + step)) low += step;
      else beyond = low + step;
  } else {
    beyond = start;
    for (let step = 1; beyond - step > low; step *= 2)
      if (holds(beyond - step)) low = beyond - step;
      else beyond -= step;
  }
  while (beyond - low > 1) {
    const middle = (low + beyond) >> 1;
    if (holds(middle)) low = middle;
    else beyond = middle;
  }
  return low;
}

/** Between which layers each stage can end: entry `stage` of both. */
interface Windows {
  readonly first: Int32Array;
  readonly last: Int32Array;
}

/**
 * Where stages can end at all, so far as those before can take this many layers and those after can take the rest; null where one cannot.
 */
function windowsUnder({ layers, stages, timeMs, fewest, earlier, later }: Bounded, isAllowed: IsAllowed): Windows | null {
  const first = new Int32Array(stages);
  const last = new Int32Array(stages);
  for (let stage = 0, from = 0, count = 0; stage < stages; stage++) {
    const [start, least, most] = [from, from + (fewest[stage] ?? 0), layers - (later[stage] ?? 0)];
    if (least <= most && isAllowed(timeMs(stage, start, least)))
      from = lastWhere(least, most, start + count, (to) => isAllowed(timeMs(stage, start, to)));
    else from = Math.min(from, most);
    last[stage] = from;
    count = from - start;
  }
  first[stages - 1] = layers;
  if (last[stages - 1] !== layers) return null;
  for (let stage = stages - 1, to = layers, taken = 0; stage > 0; stage--) {
    const [end, most, least] = [to, to - (fewest[stage] ?? 0), earlier[stage] ?? 0];
    if (most >= least && isAllowed(timeMs(stage, most, end)))
      to = end - lastWhere(end - most, end - least, taken, (count) => isAllowed(timeMs(stage, end - count, end)));
    else to = Math.max(to, least);
    taken = end - to;
    first[stage - 1] = to;
    if (to > (last[stage - 1] ?? 0)) return null;
  }
  return { first, last };
}

/** A cut within windows, by the set of layers that each stage can end at. */
function cutWithin({ stages, timeMs, fewest }: Bounded, isAllowed: IsAllowed, { first, last }: Windows): Ends | null {
  /** Where a stage that ends at `first[stage] + index` starts; -1 where none can end. */
  const starts: Int32Array[] = [];
  for (let stage = 0; stage < stages; stage++) {
    const [low, high] = [first[stage] ?? 0, last[stage] ?? 0];
    const startByEnd = new Int32Array(high - low + 1).fill(-1);
    const before = starts[stage - 1] ?? Int32Array.of(0);
    const [fromLow, fromHigh] = stage === 0 ? [0, 0] : [first[stage - 1] ?? 0, last[stage - 1] ?? 0];
    let reached = low - 1;
    for (let from = fromLow; from <= fromHigh && reached < high; from++) {
      if (before[from - fromLow] === -1) continue;
      const least = from + (fewest[stage] ?? 0);
      let to = Math.max(least, reached + 1);
      while (to <= high && isAllowed(timeMs(stage, from, to))) startByEnd[to++ - low] = from;
      reached = Math.max(reached, to - 1 >= least ? to - 1 : reached);
    }
    starts.push(startByEnd);
  }
  return traced(starts, first, last);
}

/** Ends by where each stage starts for each of its ends, from the last one; null where the last cannot end. */
function traced(starts: readonly Int32Array[], first: Int32Array, last: Int32Array): Ends | null {
  const ends = new Int32Array(starts.length);
  let end = last[starts.length - 1] ?? 0;
  for (let stage = starts.length - 1; stage >= 0; stage--) {
    ends[stage] = end;
    end = starts[stage]?.[end - (first[stage] ?? 0)] ?? -1;
    if (end < 0) return null;
  }
  return ends;
}

/** The cut with the least sum of times, all of them allowed; null where that takes too long to find, or there is none. */
function leastTotal(problem: Bounded, isAllowed: IsAllowed): Ends | null {
  const { stages, timeMs, fewest } = problem;
  const windows = windowsUnder(problem, isAllowed);
  if (windows === null) return null;
  const { first, last } = windows;
  const width = (stage: number): number => (last[stage] ?? 0) - (first[stage] ?? 0) + 1;
  let times = width(0);
  for (let stage = 1; stage < stages; stage++) times += width(stage - 1) * width(stage);
  if (times > maximumTimes) return null;
  const starts: Int32Array[] = [];
  let before = Float64Array.of(0);
  for (let stage = 0; stage < stages; stage++) {
    const [low, high, fromLow] = [first[stage] ?? 0, last[stage] ?? 0, stage === 0 ? 0 : (first[stage - 1] ?? 0)];
    const after = new Float64Array(high - low + 1).fill(Infinity);
    const startByEnd = new Int32Array(high - low + 1).fill(-1);
    before.forEach((begun, index) => {
      if (begun === Infinity) return;
      const from = fromLow + index;
      for (let to = Math.max(low, from + (fewest[stage] ?? 0)); to <= high; to++) {
        const ms = timeMs(stage, from, to);
        if (!isAllowed(ms)) break;
        if (begun + ms >= (after[to - low] ?? Infinity)) continue;
        after[to - low] = begun + ms;
        startByEnd[to - low] = from;
      }
    });
    starts.push(startByEnd);
    before = after;
  }
  return traced(starts, first, last);
}
