import { formatPercent } from '../../../src/core/format';
import { css, mix, withAlpha } from '../../base/color';
import type { Theme } from '../../base/theme';
import { seenRows, stageBox, type LaneArea, type RowBox } from './draw-lanes';
import { at } from '../../base/operations';
import { pathShape, type PathPass } from './path-shape';
import { nodeName, rowControls } from './row-names';
import { rangesText, type LaneRow, type RowList } from './rows';
import { niceTicks, stepLabels, timeLabels } from '../ticks';
import { pinnedRows, xAt, type Viewport } from '../../base/viewport';
import { drawNodeName, drawPins, drawTwistie } from './draw-labels';
import { setLabelFont } from '../plot';

/** Widths next to the lanes and height of the axis above them, CSS px; the same on every strip so that times line up. */
export const gutters = { leftPx: 56, rightPx: 80, axisPx: 24, bottomPx: 8 } as const;

/** Draws the time axis above the lanes and its grid lines through them. `bottom` is where the grid ends, device px. */
export function drawAxis(area: LaneArea, viewport: Viewport, theme: Theme, bottom: number, ofFile: boolean): void {
  const { context, scale, left, top, extent } = area;
  const { values, step } = niceTicks(viewport.startMs, viewport.endMs, Math.max(2, extent.widthPx / 96));
  if (step === 0) return;
  const label = ofFile ? stepLabels(step) : timeLabels(step, viewport.endMs);
  const right = left + extent.widthPx * scale;
  setLabelFont(context, theme, scale);
  context.textAlign = 'center';
  const middle = top - (gutters.axisPx * scale) / 2;
  for (const ms of values) {
    const x = left + Math.round(xAt(viewport, ms, extent) * scale);
    context.fillStyle = css(theme.grid);
    context.fillRect(x, top - 4 * scale, Math.max(1, Math.round(scale / 2)), bottom - top + 4 * scale);
    const text = label(ms);
    const half = context.measureText(text).width / 2;
    context.fillStyle = css(theme.dim);
    context.fillText(text, Math.min(right - half, Math.max(left + half, x)), middle);
  }
}

/**
 * Draws stage numbers left of the lanes, of nodes with their name, and the idle share of each row right of them (NaN: nothing is known of a
 * stage); every n-th where rows are too thin for all. Below: a line under pinned rows, and their pins.
 */
export function drawGutters(area: LaneArea, viewport: Viewport, theme: Theme, idle: Float64Array, marked: number | null): void {
  const { context, scale, left, extent, top } = area;
  const markedRow = marked === null || marked >= idle.length ? null : (area.list?.laneRow(marked) ?? marked);
  let markedBox: RowBox | null = null;
  const pinned = pinnedRows(viewport, extent);
  const isPlain = area.list === undefined || (pinned === 0 && area.list.rows.length === idle.length);
  let labelled = -Infinity;
  const isLabelled = (index: number, { collapsed, stages }: LaneRow, middle: number): boolean => {
    if (isPlain) return index % every === 0;
    if (index < pinned) return middle - labelled >= 10 * scale;
    return (collapsed ? index - pinned : (stages[0] ?? 0)) % every === 0 && middle - labelled >= 13 * scale;
  };
  const every = labelEvery(viewport.rowPx);
  const right = left + Math.round(extent.widthPx * scale);
  const barFrom = right + Math.round(8 * scale);
  const barWidth = Math.round((gutters.rightPx - 8 - 52) * scale);
  context.save();
  context.beginPath();
  // Labels of thin rows are higher than their row: they may reach a little over the edges.
  context.rect(0, top - 6 * scale, right + gutters.rightPx * scale, Math.round((extent.heightPx + 12) * scale));
  context.clip();
  setLabelFont(context, theme, scale);
  for (const { index, row, box } of seenRows(viewport, area, idle.length)) {
    const share = row.stages.reduce((sum, stage) => sum + at(idle, stage), 0) / row.stages.length;
    const isKnown = !Number.isNaN(share);
    const length = isKnown ? Math.max(1, Math.round(share * barWidth)) : 0;
    context.fillStyle = theme.highContrast ? css(theme.foreground) : css(mix(theme.background, theme.foreground, 0.3));
    if (theme.highContrast && isKnown) context.fillRect(barFrom + length - 1, box.top, Math.max(1, Math.round(scale)), box.height);
    else context.fillRect(barFrom, box.top, length, box.height);
    const isMarked = index === markedRow;
    const nearMarked = markedRow !== null && !isMarked && Math.abs(index - markedRow) * viewport.rowPx < 14;
    if (isMarked) markedBox = box;
    const middle = Math.round(box.top + box.height / 2 + scale * 0.5);
    if (row.node !== null) drawTwistie(area, theme, row, viewport, middle);
    if (!isMarked && (nearMarked || !isLabelled(index, row, middle))) continue;
    labelled = middle;
    context.fillStyle = css(isMarked ? theme.foreground : theme.dim);
    context.textAlign = 'right';
    context.fillText(rangesText(row.stages), left - 10 * scale, middle);
    context.fillText(isKnown ? formatPercent(share) : '–', right + (gutters.rightPx - 4) * scale, middle);
    if (row.node !== null) drawNodeName(area, theme, row.node, middle);
  }
  if (pinned > 0) drawPins(area, theme, viewport);
  if (markedBox !== null) {
    context.fillStyle = css(theme.focus);
    context.fillRect(left - Math.round(5 * scale), markedBox.top, Math.max(2, Math.round(2 * scale)), markedBox.height);
  }
  context.restore();
}

