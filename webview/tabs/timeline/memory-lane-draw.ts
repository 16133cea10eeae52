import { livingParts, type LiveParts } from '../../../src/core/memory-model/curve';
import type { StageMemory } from '../../../src/core/memory-model/profile';
import { css } from '../../base/color';
import type { Viewport } from '../../base/viewport';
import { axisShare } from '../../charts/axis';
import { drawCapacity, nameCapacity, type MemoryPen } from '../../charts/memory/axis';
import { peakPoints } from '../../charts/memory/curve';
import { partPaint } from '../../charts/memory/part-paint';
import { staticParts } from '../../charts/memory/summary';
import { lineWidth } from '../../charts/plot';

/** The times that are shown. */
type Window = Pick<Viewport, 'startMs' | 'endMs'>;

/** A small triangle over the highest point of the curve, when that is in view. */
export function drawPeak(pen: MemoryPen, { startMs, endMs }: Window, stage: StageMemory, atMs: number): void {
  if (stage.peakRow < 0 || atMs < startMs || atMs > endMs) return;
  const { context, colors, scale, axis } = pen;
  const [x, y] = [pen.x((atMs - startMs) / (endMs - startMs)), pen.y(axisShare(axis, stage.peakBytes)) - scale];
  context.fillStyle = css(colors.foreground);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - 4 * scale, y - 6 * scale);
  context.lineTo(x + 4 * scale, y - 6 * scale);
  context.fill();
}

/** Draws the parts of a stage's memory over each other, those that are held all the time below, and the capacity of its GPU. */
export function drawCurve(pen: MemoryPen, { startMs, endMs }: Window, stage: StageMemory, curve: LiveParts): void {
  const { context, colors, scale, plot, bytesY: y } = pen;
  const left = Math.round(pen.x(0));
  const width = Math.max(1, Math.round(plot.width * scale));
  pen.drawMarks(Math.max(4, Math.floor(plot.height / 44)));
  let floor = 0;
  for (const [part, bytes] of staticParts(stage)) {
    context.fillStyle = partPaint(context, colors, part, scale);
    context.fillRect(left, y(floor + bytes), width, y(floor) - y(floor + bytes));
    floor += bytes;
    if (!colors.highContrast) continue;
    context.fillStyle = css(colors.foreground);
    context.fillRect(left, y(floor), width, 1);
  }
  const runs = equalRuns(peakPoints(curve, startMs, (endMs - startMs) / width, width));
  const floors = new Float64Array(runs.length).fill(stage.staticBytes);
  for (const part of livingParts) {
    const bytes = curve.parts[part];
    const ceilings = runs.map(({ point }, index) => (floors[index] ?? 0) + (bytes[point] ?? 0));
    if (ceilings.every((ceiling, index) => ceiling === floors[index])) continue;
    const path = band(runs, floors, ceilings, left, y);
    context.fillStyle = partPaint(context, colors, part, scale);
    context.fill(path);
    if (colors.highContrast) {
      context.strokeStyle = css(colors.foreground);
      context.lineWidth = lineWidth(scale);
      context.stroke(path);
    }
    ceilings.forEach((ceiling, index) => (floors[index] = ceiling));
  }
  drawCapacity(pen, stage, [left, left + width], 0.5);
  nameCapacity(pen, stage.capacityBytes, left + width);
}

/** Neighbouring pixel columns with one point of the curve, from the first up to but not including `to`. */
interface Run {
  readonly point: number;
  readonly from: number;
  readonly to: number;
}

function equalRuns(points: Uint32Array): readonly Run[] {
  const runs: Run[] = [];
  let from = 0;
  points.forEach((point, pixel) => {
    if (points[pixel + 1] === point) return;
    runs.push({ point, from, to: pixel + 1 });
    from = pixel + 1;
  });
  return runs;
}

/** The steps between two heights of each run, bytes. */
function band(
  runs: readonly Run[],
  floors: ArrayLike<number>,
  ceilings: ArrayLike<number>,
  left: number,
  y: (bytes: number) => number,
): Path2D {
  const path = new Path2D();
  runs.forEach(({ from, to }, index) => {
    const height = y(ceilings[index] ?? 0);
    path.lineTo(left + from, height);
    path.lineTo(left + to, height);
  });
  for (let index = runs.length - 1; index >= 0; index--) {
    const { from, to } = runs[index] ?? { from: 0, to: 0 };
    const height = y(floors[index] ?? 0);
    path.lineTo(left + to, height);
    path.lineTo(left + from, height);
  }
  path.closePath();
  return path;
}
