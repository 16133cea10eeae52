import { css, withAlpha } from '../../base/color';
import { h } from '../../base/dom';
import { makeSurface, type Surface } from '../../base/surface';
import { onThemeChange, theme } from '../../base/theme';
import { t } from '../../base/strings';
import { makeLaneBuffers } from '../../charts/lanes/draw-lanes';
import { gutters } from '../../charts/lanes/draw-frame';
import { drawWholeStep } from '../../charts/lanes/whole-step';
import { lineWidth, penOn, plotIn, pointIn, shareAt, type Pen, type Plot } from '../../charts/plot';
import { clamp, panTime, type Extent, type Viewport } from '../../base/viewport';
import type { Pane } from '../../charts/lanes/pane';
import type { ShownTimeline } from './shown';

/** The whole step in a strip, with the window on it that can be dragged, resized and redrawn. */
export interface Minimap {
  readonly element: HTMLElement;
  /** Draws the step again. */
  readonly redraw: () => void;
  /** Draws only the window again. */
  readonly moveWindow: () => void;
}

const grip = 6;

/** Makes a minimap. @param show shows a part of the timeline in the pane */
export function makeMinimap(timeline: ShownTimeline, pane: Pane, show: (viewport: Viewport) => void): Minimap {
  const buffers = makeLaneBuffers();
  const minimapPlot = (surface: Pick<Surface, 'width' | 'height'>): Plot =>
    plotIn(surface, { left: pane.leftPx(), right: gutters.rightPx });
  const viewport = (): Viewport => timeline.viewport(pane.extent());
  const base = makeSurface('minimap-step', (target) => {
    const operations = timeline.operations();
    if (operations === null) return;
    const [durationMs, painted, tail, hiddenTail] = [timeline.durationMs(), timeline.painted(), timeline.tail(), timeline.hiddenTail()];
    drawWholeStep(target, minimapPlot(target), { operations, durationMs, painted, tail, hiddenTail }, buffers);
  });
  const frame = makeSurface('minimap-window', (target) => drawWindow(penOn(target, theme(), minimapPlot(target)), windowPx()));
  const windowPx = (): readonly [from: number, until: number] => {
    const { left, width } = minimapPlot(frame);
    const { startMs, endMs } = viewport();
    const perMs = width / timeline.durationMs();
    return [left + startMs * perMs, left + Math.max(startMs * perMs + 2, endMs * perMs)];
  };
  const element = h(
    'div',
    { class: 'minimap', title: t('The whole step. Drag the window to move it, its edges to zoom.') },
    base.canvas,
    frame.canvas,
  );
  dragWindow(frame.canvas, {
    viewport,
    durationMs: timeline.durationMs,
    windowPx,
    msAt: (x) => shareAt(minimapPlot(frame), x) * timeline.durationMs(),
    onWindow: (startMs, endMs) => show(windowAt(startMs, endMs, viewport(), pane.extent())),
  });
  const redraw = (): void => {
    base.redraw();
    frame.redraw();
  };
  onThemeChange(redraw);
  return { element, redraw, moveWindow: frame.redraw };
}

/** Draws what is outside of the window paler, and its outline; the edges of the window in CSS px. */
function drawWindow({ context, colors, scale, plot }: Pen, [from, until]: readonly [from: number, until: number]): void {
  const right = plot.left + plot.width;
  const height = plot.height * scale;
  context.fillStyle = css(withAlpha(colors.background, 0.62));
  context.fillRect(plot.left * scale, 0, (from - plot.left) * scale, height);
  context.fillRect(until * scale, 0, (right - until) * scale, height);
  context.strokeStyle = css(colors.highContrast ? colors.focus : withAlpha(colors.foreground, 0.55));
  context.lineWidth = lineWidth(scale);
  const half = context.lineWidth / 2;
  const width = Math.max(1, Math.round((until - from) * scale) - 2 * half);
  context.strokeRect(Math.round(from * scale) + half, half, width, height - 2 * half);
}

type DragMode = 'move' | 'start' | 'end' | 'new';

/** What a drag begins: the window moves, one of its edges does, or a new one is drawn. */
function modeAt(x: number, [from, until]: readonly [from: number, until: number], isWhole: boolean): DragMode {
  if (isWhole) return 'new';
  if (Math.abs(x - from) <= grip) return 'start';
  if (Math.abs(x - until) <= grip) return 'end';
  return x > from && x < until ? 'move' : 'new';
}

/** The viewport whose window was drawn or moved. */
function windowAt(startMs: number, endMs: number, before: Viewport, extent: Extent): Viewport {
  const keepsWidth = Math.abs(endMs - startMs - (before.endMs - before.startMs)) < 1e-9 * extent.durationMs;
  return keepsWidth ? panTime(before, startMs - before.startMs, extent) : clamp({ ...before, startMs, endMs }, extent);
}

/** What a drag reads and changes. */
interface DragProps {
  readonly viewport: () => Viewport;
  readonly durationMs: () => number;
  /** Edges of the window, CSS px. */
  readonly windowPx: () => readonly [from: number, until: number];
  /** Time at an x, CSS px. */
  readonly msAt: (x: number) => number;
  readonly onWindow: (startMs: number, endMs: number) => void;
}

function dragWindow(canvas: HTMLCanvasElement, { viewport, durationMs, windowPx, msAt: msAtX, onWindow }: DragProps): void {
  let drag: { readonly mode: DragMode; readonly atMs: number; readonly startMs: number; readonly endMs: number } | null = null;
  const msAt = (event: PointerEvent): number => msAtX(pointIn(canvas, event).x);
  const modeUnder = (event: PointerEvent): DragMode => {
    const { startMs, endMs } = viewport();
    return modeAt(pointIn(canvas, event).x, windowPx(), endMs - startMs >= durationMs() * 0.999);
  };
  const clickMs = (): number => durationMs() * 0.004;
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    const { startMs, endMs } = viewport();
    drag = { mode: modeUnder(event), atMs: msAt(event), startMs, endMs };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (drag === null) {
      const mode = modeUnder(event);
      canvas.dataset['cursor'] = mode === 'move' ? 'grab' : mode === 'new' ? 'new' : 'resize';
      return;
    }
    const ms = msAt(event);
    const moved = ms - drag.atMs;
    if (drag.mode === 'move') onWindow(drag.startMs + moved, drag.endMs + moved);
    else if (drag.mode === 'start') onWindow(Math.min(ms, drag.endMs), drag.endMs);
    else if (drag.mode === 'end') onWindow(drag.startMs, Math.max(ms, drag.startMs));
    else if (Math.abs(moved) > clickMs()) onWindow(Math.min(ms, drag.atMs), Math.max(ms, drag.atMs));
  });
  canvas.addEventListener('pointerup', (event) => {
    if (drag?.mode === 'new' && Math.abs(msAt(event) - drag.atMs) <= clickMs()) {
      const half = (drag.endMs - drag.startMs) / 2;
      onWindow(drag.atMs - half, drag.atMs + half);
    }
    drag = null;
  });
  canvas.addEventListener('pointercancel', () => (drag = null));
}
