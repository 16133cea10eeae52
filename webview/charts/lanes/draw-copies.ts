import { css, mix } from '../../base/color';
import type { Operations } from '../../base/operations';
import type { Theme } from '../../base/theme';
import { xAt, type Viewport } from '../../base/viewport';
import { copiesOnStage } from './copies';
import { seenRows, type LaneArea } from './draw-lanes';

/**
 * Draws when activations leave a stage and come back, as a strip along the head of its row; what comes back is paler. Of copies within one
 * pixel only the first is drawn. The row of a node has none.
 */
export function drawCopies(area: LaneArea, operations: Operations, viewport: Viewport, theme: Theme): void {
  if (operations.timeline.copies === undefined) return;
  const { context, scale, left, top, extent } = area;
  const x = (ms: number): number => left + Math.round(xAt(viewport, ms, extent) * scale);
  const back = mix(theme.copies, theme.background, 0.45);
  context.save();
  context.beginPath();
  context.rect(left, top, Math.round(extent.widthPx * scale), Math.round(extent.heightPx * scale));
  context.clip();
  for (const { row, box } of seenRows(viewport, area, operations.stages)) {
    if (row.collapsed || box.height < 3 * scale) continue;
    const height = Math.max(1, Math.round(Math.min(box.height / 4, 4 * scale)));
    let drawn = -Infinity;
    for (const { startMs, endMs, isBack } of copiesOnStage(operations, row.stages[0] ?? 0)) {
      if (endMs < viewport.startMs || startMs > viewport.endMs) continue;
      const [from, until] = [x(startMs), x(endMs)];
      if (from === drawn && until - from <= 1) continue;
      drawn = from;
      context.fillStyle = css(isBack ? back : theme.copies);
      context.fillRect(from, box.top, Math.max(1, until - from), height);
    }
  }
  context.restore();
}
