import { formatBytes } from '../../../src/core/format';
import type { MemoryProfile, StageMemory } from '../../../src/core/memory-model/profile';
import { css, withAlpha } from '../../base/color';
import { hatchPattern } from '../../base/surface';
import { bytesAxis, axisShare, type Axis } from '../axis';
import { drawMarksAcross, lineWidth, type Pen } from '../plot';
import { axisBytes } from './summary';
import { maximum } from '../../../src/core/numbers';

/** A pen on a plot whose y axis is memory. */
export interface MemoryPen extends Pen {
  readonly axis: Axis;
  /** Whole device px from the top. */
  readonly bytesY: (bytes: number) => number;
  /** Draws about `most` marks of the axis. */
  readonly drawMarks: (most: number) => void;
}

/** A pen on an axis that holds all of the profiles. */
export function memoryPen(pen: Pen, profiles: readonly MemoryProfile[]): MemoryPen {
  const axis = bytesAxis(maximum(profiles.map(axisBytes)));
  const bytesY = (bytes: number): number => Math.round(pen.y(axisShare(axis, bytes)));
  return {
    ...pen,
    axis,
    bytesY,
    drawMarks: (most) =>
      drawMarksAcross(
        pen,
        axis.marks(most).map(({ value, text }) => ({ y: bytesY(value), text: value === 0 ? '0' : text })),
      ),
  };
}

/**
 * Draws the capacity of a GPU as a line from `x0` to `x1`, device px, and what is kept free of it as a hatched band, `hatch` (0..1) strong.
 */
export function drawCapacity(
  { context, colors, scale, bytesY }: MemoryPen,
  { capacityBytes, usableBytes }: Pick<StageMemory, 'capacityBytes' | 'usableBytes'>,
  [x0, x1]: readonly [number, number],
  hatch: number,
): void {
  const y = bytesY(capacityBytes);
  if (hatch > 0) {
    context.fillStyle = hatchPattern(context, css(withAlpha(colors.capacity, hatch)), Math.round(6 * scale)) ?? 'transparent';
    context.fillRect(x0, y, x1 - x0, bytesY(usableBytes) - y);
  }
  context.fillStyle = css(colors.capacity);
  context.fillRect(x0, y, x1 - x0, lineWidth(scale));
}

/** Writes a capacity right of its line, which ends at `x`, device px. */
export function nameCapacity({ context, colors, scale, bytesY }: MemoryPen, capacityBytes: number, x: number): void {
  context.fillStyle = css(colors.capacity);
  context.textAlign = 'left';
  context.fillText(formatBytes(capacityBytes), x + 8 * scale, Math.max(7 * scale, bytesY(capacityBytes)));
}
