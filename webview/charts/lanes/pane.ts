import { css, withAlpha } from '../../base/color';
import { h } from '../../base/dom';
import { makeSurface, type Surface } from '../../base/surface';
import { onThemeChange, theme } from '../../base/theme';
import { t } from '../../base/strings';
import type { Selection } from '../../base/view-state';
import { drawAxis, drawCriticalPath, drawGutters, drawGutterTitles, drawMark, gutterPx, gutters } from './draw-frame';
import type { Tail, TailPart } from '../../../src/core/planner/explain/tail';
import { drawCopies } from './draw-copies';
import { drawTail } from './draw-tail';
import { drawFlows } from './flows';
import { drawLanes, makeLaneBuffers, rowBox, stageBox, type LaneArea } from './draw-lanes';
import { plainRows, type LaneRow, type RowList } from './rows';
import { idleShares, operationAt, type Operation, type Operations } from '../../base/operations';
import { formatTime } from '../ticks';
import { setLabelFont } from '../plot';
import { makeTooltip } from '../tooltip';
import { maximumFittedRowPx, timeAt, xAt, type Extent, type Viewport } from '../../base/viewport';

/** What the mouse points at in a pane. */
export interface Pointer {
  readonly x: number;
  readonly y: number;
  /** What the row is of; null outside of the rows. */
  readonly row: LaneRow | null;
  /** Null also in the row of a node. */
  readonly stage: number | null;
  readonly operation: Operation | null;
}

/** Props of a pane. */
export interface PaneProps {
  readonly operations: () => Operations | null;
  /** What is painted of the operations, where that is not all. */
  readonly painted?: () => Operations | null;
  /** What follows the operations; left out: nothing. */
  readonly tail?: () => Tail | null;
  readonly hiddenTail?: () => ReadonlySet<TailPart['kind']>;
  /** Duration of the longer timeline where two are compared, so that both have one time scale. */
  readonly durationMs: () => number;
  /** Rows to leave room for, where another pane has more; else as many as there are stages. */
  readonly rows?: () => number;
  /** What the rows are; left out: a stage each, in their order. */
  readonly list?: () => RowList;
  readonly viewport: (extent: Extent) => Viewport;
  /** A pass to point out; null for none. */
  readonly mark?: () => Operation | null;
  readonly selection: () => Selection | null;
  /** Stage whose memory is shown; marked at its label. */
  readonly stage: () => number | null;
  readonly criticalPath: () => Uint32Array | null;
  readonly tooltip: (pointer: Pointer, extent: Extent) => readonly (string | null)[];
  /** Hears which time is pointed at, ms, and the stage of the row there; null: none. */
  readonly onTime?: (ms: number | null, stage: number | null) => void;
  /** Hears what is pointed at. */
  readonly onPoint?: (pointer: Pointer | null) => void;
  /** Hears when rows were drawn, each time that they may lie elsewhere. */
  readonly onDrawn?: () => void;
}

/** Rows of stages with a time axis above, and an overlay for what is pointed at and picked. */
export interface Pane {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  /** The height beyond which rows would not get any higher, CSS px. */
  readonly highestPx: () => number;
  readonly extent: () => Extent;
  readonly list: () => RowList;
  /** Where the lanes begin, CSS px from the left. */
  readonly leftPx: () => number;
  readonly redraw: () => void;
  readonly redrawOverlay: () => void;
  readonly point: (pointer: Pointer | null) => void;
}

/** Points at a time of a pane in no row, ms; null at nothing. */
export function pointAtTime(pane: Pane, viewport: Viewport, ms: number | null): void {
  const x = ms === null ? null : pane.leftPx() + xAt(viewport, ms, pane.extent());
  pane.point(x === null ? null : { x, y: 0, row: null, stage: null, operation: null });
}

