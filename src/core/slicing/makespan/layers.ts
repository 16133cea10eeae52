import type { Range, SliceTimes } from './slice-times';

/**
 * Slices from places of one boundary to places of the next, as a program over layers needs them. A place is a unit, or a cell of several
 * units for which what it costs is bounded from below.
 */
export interface Layers {
  /** Places of each boundary, from the start of the sequence (one) to its end (one). */
  readonly places: readonly Range[];
  /** What a boundary at a place costs by itself. */
  readonly ofPlace: (boundary: number, place: number) => number;
  /**
   * Writes what slice `slice` costs from a place of its start to places of its end, entry `end - places[slice + 1].from`, and to `reached`
   * the first and the last that it may end at.
   */
  readonly fillRow: (slice: number, from: number, out: Float64Array) => void;
  readonly reached: Int32Array;
  /** In addition to all that. */
  readonly constant: number;
  /** The unit to take for a place. */
  readonly chooseUnit: (boundary: number, place: number) => number;
  /** The units of a place. */
  readonly placeUnits: (place: number) => Range;
}

/** A cheapest way through layers. */
interface Way {
  /** Of it, or a lower bound where places are cells; `Infinity` where there is none. */
  readonly ms: number;
  /** A unit for each boundary between slices. */
  readonly ends: Int32Array;
}

/** Windows for the boundaries between slices: those from `low` to `high`, in units. */
export interface Windows {
  readonly low: Int32Array;
  readonly high: Int32Array;
}

/** The windows of all cuts into this many slices. */
export function allWindows(slices: number, units: number): Windows {
  return {
    low: Int32Array.from({ length: slices - 1 }, (_, index) => index + 1),
    high: Int32Array.from({ length: slices - 1 }, (_, index) => units - slices + index + 1),
  };
}

/** Weights of slices' times: entry `slice * times + time`, none negative. */
export type Weights = Float64Array;

/** Where slices may end that start at some unit, in units; `from` above `to`: nowhere. */
type Arcs = (slice: number, start: number) => Range;

/** Units themselves. Exact. */
export function unitLayers(costs: SliceTimes, weights: Weights, windows: Windows, arcs: Arcs): Layers {
  const places = placeRanges(windows, costs.units, (unit) => unit);
  const reached = new Int32Array(2);
  return {
    places,
    reached,
    ofPlace: () => 0,
    constant: 0,
    chooseUnit: (_, place) => place,
    placeUnits: (place) => ({ from: place, to: place }),
    fillRow: (slice, start, out) => {
      const { from, to } = places[slice + 1] ?? { from: 0, to: -1 };
      const arc = arcs(slice, start);
      const first = Math.max(from, start + 1, arc.from);
      const last = Math.min(to, arc.to);
      reached[0] = first;
      reached[1] = last;
      if (last < first) return;
      out.fill(0, first - from, last - from + 1);
      for (let time = 0; time < costs.times; time++) {
        const weight = weights[slice * costs.times + time] ?? 0;
        if (weight > 0) costs.addRow(time, weight, start, { from: first, to: last }, out, from);
      }
      for (let end = first; end <= last && !costs.allows(start, end); end++) out[end - from] = Infinity;
      if (!costs.allows(start, last)) out[last - from] = Infinity;
    },
  };
}

/**
 * Cells of units. Every time t(s, e) has a price G with which t(s, e) = G(e) - G(s) + r(s, e), where r hardly changes from unit to unit: of
 * it the least over two cells is kept. Prices are paid by boundary, exactly (docs/model/slicing.md, Cells).
 */
export interface Cells {
  readonly costs: SliceTimes;
  readonly size: number;
  readonly count: number;
  /** G of each time at each unit. */
  readonly prices: readonly Float64Array[];
  /** Least r of each time from cell to cell. */
  readonly least: readonly Float64Array[];
}

