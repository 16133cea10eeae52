import { css, mix, readableOn, withAlpha } from '../../base/color';
import { t } from '../../base/strings';
import type { Tail, TailPart } from '../../../src/core/planner/explain/tail';
import type { Theme } from '../../base/theme';
import { xAt, type Viewport } from '../../base/viewport';
import { seenRows, type LaneArea, type RowBox } from './draw-lanes';
import { hatchPattern } from '../../base/surface';
import { setLabelFont } from '../plot';

/** Names of what follows the passes. */
export function tailName(kind: TailPart['kind']): string {
  return { gradientExchange: t('Gradient exchange'), optimizer: t('Optimizer'), hiddenExchange: t('Gradient exchange, hidden') }[kind];
}

/**
 * Draws what stages do after their passes as bars of their rows, and what overlaps with the passes as a strip along the foot of a row. In
 * the row of a node each stage has its part of the height, where they do not end alike.
 */
export function drawTail(area: LaneArea, { ofStage }: Tail, viewport: Viewport, theme: Theme, hidden: ReadonlySet<TailPart['kind']>): void {
  const { context, scale, left, top, extent } = area;
  const x = (ms: number): number => left + Math.round(xAt(viewport, ms, extent) * scale);
  context.save();
  context.beginPath();
  context.rect(left, top, Math.round(extent.widthPx * scale), Math.round(extent.heightPx * scale));
  context.clip();
  setLabelFont(context, theme, scale);
  context.textAlign = 'center';
  for (const { row, box: rowBox } of seenRows(viewport, area, ofStage.length))
    for (const [stage, box] of tailBoxes(row.stages, rowBox, ofStage)) {
      for (const part of ofStage[stage] ?? []) {
        if (hidden.has(part.kind) || part.endMs < viewport.startMs || part.startMs > viewport.endMs) continue;
        const [from, until] = [x(part.startMs), x(part.endMs)];
        const foot = part.kind === 'hiddenExchange' ? Math.max(1, Math.round(box.height / 4)) : box.height;
        drawPart(area, theme, part.kind, { x: from, y: box.top + box.height - foot, width: Math.max(1, until - from), height: foot });
      }
    }
  context.restore();
}

/** The stages of a row whose tails are drawn, and where. */
function tailBoxes(stages: readonly number[], { top, height }: RowBox, ofStage: Tail['ofStage']): readonly (readonly [number, RowBox])[] {
  const alike = stages.every((stage) => isAlike(ofStage[stage], ofStage[stages[0] ?? 0]));
  const listed = alike ? stages.slice(0, 1) : stages;
  const edge = (index: number): number => Math.round((height * index) / listed.length);
  return listed.map((stage, index) => [stage, { top: top + edge(index), height: Math.max(1, edge(index + 1) - edge(index)) }]);
}

function isAlike(a: readonly TailPart[] = [], b: readonly TailPart[] = []): boolean {
  return (
    a.length === b.length &&
    a.every(({ kind, startMs, endMs }, index) => {
      const other = b[index];
      return other?.kind === kind && other.startMs === startMs && other.endMs === endMs;
    })
  );
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

function drawPart({ context, scale, names }: LaneArea, theme: Theme, kind: TailPart['kind'], { x, y, width, height }: Box): void {
  const hue = kind === 'optimizer' ? theme.optimizer : theme.gradientExchange;
  const fill = mix(hue, theme.background, kind === 'hiddenExchange' ? 0 : 0.12);
  const line = Math.max(1, Math.round(scale));
  if (theme.highContrast) {
    const pattern = hatchPattern(context, css(theme.foreground), Math.round((kind === 'optimizer' ? 4 : 8) * scale));
    if (pattern !== null && height > 3 * scale) {
      context.fillStyle = pattern;
      context.fillRect(x, y, width, height);
    }
    context.strokeStyle = css(hue);
    context.lineWidth = line;
    context.strokeRect(x + line / 2, y + line / 2, Math.max(0, width - line), Math.max(0, height - line));
  } else {
    context.fillStyle = css(fill);
    context.fillRect(x, y, width, height);
  }
  const name = tailName(kind);
  if (!names || height < 13 * scale || context.measureText(name).width > width - 8 * scale) return;
  if (theme.highContrast) {
    const room = context.measureText(name).width + 6 * scale;
    context.fillStyle = css(theme.background);
    context.fillRect(x + (width - room) / 2, y + 1, room, height - 2);
  }
  context.fillStyle = theme.highContrast ? css(theme.foreground) : css(withAlpha(readableOn(fill), 0.88));
  context.fillText(name, x + width / 2, Math.round(y + height / 2 + scale * 0.5));
}
