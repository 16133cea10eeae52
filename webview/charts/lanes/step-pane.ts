import { formatDuration } from '../../../src/core/format';
import type { Timeline } from '../../../src/core/schedules/schedule';
import { onAction } from '../../base/actions';
import { h } from '../../base/dom';
import { lanesAttributes, partAttributes } from '../../base/parts';
import { t } from '../../base/strings';
import { indexOperations, type Operation, type Operations } from '../../base/operations';
import { wirePane } from './input';
import { edgeOperation, movedBy, stepFrom } from './navigate';
import { makePane } from './pane';
import { clamp, fitAll, fitOperation, fitRange, reveal, type Viewport } from '../../base/viewport';
import { spoken, waitText } from './labels';
import type { Selection } from '../../base/view-state';

/** The pipeline part of one step of an epoch, drawn and walked through as in the timeline. */
interface StepPane {
  readonly element: HTMLElement;
  /** Null: more operations than are drawn. */
  readonly show: (timeline: Timeline | null) => void;
  readonly focus: () => void;
}

/** Makes an empty pane. @param name of an operation, where that is not its micro-batch. */
export function makeStepPane(name: (operation: Operation) => string = ofMicroBatch): StepPane {
  let operations: Operations | null = null;
  let timeline: Timeline | null = null;
  let viewport: Viewport | null = null;
  let selection: Selection | null = null;
  let picked: Operation | null = null;
  const status = h('div', { class: 'visually-hidden', role: 'status' });
  const pane = makePane({
    operations: () => operations,
    durationMs: () => operations?.timeline.makespanMs ?? 1,
    viewport: (extent) => (viewport === null ? fitAll(extent) : clamp(viewport, extent)),
    selection: () => selection,
    stage: () => null,
    criticalPath: () => null,
    tooltip: ({ operation, stage }) => {
      if (operations === null || stage === null) return [];
      if (operation === null) return [t('Stage {0}', stage), t('idle')];
      return [
        name(operation),
        t('{0} from {1}', formatDuration(operation.endMs - operation.startMs), formatDuration(operation.startMs)),
        waitText(operations, operation),
      ];
    },
  });
  pane.setCaption('');
  const current = (): Viewport => viewport ?? fitAll(pane.extent());
  const show = (next: Viewport | null): void => {
    viewport = next;
    pane.redraw();
  };
  const pick = (operation: Operation | null, follows: boolean): void => {
    picked = operation;
    selection = operation === null ? null : { type: 'operation', chunk: operation.chunk, kind: operation.kind, unit: operation.unitIndex };
    if (operation !== null && operations !== null) {
      status.textContent = spoken(operations, operation);
      if (follows && viewport !== null) viewport = reveal(viewport, operation.stage, operation.startMs, operation.endMs, pane.extent());
    }
    pane.redraw();
  };
  wirePane(pane, {
    operations: () => operations,
    viewport: current,
    show,
    pick: (operation) => pick(operation, false),
    pickRange: (startMs, endMs, firstStage, lastStage) => {
      picked = null;
      selection = { type: 'range', startMs, endMs, firstStage, lastStage };
      pane.redrawOverlay();
    },
    zoomTo: ({ stage, startMs, endMs }) => show(fitOperation(current(), stage, startMs, endMs, pane.extent())),
  });
  const element = h(
    'div',
    {
      class: 'step-pane',
      ...partAttributes,
      ...lanesAttributes,
      tabindex: 0,
      role: 'application',
      'aria-label': t('Timeline of one step'),
    },
    pane.element,
    status,
  );
  onAction(element, (action) => {
    if (operations === null) return false;
    const moved = movedBy(action, current(), pane.extent(), picked === null ? null : (picked.startMs + picked.endMs) / 2);
    if (moved !== null) show(moved);
    else if (action.do === 'step')
      pick((picked === null ? edgeOperation(operations, 0, 'first') : stepFrom(operations, picked, action)) ?? picked, true);
    else if (action.do === 'edge') pick(edgeOperation(operations, picked?.stage ?? 0, action.end), true);
    else if (action.do === 'fitAll') show(null);
    else if (action.do === 'fitSelection') show(fitted());
    else if (action.do === 'back' && selection !== null) pick(null, false);
    else return false;
    return true;
  });
  const fitted = (): Viewport | null => {
    if (picked !== null) return fitOperation(current(), picked.stage, picked.startMs, picked.endMs, pane.extent());
    return selection?.type === 'range' ? fitRange(current(), selection.startMs, selection.endMs, pane.extent()) : null;
  };
  return {
    element,
    show: (next) => {
      element.hidden = next === null;
      if (next !== timeline) {
        timeline = next;
        operations = next === null ? null : indexOperations(next);
        [viewport, selection, picked] = [null, null, null];
      }
      element.style.height = `${Math.min(420, 44 + Math.max(1, operations?.stages ?? 1) * 28)}px`;
      pane.redraw();
    },
    focus: () => element.focus(),
  };
}

/** Slices are whole samples here: the micro-batch and the stage say it all. */
function ofMicroBatch({ kind, unit, stage }: Operation): string {
  return kind === 0
    ? t('Forward of micro-batch {0} on stage {1}', unit.microBatch, stage)
    : t('Backward of micro-batch {0} on stage {1}', unit.microBatch, stage);
}
