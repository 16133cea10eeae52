import { bytesPerGiB, formatBytes } from '../../../src/core/format';
import { livingParts, type LiveParts } from '../../../src/core/memory-model/curve';
import type { MemoryProfile, StageMemory } from '../../../src/core/memory-model/profile';
import { css, withAlpha } from '../../base/color';
import { hatchPattern, type Surface } from '../../base/surface';
import type { Theme } from '../../base/theme';
import { niceTicks } from '../../charts/ticks';
import type { Viewport } from '../../base/viewport';
import { gutters } from '../../charts/lanes/draw-frame';
import { peakPoints } from '../../charts/memory/curve';
import { partPaint } from '../../charts/memory/part-paint';
import { axisBytes, staticParts } from '../../charts/memory/summary';

/** The times that are shown, and where they begin, CSS px. */
interface LaneWindow extends Pick<Viewport, 'startMs' | 'endMs'> {
  readonly leftPx: number;
}

/** A small triangle over the highest point of the curve, when that is in view. */
export function drawPeak(
  surface: Surface,
  colors: Theme,
  window: LaneWindow,
  profile: MemoryProfile,
  { peakBytes, peakRow }: StageMemory,
  atMs: number,
): void {
  if (peakRow < 0 || atMs < window.startMs || atMs > window.endMs) return;
  const { context } = surface;
  const scale = surface.scale();
  const width = surface.width() - window.leftPx - gutters.rightPx;
  const x = (window.leftPx + ((atMs - window.startMs) / (window.endMs - window.startMs)) * width) * scale;
  const y = surface.height() * scale * (1 - peakBytes / axisBytes(profile)) - scale;
  context.fillStyle = css(colors.foreground);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - 4 * scale, y - 6 * scale);
  context.lineTo(x + 4 * scale, y - 6 * scale);
  context.fill();
}

/** Draws the parts of a stage's memory over each other, those that are there all the time below, and the capacity of its GPU. */
export function drawCurve(
  surface: Surface,
  colors: Theme,
  { startMs, endMs, leftPx }: LaneWindow,
  profile: MemoryProfile,
  stage: StageMemory,
  curve: LiveParts,
): void {
  const { context } = surface;
  const scale = surface.scale();
  const left = Math.round(leftPx * scale);
  const width = Math.max(1, Math.round((surface.width() - leftPx - gutters.rightPx) * scale));
  const height = surface.height() * scale;
  const top = axisBytes(profile);
  const y = (bytes: number): number => Math.round(height - (bytes / top) * height);
  const line = Math.max(1, Math.round(scale));
  drawScale(surface, colors, top, left, width, y);
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
      context.lineWidth = line;
      context.stroke(path);
    }
    ceilings.forEach((ceiling, index) => (floors[index] = ceiling));
  }
  drawCapacity(surface, colors, stage.capacityBytes, stage.usableBytes, left, width, y);
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

function drawScale(surface: Surface, colors: Theme, top: number, left: number, width: number, y: (bytes: number) => number): void {
  const { context } = surface;
  const scale = surface.scale();
  const { values } = niceTicks(0, top / bytesPerGiB, Math.max(4, Math.floor(surface.height() / 44)));
  context.font = `${Math.round(11 * scale)}px ${colors.fontFamily}`;
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  for (const gigabytes of values) {
    const at = y(gigabytes * bytesPerGiB);
    context.fillStyle = css(colors.grid);
    context.fillRect(left, Math.min(at, surface.height() * scale - 1), width, Math.max(1, Math.round(scale / 2)));
    if (gigabytes === 0 || at < 6 * scale) continue;
    context.fillStyle = css(colors.dim);
    context.fillText(formatBytes(gigabytes * bytesPerGiB), left - 8 * scale, at);
  }
}

/** The capacity as a line and the margin below it as a hatched band, both named at the right edge. */
function drawCapacity(
  surface: Surface,
  colors: Theme,
  capacityBytes: number,
  usable: number,
  left: number,
  width: number,
  y: (bytes: number) => number,
): void {
  const { context } = surface;
  const scale = surface.scale();
  const at = y(capacityBytes);
  const pattern = hatchPattern(context, css(withAlpha(colors.capacity, 0.5)), Math.round(6 * scale));
  if (pattern !== null) {
    context.fillStyle = pattern;
    context.fillRect(left, at, width, y(usable) - at);
  }
  context.fillStyle = css(colors.capacity);
  context.fillRect(left, at, width, Math.max(1, Math.round(scale)));
  context.font = `${Math.round(11 * scale)}px ${colors.fontFamily}`;
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  context.fillText(formatBytes(capacityBytes), left + width + 8 * scale, Math.max(7 * scale, at));
}
