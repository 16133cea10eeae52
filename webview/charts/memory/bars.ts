import { bytesPerGiB, formatBytes } from '../../../src/core/format';
import type { MemoryPart, MemoryProfile } from '../../../src/core/memory-model/profile';
import { stageFits } from '../../../src/core/memory-model/verdict';
import { css, withAlpha } from '../../base/color';
import { hatchPattern, makeSurface, type Surface } from '../../base/surface';
import { onThemeChange, theme, type Theme } from '../../base/theme';
import { niceTicks } from '../ticks';
import { flatPaint, partPaint } from './part-paint';
import { axisBytes, gpuRuns, presentParts, worstStage } from './summary';

/** How bars are laid out; in the narrow view they carry no axis. */
interface BarsOptions {
  readonly axis: boolean;
  readonly profile: () => MemoryProfile | null;
  /** Another one that is drawn on the same axis. */
  readonly beside?: () => MemoryProfile | null;
  readonly stage: () => number | null;
  readonly onPoint: (stage: number | null, x: number, y: number) => void;
  readonly onPick: (stage: number) => void;
}

const axisLeftPx = 56;
const axisRightPx = 80;
const axisBottomPx = 22;

/** A bar per stage, its parts stacked, against the capacity and the margin. */
export function makeBars(options: BarsOptions): { readonly canvas: HTMLCanvasElement; readonly redraw: () => void } {
  const surface = makeSurface(options.axis ? 'bars' : 'bars bars-mini', (target) => {
    const profile = options.profile();
    if (profile !== null) drawBars(target, theme(), profile, options);
  });
  const stageAt = (event: MouseEvent): number | null => {
    const profile = options.profile();
    if (profile === null) return null;
    const box = surface.canvas.getBoundingClientRect();
    const { left, width } = plot(surface, options.axis);
    const index = Math.floor(((event.clientX - box.left - left) / width) * profile.stages.length);
    return profile.stages[index]?.stage ?? null;
  };
  surface.canvas.addEventListener('pointermove', (event) => {
    const box = surface.canvas.getBoundingClientRect();
    options.onPoint(stageAt(event), event.clientX - box.left, event.clientY - box.top);
  });
  surface.canvas.addEventListener('pointerleave', () => options.onPoint(null, 0, 0));
  surface.canvas.addEventListener('click', (event) => {
    const stage = stageAt(event);
    if (stage !== null) options.onPick(stage);
  });
  onThemeChange(surface.redraw);
  return { canvas: surface.canvas, redraw: surface.redraw };
}

function plot(surface: Surface, axis: boolean): { readonly left: number; readonly width: number; readonly height: number } {
  return axis
    ? { left: axisLeftPx, width: Math.max(1, surface.width() - axisLeftPx - axisRightPx), height: surface.height() - axisBottomPx }
    : { left: 0, width: surface.width(), height: surface.height() };
}

function drawBars(surface: Surface, colors: Theme, profile: MemoryProfile, options: BarsOptions): void {
  const { context } = surface;
  const scale = surface.scale();
  const { left, width, height } = plot(surface, options.axis);
  const beside = options.beside?.() ?? null;
  const top = Math.max(axisBytes(profile), beside === null ? 0 : axisBytes(beside));
  const y = (bytes: number): number => Math.round((height - (bytes / top) * height) * scale);
  if (options.axis) drawAxis(surface, colors, top, left, width, y);
  const parts = presentParts(profile);
  const count = profile.stages.length;
  const step = (width / count) * scale;
  const gap = step >= 5 * scale ? Math.max(1, Math.round(Math.min(step * 0.18, 6 * scale))) : 0;
  // A few bars are bars, not walls; they stand in the middle of their share.
  const widest = Math.round(64 * scale);
  const selected = options.stage();
  profile.stages.forEach((stage, index) => {
    const x0 = Math.round(left * scale + index * step);
    const x1 = Math.max(x0 + 1, Math.round(left * scale + (index + 1) * step) - gap);
    const barWidth = Math.min(x1 - x0, widest);
    const x = x0 + Math.floor((x1 - x0 - barWidth) / 2);
    let floor = 0;
    for (const part of parts) {
      const bytes = stage.parts[part];
      drawPart(context, colors, part, x, y(floor + bytes), barWidth, y(floor) - y(floor + bytes), scale);
      floor += bytes;
    }
    if (options.axis && stage.stage === selected) {
      context.fillStyle = css(colors.focus);
      context.fillRect(x - 1, y(0) + Math.round(2 * scale), barWidth + 2, Math.max(2, Math.round(2 * scale)));
    }
    if (!stageFits(stage)) {
      context.fillStyle = css(colors.error);
      context.fillRect(x, y(stage.peakBytes), barWidth, Math.max(2, Math.round(2 * scale)));
    }
  });
  drawLimits(surface, colors, profile, options.axis, left, width, y);
  if (options.axis) drawStageNumbers(surface, colors, profile, options, left, width, height);
}

