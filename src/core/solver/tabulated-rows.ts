import { throwIfCancelled, type CancelSignal } from '../errors';
import { checkedMs, unitCount, type SlicingProblem } from './problem';
import type { SliceRow, SliceRows } from './slice-rows';

/** Slice times that are kept; beyond, costs without structure are asked anew each time: 128 MB. */
const keptTimes = 2 ** 24;

/** Number of slice times of a problem without structure: batch sizes x pairs of unit boundaries. */
export function sliceTimeCount(problem: Pick<SlicingProblem, 'batch' | 'tokens' | 'unit' | 'maximumBatchSlice'>): number {
  const units = unitCount(problem);
  return Math.min(problem.batch, problem.maximumBatchSlice ?? problem.batch) * ((units * (units + 1)) / 2);
}

/**
 * Slices of chunks of `sequences` sequences of a cost of which nothing is known: every time is asked for once and kept, where there are not too many.
 * @throws RangeError when a time is negative or NaN (a bug of the cost function), CancelledError.
 */
export function tabulatedRows(problem: SlicingProblem, sequences: number, signal: CancelSignal | undefined): SliceRows {
  const units = unitCount(problem);
  if (sliceTimeCount(problem) > keptTimes) return askedRows(problem, sequences, units);
  const times = new Float64Array((units * (units + 1)) / 2);
  const rowStart = new Uint32Array(units + 1);
  for (let start = 0; start < units; start++) {
    throwIfCancelled(signal);
    const from = rowStart[start] ?? 0;
    askRow(problem, sequences, units, start, times.subarray(from, from + units - start));
    rowStart[start + 1] = from + units - start;
  }
  return {
    sequences,
    units,
    floor: null,
    graph: null,
    read: (start, _limitMs, row) => {
      row.ms = times;
      row.peakMs = times;
      row.to = null;
      row.offset = rowStart[start] ?? 0;
      row.length = units - start;
    },
  };
}

function askedRows(problem: SlicingProblem, sequences: number, units: number): SliceRows {
  const buffer = new Float64Array(units);
  return {
    sequences,
    units,
    floor: null,
    graph: null,
    read: (start: number, _limitMs: number, row: SliceRow) => {
      askRow(problem, sequences, units, start, buffer);
      row.ms = buffer;
      row.peakMs = buffer;
      row.to = null;
      row.offset = 0;
      row.length = units - start;
    },
  };
}

function askRow(problem: SlicingProblem, sequences: number, units: number, start: number, times: Float64Array): void {
  const { tokens, unit, cost, minimumTokens = 1 } = problem;
  const context = start * unit;
  for (let index = 0; index < units - start; index++) {
    const length = Math.min(tokens, context + (index + 1) * unit) - context;
    times[index] = length < minimumTokens ? Infinity : checkedMs(cost, sequences, length, context);
  }
}
