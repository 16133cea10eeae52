import type { CancelSignal } from '../errors';

/**
 * A view on the slices that start at one unit, into columns that belong to whoever filled it: entries `offset` to `offset + length - 1`.
 * `to` holds where each slice ends; null: they end at the next units in turn.
 */
export interface SliceRow {
  /** What the slice adds to the sum, ms. `Infinity`: forbidden. */
  ms: Float64Array;
  /** What the slice adds to the slowest, ms; the same column as `ms` unless one cut is for chunks of several sizes. */
  peakMs: Float64Array;
  to: Uint32Array | null;
  offset: number;
  length: number;
}

/**
 * The cheapest suffix of the sequence from every unit: its sum in ms (`Infinity`: none), its number of slices, the end of its first slice
 * and that slice's peak.
 */
export interface SuffixCosts {
  readonly totals: Float64Array;
  readonly counts: Uint32Array;
  readonly next: Uint32Array;
  readonly peaks: Float64Array;
  /** Working memory: units with a suffix, descending. */
  readonly stops: Uint32Array;
}

/** Rows between two polls of the signal. */
export const rowsBetweenPolls = 128;

/** A lower bound on cuts under a limit: their sum, ms, and their number of slices; `Infinity`: there is no cut. */
export interface CutLowerBound {
  readonly totalMs: number;
  readonly slices: number;
}

/** Single slices of one kind of chunk. */
export interface SliceSpans {
  /** Time of the slice of `length` units from unit `start`, ms. */
  readonly ms: (start: number, length: number) => number;
  /** Units of the longest slice from unit `start` that takes at most `limitMs`, quickly from a guess that is close; 0: none does. */
  readonly longest: (start: number, limitMs: number, guess: number) => number;
}

/** All slices of one kind of chunk, row by row. */
export interface SliceRows {
  /** Sequences that such a chunk takes from the batch. */
  readonly sequences: number;
  /** Units in a sequence: slices lead from unit 0 to unit `units`. */
  readonly units: number;
  /** Shows the slices from unit `start` in `row`: at least all with a peak up to `limitMs`. Valid until the next call. */
  readonly read: (start: number, limitMs: number, row: SliceRow) => void;
  /**
   * A lower bound on any cut with no peak above `limitMs`, at once; above `enoughMs` it need not be close. Null where only the dynamic
   * program can know.
   */
  readonly lowerBound: ((limitMs: number, enoughMs?: number) => CutLowerBound) | null;
  /** Single slices, where they are at hand without reading rows. */
  readonly spans?: SliceSpans;
  /** The columns, where the slices are kept in some. */
  readonly graph: SliceGraph | null;
  /**
   * A faster way to do what `cheapestSuffixes` does, where there is one: only for cuts of at most `withinMs`. Returns the slices visited.
   */
  readonly suffixCosts?: (limitMs: number, withinMs: number, suffixCosts: SuffixCosts, signal: CancelSignal | undefined) => number;
}

/** A row to read into. */
export function emptyRow(): SliceRow {
  const nothing = new Float64Array(0);
  return { ms: nothing, peakMs: nothing, to: null, offset: 0, length: 0 };
}

/** Single slices of rows that have to be read for them. */
export function rowSpans(rows: SliceRows): SliceSpans {
  if (rows.spans !== undefined) return rows.spans;
  const row = emptyRow();
  const ms = (start: number, length: number): number => {
    rows.read(start, Infinity, row);
    return row.ms[row.offset + length - 1] ?? Infinity;
  };
  return {
    ms,
    longest: (start, limitMs) => {
      rows.read(start, limitMs, row);
      let { length } = row;
      while (length > 0 && !((row.ms[row.offset + length - 1] ?? Infinity) <= limitMs)) length--;
      return length;
    },
  };
}

/** A chunk of some sequences, and the units at which its slices end. */
interface SlicedChunk {
  readonly sequences: number;
  readonly ends: Uint32Array;
}

/** Times of all slices of some chunks in order, ms; `kinds` of 1, 2, ... sequences. */
export function chunkSliceTimes(kinds: readonly SliceRows[], chunks: readonly SlicedChunk[]): number[] {
  const row = emptyRow();
  return chunks.flatMap(({ sequences, ends }) => {
    const rows = kinds[sequences - 1];
    return Array.from(ends, (end, index) => {
      const start = index === 0 ? 0 : (ends[index - 1] ?? 0);
      rows?.read(start, Infinity, row);
      return row.ms[row.offset + end - start - 1] ?? Infinity;
    });
  });
}

/** Slices of one kind kept in columns: those from unit i at entries `rowStart[i]` to `rowStart[i + 1] - 1`. */
export interface SliceGraph {
  readonly rowStart: Uint32Array;
  readonly to: Uint32Array;
  readonly ms: Float64Array;
  readonly peakMs: Float64Array;
}

/** The slices of `graph` as rows. */
export function graphRows(sequences: number, graph: SliceGraph): SliceRows {
  const { rowStart, to, ms, peakMs } = graph;
  return {
    graph,
    sequences,
    units: rowStart.length - 1,
    lowerBound: null,
    read: (start, _limitMs, row) => {
      row.ms = ms;
      row.peakMs = peakMs;
      row.to = to;
      row.offset = rowStart[start] ?? 0;
      row.length = (rowStart[start + 1] ?? 0) - row.offset;
    },
  };
}