/** Cells of `size` units; the start and the end of the sequence are cells of their own. @param typical length of a slice, units. */
export function toCells(costs: SliceTimes, size: number, typical: number): Cells {
  const { units, times } = costs;
  const count = 2 + Math.ceil((units - 1) / size);
  const prices = Array.from({ length: times }, (_, time) => unitPrices(costs, time, typical));
  const least = prices.map((price, time) => {
    const column = new Float64Array(count * count).fill(Infinity);
    const row = new Float64Array(units + 1);
    for (let start = 0; start < units; start++) {
      const from = unitCell(start, size, units, count);
      row.fill(0, start);
      costs.addRow(time, 1, start, { from: 0, to: units }, row, 0);
      let shortest = start + 1;
      while (shortest < units && !costs.allows(start, shortest)) shortest++;
      const own = price[start] ?? 0;
      for (let cell = from; cell < count; cell++) {
        const { from: first, to } = cellUnits(cell, size, units, count);
        // The last slice may be shorter than others where a unit is broken.
        const last = to === units && !costs.allows(start, units) ? units - 1 : to;
        let best = Infinity;
        for (let end = Math.max(first, shortest); end <= last; end++) {
          const rest = (row[end] ?? 0) - (price[end] ?? 0);
          if (rest < best) best = rest;
        }
        if (best + own < (column[from * count + cell] ?? Infinity)) column[from * count + cell] = best + own;
      }
    }
    return column;
  });
  return { costs, size, count, prices, least };
}

/** The same with cells that hold `times` of those. */
export function widerCells({ costs, size, count: fineCount, prices, least: fineLeast }: Cells, times: number): Cells {
  if (times === 1) return { costs, size, count: fineCount, prices, least: fineLeast };
  const { units } = costs;
  const wide = times * size;
  const count = 2 + Math.ceil((units - 1) / wide);
  const cell = Int32Array.from({ length: fineCount }, (_, index) =>
    unitCell(cellUnits(index, size, units, fineCount).from, wide, units, count),
  );
  const least = fineLeast.map((fine) => {
    const column = new Float64Array(count * count).fill(Infinity);
    for (let from = 0; from < fineCount; from++)
      for (let to = from; to < fineCount; to++) {
        const at = (cell[from] ?? 0) * count + (cell[to] ?? 0);
        column[at] = Math.min(column[at] ?? Infinity, fine[from * fineCount + to] ?? Infinity);
      }
    return column;
  });
  return { costs, size: wide, count, prices, least };
}

/** The integral of what a unit more at the end of a slice of typical length takes. */
function unitPrices({ units, sliceMs }: SliceTimes, time: number, typical: number): Float64Array {
  const price = new Float64Array(units + 1);
  const reach = Math.max(1, typical >> 2);
  for (let end = 1; end <= units; end++) {
    const start = Math.max(0, end - Math.max(1, typical));
    const below = Math.max(start + 1, end - reach);
    const above = Math.min(units, Math.max(below + 1, end + reach));
    const rise = above > below ? (sliceMs(time, start, above) - sliceMs(time, start, below)) / (above - below) : 0;
    price[end] = (price[end - 1] ?? 0) + rise;
  }
  return price;
}

function unitCell(unit: number, size: number, units: number, count: number): number {
  return unit === 0 ? 0 : unit === units ? count - 1 : 1 + Math.floor((unit - 1) / size);
}

/** Layers of cells, of windows that hold them or cut them. */
export function cellLayers({ costs, size, count, prices, least }: Cells, weights: Weights, windows: Windows, arcs: Arcs): Layers {
  const { units, times } = costs;
  const slices = windows.low.length + 1;
  const places = placeRanges(windows, units, (unit) => unitCell(unit, size, units, count));
  const placeUnits = (cell: number): Range => cellUnits(cell, size, units, count);
  const reached = new Int32Array(2);
  const best = new Int32Array((slices + 1) * count);
  const cost = new Float64Array((slices + 1) * count);
  best[slices * count + count - 1] = units;
  const own = new Float64Array(units + 1);
  for (let boundary = 1; boundary < slices; boundary++) {
    const [from, to] = [windows.low[boundary - 1] ?? 0, windows.high[boundary - 1] ?? 0];
    own.fill(0, from, to + 1);
    for (let time = 0; time < times; time++) {
      const weight = (weights[(boundary - 1) * times + time] ?? 0) - (weights[boundary * times + time] ?? 0);
      const price = prices[time];
      if (weight === 0 || price === undefined) continue;
      for (let unit = from; unit <= to; unit++) own[unit] = (own[unit] ?? 0) + weight * (price[unit] ?? 0);
    }
    const { from: first, to: last } = places[boundary] ?? { from: 0, to: -1 };
    for (let cell = first; cell <= last; cell++) {
      const range = placeUnits(cell);
      let at = Math.max(from, range.from);
      for (let unit = at + 1; unit <= Math.min(to, range.to); unit++) if ((own[unit] ?? 0) < (own[at] ?? 0)) at = unit;
      best[boundary * count + cell] = at;
      cost[boundary * count + cell] = own[at] ?? 0;
    }
  }
  let constant = 0;
  for (let time = 0; time < times; time++) constant += (weights[(slices - 1) * times + time] ?? 0) * (prices[time]?.[units] ?? 0);
  return {
    places,
    constant,
    ofPlace: (boundary, place) => cost[boundary * count + place] ?? 0,
    chooseUnit: (boundary, place) => best[boundary * count + place] ?? 0,
    placeUnits,
    fillRow: (slice, start, out) => {
      const { from, to } = places[slice + 1] ?? { from: 0, to: -1 };
      const arc = arcs(slice, placeUnits(start).from);
      const first = Math.max(from, start, unitCell(Math.max(0, arc.from), size, units, count));
      const last = Math.min(to, arc.to < 0 ? -1 : unitCell(arc.to, size, units, count));
      reached[0] = first;
      reached[1] = last;
      if (last < first) return;
      out.fill(0, first - from, last - from + 1);
      const offset = start * count;
      let any = least[0];
      for (let time = 0; time < times; time++) {
        const weight = weights[slice * times + time] ?? 0;
        const column = least[time];
        if (!(weight > 0) || column === undefined) continue;
        any = undefined;
        for (let cell = first; cell <= last; cell++) out[cell - from] = (out[cell - from] ?? 0) + weight * (column[offset + cell] ?? 0);
      }
      if (any !== undefined) for (let cell = first; cell <= last; cell++) if (any[offset + cell] === Infinity) out[cell - from] = Infinity;
    },
    reached,
  };
}

