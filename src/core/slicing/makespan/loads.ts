import { timesOfEnds, weightOf, type Work } from './cuts';
import { stagePaths } from './pass-graph';
import type { MakespanProblem } from './problem';
import type { Grids } from './relaxation';

/** For every number of slices the least work of the stage that has most with the sequence whole: no schedule ends sooner. By cells. */
export function leastLoads({ coarse, costs }: Grids, mostSlices: number, { graphOf }: MakespanProblem, work: Work): Float64Array {
  const loads = new Float64Array(mostSlices + 1);
  const graph = graphOf(1);
  const whole = timesOfEnds(costs, new Int32Array(0));
  const heaviest = (graph === null ? [] : stagePaths(graph)).toSorted((a, b) => weightOf(b, whole) - weightOf(a, whole))[0];
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
