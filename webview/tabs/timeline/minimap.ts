import { css, withAlpha } from '../../base/color';
import { h } from '../../base/dom';
import { makeSurface } from '../../base/surface';
import { onThemeChange, theme } from '../../base/theme';
import { t } from '../../base/strings';
import type { Tail, TailPart } from '../../../src/core/planner/explain/tail';
import { drawTail } from '../../charts/lanes/draw-tail';
import { drawLanes, makeLaneBuffers, type LaneArea } from '../../charts/lanes/draw-lanes';
import { gutters } from '../../charts/lanes/draw-frame';
import type { Operations } from '../../base/operations';
import type { Viewport } from '../../base/viewport';

/** Props of the minimap. */
interface MinimapProps {
  readonly operations: () => Operations | null;
  readonly painted: () => Operations | null;
  readonly tail: () => Tail | null;
  readonly hiddenTail: () => ReadonlySet<TailPart['kind']>;
  readonly durationMs: () => number;
  readonly viewport: () => Viewport;
  /** Where the lanes begin, CSS px. */
  readonly leftPx: () => number;
  /** The person moved or resized the window. */
  readonly onWindow: (startMs: number, endMs: number) => void;
}

/** The whole step in a strip, with the window on it that can be dragged, resized and redrawn. */
export interface Minimap {
  readonly element: HTMLElement;
  /** Draws the step again. */
  readonly redraw: () => void;
  /** Draws the window alone again. */
  readonly moveWindow: () => void;
}

const grip = 6;

/** Makes a minimap. */
export function makeMinimap(props: MinimapProps): Minimap {
  const buffers = makeLaneBuffers();
  const base = makeSurface('minimap-step', ({ context, width, height, scale }) => {
    const operations = props.operations();
    if (operations === null) return;
    const extent = {
      durationMs: props.durationMs(),
      rows: operations.stages,
      widthPx: laneWidth(width()),
      heightPx: height(),
    };
    const area: LaneArea = { context, scale: scale(), left: Math.round(props.leftPx() * scale()), top: 0, extent, names: false };
    const rowPx = height() / operations.stages;
    const whole = { startMs: 0, endMs: props.durationMs(), rowPx, scrollPx: 0 };
    drawLanes(area, props.painted() ?? operations, whole, theme(), buffers);
    const tail = props.tail();
    if (tail !== null) drawTail(area, tail, whole, theme(), props.hiddenTail());
  });
  const frame = makeSurface('minimap-window', ({ context, width, height, scale }) => {
    const colors = theme();
    const [from, until] = windowPx(width());
    const [left, right] = [props.leftPx(), props.leftPx() + laneWidth(width())];
    const dpr = scale();
    context.fillStyle = css(withAlpha(colors.background, 0.62));
    context.fillRect(left * dpr, 0, (from - left) * dpr, height() * dpr);
    context.fillRect(until * dpr, 0, (right - until) * dpr, height() * dpr);
    context.strokeStyle = css(colors.highContrast ? colors.focus : withAlpha(colors.foreground, 0.55));
    context.lineWidth = Math.max(1, Math.round(dpr));
    const half = context.lineWidth / 2;
    context.strokeRect(
      Math.round(from * dpr) + half,
      half,
      Math.max(1, Math.round((until - from) * dpr) - 2 * half),
      height() * dpr - 2 * half,
    );
  });
  const laneWidth = (width: number): number => Math.max(1, width - props.leftPx() - gutters.rightPx);
  const windowPx = (width: number): readonly [number, number] => {
    const { startMs, endMs } = props.viewport();
    const perMs = laneWidth(width) / props.durationMs();
    return [props.leftPx() + startMs * perMs, props.leftPx() + Math.max(startMs * perMs + 2, endMs * perMs)];
  };
  const element = h(
    'div',
    { class: 'minimap', title: t('The whole step. Drag the window to move it, its edges to zoom.') },
    base.canvas,
    frame.canvas,
  );
  dragWindow(frame.canvas, props, windowPx, laneWidth);
  const redraw = (): void => {
    base.redraw();
    frame.redraw();
  };
  onThemeChange(redraw);
  return { element, redraw, moveWindow: frame.redraw };
}

function dragWindow(
  canvas: HTMLCanvasElement,
  props: MinimapProps,
  windowPx: (width: number) => readonly [number, number],
  laneWidth: (width: number) => number,
): void {
  let drag: {
    readonly mode: 'move' | 'start' | 'end' | 'new';
    readonly atMs: number;
    readonly startMs: number;
    readonly endMs: number;
  } | null = null;
  const msAt = (event: PointerEvent): number => {
    const box = canvas.getBoundingClientRect();
    return ((event.clientX - box.left - props.leftPx()) / laneWidth(box.width)) * props.durationMs();
  };
  const modeAt = (event: PointerEvent): 'move' | 'start' | 'end' | 'new' => {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const [from, until] = windowPx(box.width);
    const { startMs, endMs } = props.viewport();
    if (endMs - startMs >= props.durationMs() * 0.999) return 'new';
    if (Math.abs(x - from) <= grip) return 'start';
    if (Math.abs(x - until) <= grip) return 'end';
    return x > from && x < until ? 'move' : 'new';
  };
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    const { startMs, endMs } = props.viewport();
    drag = { mode: modeAt(event), atMs: msAt(event), startMs, endMs };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (drag === null) {
      const mode = modeAt(event);
      canvas.dataset['cursor'] = mode === 'move' ? 'grab' : mode === 'new' ? 'new' : 'resize';
      return;
    }
    const ms = msAt(event);
    const moved = ms - drag.atMs;
    if (drag.mode === 'move') props.onWindow(drag.startMs + moved, drag.endMs + moved);
    else if (drag.mode === 'start') props.onWindow(Math.min(ms, drag.endMs), drag.endMs);
    else if (drag.mode === 'end') props.onWindow(drag.startMs, Math.max(ms, drag.startMs));
    else if (Math.abs(moved) > props.durationMs() * 0.004) props.onWindow(Math.min(ms, drag.atMs), Math.max(ms, drag.atMs));
  });
  canvas.addEventListener('pointerup', (event) => {
    if (drag?.mode === 'new' && Math.abs(msAt(event) - drag.atMs) <= props.durationMs() * 0.004) {
      const half = (drag.endMs - drag.startMs) / 2;
      props.onWindow(drag.atMs - half, drag.atMs + half);
    }
    drag = null;
  });
  canvas.addEventListener('pointercancel', () => (drag = null));
}
