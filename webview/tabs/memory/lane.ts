import { bytesPerGiB, formatBytes, formatDuration } from '../../../src/core/format';
import { liveCurve, type LiveCurve } from '../../../src/core/memory-model/curve';
import type { MemoryPart, MemoryProfile, StageMemory } from '../../../src/core/memory-model/profile';
import { css, withAlpha } from '../../base/color';
import { fill, h } from '../../base/dom';
import { partAttributes } from '../../base/parts';
import { t } from '../../base/strings';
import { makeSurface, type Surface } from '../../base/surface';
import { onThemeChange, theme, type Theme } from '../../base/theme';
import { gutters } from '../timeline/draw-frame';
import type { Operations } from '../../base/operations';
import { hatchPattern } from '../timeline/paint';
import { niceTicks } from '../../base/chart/ticks';
import type { Viewport } from '../../base/viewport';
import { bytesAt, peaksPerColumn } from './curve';
import { partPaint } from './part-paint';
import { axisBytes, partName, presentParts, staticParts } from './summary';

/** Props of the memory lane; null draws nothing. */
export interface MemoryLaneProps {
  /** Where the lanes above begin, CSS px. */
  readonly leftPx: () => number;
  readonly viewport: () => Viewport;
  readonly shown: () => { readonly operations: Operations; readonly profile: MemoryProfile; readonly stage: StageMemory } | null;
}

/** Memory in use on one stage under the timeline, on the same time axis. */
export interface MemoryLane {
  readonly element: HTMLElement;
  readonly redraw: () => void;
  /** Says what is in use at a time, ms, that is pointed at above; null: none is. */
  readonly point: (ms: number | null) => void;
}

/** Lanes that were made: a page may have that of a plan and that of a schedule file. */
let lanes = 0;

/** Makes the lane. */
export function makeMemoryLane(props: MemoryLaneProps): MemoryLane {
  let cached: { readonly stage: StageMemory; readonly operations: Operations; readonly curve: LiveCurve } | null = null;
  const title = h('div', { class: 'lane-title', id: `memory-lane-title-${(lanes += 1)}` });
  const curveOf = (operations: Operations, { chunks }: MemoryProfile, stage: StageMemory): LiveCurve => {
    if (cached?.stage !== stage || cached.operations !== operations)
      cached = { stage, operations, curve: liveCurve(operations.timeline, chunks, stage.stage, stage.staticBytes) };
    return cached.curve;
  };
  const surface = makeSurface('memory-lane-curve', (target) => {
    const shown = props.shown();
    if (shown === null) return;
    const { operations, profile, stage } = shown;
    const window = { ...props.viewport(), leftPx: props.leftPx() };
    drawCurve(target, theme(), window, profile, stage, curveOf(operations, profile, stage));
    drawPeak(target, theme(), window, profile, stage, peakMs(operations, stage));
  });
  const redraw = (): void => {
    const shown = props.shown();
    element.hidden = shown === null;
    if (shown === null) return;
    fill(
      title,
      h(
        'span',
        { class: 'lane-words' },
        t(
          'Memory of stage {0} · peak {1} at {2} in the {3}',
          shown.stage.stage,
          formatBytes(shown.stage.peakBytes),
          formatDuration(peakMs(shown.operations, shown.stage)),
          shown.stage.peakOperation,
        ),
      ),
      ...laneParts(shown.stage).map(([part, name]) =>
        h('span', { class: 'lane-part' }, h('span', { class: `swatch swatch-${part}` }), name),
      ),
    );
    title.title = aliveAtPeak(shown.profile, shown.stage);
    surface.redraw();
  };
  const cursorText = h('span', { class: 'lane-cursor-text' });
  const cursor = h('div', { class: 'lane-cursor', 'aria-hidden': 'true', hidden: true }, cursorText);
  const point = (ms: number | null): void => {
    const shown = props.shown();
    const { startMs, endMs } = props.viewport();
    cursor.hidden = shown === null || ms === null || ms < startMs || ms > endMs;
    if (cursor.hidden || shown === null || ms === null) return;
    const width = surface.width() - props.leftPx() - gutters.rightPx;
    const share = (ms - startMs) / (endMs - startMs);
    cursor.style.transform = `translateX(${Math.round(props.leftPx() + share * width)}px)`;
    cursor.classList.toggle('lane-cursor-end', share > 0.5);
    cursorText.textContent = formatBytes(bytesAt(curveOf(shown.operations, shown.profile, shown.stage), ms));
  };
  const element = h(
    'div',
    {
      class: 'memory-lane',
      ...partAttributes,
      role: 'group',
      'aria-label': t('Memory over time'),
      'aria-describedby': title.id,
    },
    title,
    h('div', { class: 'lane-canvas' }, surface.canvas, cursor),
  );
  onThemeChange(redraw);
  return { element, redraw, point };
}

