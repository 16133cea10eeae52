import { throwIfCancelled, type CancelSignal } from '../../errors';
import type { MakespanProblem } from './problem';

/** All times of all slices between boundaries of units: `base + slope (start - first)` for a length in a piece of the context. */
export interface SliceTimes {
  readonly units: number;
  readonly times: number;
  /** A slice shorter than the least that is asked for is none. */
  readonly allows: (start: number, end: number) => boolean;
  /** Of a slice from one unit to another, ms. */
  readonly sliceMs: (time: number, start: number, end: number) => number;
  /** For every end of a range after `start`: `factor` times a time, added to `out[end - offset]`. */
  readonly addRow: (time: number, factor: number, start: number, range: Range, out: Float64Array, offset: number) => void;
  /** Slices asked for. */
  readonly asked: number;
}

/** From one unit to another, both ends included. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

interface Piece {
  readonly first: number;
  /** By time, then length. */
  readonly base: readonly Float64Array[];
  /** Null where the piece has one start. */
  readonly slope: readonly Float64Array[] | null;
}

/** Relative deviation from a straight line that passes for rounding when a declared structure is checked. */
const straight = 1e-9;
const callsBetweenPolls = 1024;

/**
 * Asks for the times of a problem's slices: of all, or of three in each piece for every length where they are affine in the context.
 * @throws RangeError when a time is none or off its line; CancelledError.
 */
export function sampleSliceTimes(problem: MakespanProblem, signal: CancelSignal | undefined): SliceTimes {
  const { tokens, unit, times, minimumTokens = 1 } = problem;
  const units = Math.ceil(tokens / unit);
  const asker = createAsker(problem, signal);
  const pieces = readPieces(problem, units, asker);
  const pieceIndex = new Int32Array(units);
  pieces.forEach(({ first }, index) => pieceIndex.fill(index, first));
  const ends = asker.columns(units);
  for (let start = 0; start < units; start++) asker.ask(tokens - start * unit, start * unit, ends, start);
  const sliceMs = (time: number, start: number, end: number): number => {
    if (end === units) return ends[time]?.[start] ?? Infinity;
    const piece = pieces[pieceIndex[start] ?? 0];
    const base = piece?.base[time]?.[end - start] ?? Infinity;
    return piece === undefined || piece.slope === null ? base : base + (piece.slope[time]?.[end - start] ?? 0) * (start - piece.first);
  };
  return {
    units,
    times,
    allows: (start, end) => Math.min(tokens, end * unit) - start * unit >= minimumTokens,
    sliceMs,
    addRow: (time, factor, start, { from, to }, out, offset) => {
      const piece = pieces[pieceIndex[start] ?? 0];
      const base = piece?.base[time];
      if (piece === undefined || base === undefined) return;
      const slope = piece.slope?.[time] ?? null;
      const distance = start - piece.first;
      const last = Math.min(to, units - 1);
      const first = Math.max(from, start + 1);
      if (slope === null)
        for (let end = first; end <= last; end++) out[end - offset] = (out[end - offset] ?? 0) + factor * (base[end - start] ?? 0);
      else
        for (let end = first; end <= last; end++)
          out[end - offset] = (out[end - offset] ?? 0) + factor * ((base[end - start] ?? 0) + (slope[end - start] ?? 0) * distance);
      if (to === units) out[units - offset] = (out[units - offset] ?? 0) + factor * (ends[time]?.[start] ?? 0);
    },
    asked: asker.asked(),
  };
}

interface Asker {
  readonly columns: (length: number) => Float64Array[];
  /** Writes the times of a slice to the entry `at` of each column. */
  readonly ask: (tokens: number, context: number, columns: readonly Float64Array[], at: number) => void;
  readonly asked: () => number;
}

function createAsker({ times, writeTimes }: MakespanProblem, signal: CancelSignal | undefined): Asker {
  const out = new Float64Array(times);
  let asked = 0;
  return {
    columns: (length) => Array.from({ length: times }, () => new Float64Array(length)),
    ask: (tokens, context, columns, at) => {
      if (++asked % callsBetweenPolls === 0) throwIfCancelled(signal);
      writeTimes(tokens, context, out);
      for (let time = 0; time < times; time++) {
        const ms = out[time] ?? NaN;
        if (!(ms >= 0 && ms < Infinity)) throw new RangeError(`time ${time} of a slice of ${tokens} tokens after ${context} is ${ms}`);
        const column = columns[time];
        if (column !== undefined) column[at] = ms;
      }
    },
    asked: () => asked,
  };
}

function readPieces({ tokens, unit, contextKinks }: MakespanProblem, units: number, asker: Asker): Piece[] {
  const whole = Math.floor(tokens / unit);
  const bounds = [...new Set((contextKinks ?? []).filter((kink) => kink > 0 && kink < tokens))].sort((a, b) => a - b);
  const isLess = contextKinks !== undefined && 3 * (bounds.length + 1) < units / 2;
  const lasts = isLess ? [...bounds.map((kink) => Math.min(units - 1, Math.floor(kink / unit))), units - 1] : null;
  const pieces: Piece[] = [];
  for (let first = 0; first < units;) {
    const last = lasts === null ? first : (lasts.find((each) => each >= first) ?? units - 1);
    pieces.push(readPiece(first, last, unit, whole, asker));
    first = last + 1;
  }
  return pieces;
}

function readPiece(first: number, last: number, unit: number, whole: number, asker: Asker): Piece {
  const longest = Math.max(0, whole - first);
  const base = asker.columns(longest + 1);
  const slope = last > first ? asker.columns(longest + 1) : null;
  const far = asker.columns(1);
  const middle = asker.columns(1);
  for (let length = 1; length <= longest; length++) {
    asker.ask(length * unit, first * unit, base, length);
    const farthest = Math.min(last, whole - length);
    if (slope === null || farthest <= first) continue;
    asker.ask(length * unit, farthest * unit, far, 0);
    const between = (first + farthest) >> 1;
    asker.ask(length * unit, between * unit, middle, 0);
    slope.forEach((column, time) => {
      const near = base[time]?.[length] ?? 0;
      const end = far[time]?.[0] ?? 0;
      const rise = (end - near) / (farthest - first);
      column[length] = rise;
      if (Math.abs((middle[time]?.[0] ?? 0) - near - rise * (between - first)) > straight * Math.max(near, end))
        throw new RangeError(
          `time ${time} of ${length * unit} tokens is not affine in the context from ${first * unit} to ${farthest * unit}`,
        );
    });
  }
  return { first, base, slope };
}
