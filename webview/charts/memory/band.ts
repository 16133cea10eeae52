import type { MemoryPart } from '../../../src/core/memory-model/profile';
import { css } from '../../base/color';
import { lineWidth } from '../plot';
import type { MemoryPen } from './axis';
import { partPaint } from './part-paint';

/** Pixel columns of one height, from the first up to but not including `to`, device px. */
export interface Columns {
  readonly from: number;
  readonly to: number;
}

/** Draws a part of memory as steps between two heights of each of `columns`, bytes; in high contrast with an outline around them all. */
export function drawBand(
  { context, colors, scale, bytesY }: MemoryPen,
  part: MemoryPart,
  columns: readonly Columns[],
  floors: ArrayLike<number>,
  ceilings: ArrayLike<number>,
): void {
  const isFlat = columns.every((_, index) => ceilings[index] === floors[index]);
  if (isFlat) return;
  const path = new Path2D();
  columns.forEach(({ from, to }, index) => {
    const y = bytesY(ceilings[index] ?? 0);
    path.lineTo(from, y);
    path.lineTo(to, y);
  });
  for (let index = columns.length - 1; index >= 0; index--) {
    const { from, to } = columns[index] ?? { from: 0, to: 0 };
    const y = bytesY(floors[index] ?? 0);
    path.lineTo(to, y);
    path.lineTo(from, y);
  }
  path.closePath();
  context.fillStyle = partPaint(context, colors, part, scale);
  context.fill(path);
  if (!colors.highContrast) return;
  context.strokeStyle = css(colors.foreground);
  context.lineWidth = lineWidth(scale);
  // A line of odd width is sharp between two pixels.
  const half = (context.lineWidth % 2) / 2;
  context.translate(half, -half);
  context.stroke(path);
  context.translate(-half, half);
}
