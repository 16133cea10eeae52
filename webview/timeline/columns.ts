import { operationKind } from '../../src/core/schedule/schedule';
import { at, firstEndingAfter, rowsOf, type Operations } from './operations';

/**
 * Level of detail of one stage at one zoom: operations wide enough to be rectangles, and for all others how much of each pixel column
 * they cover. Bounded by the width in pixels, not by the number of operations.
 */
export interface Columns {
  /** Covered share of each pixel column by forward and backward of narrow operations, 0..1. */
  readonly forward: Float32Array;
  readonly backward: Float32Array;
  /** Sum over the column of share times brightness level, to be divided by the covered share. */
  readonly shade: Float32Array;
  /** Rows that are at least `wideFromPx` wide; the first `wideCount` are valid. */
  wide: Uint32Array;
  wideCount: number;
}

/** From this width on an operation is drawn as a rectangle of its own. */
export const wideFromPx = 4;

/** Brightness levels that micro-batches go through. */
const shadeLevels = 4;

/** How far the colour of a micro-batch goes towards the background, 0..1: neighbours differ, the pattern repeats every four. */
export function shadeOf(microBatch: number): number {
  return [0, 0.3, 0.14, 0.42][microBatch % shadeLevels] ?? 0;
}

/** Room for `width` pixel columns. */
export function makeColumns(width: number): Columns {
  return {
    forward: new Float32Array(width),
    backward: new Float32Array(width),
    shade: new Float32Array(width),
    wide: new Uint32Array(Math.ceil(width / wideFromPx) + 4),
    wideCount: 0,
  };
}

/**
 * Fills `columns` with what stage `stage` does from `startMs` on at `msPerPx`. Many operations inside one pixel are summed with the prefix sums of
 * `operations` and skipped by a galloping search.
 */
export function fillColumns(operations: Operations, stage: number, startMs: number, msPerPx: number, columns: Columns): void {
  const { timeline, forwardBeforeMs, backwardBeforeMs } = operations;
  const { startMs: starts, endMs: ends } = timeline;
  const width = columns.forward.length;
  columns.forward.fill(0);
  columns.backward.fill(0);
  columns.shade.fill(0);
  columns.wideCount = 0;
  const { first, end } = rowsOf(operations, stage);
  const viewEndMs = startMs + width * msPerPx;
  let row = firstEndingAfter(operations, first, end, startMs);
  while (row < end && at(starts, row) < viewEndMs) {
    const lengthMs = at(ends, row) - at(starts, row);
    if (lengthMs >= wideFromPx * msPerPx) {
      addWide(columns, row++);
      continue;
    }
    const pixel = Math.max(0, Math.floor((at(starts, row) - startMs) / msPerPx));
    const pixelEndMs = startMs + (pixel + 1) * msPerPx;
    if (at(starts, row) < startMs || at(ends, row) > pixelEndMs || pixel >= width) {
      spread(operations, row++, startMs, msPerPx, columns);
      continue;
    }
    const next = firstEndingAfterFrom(ends, row, end, pixelEndMs);
    const forwardMs = at(forwardBeforeMs, next) - at(forwardBeforeMs, row);
    const backwardMs = at(backwardBeforeMs, next) - at(backwardBeforeMs, row);
    const level = (levelOf(operations, row) + levelOf(operations, next - 1)) / 2;
    add(columns, pixel, forwardMs / msPerPx, backwardMs / msPerPx, level);
    row = next;
  }
}

/** First row of [row, end) that ends after `ms`, by doubling steps: cheap when it is near. */
function firstEndingAfterFrom(ends: Float64Array, row: number, end: number, ms: number): number {
  let step = 1;
  let low = row + 1;
  while (low + step < end && at(ends, low + step - 1) <= ms) {
    low += step;
    step *= 2;
  }
  let high = Math.min(end, low + step);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (at(ends, middle) > ms) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Adds one narrow operation to the few pixel columns it crosses. */
function spread({ timeline }: Operations, row: number, startMs: number, msPerPx: number, columns: Columns): void {
  const from = (at(timeline.startMs, row) - startMs) / msPerPx;
  const until = (at(timeline.endMs, row) - startMs) / msPerPx;
  const isForward = at(timeline.kind, row) === operationKind.forward;
  const level = shadeOf(timeline.units[at(timeline.unit, row)]?.microBatch ?? 0);
  const last = Math.min(columns.forward.length - 1, Math.ceil(until) - 1);
  for (let pixel = Math.max(0, Math.floor(from)); pixel <= last; pixel++) {
    const share = Math.min(until, pixel + 1) - Math.max(from, pixel);
    if (share > 0) add(columns, pixel, isForward ? share : 0, isForward ? 0 : share, level);
  }
}

function levelOf({ timeline }: Operations, row: number): number {
  return shadeOf(timeline.units[at(timeline.unit, row)]?.microBatch ?? 0);
}

function add(columns: Columns, pixel: number, forward: number, backward: number, level: number): void {
  columns.forward[pixel] = at(columns.forward, pixel) + forward;
  columns.backward[pixel] = at(columns.backward, pixel) + backward;
  columns.shade[pixel] = at(columns.shade, pixel) + (forward + backward) * level;
}

function addWide(columns: Columns, row: number): void {
  if (columns.wideCount === columns.wide.length) {
    const longer = new Uint32Array(columns.wide.length * 2);
    longer.set(columns.wide);
    columns.wide = longer;
  }
  columns.wide[columns.wideCount++] = row;
}
