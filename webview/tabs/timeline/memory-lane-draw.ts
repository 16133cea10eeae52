import { livingParts, type LiveParts } from '../../../src/core/memory-model/curve';
import type { StageMemory } from '../../../src/core/memory-model/profile';
import { css } from '../../base/color';
import type { Viewport } from '../../base/viewport';
import { axisShare } from '../../charts/axis';
import { drawCapacity, nameCapacity, type MemoryPen } from '../../charts/memory/axis';
import { drawBand, type Columns } from '../../charts/memory/band';
import { peakPoints } from '../../charts/memory/curve';
import { staticParts } from '../../charts/memory/summary';

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
  const { scale, plot } = pen;
  const left = Math.round(pen.x(0));
  const width = Math.max(1, Math.round(plot.width * scale));
  pen.drawMarks(Math.max(4, Math.floor(plot.height / 44)));
  let floor = 0;
  for (const [part, bytes] of staticParts(stage)) {
    drawBand(pen, part, [{ from: left, to: left + width }], [floor], [floor + bytes]);
    floor += bytes;
  }
  const runs = equalRuns(peakPoints(curve, startMs, (endMs - startMs) / width, width), left);
  const floors = new Float64Array(runs.length).fill(stage.staticBytes);
  for (const part of livingParts) {
    const bytes = curve.parts[part];
    const ceilings = runs.map(({ point }, index) => (floors[index] ?? 0) + (bytes[point] ?? 0));
    drawBand(pen, part, runs, floors, ceilings);
    ceilings.forEach((ceiling, index) => (floors[index] = ceiling));
  }
  drawCapacity(pen, stage, [left, left + width], 0.5);
  nameCapacity(pen, stage.capacityBytes, left + width);
}

/** Neighbouring pixel columns with one point of the curve. */
interface Run extends Columns {
  readonly point: number;
}

function equalRuns(points: Uint32Array, left: number): readonly Run[] {
  const runs: Run[] = [];
  let from = left;
  points.forEach((point, pixel) => {
    if (points[pixel + 1] === point) return;
    runs.push({ point, from, to: left + pixel + 1 });
    from = left + pixel + 1;
  });
  return runs;
}
