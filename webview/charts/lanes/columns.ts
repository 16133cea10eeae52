import { operationPart } from '../../../src/core/schedules/parts';
import { at, firstEndingAfter, stageRows, shadeOfRow, type Operations } from '../../base/operations';

/**
 * Level of detail of one stage at one zoom: operations wide enough to be rectangles, and for all others how much of each pixel column they
 * cover. Bounded by the width in pixels, not by the number of operations.
 */
export interface Columns {
  /** Covered share of each pixel column by narrow operations, 0..1: forward, backward and weight backward. */
  readonly forward: Float32Array;
  readonly backward: Float32Array;
  readonly weight: Float32Array;
  /** Sum over the column of share times brightness level, to be divided by the covered share. */
  readonly shade: Float32Array;
  /** Narrow operations that begin in each pixel column, an operation over several columns by its shares. */
  readonly density: Float32Array;
  /** Room for sums over density, forward, backward, weight backward and shade. */
  readonly sums: readonly [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
  /** Rows that are at least `wideFromPx` wide; the first `wideCount` are valid. */
  wide: Uint32Array;
  wideCount: number;
}

/** From this width on an operation is drawn as a rectangle of its own. */
export const wideFromPx = 4;

/** How far the colour of a shade (0 to 3) goes towards the background, 0..1. */
export function shadeFraction(shade: number): number {
  return [0, 0.3, 0.14, 0.42][shade] ?? 0;
}

/** Room for `width` pixel columns. */
export function makeColumns(width: number): Columns {
  const sum = (): Float64Array => new Float64Array(width + 1);
  return {
    forward: new Float32Array(width),
    backward: new Float32Array(width),
    weight: new Float32Array(width),
    shade: new Float32Array(width),
    density: new Float32Array(width),
    sums: [sum(), sum(), sum(), sum(), sum()],
    wide: new Uint32Array(Math.ceil(width / wideFromPx) + 4),
    wideCount: 0,
  };
}

/**
 * Fills `columns` with what stage `stage` does from `startMs` on at `msPerPx`. Many operations inside one pixel are summed with the prefix
 * sums of `operations` and skipped by a galloping search.
 */
export function fillColumns(operations: Operations, stage: number, startMs: number, msPerPx: number, columns: Columns): void {
  clearColumns(columns);
  addStage(operations, stage, { startMs, msPerPx, wideMs: wideFromPx * msPerPx }, columns);
}

/** As `fillColumns`, of several stages together: each column has their mean, and none is wide. `stages` is not empty. */
export function fillMeanColumns(
  operations: Operations,
  stages: readonly number[],
  startMs: number,
  msPerPx: number,
  columns: Columns,
): void {
  clearColumns(columns);
  for (const stage of stages) addStage(operations, stage, { startMs, msPerPx, wideMs: Infinity }, columns);
  for (const column of [columns.forward, columns.backward, columns.weight, columns.shade, columns.density])
    for (let pixel = 0; pixel < column.length; pixel++) column[pixel] = at(column, pixel) / stages.length;
}

function clearColumns(columns: Columns): void {
  for (const column of [columns.forward, columns.backward, columns.weight, columns.shade, columns.density]) column.fill(0);
  columns.wideCount = 0;
}

/** The times of the columns, and from which length on an operation is not a part of them. */
interface ColumnTimes {
  readonly startMs: number;
  readonly msPerPx: number;
  readonly wideMs: number;
}

function addStage(operations: Operations, stage: number, { startMs, msPerPx, wideMs }: ColumnTimes, columns: Columns): void {
  const { timeline, beforeMs } = operations;
  const { startMs: starts, endMs: ends } = timeline;
  const width = columns.forward.length;
  const { first, end } = stageRows(operations, stage);
  const viewEndMs = startMs + width * msPerPx;
  let row = firstEndingAfter(operations, first, end, startMs);
  while (row < end && at(starts, row) < viewEndMs) {
    const lengthMs = at(ends, row) - at(starts, row);
    if (lengthMs >= wideMs) {
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
    const level = (rowShade(operations, row) + rowShade(operations, next - 1)) / 2;
    add(columns.forward, columns, pixel, (at(beforeMs[0], next) - at(beforeMs[0], row)) / msPerPx, level);
    add(columns.backward, columns, pixel, (at(beforeMs[1], next) - at(beforeMs[1], row)) / msPerPx, level);
    add(columns.weight, columns, pixel, (at(beforeMs[2], next) - at(beforeMs[2], row)) / msPerPx, level);
    columns.density[pixel] = at(columns.density, pixel) + next - row;
    row = next;
  }
}

/** Columns on either side over which the colours of operations below a pixel are averaged. */
const evenedPx = 6;

/**
 * Gives columns that hold more operations than can be distinguished the mean colour around them, so that their shares do not beat with the
 * pixels. How much of each column is covered stays. Two pixels an operation are left as they are, one and less are averaged in full.
 */
export function evenColumns({ forward, backward, weight, shade, density, sums }: Columns): void {
  const width = forward.length;
  const [dense, forwards, backwards, weights, shades] = sums;
  sumUp(density, dense);
  if (at(dense, width) === 0) return;
  sumUp(forward, forwards);
  sumUp(backward, backwards);
  sumUp(weight, weights);
  sumUp(shade, shades);
  for (let pixel = 0; pixel < width; pixel++) {
    const covered = at(forward, pixel) + at(backward, pixel) + at(weight, pixel);
    const from = Math.max(0, pixel - evenedPx);
    const until = Math.min(width, pixel + evenedPx + 1);
    const share = Math.min(1, (2 * (at(dense, until) - at(dense, from))) / (until - from) - 1);
    if (share <= 0 || covered === 0) continue;
    const ofForward = at(forwards, until) - at(forwards, from);
    const ofBackward = at(backwards, until) - at(backwards, from);
    const ofWeight = at(weights, until) - at(weights, from);
    const scale = (share * covered) / (ofForward + ofBackward + ofWeight);
    forward[pixel] = at(forward, pixel) * (1 - share) + scale * ofForward;
    backward[pixel] = at(backward, pixel) * (1 - share) + scale * ofBackward;
    weight[pixel] = at(weight, pixel) * (1 - share) + scale * ofWeight;
    shade[pixel] = at(shade, pixel) * (1 - share) + scale * (at(shades, until) - at(shades, from));
  }
}

/** Sums of all elements before each, and of all. */
function sumUp(column: Float32Array, sums: Float64Array): void {
  for (let index = 0; index < column.length; index++) sums[index + 1] = at(sums, index) + at(column, index);
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
  const covered = [columns.forward, columns.backward, columns.weight][operationPart(timeline.kind[row])] ?? columns.forward;
  const level = rowShade(operations, row);
  const last = Math.min(columns.forward.length - 1, Math.ceil(until) - 1);
  for (let pixel = Math.max(0, Math.floor(from)); pixel <= last; pixel++) {
    const share = Math.min(until, pixel + 1) - Math.max(from, pixel);
    if (share <= 0) continue;
    add(covered, columns, pixel, share, level);
    columns.density[pixel] = at(columns.density, pixel) + share / (until - from);
  }
}

function rowShade(operations: Operations, row: number): number {
  return shadeFraction(shadeOfRow(operations, row));
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