/** Makes a pane with a caption (the candidate's name; empty for none). */
export function makePane(props: PaneProps): Pane & { readonly setCaption: (text: string) => void } {
  const buffers = makeLaneBuffers();
  let pointer: Pointer | null = null;
  let idle: { readonly of: Operations; readonly shares: Float64Array } | null = null;
  const tooltip = makeTooltip();
  const caption = h('div', { class: 'pane-caption' });
  const list = (): RowList => props.list?.() ?? plainRows(props.operations()?.stages ?? 0);
  const rowsNow = (): number => props.rows?.() ?? list().rows.length;
  const leftPx = (): number => gutterPx(list());
  const currentExtent = (surface: Surface): Extent => ({
    durationMs: props.durationMs(),
    rows: rowsNow(),
    pinned: list().pinned,
    widthPx: Math.max(1, surface.width() - leftPx() - gutters.rightPx),
    heightPx: Math.max(1, surface.height() - gutters.axisPx - gutters.bottomPx),
  });
  const laneArea = (surface: Surface): LaneArea => ({
    context: surface.context,
    scale: surface.scale(),
    left: Math.round(leftPx() * surface.scale()),
    top: Math.round(gutters.axisPx * surface.scale()),
    extent: currentExtent(surface),
    list: list(),
    names: true,
  });
  const base = makeSurface('lanes', (surface) => {
    const operations = props.operations();
    if (operations === null) return;
    const area = laneArea(surface);
    const viewport = props.viewport(area.extent);
    const colors = theme();
    if (idle?.of !== operations) idle = { of: operations, shares: idleShares(operations) };
    const rowsEnd =
      area.top +
      Math.round(Math.max(0, Math.min(area.extent.heightPx, list().rows.length * viewport.rowPx - viewport.scrollPx)) * area.scale);
    drawAxis(area, viewport, colors, rowsEnd, operations.ofFile);
    drawGutterTitles(area, colors, operations.ofFile ? t('Rank') : t('Stage'), t('Idle'));
    drawLanes(area, props.painted?.() ?? operations, viewport, colors, buffers);
    drawCopies(area, props.painted?.() ?? operations, viewport, colors);
    const tail = props.tail?.() ?? null;
    if (tail !== null) drawTail(area, tail, viewport, colors, props.hiddenTail?.() ?? new Set());
    drawGutters(area, viewport, colors, idle.shares, props.stage());
    const mark = props.mark?.() ?? null;
    if (mark !== null) drawMark(area, viewport, colors, mark);
    const path = props.criticalPath();
    if (path !== null)
      drawCriticalPath(
        area,
        viewport,
        colors,
        Array.from(path, (row) => operationAt(operations, row)),
      );
    props.onDrawn?.();
  });
  const overlay = makeSurface('lanes-overlay', (surface) => {
    const operations = props.operations();
    if (operations === null) return;
    const area = laneArea(surface);
    const viewport = props.viewport(area.extent);
    drawSelection(area, operations, viewport, props.selection());
    if (pointer !== null) drawPointer(area, viewport, pointer, operations.ofFile);
  });
  const point = (next: Pointer | null): void => {
    pointer = next;
    overlay.redraw();
    props.onPoint?.(next);
    const inLanes = next !== null && next.x >= leftPx() && next.x <= leftPx() + currentExtent(overlay).widthPx;
    props.onTime?.(
      inLanes ? timeAt(props.viewport(currentExtent(overlay)), next.x - leftPx(), currentExtent(overlay)) : null,
      next?.stage ?? null,
    );
    const lines = next === null ? [] : props.tooltip(next, currentExtent(overlay)).filter((line) => line !== null);
    tooltip.show(lines, next?.x ?? 0, next?.y ?? 0, overlay.width(), overlay.height());
  };
  const canvases = h('div', { class: 'pane-canvases' }, base.canvas, overlay.canvas, tooltip.element);
  const element = h('div', { class: 'pane' }, caption, canvases);
  const highestPx = (): number =>
    gutters.axisPx + gutters.bottomPx + Math.max(1, rowsNow()) * maximumFittedRowPx + (caption.textContent === '' ? 0 : 28);
  const redraw = (): void => {
    element.style.maxHeight = `${highestPx()}px`;
    base.redraw();
    overlay.redraw();
  };
  onThemeChange(redraw);
  return {
    element,
    canvas: overlay.canvas,
    highestPx,
    extent: () => currentExtent(overlay),
    list,
    leftPx,
    redraw,
    redrawOverlay: overlay.redraw,
    point,
    setCaption: (text) => {
      caption.textContent = text;
      caption.hidden = text === '';
    },
  };
}

