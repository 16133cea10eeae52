import type { StageNode } from '../../../src/core/cluster/rank-groups';
import { css } from '../../base/color';
import { iconPath, type IconName } from '../../base/dom';
import type { Theme } from '../../base/theme';
import { pinnedRows, type Viewport } from '../../base/viewport';
import { rowBox, type LaneArea } from './draw-lanes';
import { nodeName, rowControls } from './row-names';
import type { LaneRow } from './rows';

/** Draws the twistie of a row of a node; `middle` of the row, device px. */
export function drawTwistie(area: LaneArea, theme: Theme, { collapsed }: LaneRow, viewport: Viewport, middle: number): void {
  drawIcon(area, theme, collapsed ? 'chevron' : 'down', viewport, middle);
}

/** Writes the name of a node at the left of its row. */
export function drawNodeName({ context, scale }: LaneArea, theme: Theme, node: StageNode, middle: number): void {
  context.fillStyle = css(theme.dim);
  context.textAlign = 'left';
  context.fillText(nodeName(node), rowControls.namePx * scale, middle);
}

/** Draws the pins of pinned rows, and a line under them. */
export function drawPins(area: LaneArea, theme: Theme, viewport: Viewport): void {
  const { context, scale, top, left, extent } = area;
  const pinned = pinnedRows(viewport, extent);
  for (let row = 0; row < pinned; row++) {
    const box = rowBox(viewport, row, area);
    drawIcon(area, theme, 'pin', viewport, Math.round(box.top + box.height / 2));
  }
  context.fillStyle = css(theme.highContrast ? theme.foreground : theme.dim);
  const line = Math.max(1, Math.round(scale));
  context.fillRect(0, top + Math.round(pinned * viewport.rowPx * scale) - line, left + Math.round(extent.widthPx * scale), line);
}

/** Rows lower than this have no room for an icon, CSS px. */
const smallestIconPx = 7;

function drawIcon({ context, scale }: LaneArea, theme: Theme, name: IconName, { rowPx }: Viewport, middle: number): void {
  const px = Math.min(rowControls.iconPx, rowPx);
  if (px < smallestIconPx) return;
  context.save();
  context.translate((rowControls.iconsPx + (rowControls.iconPx - px) / 2) * scale, middle - (px / 2) * scale);
  context.scale((px * scale) / 16, (px * scale) / 16);
  context.fillStyle = css(theme.foreground);
  context.fill(new Path2D(iconPath(name)), 'evenodd');
  context.restore();
}
