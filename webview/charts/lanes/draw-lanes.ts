import { part as parts, operationPart, type Part } from '../../../src/core/schedules/parts';
import { css } from '../../base/color';
import type { Theme } from '../../base/theme';
import { evenColumns, fillColumns, fillMeanColumns, makeColumns, type Columns } from './columns';
import { at, shadeOfRow, type Operations } from '../../base/operations';
import { unitName } from './labels';
import { themePaints, type Paints } from './paint';
import { plainRows, type LaneRow, type RowList } from './rows';
import { gapFromPx, pinnedRows, rowTop, visibleRows, type Extent, type Viewport } from '../../base/viewport';
import { setLabelFont } from '../plot';

/** Where lanes are drawn on a canvas whose unit is one device pixel. */
export interface LaneArea {
  readonly context: CanvasRenderingContext2D;
  /** Device px per CSS px. */
  readonly scale: number;
  /** Left and top edge of the lanes, device px. */
  readonly left: number;
  readonly top: number;
  /** Of the lanes only, CSS px. */
  readonly extent: Extent;
  /** What the rows are; left out: a stage each, in their order. */
  readonly list?: RowList;
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
 * A row of a node shows how much of each pixel its stages are busy with what. In high contrast wide ones and runs of narrow ones are
 * outlined instead. The work is bounded by pixels times rows, whatever the number of operations.
 */
export function drawLanes(area: LaneArea, operations: Operations, viewport: Viewport, theme: Theme, buffers: LaneBuffers): void {
  const { context, scale, left, top, extent } = area;
  const width = Math.max(1, Math.round(extent.widthPx * scale));
  const seen = seenRows(viewport, area, operations.stages);
  if (seen.length === 0) return;
  if (buffers.columns?.forward.length !== width) buffers.columns = makeColumns(width);
  const columns = buffers.columns;
  const paints = themePaints(theme, context);
  const image = stripImage(buffers, width, seen.length);
  const msPerPx = (viewport.endMs - viewport.startMs) / width;
  const rows = seen.map(({ box }) => box);
  context.save();
  context.beginPath();
  context.rect(left, top, width, Math.round(extent.heightPx * scale));
  context.clip();
  for (const box of rows) {
    if (theme.highContrast) continue;
    context.fillStyle = css(theme.track);
    context.fillRect(left, box.top, width, box.height);
  }
  const named: { readonly box: RowBox; readonly wide: Uint32Array }[] = [];
  const window = { operations, startMs: viewport.startMs, msPerPx, hairlinePx: Math.max(1, Math.round(scale / 2)), scale };
  seen.forEach(({ box, row }, index) => {
    if (row.collapsed) fillMeanColumns(operations, row.stages, viewport.startMs, msPerPx, columns);
    else fillColumns(operations, row.stages[0] ?? 0, viewport.startMs, msPerPx, columns);
    evenColumns(columns);
    const hasNames = area.names && box.height >= 13 * scale;
    if (theme.highContrast) drawOutlinedRuns(context, columns, left, box, paints, row.collapsed);
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

export interface RowBox {
  readonly top: number;
  readonly height: number;
}

/**
 * Device px box of a row; rows of at least 7 px leave a gap of one. Behind pinned rows there is nothing of it: 0 high, at their lower edge.
 */
export function rowBox(viewport: Viewport, row: number, { scale, top, extent }: Pick<LaneArea, 'scale' | 'top' | 'extent'>): RowBox {
  const fromPx = rowTop(viewport, row, extent);
  const from = top + Math.round(fromPx * scale);
  const until = top + Math.round((fromPx + viewport.rowPx) * scale);
  const gap = viewport.rowPx >= gapFromPx ? Math.max(1, Math.round(scale)) : 0;
  const pinned = pinnedRows(viewport, extent);
  const edge = row < pinned ? from : Math.max(from, top + Math.round(pinned * viewport.rowPx * scale));
  if (edge > from && edge >= until - gap) return { top: edge, height: 0 };
  return { top: edge, height: Math.max(1, until - edge - gap) };
}

/** The box of the row in which a stage is. */
export function stageBox(viewport: Viewport, stage: number, area: LaneArea): RowBox {
  return rowBox(viewport, area.list?.laneRow(stage) ?? stage, area);
}

/** A row that can be seen: its place from the top, what it is of, and its box. */
interface SeenRow {
  readonly index: number;
  readonly row: LaneRow;
  readonly box: RowBox;
}

/** The rows that can be seen, from the top. */
export function seenRows(viewport: Viewport, area: LaneArea, stages: number): readonly SeenRow[] {
  const { rows } = area.list ?? plainRows(stages);
  return visibleRows(viewport, area.extent).flatMap((index) => {
    const row = rows[index];
    const box = rowBox(viewport, index, area);
    return row === undefined || box.height === 0 ? [] : [{ index, row, box }];
  });
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
    const part = operationPart(timeline.kind[row]);
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

/**
 * High contrast has no fills: runs of covered columns become outlined boxes, both kinds of backward hatched. Those of a node (`mean`) are
 * as high as the share of it that is busy, in quarters.
 */
function drawOutlinedRuns(
  context: CanvasRenderingContext2D,
  columns: Columns,
  left: number,
  box: RowBox,
  paints: Paints,
  mean: boolean,
): void {
  const partAt = (pixel: number): Part => {
    const [forward, backward, weight] = [at(columns.forward, pixel), at(columns.backward, pixel), at(columns.weight, pixel)];
    if (weight > Math.max(forward, backward)) return parts.weight;
    return forward >= backward ? parts.forward : parts.backward;
  };
  const quartersAt = (pixel: number): number => {
    const covered = at(columns.forward, pixel) + at(columns.backward, pixel) + at(columns.weight, pixel);
    return mean ? Math.round(4 * Math.min(1, covered)) : covered < 0.5 ? 0 : 4;
  };
  const width = columns.forward.length;
  for (let from = 0; from < width;) {
    const [part, quarters] = [partAt(from), quartersAt(from)];
    let until = from + 1;
    while (until < width && quartersAt(until) === quarters && (quarters === 0 || partAt(until) === part)) until++;
    const height = Math.max(1, Math.round((box.height * quarters) / 4));
    if (quarters > 0) outline(context, left + from, { top: box.top + box.height - height, height }, until - from, part, paints);
    from = until;
  }
}

function outline(context: CanvasRenderingContext2D, x: number, box: RowBox, width: number, part: Part, paints: Paints): void {
  const hatch = paints.hatch(part);
  // Lines above and below would fill a row of up to 3 px: there only the sides are drawn, and what is hatched stays so.
  const isThin = box.height < 4;
  if (hatch !== null) {
    context.fillStyle = hatch;
    context.fillRect(x, box.top, width, box.height);
  }
  context.fillStyle = paints.line(part);
  if (!isThin || hatch === null) {
    context.fillRect(x, box.top, width, 1);
    context.fillRect(x, box.top + box.height - 1, width, 1);
  }
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
  setLabelFont(context, theme, scale);
  context.textAlign = 'center';
  for (const row of wide) {
    const x0 = Math.max(left - 1, left + Math.round((at(timeline.startMs, row) - viewport.startMs) / msPerPx));
    const x1 = Math.min(right + 1, left + Math.round((at(timeline.endMs, row) - viewport.startMs) / msPerPx));
    const unit = timeline.units[at(timeline.unit, row)];
    const part = operationPart(timeline.kind[row]);
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
