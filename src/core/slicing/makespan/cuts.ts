import { longestPath, graphMakespan, stagePaths, type PassGraph } from './pass-graph';
import type { SliceTimes } from './slice-times';
import type { OpenSlices, Weights, Windows } from './layers';

/** Slices that end at units of the grid, and their times as a graph takes them. */
export interface TimedSlices {
  /** Units at which slices end, without the last. */
  readonly ends: Int32Array;
  readonly ms: Float64Array;
}

/** Work left, in steps; what spends it asks from time to time whether all is over. */
export interface Work {
  readonly spend: (steps: number) => void;
  readonly isOver: () => boolean;
}

/** Everything known of the cuts into one number of slices. Paths hold for all of them; cuts grow as they are met. */
export interface Count {
  readonly slices: number;
  readonly graph: PassGraph;
  readonly paths: Weights[];
  readonly cuts: TimedSlices[];
  /** Null before it is asked which slices are open. */
  open: OpenSlices | null;
}

/** What is known at first: the work of each stage that is not outdone. */
export function createCount(slices: number, graph: PassGraph): Count {
  return { slices, graph, paths: stagePaths(graph), cuts: [], open: null };
}

/** The times of the slices of a cut. */
export function timesOfEnds({ times, units, sliceMs }: SliceTimes, ends: Int32Array): Float64Array {
  const slices = ends.length + 1;
  const ms = new Float64Array(slices * times + 1);
  for (let slice = 0; slice < slices; slice++) {
    const start = slice === 0 ? 0 : (ends[slice - 1] ?? 0);
    const end = slice + 1 === slices ? units : (ends[slice] ?? units);
    for (let time = 0; time < times; time++) ms[slice * times + time] = sliceMs(time, start, end);
  }
  return ms;
}

/** Whether all slices of a cut are allowed. */
export function isAllowed({ units, allows }: SliceTimes, ends: Int32Array): boolean {
  for (let slice = 0; slice <= ends.length; slice++) {
    const start = slice === 0 ? 0 : (ends[slice - 1] ?? 0);
    const end = slice === ends.length ? units : (ends[slice] ?? units);
    if (end <= start || !allows(start, end)) return false;
  }
  return true;
}

/** The makespan with some times, and its longest path. */
export function timed(graph: PassGraph, ms: Float64Array, work: Work): { readonly makespanMs: number; readonly path: Weights } {
  work.spend(graph.previous.length);
  const makespanMs = graphMakespan(graph, ms);
  return { makespanMs, path: longestPath(graph, ms) };
}

/** What a path weighs. */
export function pathWeight(path: Weights, ms: Float64Array): number {
  let sum = 0;
  for (let index = 0; index < path.length; index++) sum += (path[index] ?? 0) * (ms[index] ?? 0);
  return sum;
}

/** Whether a cut keeps to windows. */
export function isWithin(ends: Int32Array, { low, high }: Windows): boolean {
  for (let index = 0; index < ends.length; index++) {
    const end = ends[index] ?? 0;
    if (end < (low[index] ?? 0) || end > (high[index] ?? 0)) return false;
  }
  return true;
}

/** The nearest ends that ascend within windows; null where there are none that near. */
export function ascending(ends: Int32Array, { low, high }: Windows): Int32Array | null {
  const made = ends.slice();
  for (let index = 0; index < made.length; index++)
    made[index] = Math.max(made[index] ?? 0, low[index] ?? 0, index === 0 ? 1 : (made[index - 1] ?? 0) + 1);
  for (let index = made.length - 1; index >= 0; index--) {
    const below = index + 1 === made.length ? Infinity : (made[index + 1] ?? 0) - 1;
    made[index] = Math.min(made[index] ?? 0, high[index] ?? 0, below);
  }
  for (let index = 0; index < made.length; index++)
    if ((made[index] ?? 0) < (low[index] ?? 0) || (index > 0 && (made[index] ?? 0) <= (made[index - 1] ?? 0))) return null;
  return made;
}
