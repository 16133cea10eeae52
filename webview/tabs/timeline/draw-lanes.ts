import { part as parts, partOf, type Part } from '../../../src/core/schedules/parts';
import { css } from '../../base/color';
import type { Theme } from '../../base/theme';
import { evenColumns, fillColumns, makeColumns, type Columns } from './columns';
import { at, shadeOfRow, type Operations } from '../../base/operations';
import { unitName } from './labels';
import { paintsOf, type Paints } from './paint';
import { gapFromPx, visibleRows, type Extent, type Viewport } from '../../base/viewport';

/** Where lanes are drawn on a canvas whose unit is one device pixel. */
export interface LaneArea {
  readonly context: CanvasRenderingContext2D;
  /** Device px per CSS px. */
  readonly scale: number;
  /** Left and top edge of the lanes, device px. */
  readonly left: number;
  readonly top: number;
  /** Of the lanes alone, CSS px. */
  readonly extent: Extent;
  /** Names inside operations that have room for them. */
  readonly names: boolean;
}

/** Buffers that one pane keeps from frame to frame. */
export interface LaneBuffers {
  columns: Columns | null;
  strip: HTMLCanvasElement;
  image: ImageData | null;
  /** The same image, a number a pixel. */
  pixels: Uint32Array;
}

/** Empty buffers. */
export function makeLaneBuffers(): LaneBuffers {
  return { columns: null, strip: document.createElement('canvas'), image: null, pixels: new Uint32Array() };
}

/**
 * Draws the visible rows. Operations go pixel by pixel into one image, a line per row, that is stretched over the rows; names come on top.
 * In high contrast wide ones and runs of narrow ones
 * are outlined instead. The work is bounded by pixels times rows, whatever the number of operations.
 */
export function drawLanes(area: LaneArea, operations: Operations, viewport: Viewport, theme: Theme, buffers: LaneBuffers): void {
  const { context, scale, left, top, extent } = area;
  const width = Math.max(1, Math.round(extent.widthPx * scale));
  const { first, end: lastSeen } = visibleRows(viewport, extent);
  const end = Math.min(lastSeen, operations.stages);
  if (end <= first) return;
  if (buffers.columns?.forward.length !== width) buffers.columns = makeColumns(width);
  const columns = buffers.columns;
  const paints = paintsOf(theme, context);
  const image = stripImage(buffers, width, end - first);
  const msPerPx = (viewport.endMs - viewport.startMs) / width;
  const rows: RowBox[] = [];
  context.save();
  context.beginPath();
  context.rect(left, top, width, Math.round(extent.heightPx * scale));
  context.clip();
  for (let stage = first; stage < end; stage++) {
    const box = rowBox(viewport, stage, area);
    rows.push(box);
    if (!theme.highContrast) {
      context.fillStyle = css(theme.track);
      context.fillRect(left, box.top, width, box.height);
    }
  }
  const named: { readonly box: RowBox; readonly wide: Uint32Array }[] = [];
  const window = { operations, startMs: viewport.startMs, msPerPx, hairlinePx: Math.max(1, Math.round(scale / 2)), scale };
  rows.forEach((box, index) => {
    fillColumns(operations, first + index, viewport.startMs, msPerPx, columns);
    evenColumns(columns);
    const hasNames = area.names && box.height >= 13 * scale;
    if (theme.highContrast) drawOutlinedRuns(context, columns, left, box, paints);
    else {
      paintStrip(buffers.pixels.subarray(index * width, (index + 1) * width), columns, paints);
      paintWide(buffers.pixels.subarray(index * width, (index + 1) * width), window, columns, paints);
    }
    if (theme.highContrast || hasNames) named.push({ box, wide: columns.wide.slice(0, columns.wideCount) });
  });
  if (!theme.highContrast) stretchStrip(context, buffers, image, rows, left, width);
  for (const { box, wide } of named) drawWide(area, operations, viewport, theme, paints, box, wide, msPerPx);
  context.restore();
}

interface RowBox {
  readonly top: number;
  readonly height: number;
}

/** Device px box of a row; rows of at least 7 px leave a gap of one. */
export function rowBox(viewport: Viewport, row: number, { scale, top }: Pick<LaneArea, 'scale' | 'top'>): RowBox {
  const from = top + Math.round((row * viewport.rowPx - viewport.scrollPx) * scale);
  const until = top + Math.round(((row + 1) * viewport.rowPx - viewport.scrollPx) * scale);
  const gap = viewport.rowPx >= gapFromPx ? Math.max(1, Math.round(scale)) : 0;
  return { top: from, height: Math.max(1, until - from - gap) };
}

function stripImage(buffers: LaneBuffers, width: number, height: number): ImageData {
  if (buffers.image?.width !== width || buffers.image.height < height) {
    buffers.image = new ImageData(width, height);
    buffers.pixels = new Uint32Array(buffers.image.data.buffer);
    buffers.strip.width = width;
    buffers.strip.height = height;
  }
  return buffers.image;
}

function paintStrip(line: Uint32Array, columns: Columns, paints: Paints): void {
  for (let pixel = 0; pixel < line.length; pixel++) {
    const forward = at(columns.forward, pixel);
    const backward = at(columns.backward, pixel);
    const weight = at(columns.weight, pixel);
    const covered = forward + backward + weight;
    line[pixel] = covered > 0 ? paints.blend(forward, backward, weight, at(columns.shade, pixel) / covered) : 0;
  }
}