function drawSelection(area: LaneArea, operations: Operations, viewport: Viewport, selection: Selection | null): void {
  if (selection === null) return;
  const { context, scale, left, top, extent } = area;
  const colors = theme();
  context.save();
  context.beginPath();
  context.rect(left - 2 * scale, top, (extent.widthPx + 4) * scale, extent.heightPx * scale);
  context.clip();
  const line = Math.max(2, Math.round(2 * scale));
  if (selection.type === 'range') {
    const [x0, x1] = [selection.startMs, selection.endMs].map((ms) => left + xAt(viewport, ms, extent) * scale) as [number, number];
    for (const [first, last] of rowRanges(area, selection.firstStage, Math.min(selection.lastStage, operations.stages - 1))) {
      const [{ top: y0 }, end] = [rowBox(viewport, first, area), rowBox(viewport, last, area)];
      if (end.height === 0) continue;
      context.fillStyle = css(withAlpha(colors.focus, colors.highContrast ? 0 : 0.16));
      context.fillRect(x0, y0, x1 - x0, end.top + end.height - y0);
      context.strokeStyle = css(colors.focus);
      context.lineWidth = Math.max(1, Math.round(scale));
      context.strokeRect(Math.round(x0) + 0.5, y0 + 0.5, Math.round(x1 - x0) - 1, end.top + end.height - y0 - 1);
    }
  } else {
    const row = operations.findRow(selection.chunk, selection.kind, selection.unit);
    if (row >= 0) {
      const selected = operationAt(operations, row);
      drawFlows(area, operations, viewport, colors, selected);
      strokeOperation(area, viewport, selected, css(colors.foreground), css(colors.background), line);
    }
  }
  context.restore();
}

/** The rows of some stages, as first and last of each run of adjacent rows; pinned ones by themselves. */
function rowRanges({ list }: LaneArea, firstStage: number, lastStage: number): readonly (readonly [number, number])[] {
  const stages = Array.from({ length: Math.max(0, lastStage - firstStage + 1) }, (_, index) => firstStage + index);
  const rows = [...new Set(stages.map((stage) => list?.laneRow(stage) ?? stage))].sort((a, b) => a - b);
  const runs: [number, number][] = [];
  for (const row of rows) {
    const run = runs.at(-1);
    if (run?.[1] === row - 1 && row !== list?.pinned) run[1] = row;
    else runs.push([row, row]);
  }
  return runs;
}

function drawPointer(area: LaneArea, viewport: Viewport, pointer: Pointer, ofFile: boolean): void {
  const { context, scale, left, top, extent } = area;
  const colors = theme();
  const xPx = pointer.x - left / scale;
  const x = left + Math.round(xPx * scale);
  if (x < left || x > left + extent.widthPx * scale) return;
  context.fillStyle = css(withAlpha(colors.foreground, 0.35));
  context.fillRect(x, top, Math.max(1, Math.round(scale)), extent.heightPx * scale);
  const text = formatTime(timeAt(viewport, xPx, extent), viewport.endMs - viewport.startMs, ofFile);
  setLabelFont(context, colors, scale);
  const half = context.measureText(text).width / 2 + 6 * scale;
  const center = Math.min(left + extent.widthPx * scale - half, Math.max(left + half, x));
  context.fillStyle = css(colors.background);
  context.fillRect(center - half, 2 * scale, half * 2, top - 6 * scale);
  context.fillStyle = css(colors.foreground);
  context.textAlign = 'center';
  context.fillText(text, center, top / 2);
  if (pointer.operation === null) return;
  context.save();
  context.beginPath();
  context.rect(left, top, extent.widthPx * scale, extent.heightPx * scale);
  context.clip();
  strokeOperation(area, viewport, pointer.operation, css(colors.foreground), css(colors.background), Math.max(1, Math.round(scale)));
  context.restore();
}

function strokeOperation(area: LaneArea, viewport: Viewport, operation: Operation, color: string, halo: string, line: number): void {
  const { context, scale, left, extent } = area;
  const box = stageBox(viewport, operation.stage, area);
  if (box.height === 0) return;
  const x0 = Math.round(left + xAt(viewport, operation.startMs, extent) * scale);
  const x1 = Math.max(x0 + 3, Math.round(left + xAt(viewport, operation.endMs, extent) * scale));
  for (const [style, grow] of [
    [halo, line],
    [color, 0],
  ] as const) {
    context.strokeStyle = style;
    context.lineWidth = line;
    const outset = line / 2 + grow;
    context.strokeRect(x0 - outset, box.top - outset, x1 - x0 + 2 * outset, box.height + 2 * outset);
  }
}
