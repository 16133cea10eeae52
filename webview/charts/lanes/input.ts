import type { StageNode } from '../../../src/core/cluster/rank-groups';
import { gutters } from './draw-frame';
import { hitNear, type Operation, type Operations } from '../../base/operations';
import type { Pane, Pointer } from './pane';
import { pointIn } from '../plot';
import { panTime, rowAt, scrollRows, timeAt, zoomRows, zoomTime, type Extent, type Viewport } from '../../base/viewport';
import { maximum, minimum } from '../../../src/core/numbers';

/** What mouse and wheel do. */
export interface PointerActions {
  readonly viewport: () => Viewport;
  readonly show: (viewport: Viewport) => void;
  readonly pick: (operation: Operation | null, stage: number | null) => void;
  readonly pickRange: (startMs: number, endMs: number, firstStage: number, lastStage: number) => void;
  readonly zoomTo: (operation: Operation) => void;
  /** Left out where rows are only stages. */
  readonly openNode?: (node: StageNode) => void;
}

/** Where mouse and wheel work: an area over the time axis. Lengths and places in CSS px, from its upper left corner. */
export interface PointerArea {
  readonly canvas: HTMLElement;
  /** Where the time axis begins. */
  readonly leftPx: () => number;
  /** Of the rows that the viewport looks at. */
  readonly extent: () => Extent;
  /** Height of the axis at its top, where a drag pans. */
  readonly axisPx: number;
  /** What lies at a place. */
  readonly at: (x: number, y: number) => Pointer;
  /** The stages between two heights. */
  readonly stagesBetween: (y: number, other: number) => readonly number[];
  /** Hears what is pointed at. */
  readonly point: (pointer: Pointer | null) => void;
}

/** Less movement than this between down and up is a click. */
const clickPx = 4;
/** How near to an operation of less than a pixel a click may be. */
const slackPx = 3;

/** Wires mouse, pen and wheel to the rows of a pane, which show operations. */
export function wirePane(pane: Pane, actions: PointerActions & { readonly operations: () => Operations | null }): void {
  wirePointer(paneArea(pane, actions), actions);
}

function paneArea(
  pane: Pane,
  { operations, viewport }: Pick<PointerActions, 'viewport'> & { readonly operations: () => Operations | null },
): PointerArea {
  const { canvas, leftPx, extent, point } = pane;
  return {
    canvas,
    leftPx,
    extent,
    axisPx: gutters.axisPx,
    point,
    at: (x, y) => {
      const [size, window, of] = [extent(), viewport(), operations()];
      const inside = x >= leftPx() && x <= leftPx() + size.widthPx;
      const index = y >= gutters.axisPx ? rowAt(window, y - gutters.axisPx, size) : null;
      const row = index === null ? null : (pane.list().rows[index] ?? null);
      const stage = row === null || row.collapsed ? null : (row.stages[0] ?? null);
      const slackMs = (slackPx / size.widthPx) * (window.endMs - window.startMs);
      const operation = inside && stage !== null && of !== null ? hitNear(of, stage, timeAt(window, x - leftPx(), size), slackMs) : null;
      return { x, y, row, stage, operation };
    },
    stagesBetween: (...heights) => {
      const [size, window] = [extent(), viewport()];
      const [first, last] = heights
        .map((y) => rowAt(window, Math.min(size.heightPx - 1, Math.max(0, y - gutters.axisPx)), size) ?? size.rows - 1)
        .sort((a, b) => a - b) as [number, number];
      return pane
        .list()
        .rows.slice(first, last + 1)
        .flatMap((row) => row.stages);
    },
  };
}