function drawPart(
  context: CanvasRenderingContext2D,
  colors: Theme,
  part: MemoryPart,
  x: number,
  y: number,
  width: number,
  height: number,
  scale: number,
): void {
  if (height <= 0) return;
  // On thin bars a texture is noise.
  context.fillStyle = width >= 6 * scale ? partPaint(context, colors, part, scale) : flatPaint(colors, part);
  context.fillRect(x, y, width, height);
  if (!colors.highContrast) return;
  context.strokeStyle = css(colors.foreground);
  context.lineWidth = 1;
  // Sides of thin bars would run together to a wall.
  if (width >= 8 * scale) context.strokeRect(x + 0.5, y + 0.5, width - 1, Math.max(0, height - 1));
  else {
    context.fillStyle = css(colors.foreground);
    context.fillRect(x, y, width, 1);
  }
}

function drawAxis(surface: Surface, colors: Theme, top: number, left: number, width: number, y: (bytes: number) => number): void {
  const { context } = surface;
  const scale = surface.scale();
  const { values } = niceTicks(0, top / bytesPerGiB, Math.max(3, Math.floor(surface.height() / 48)));
  context.font = `${Math.round(11 * scale)}px ${colors.fontFamily}`;
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (const gigabytes of values) {
    const at = y(gigabytes * bytesPerGiB);
    context.fillStyle = css(colors.grid);
    context.fillRect(left * scale, at, width * scale, Math.max(1, Math.round(scale / 2)));
    context.fillStyle = css(colors.dim);
    if (at > 6 * scale) context.fillText(gigabytes === 0 ? '0' : formatBytes(gigabytes * bytesPerGiB), (left - 8) * scale, at);
  }
}

function drawLimits(
  surface: Surface,
  colors: Theme,
  profile: MemoryProfile,
  named: boolean,
  left: number,
  width: number,
  y: (bytes: number) => number,
): void {
  const { context } = surface;
  const scale = surface.scale();
  const line = Math.max(1, Math.round(scale));
  const pattern = named ? hatchPattern(context, css(withAlpha(colors.capacity, 0.45)), Math.round(6 * scale)) : null;
  const runs = gpuRuns(profile);
  const share = width / profile.stages.length;
  context.font = `${Math.round(11 * scale)}px ${colors.fontFamily}`;
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  for (const { from, to, tightest } of runs) {
    const [x0, x1] = [Math.round((left + from * share) * scale), Math.round((left + to * share) * scale)];
    const at = y(tightest.capacityBytes);
    if (pattern !== null) {
      context.fillStyle = pattern;
      context.fillRect(x0, at, x1 - x0, y(tightest.usableBytes) - at);
    }
    context.fillStyle = css(colors.capacity);
    context.fillRect(x0, at, x1 - x0, line);
    const { gpu } = tightest;
    if (named && gpu !== undefined && context.measureText(gpu).width < x1 - x0 - 8 * scale) {
      context.fillStyle = css(colors.foreground);
      context.fillText(gpu, x0 + 4 * scale, Math.max(7 * scale, at - 8 * scale));
    }
  }
  if (!named) return;
  context.fillStyle = css(colors.capacity);
  for (const capacity of new Set(runs.map(({ tightest }) => tightest.capacityBytes)))
    context.fillText(formatBytes(capacity), (left + width + 8) * scale, Math.max(7 * scale, y(capacity)));
}

function drawStageNumbers(
  surface: Surface,
  colors: Theme,
  profile: MemoryProfile,
  options: BarsOptions,
  left: number,
  width: number,
  height: number,
): void {
  const { context } = surface;
  const scale = surface.scale();
  const count = profile.stages.length;
  const step = width / count;
  const { step: every } = niceTicks(0, count, Math.max(2, width / 44));
  const marked = [options.stage(), worstStage(profile)?.stage ?? null].filter((stage) => stage !== null);
  context.font = `${Math.round(11 * scale)}px ${colors.fontFamily}`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  profile.stages.forEach(({ stage }, index) => {
    const isMarked = marked.includes(stage);
    const nearMarked = marked.some((other) => other !== stage && Math.abs(other - stage) * step < 30);
    if (!isMarked && (stage % Math.max(1, every) !== 0 || nearMarked)) return;
    context.fillStyle = css(isMarked ? colors.foreground : colors.dim);
    context.fillText(String(stage), (left + (index + 0.5) * step) * scale, (height + axisBottomPx / 2 + 2) * scale);
  });
}
