import { throwIfCancelled, type CancelSignal } from '../errors';
import { unitCount, type SlicingProblem } from './problem';

/**
 * Every slice time of a problem. `columns[b - 1]` holds batch size b: the slice from unit `start` to unit `end` lies at `end * (end - 1) / 2 + start`, so that
 * all slices with one end are neighbours. Forbidden slices are `Infinity`.
 */
export interface SliceTimes {
  readonly batch: number;
  readonly units: number;
  /** Token position of every unit boundary, units + 1 entries. */
  readonly positions: Uint32Array;
  readonly columns: readonly Float64Array[];
}

/** Where the slices ending at unit `end` begin in a column. */
export function rowOf(end: number): number {
  return (end * (end - 1)) / 2;
}

/** Number of slice times a problem has: batch sizes x pairs of unit boundaries. Tells the memory (8 bytes each) and the work of one threshold beforehand. */
export function sliceTimeCount(problem: Pick<SlicingProblem, 'batch' | 'tokens' | 'unit' | 'maximumBatchSlice'>): number {
  return Math.min(problem.batch, problem.maximumBatchSlice ?? problem.batch) * rowOf(unitCount(problem) + 1);
}

/**
 * Calls the cost of every slice once.
 * @throws RangeError when a time is negative or NaN (a bug of the cost function), CancelledError.
 */
export function tabulate(problem: SlicingProblem, signal: CancelSignal | undefined, onProgress: (fraction: number) => void): SliceTimes {
  const { batch, tokens, unit, cost, minimumTokens = 1 } = problem;
  const units = unitCount(problem);
  const positions = Uint32Array.from({ length: units + 1 }, (_, index) => Math.min(index * unit, tokens));
  const largest = Math.min(batch, problem.maximumBatchSlice ?? batch);
  const columns: Float64Array[] = [];
  for (let size = 1; size <= largest; size++) {
    const column = new Float64Array(rowOf(units + 1));
    for (let end = 1, index = 0; end <= units; end++) {
      throwIfCancelled(signal);
      const stop = positions[end] ?? 0;
      for (let start = 0; start < end; start++, index++) {
        const context = positions[start] ?? 0;
        const length = stop - context;
        const ms = length < minimumTokens ? Infinity : cost(size, length, context);
        if (!(ms >= 0)) throw new RangeError(`slice time of batch ${size}, ${length} tokens after ${context} is ${ms}`);
        column[index] = ms;
      }
    }
    columns.push(column);
    onProgress(size / largest);
  }
  return { batch, units, positions, columns };
}
