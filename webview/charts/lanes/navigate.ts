import { alongMicroBatch } from './dependencies';
import { hitNear, operationAt, stageRows, type Operation, type Operations } from '../../base/operations';
import type { PageAction } from '../../base/actions';
import { panTime, scrollRows, zoomRows, zoomTime, type Extent, type Viewport } from '../../base/viewport';

type Step = Extract<PageAction, { readonly do: 'step' }>;

/** The operation that a step leads to, or null at an end. */
export function stepFrom(operations: Operations, from: Operation, { along, by }: Step): Operation | null {
  switch (along) {
    case 'stage': {
      const { first, end } = stageRows(operations, from.stage);
      const row = from.row + by;
      return row >= first && row < end ? operationAt(operations, row) : null;
    }
    case 'stages': {
      const stage = from.stage + by;
      return stage >= 0 && stage < operations.stages ? hitNear(operations, stage, (from.startMs + from.endMs) / 2, Infinity) : null;
    }
    case 'microBatch':
      return alongMicroBatch(operations, from, by);
  }
}

/** The first or last operation of a stage, or null when it has none. */
export function edgeOperation(operations: Operations, stage: number, end: 'first' | 'last'): Operation | null {
  const rows = stageRows(operations, stage);
  if (rows.end <= rows.first) return null;
  return operationAt(operations, end === 'first' ? rows.first : rows.end - 1);
}

/** Where a command moves the viewport to, or null for those that do something else. Zooms at `aroundMs`, else at the middle. */
export function movedBy(action: PageAction, viewport: Viewport, extent: Extent, aroundMs: number | null): Viewport | null {
  const spanMs = viewport.endMs - viewport.startMs;
  switch (action.do) {
    case 'zoom':
      return zoomTime(viewport, action.factor, aroundMs ?? viewport.startMs + spanMs / 2, extent);
    case 'zoomRows':
      return zoomRows(viewport, action.factor, extent.heightPx / 2, extent);
    case 'pan':
      return panTime(viewport, spanMs * action.fraction, extent);
    case 'scroll':
      return scrollRows(viewport, extent.heightPx * action.fraction, extent);
    case 'step':
    case 'edge':
    case 'fitSelection':
    case 'fitAll':
    case 'find':
    case 'part':
    case 'showKeys':
    case 'back':
    case 'criticalPath':
    case 'toggleNode':
    case 'toggleNodes':
    case 'togglePin':
      return null;
  }
}
