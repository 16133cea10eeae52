/** Layers in a row to be dealt to stages in a row. */
export interface CutProblem {
  readonly layers: number;
  readonly stages: number;
  /** Time of layers `from` to `to` (not included) on a stage, ms, at least 0; `Infinity` where they do not fit on it. */
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

/**
 * The cut whose slowest stage is fastest, and of those the one with the least time in all: `best[s][j] = min over i of max(best[s - 1][i], time(s, i, j))`, then the same with sums of times that stay
 * under that. Exact; O(stages x layers^2) times. Null where every cut has a stage that does not fit.
 */
export function cutLayers(problem: CutProblem): LayerCut | null {
  const bottleneck = bestCut(problem, Infinity, Math.max);
  if (bottleneck === null) return null;
  const slowestMs = bottleneck.value;
  const { stageLayers, value } = bestCut(problem, slowestMs, (sum, ms) => sum + ms) ?? bottleneck;
  return { stageLayers, slowestMs, totalMs: value };
}

/** The cut with the least of its stages' times joined, none of them above `mostMs`. */
function bestCut(
  { layers, stages, timeMs, mayBeEmpty }: CutProblem,
  mostMs: number,
  join: (before: number, ms: number) => number,
): { readonly stageLayers: readonly number[]; readonly value: number } | null {
  const width = layers + 1;
  const fewest: number[] = Array.from({ length: stages }, (_, stage) => (mayBeEmpty(stage) ? 0 : 1));
  /** Layers that the stages after this one need at least. */
  const later = fewest.map((_, stage) => fewest.slice(stage + 1).reduce((sum, count) => sum + count, 0));
  const startOf = new Int32Array(stages * width).fill(-1);
  let before = new Float64Array(width).fill(Infinity);
  before[0] = 0;
  for (let stage = 0; stage < stages; stage++) {
    const after = new Float64Array(width).fill(Infinity);
    const lastStart = layers - (fewest[stage] ?? 0) - (later[stage] ?? 0);
    for (let from = 0; from <= lastStart; from++) {
      const begun = before[from] ?? Infinity;
      if (begun === Infinity) continue;
      for (let to = from + (fewest[stage] ?? 0); to <= layers - (later[stage] ?? 0); to++) {
        const ms = timeMs(stage, from, to);
        if (ms > mostMs || ms === Infinity) continue;
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