interface Window {
  readonly operations: Operations;
  readonly startMs: number;
  readonly msPerPx: number;
  readonly hairlinePx: number;
  readonly scale: number;
}

/** Wide operations over a line of the strip, a hairline at the end of each. */
function paintWide(
  line: Uint32Array,
  { operations, startMs, msPerPx, hairlinePx, scale }: Window,
  { wide, wideCount }: Columns,
  paints: Paints,
): void {
  const { timeline } = operations;
  for (let index = 0; index < wideCount; index++) {
    const row = at(wide, index);
    const from = Math.round((at(timeline.startMs, row) - startMs) / msPerPx);
    const until = Math.max(from + 1, Math.round((at(timeline.endMs, row) - startMs) / msPerPx));
    const part = partOf(timeline.kind[row]);
    const shade = shadeOfRow(operations, row);
    line.fill(paints.pixel(part, shade), Math.max(0, from), Math.max(0, until - hairlinePx));
    line.fill(paints.hairline(part, shade, (until - from) / scale), Math.max(0, until - hairlinePx), Math.max(0, until));
  }
}

function stretchStrip(
  context: CanvasRenderingContext2D,
  { strip }: LaneBuffers,
  image: ImageData,
  rows: readonly RowBox[],
  left: number,
  width: number,
): void {
  const pen = strip.getContext('2d');
  if (pen === null) return;
  pen.putImageData(image, 0, 0, 0, 0, width, rows.length);
  context.imageSmoothingEnabled = false;
  rows.forEach((box, line) => context.drawImage(strip, 0, line, width, 1, left, box.top, width, box.height));
}

/** High contrast has no fills: runs of covered columns become outlined boxes, both kinds of backward hatched. */
function drawOutlinedRuns(context: CanvasRenderingContext2D, columns: Columns, left: number, box: RowBox, paints: Paints): void {
  const partAt = (pixel: number): Part | null => {
    const [forward, backward, weight] = [at(columns.forward, pixel), at(columns.backward, pixel), at(columns.weight, pixel)];
    if (forward + backward + weight < 0.5) return null;
    if (weight > Math.max(forward, backward)) return parts.weight;
    return forward >= backward ? parts.forward : parts.backward;
  };
  const width = columns.forward.length;
  for (let from = 0; from < width;) {
    const part = partAt(from);
    let until = from + 1;
    while (until < width && partAt(until) === part) until++;
    if (part !== null) outline(context, left + from, box, until - from, part, paints);
    from = until;
  }
}

function outline(context: CanvasRenderingContext2D, x: number, box: RowBox, width: number, part: Part, paints: Paints): void {
  const hatch = paints.hatch(part);
  if (hatch !== null) {
    context.fillStyle = hatch;
    context.fillRect(x, box.top, width, box.height);
  }
  context.fillStyle = paints.line(part);
  context.fillRect(x, box.top, width, 1);
  context.fillRect(x, box.top + box.height - 1, width, 1);
  context.fillRect(x, box.top, 1, box.height);
  if (width > 1) context.fillRect(x + width - 1, box.top, 1, box.height);
}

/** Names of wide operations; in high contrast the operations themselves, too. */
function drawWide(
  area: LaneArea,
  operations: Operations,
  viewport: Viewport,
  theme: Theme,
  paints: Paints,
  box: RowBox,
  wide: Uint32Array,
  msPerPx: number,
): void {
  const { context, scale, left } = area;
  const { timeline } = operations;
  const right = left + Math.round(area.extent.widthPx * scale);
  const hasText = area.names && box.height >= 13 * scale;
  context.font = `${Math.round(11 * scale)}px ${theme.fontFamily}`;
  context.textBaseline = 'middle';
  context.textAlign = 'center';
  for (const row of wide) {
    const x0 = Math.max(left - 1, left + Math.round((at(timeline.startMs, row) - viewport.startMs) / msPerPx));
    const x1 = Math.min(right + 1, left + Math.round((at(timeline.endMs, row) - viewport.startMs) / msPerPx));
    const unit = timeline.units[at(timeline.unit, row)];
    const part = partOf(timeline.kind[row]);
    const width = Math.max(1, x1 - x0);
    if (theme.highContrast) outline(context, x0, box, Math.max(1, width - 1), part, paints);
    if (!hasText || width < 30 * scale || unit === undefined) continue;
    const text = unitName(operations, unit, at(timeline.chunk, row), width >= 170 * scale);
    if (text.length * 6.6 * scale > width) continue;
    const middle = Math.round(box.top + box.height / 2 + scale * 0.5);
    if (theme.highContrast && part !== parts.forward) {
      const textWidth = context.measureText(text).width + 6 * scale;
      context.fillStyle = css(theme.background);
      context.fillRect((x0 + x1 - textWidth) / 2, box.top + 1, textWidth, box.height - 2);
    }
    context.fillStyle = theme.highContrast ? css(theme.foreground) : paints.text(part, shadeOfRow(operations, row));
    context.fillText(text, (x0 + x1) / 2, middle);
  }
}