/** Wires mouse, pen and wheel to an area: drag selects, drag on the axis pans, Ctrl or Cmd and wheel zooms at the pointer. */
export function wirePointer(area: PointerArea, actions: PointerActions): void {
  const { canvas } = area;
  let drag: { readonly mode: 'select' | 'pan'; readonly start: Pointer; readonly viewport: Viewport; moved: boolean } | null = null;
  const toPointer = (event: MouseEvent): Pointer => {
    const { x, y } = pointIn(canvas, event);
    return area.at(x, y);
  };
  const msAt = (x: number, viewport: Viewport): number => timeAt(viewport, x - area.leftPx(), area.extent());

  canvas.addEventListener('pointerdown', (event) => {
    if (event.button > 1) return;
    const start = toPointer(event);
    drag = { mode: event.button === 1 || start.y < area.axisPx ? 'pan' : 'select', start, viewport: actions.viewport(), moved: false };
    canvas.setPointerCapture(event.pointerId);
    canvas.dataset['cursor'] = drag.mode === 'pan' ? 'grabbing' : '';
  });
  canvas.addEventListener('pointermove', (event) => {
    const now = toPointer(event);
    if (drag === null) {
      canvas.dataset['cursor'] = now.y < area.axisPx ? 'grab' : '';
      area.point(now);
      return;
    }
    const { start, viewport } = drag;
    drag.moved ||= Math.hypot(now.x - start.x, now.y - start.y) > clickPx;
    if (!drag.moved) return;
    area.point(null);
    const extent = area.extent();
    if (drag.mode === 'pan') {
      const perPx = (viewport.endMs - viewport.startMs) / extent.widthPx;
      actions.show(scrollRows(panTime(viewport, (start.x - now.x) * perPx, extent), start.y - now.y, extent));
      return;
    }
    const times = [msAt(start.x, viewport), msAt(now.x, viewport)].map((ms) => Math.min(extent.durationMs, Math.max(0, ms)));
    const stages = area.stagesBetween(start.y, now.y);
    if (stages.length > 0) actions.pickRange(minimum(times), maximum(times), minimum(stages), maximum(stages));
  });
  canvas.addEventListener('pointerup', (event) => {
    if (drag?.mode === 'select' && !drag.moved) {
      const { operation, stage, row } = toPointer(event);
      if (row?.collapsed === true && row.node !== null) actions.openNode?.(row.node);
      else actions.pick(operation, stage);
    }
    drag = null;
    canvas.dataset['cursor'] = '';
  });
  canvas.addEventListener('pointercancel', () => (drag = null));
  canvas.addEventListener('pointerleave', () => area.point(null));
  canvas.addEventListener('dblclick', (event) => {
    const { operation } = toPointer(event);
    if (operation !== null) actions.zoomTo(operation);
  });
  // Over the buttons of rows, too.
  (canvas.parentElement ?? canvas).addEventListener(
    'wheel',
    (event) => {
      const before = actions.viewport();
      const next = wheelled(before, event, area, msAt);
      if (next === before || isSame(next, before)) return;
      event.preventDefault();
      actions.show(next);
      area.point(toPointer(event));
    },
    { passive: false },
  );
}

function wheelled(viewport: Viewport, event: WheelEvent, area: PointerArea, msAt: (x: number, viewport: Viewport) => number): Viewport {
  const extent = area.extent();
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : event.deltaMode === WheelEvent.DOM_DELTA_PAGE ? extent.heightPx : 1;
  const [x, y] = [event.deltaX * unit, event.deltaY * unit];
  const pointer = pointIn(area.canvas, event);
  const perPx = (viewport.endMs - viewport.startMs) / extent.widthPx;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    return zoomTime(viewport, Math.exp(-y * 0.0022), msAt(pointer.x, viewport), extent);
  }
  if (event.altKey) return zoomRows(viewport, Math.exp(-y * 0.0022), pointer.y - area.axisPx, extent);
  if (event.shiftKey) return panTime(viewport, (x === 0 ? y : x) * perPx, extent);
  return scrollRows(panTime(viewport, x * perPx, extent), y, extent);
}

function isSame(a: Viewport, b: Viewport): boolean {
  return a.startMs === b.startMs && a.endMs === b.endMs && a.rowPx === b.rowPx && a.scrollPx === b.scrollPx;
}
