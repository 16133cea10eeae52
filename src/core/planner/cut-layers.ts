/** Layers in a row to be dealt to stages in a row. */
export interface CutProblem {
  readonly layers: number;
  readonly stages: number;
  /** Time of layers `from` to `to` (not included) on a stage, ms, at least 0; `Infinity` where they do not fit on it. More layers never take less. */
  readonly timeMs: (stage: number, from: number, to: number) => number;
  /** Stages that may have no layer. */
  readonly mayBeEmpty: (stage: number) => boolean;
}

/** A cut and what it comes to. */
export interface LayerCut {
  readonly stageLayers: readonly number[];
  readonly slowestMs: number;
  readonly totalMs: number;
}

/** Halvings of the interval in which a first bound on the slowest stage is looked for. */
const halvings = 20;

/**
 * The cut whose slowest stage is fastest, and of those the one with the least time in all, by two dynamic programs: `best[s][j] = min over i of max(best[s - 1][i], time(s, i, j))`, below the slowest stage
 * of the cut in which every stage takes as many layers as it can, and the same with sums of times up to the best of that. Exact; at most O(stages x layers^2) times, far fewer where the bound is near. Null
 * where every cut has a stage that does not fit.
 */
export function cutLayers(problem: CutProblem): LayerCut | null {
  const { stages } = problem;
  const fewest: readonly number[] = Array.from({ length: stages }, (_, stage) => (problem.mayBeEmpty(stage) ? 0 : 1));
  /** Layers that the stages after each one need at least. */
  const later = fewest.map((_, stage) => fewest.slice(stage + 1).reduce((sum, count) => sum + count, 0));
  const bounded = { ...problem, fewest, later };
  const greedyMs = greedySlowest(bounded);
  const slowestMs = bestCut(bounded, (ms) => ms < greedyMs, Math.max)?.value ?? greedyMs;
  const found = bestCut(
    bounded,
    (ms) => ms <= slowestMs && ms < Infinity,
    (sum, ms) => sum + ms,
  );
  return found === null ? null : { stageLayers: found.stageLayers, slowestMs, totalMs: found.value };
}

interface Bounded extends CutProblem {
  readonly fewest: readonly number[];
  readonly later: readonly number[];
}

/** The slowest stage of the best cut of those in which every stage takes as many layers as it can: an upper bound, met where layers are alike. `Infinity` for none. */
function greedySlowest(problem: Bounded): number {
  let least = slowestUnder(problem, (ms) => ms < Infinity) ?? Infinity;
  let below = 0;
  for (let halving = 0; halving < halvings && below < least && least < Infinity; halving++) {
    const limit = (below + least) / 2;
    const found = slowestUnder(problem, (ms) => ms <= limit);
    if (found === null) below = limit;
    else least = found;
  }
  return least;
}

/** The slowest stage's time where every stage takes as many layers as are allowed; null where that leaves some. */
function slowestUnder({ layers, stages, timeMs, fewest, later }: Bounded, isAllowed: (ms: number) => boolean): number | null {
  let from = 0;
  let slowest = 0;
  for (let stage = 0; stage < stages; stage++) {
    const most = layers - (later[stage] ?? 0);
    let to = from + (fewest[stage] ?? 0);
    if (to > most || !isAllowed(timeMs(stage, from, to))) return null;
    // Halving the layers in question: `to` is allowed, `beyond` is not.
    let beyond = most + 1;
    while (beyond - to > 1) {
      const middle = Math.floor((to + beyond) / 2);
      if (isAllowed(timeMs(stage, from, middle))) to = middle;
      else beyond = middle;
    }
    slowest = Math.max(slowest, timeMs(stage, from, to));
    from = to;
  }
  return from === layers ? slowest : null;
}

/** The cut with the least of its stages' times joined, all of them allowed. */
function bestCut(
  { layers, stages, timeMs, fewest, later }: Bounded,
  isAllowed: (ms: number) => boolean,
  join: (before: number, ms: number) => number,
): { readonly stageLayers: readonly number[]; readonly value: number } | null {
  const width = layers + 1;
  const startOf = new Int32Array(stages * width).fill(-1);
  let before = new Float64Array(width).fill(Infinity);
  before[0] = 0;
  for (let stage = 0; stage < stages; stage++) {
    const after = new Float64Array(width).fill(Infinity);
    const most = layers - (later[stage] ?? 0);
    for (let from = 0; from <= most; from++) {
      const begun = before[from] ?? Infinity;
      if (begun === Infinity) continue;
      for (let to = from + (fewest[stage] ?? 0); to <= most; to++) {
        const ms = timeMs(stage, from, to);
        if (!isAllowed(ms)) break;
        const value = join(begun, ms);
        if (value >= (after[to] ?? Infinity)) continue;
        after[to] = value;
        startOf[stage * width + to] = from;
      }
    }
    before = after;
  }
  const value = before[layers] ?? Infinity;
  if (value === Infinity) return null;
  const stageLayers: number[] = [];
  let end = layers;
  for (let stage = stages - 1; stage >= 0; stage--) {
    const start = startOf[stage * width + end] ?? 0;
    stageLayers.unshift(end - start);
    end = start;
  }
  return { stageLayers, value };
}