/** 1, 2, 5, 10 ...: how many rows share a label of 14 px. */
function labelEvery(rowPx: number): number {
  const rows = 14 / rowPx;
  if (rows <= 1) return 1;
  const magnitude = 10 ** Math.floor(Math.log10(rows));
  return ([1, 2, 5, 10].find((factor) => factor * magnitude >= rows) ?? 10) * magnitude;
}

/** Writes the titles of the columns next to the lanes. */
export function drawGutterTitles(area: LaneArea, theme: Theme, stageTitle: string, idleTitle: string): void {
  const { context, scale, left, top, extent } = area;
  setLabelFont(context, theme, scale);
  context.textAlign = 'right';
  context.fillStyle = css(theme.dim);
  const middle = top - (gutters.axisPx * scale) / 2;
  context.fillText(stageTitle, left - 10 * scale, middle);
  context.fillText(idleTitle, left + (extent.widthPx + gutters.rightPx - 4) * scale, middle);
}

/**
 * Draws the chain of operations that decides the length of the step: a thin outline each, or a line through all of them over lanes that
 * step back.
 */
export function drawCriticalPath(area: LaneArea, viewport: Viewport, theme: Theme, path: readonly PathPass[]): void {
  const { context, scale, left, top, extent } = area;
  const shape = pathShape(path, viewport, extent, area.list?.laneRow);
  context.save();
  context.beginPath();
  context.rect(left, top, extent.widthPx * scale, extent.heightPx * scale);
  context.clip();
  if ('line' in shape) {
    context.fillStyle = css(withAlpha(theme.background, 0.45));
    context.fillRect(left, top, extent.widthPx * scale, extent.heightPx * scale);
    context.lineJoin = 'round';
    // An edge of the background keeps the line apart from what it crosses.
    for (const [color, widthPx] of [
      [theme.background, 4.5],
      [theme.foreground, 2],
    ] as const) {
      context.strokeStyle = css(color);
      context.lineWidth = widthPx * scale;
      context.beginPath();
      for (const { x, y } of shape.line) context.lineTo(left + x * scale, top + y * scale);
      context.stroke();
    }
  } else {
    context.strokeStyle = css(withAlpha(theme.foreground, 0.85));
    context.lineWidth = Math.max(1, Math.round(scale));
    const half = context.lineWidth / 2;
    for (const { stage, startMs, endMs } of shape.boxes) {
      const box = stageBox(viewport, stage, area);
      if (box.height === 0) continue;
      const [x0, x1] = [startMs, endMs].map((ms) => Math.round(left + xAt(viewport, ms, extent) * scale)) as [number, number];
      context.strokeRect(x0 + half, box.top + half, Math.max(1, x1 - x0 - 2 * half), Math.max(1, box.height - 2 * half));
    }
  }
  context.restore();
}

/** Marks a pass: a line through all stages where it begins, a flag on the axis and an outline. */
export function drawMark(
  area: LaneArea,
  viewport: Viewport,
  theme: Theme,
  { stage, startMs, endMs }: { readonly stage: number; readonly startMs: number; readonly endMs: number },
): void {
  const { context, scale, left, top, extent } = area;
  const x = left + Math.round(xAt(viewport, startMs, extent) * scale);
  const right = left + Math.round(extent.widthPx * scale);
  if (x < left || x > right) return;
  const line = Math.max(2, Math.round(2 * scale));
  const until = Math.max(x + line, left + Math.round(xAt(viewport, endMs, extent) * scale));
  const box = stageBox(viewport, stage, area);
  context.save();
  context.beginPath();
  context.rect(left - 6 * scale, top - 8 * scale, extent.widthPx * scale + 12 * scale, extent.heightPx * scale + 8 * scale);
  context.clip();
  context.fillStyle = css(theme.error);
  context.fillRect(x - Math.floor(line / 2), top - 6 * scale, line, extent.heightPx * scale + 6 * scale);
  context.beginPath();
  context.moveTo(x - 5 * scale, top - 7 * scale);
  context.lineTo(x + 5 * scale, top - 7 * scale);
  context.lineTo(x, top);
  context.fill();
  context.strokeStyle = css(theme.error);
  context.lineWidth = line;
  context.strokeRect(x, box.top, until - x, box.height);
  context.restore();
}

/** Of a figure or letter of the labels, CSS px: their mean, and a little more. */
const letterPx = 6.2;

const known = new WeakMap<RowList, number>();

/** Room for the labels left of the lanes, CSS px. */
export function gutterPx(list: RowList): number {
  const px = known.get(list) ?? gutterWidth(list);
  known.set(list, px);
  return px;
}

function gutterWidth({ rows }: RowList): number {
  const letters = rows.reduce((most, row) => Math.max(most, countLetters(row)), 0);
  return letters === 0 ? gutters.leftPx : Math.ceil(rowControls.namePx + letters * letterPx + 18);
}

function countLetters({ node, stages }: LaneRow): number {
  return node === null ? 0 : nodeName(node).length + rangesText(stages).length;
}