/** What the lane tells apart: parts that are there all the time, and the rest, which comes and goes. */
function laneParts(stage: StageMemory): (readonly [MemoryPart, string])[] {
  const always = staticParts(stage).filter(([, bytes]) => bytes > 0);
  return [...always.map(([part]) => [part, partName(part)] as const), ['activations', t('What comes and goes')] as const];
}

function peakMs({ timeline }: Operations, { peakRow }: StageMemory): number {
  return timeline.startMs[peakRow] ?? 0;
}

/** What is in use at the peak, the most first: `Activations 8.1 GiB, weights 3.4 GiB`. */
function aliveAtPeak(profile: MemoryProfile, { parts }: StageMemory): string {
  const alive = presentParts(profile).filter((part) => parts[part] > 0);
  alive.sort((a, b) => parts[b] - parts[a]);
  return alive.map((part) => `${partName(part)} ${formatBytes(parts[part])}`).join('\n');
}

/** The times that are shown, and where they begin, CSS px. */
interface Window extends Pick<Viewport, 'startMs' | 'endMs'> {
  readonly leftPx: number;
}

/** A small triangle over the highest point of the curve, when that is in view. */
function drawPeak(
  surface: Surface,
  colors: Theme,
  window: Window,
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

function drawCurve(
  surface: Surface,
  colors: Theme,
  { startMs, endMs, leftPx }: Window,
  profile: MemoryProfile,
  stage: StageMemory,
  curve: LiveCurve,
): void {
  const { context } = surface;
  const scale = surface.scale();
  const left = Math.round(leftPx * scale);
  const width = Math.max(1, Math.round((surface.width() - leftPx - gutters.rightPx) * scale));
  const height = surface.height() * scale;
  const top = axisBytes(profile);
  const y = (bytes: number): number => Math.round(height - (bytes / top) * height);
  const peaks = peaksPerColumn(curve, startMs, (endMs - startMs) / width, width);
  drawScale(surface, colors, top, left, width, y);
  const steps = (floor: number): Path2D => {
    const path = new Path2D();
    path.moveTo(left, y(floor));
    peaks.forEach((bytes, pixel) => {
      path.lineTo(left + pixel, y(bytes));
      path.lineTo(left + pixel + 1, y(bytes));
    });
    path.lineTo(left + width, y(floor));
    path.closePath();
    return path;
  };
  context.fillStyle = partPaint(context, colors, 'activations', scale);
  context.fill(steps(stage.staticBytes));
  let floor = 0;
  for (const [part, bytes] of staticParts(stage)) {
    context.fillStyle = partPaint(context, colors, part, scale);
    context.fillRect(left, y(floor + bytes), width, y(floor) - y(floor + bytes));
    floor += bytes;
    if (!colors.highContrast) continue;
    context.fillStyle = css(colors.foreground);
    context.fillRect(left, y(floor), width, 1);
  }
  if (colors.highContrast) {
    context.strokeStyle = css(colors.foreground);
    context.lineWidth = Math.max(1, Math.round(scale));
    context.stroke(steps(0));
  }
  drawCapacity(surface, colors, stage.capacityBytes, stage.usableBytes, left, width, y);
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