function cellUnits(cell: number, size: number, units: number, count: number): Range {
  if (cell === 0) return { from: 0, to: 0 };
  if (cell === count - 1) return { from: units, to: units };
  return { from: 1 + (cell - 1) * size, to: Math.min(units - 1, cell * size) };
}

function placeRanges({ low, high }: Windows, units: number, toPlace: (unit: number) => number): Range[] {
  const inner = Array.from(low, (from, index) => ({ from: toPlace(from), to: toPlace(high[index] ?? from) }));
  return [{ from: toPlace(0), to: toPlace(0) }, ...inner, { from: toPlace(units), to: toPlace(units) }];
}

/** The cheapest way, and what `tightened` needs. */
interface Program {
  readonly way: Way;
  readonly reached: readonly Float64Array[];
}

function program(layers: Layers): Program {
  const { places, ofPlace, fillRow, constant, chooseUnit, reached: ends } = layers;
  const reached = places.map(({ from, to }) => new Float64Array(Math.max(0, to - from + 1)).fill(Infinity));
  const parents = places.map(({ from, to }) => new Int32Array(Math.max(0, to - from + 1)).fill(-1));
  const widest = places.reduce((most, { from, to }) => Math.max(most, to - from + 1), 1);
  const row = new Float64Array(widest);
  const [first] = reached;
  if (first !== undefined) first[0] = 0;
  for (let slice = 0; slice + 1 < places.length; slice++) {
    const here = reached[slice];
    const there = reached[slice + 1];
    const parent = parents[slice + 1];
    const from = places[slice]?.from ?? 0;
    const next = places[slice + 1]?.from ?? 0;
    if (here === undefined || there === undefined || parent === undefined) continue;
    for (let index = 0; index < here.length; index++) {
      const ms = here[index] ?? Infinity;
      if (ms === Infinity) continue;
      fillRow(slice, from + index, row);
      const [first = 0, last = -1] = ends;
      for (let end = first - next; end <= last - next; end++) {
        const total = ms + (row[end] ?? Infinity);
        if (total < (there[end] ?? Infinity)) {
          there[end] = total;
          parent[end] = index;
        }
      }
    }
    for (let end = 0; end < there.length; end++) there[end] = (there[end] ?? Infinity) + ofPlace(slice + 1, next + end);
  }
  const slices = places.length - 1;
  const way = new Int32Array(slices - 1);
  let at = 0;
  for (let boundary = slices; boundary > 1; boundary--) {
    at = parents[boundary]?.[at] ?? -1;
    if (at < 0) return { way: { ms: Infinity, ends: way }, reached };
    way[boundary - 2] = chooseUnit(boundary - 1, (places[boundary - 1]?.from ?? 0) + at);
  }
  return { way: { ms: constant + (reached[slices]?.[0] ?? Infinity), ends: way }, reached };
}

/** The cheapest way through layers. O(sum of places times places of the next boundary). */
export function cheapestWay(layers: Layers): Way {
  return program(layers).way;
}

