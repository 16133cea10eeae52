import { partOf } from '../../../src/core/schedules/parts';
import { at, firstEndingAfter, rowsOf, shadeOfRow, type Operations } from '../../base/operations';

/**
 * Level of detail of one stage at one zoom: operations wide enough to be rectangles, and for all others how much of each pixel column
 * they cover. Bounded by the width in pixels, not by the number of operations.
 */
export interface Columns {
  /** Covered share of each pixel column by narrow operations, 0..1: forward, backward and weight backward. */
  readonly forward: Float32Array;
  readonly backward: Float32Array;
  readonly weight: Float32Array;
  /** Sum over the column of share times brightness level, to be divided by the covered share. */
  readonly shade: Float32Array;
  /** Rows that are at least `wideFromPx` wide; the first `wideCount` are valid. */
  wide: Uint32Array;
  wideCount: number;
}

/** From this width on an operation is drawn as a rectangle of its own. */
export const wideFromPx = 4;

/** How far the colour of a shade (0 to 3) goes towards the background, 0..1. */
export function shadeOf(shade: number): number {
  return [0, 0.3, 0.14, 0.42][shade] ?? 0;
}

/** Room for `width` pixel columns. */
export function makeColumns(width: number): Columns {
  return {
    forward: new Float32Array(width),
    backward: new Float32Array(width),
    weight: new Float32Array(width),
    shade: new Float32Array(width),
    wide: new Uint32Array(Math.ceil(width / wideFromPx) + 4),
    wideCount: 0,
  };
}

/**
 * Fills `columns` with what stage `stage` does from `startMs` on at `msPerPx`. Many operations inside one pixel are summed with the prefix
 * sums of
 * `operations` and skipped by a galloping search.
 */
export function fillColumns(operations: Operations, stage: number, startMs: number, msPerPx: number, columns: Columns): void {
  const { timeline, beforeMs } = operations;
  const { startMs: starts, endMs: ends } = timeline;
  const width = columns.forward.length;
  columns.forward.fill(0);
  columns.backward.fill(0);
  columns.weight.fill(0);
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
    const level = (levelOf(operations, row) + levelOf(operations, next - 1)) / 2;
    add(columns.forward, columns, pixel, (at(beforeMs[0], next) - at(beforeMs[0], row)) / msPerPx, level);
    add(columns.backward, columns, pixel, (at(beforeMs[1], next) - at(beforeMs[1], row)) / msPerPx, level);
    add(columns.weight, columns, pixel, (at(beforeMs[2], next) - at(beforeMs[2], row)) / msPerPx, level);
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
function spread(operations: Operations, row: number, startMs: number, msPerPx: number, columns: Columns): void {
  const { timeline } = operations;
  const from = (at(timeline.startMs, row) - startMs) / msPerPx;
  const until = (at(timeline.endMs, row) - startMs) / msPerPx;
  const covered = [columns.forward, columns.backward, columns.weight][partOf(timeline.kind[row])] ?? columns.forward;
  const level = levelOf(operations, row);
  const last = Math.min(columns.forward.length - 1, Math.ceil(until) - 1);
  for (let pixel = Math.max(0, Math.floor(from)); pixel <= last; pixel++) {
    const share = Math.min(until, pixel + 1) - Math.max(from, pixel);
    if (share > 0) add(covered, columns, pixel, share, level);
  }
}

function levelOf(operations: Operations, row: number): number {
  return shadeOf(shadeOfRow(operations, row));
}

function add(covered: Float32Array, { shade }: Columns, pixel: number, share: number, level: number): void {
  covered[pixel] = at(covered, pixel) + share;
  shade[pixel] = at(shade, pixel) + share * level;
}

function addWide(columns: Columns, row: number): void {
  if (columns.wideCount === columns.wide.length) {
    const longer = new Uint32Array(columns.wide.length * 2);
    longer.set(columns.wide);
    columns.wide = longer;
  }
  columns.wide[columns.wideCount++] = row;
}
