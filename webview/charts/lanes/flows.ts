import { css } from '../../base/color';
import type { Operation, Operations } from '../../base/operations';
import type { Theme } from '../../base/theme';
import { xAt, type Viewport } from '../../base/viewport';
import { operationFlows } from './dependencies';
import { stageBox, type LaneArea } from './draw-lanes';

/** Arrows from what an operation waited for, and to what waits for it. */
export function drawFlows(area: LaneArea, operations: Operations, viewport: Viewport, theme: Theme, selected: Operation): void {
  const { before, after } = operationFlows(operations, selected);
  for (const each of before) drawArrow(area, viewport, theme, each, selected);
  for (const each of after) drawArrow(area, viewport, theme, selected, each);
}

/** From the end of one operation to the start of another. */
function drawArrow(area: LaneArea, viewport: Viewport, theme: Theme, from: Operation, to: Operation): void {
  const { context, scale, left, extent } = area;
  const middle = (stage: number): number => {
    const { top, height } = stageBox(viewport, stage, area);
    return top + height / 2;
  };
  const [x0, x1] = [from.endMs, to.startMs].map((ms) => left + xAt(viewport, ms, extent) * scale) as [number, number];
  const [y0, y1] = [middle(from.stage), middle(to.stage)];
  // Right after each other on one stage there is nothing to see between them.
  if (y0 === y1 && x1 - x0 < 8 * scale) return;
  const bend = Math.max(4 * scale, Math.min(24 * scale, Math.abs(x1 - x0) / 2));
  const head = 5 * scale;
  for (const [color, width] of [
    [theme.background, 4 * scale],
    [theme.foreground, 1.5 * scale],
  ] as const) {
    context.strokeStyle = context.fillStyle = css(color);
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(x0, y0);
    if (y0 === y1) context.lineTo(x1, y1);
    else context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - head, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - head - width / 2, y1 - head * 0.7 - width / 4);
    context.lineTo(x1 - head - width / 2, y1 + head * 0.7 + width / 4);
    context.fill();
  }
}