/** What every way through each place of each boundary costs at least: in addition to `reached`, what is left after it. */
function remaining(
  layers: Layers,
  reached: readonly Float64Array[],
  onArc?: (slice: number, from: number, to: number, ms: number) => void,
): Float64Array[] {
  const { places, fillRow, ofPlace, constant, reached: ends } = layers;
  const rest = places.map(({ from, to }) => new Float64Array(Math.max(0, to - from + 1)).fill(Infinity));
  const row = new Float64Array(places.reduce((most, { from, to }) => Math.max(most, to - from + 1), 1));
  const last = places.length - 1;
  rest[last]?.fill(0);
  for (let boundary = last - 1; boundary >= 0; boundary--) {
    const { from } = places[boundary] ?? { from: 0 };
    const next = places[boundary + 1]?.from ?? 0;
    const [own, after, before] = [rest[boundary], rest[boundary + 1], reached[boundary]];
    if (own === undefined || after === undefined || before === undefined) continue;
    for (let index = 0; index < own.length; index++) {
      if (before[index] === Infinity) continue;
      fillRow(boundary, from + index, row);
      const [first = 0, stop = -1] = ends;
      let least = Infinity;
      for (let end = first; end <= stop; end++) {
        const ms =
          (row[end - next] ?? Infinity) + (boundary + 1 === last ? 0 : ofPlace(boundary + 1, end)) + (after[end - next] ?? Infinity);
        if (ms < least) least = ms;
        onArc?.(boundary, from + index, end, (before[index] ?? Infinity) + ms + constant);
      }
      own[index] = least;
    }
  }
  return rest;
}

/** The windows without the places at their ends through which no way costs less than `limitMs`; null where there is none at all. */
export function tightened(
  layers: Layers,
  { low, high }: Windows,
  limitMs: number,
): { readonly way: Way; readonly windows: Windows | null } {
  const { places, constant, placeUnits } = layers;
  const { way, reached } = program(layers);
  if (!(way.ms < limitMs)) return { way, windows: null };
  const [newLow, newHigh] = [low.slice(), high.slice()];
  const rest = remaining(layers, reached);
  for (let boundary = 1; boundary < places.length - 1; boundary++) {
    const { from, to } = places[boundary] ?? { from: 0, to: -1 };
    const open = (index: number): boolean =>
      (reached[boundary]?.[index] ?? Infinity) + (rest[boundary]?.[index] ?? Infinity) + constant < limitMs;
    let [left, right] = [0, to - from];
    while (left < right && !open(left)) left++;
    while (right > left && !open(right)) right--;
    newLow[boundary - 1] = Math.max(low[boundary - 1] ?? 0, placeUnits(from + left).from);
    newHigh[boundary - 1] = Math.min(high[boundary - 1] ?? 0, placeUnits(from + right).to);
  }
  return { way, windows: { low: newLow, high: newHigh } };
}

/** Slices by number, cell of the start and cell of the end, that some cut faster than what is known may have. */
export interface OpenSlices {
  readonly cells: Cells;
  /** First and last cell of the end: entry `2 * (slice * cells.count + start)`. */
  readonly ends: Int32Array;
}

/** All slices of cuts into this many. */
export function allSlices(cells: Cells, slices: number): OpenSlices {
  const ends = new Int32Array(2 * slices * cells.count);
  for (let at = 0; at < ends.length; at += 2) {
    ends[at] = (at / 2) % cells.count;
    ends[at + 1] = cells.count - 1;
  }
  return { cells, ends };
}

/** Where open slices may end. */
export function openArcs({ cells: { size, count, costs }, ends }: OpenSlices): Arcs {
  const { units } = costs;
  return (slice, start) => {
    const at = 2 * (slice * count + unitCell(start, size, units, count));
    const [from, to] = [ends[at] ?? 0, ends[at + 1] ?? -1];
    return to < from ? { from: 0, to: -1 } : { from: cellUnits(from, size, units, count).from, to: cellUnits(to, size, units, count).to };
  };
}

/** Closes slices, from either end of where they may end, with which no way costs less than `limitMs`. */
export function closeSlices({ cells, ends }: OpenSlices, layers: Layers, limitMs: number): void {
  const { count } = cells;
  const narrowed = new Int32Array(ends.length);
  for (let at = 0; at < narrowed.length; at += 2) {
    narrowed[at] = count;
    narrowed[at + 1] = -1;
  }
  remaining(layers, program(layers).reached, (slice, from, to, ms) => {
    if (!(ms < limitMs)) return;
    const at = 2 * (slice * count + from);
    narrowed[at] = Math.min(narrowed[at] ?? count, to);
    narrowed[at + 1] = Math.max(narrowed[at + 1] ?? -1, to);
  });
  ends.set(narrowed);
}
