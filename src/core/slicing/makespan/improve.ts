import { isAllowed, timed, timesOfEnds, pathWeight, type Count, type TimedSlices, type Work } from './cuts';
import { longestPath, graphMakespan } from './pass-graph';
import type { SliceTimes } from './slice-times';

/**
 * Moves ends of slices, one or all from one on, from long steps to single units, as long as the makespan falls. A move is timed only where
 * the longest path, which is still a path after it, gets shorter.
 * @param fits whether a cut may be taken.
 */
export function improve(
  { graph }: Pick<Count, 'graph'>,
  costs: SliceTimes,
  from: { readonly cut: TimedSlices; readonly makespanMs: number },
  fits: (ends: Int32Array) => boolean,
  work: Work,
): { readonly cut: TimedSlices; readonly makespanMs: number } {
  const { units } = costs;
  const slices = from.cut.ends.length + 1;
  let best = from;
  let { path } = timed(graph, best.cut.ms, work);
  const attempt = (ends: Int32Array): boolean => {
    if (!isAllowed(costs, ends)) return false;
    const ms = timesOfEnds(costs, ends);
    work.spend(ms.length);
    if (pathWeight(path, ms) >= best.makespanMs * (1 - 1e-12)) return false;
    work.spend(graph.previous.length);
    const makespanMs = graphMakespan(graph, ms);
    if (makespanMs >= best.makespanMs * (1 - 1e-12) || !fits(ends)) return false;
    best = { cut: { ends, ms }, makespanMs };
    path = longestPath(graph, ms);
    return true;
  };
  let step = 1;
  while (step * 4 * slices < units) step *= 2;
  for (; step >= 1; step = step >> 1) {
    for (let moved = true; moved && !work.isOver();) {
      moved = false;
      for (let index = 0; index < slices - 1; index++)
        for (const by of [step, -step])
          for (const all of [false, true]) {
            if (all && index === slices - 2) continue;
            const ends = best.cut.ends.map((end, at) => (at === index || (all && at > index) ? end + by : end));
            if (attempt(ends)) moved = true;
          }
    }
  }
  return best;
}
