import { formatCount, formatPercent } from '../../../src/core/format';
import type { StageMemory } from '../../../src/core/memory-model/profile';
import { h, icon } from '../../base/dom';
import { ease } from '../../base/frame';
import { makeMemoryLane } from '../memory/lane';
import { worstStage } from '../memory/summary';
import { capitalised } from '../../shared/sentence';
import { t } from '../../base/strings';
import { comparedDrawn, isWithheld, shownCandidate, shownDrawn, type Change, type Drawn, type Store } from '../../base/store';
import { isControl, takesLetters } from '../../base/ui';
import type { ViewState } from '../../base/view-state';
import { criticalPath } from './dependencies';
import { makeFindBar } from './find-bar';
import { wirePointer } from './input';
import { readKey, type KeyAction } from './keys';
import { makeMinimap } from './minimap';
import { operationAt, type Operation, type Operations } from '../../base/operations';
import { makePane, type Pane, type PaneProps, type Pointer } from './pane';
import { makeOperationTable } from './table';
import { gutters } from './draw-frame';
import { edgeOf, movedBy, stepFrom } from './navigate';
import { between, clamp, fitAll, fitOperation, fitRange, panTime, reveal, timeAt, type Extent, type Viewport } from '../../base/viewport';
import { idleAt, kindName, placeText, spoken, stageText, timeText, unitText, waitText } from './labels';

/** The timeline of the shown candidate, of the one it is compared with, and the memory under it. */
export interface TimelineView {
  readonly element: HTMLElement;
  /** Shows what changed; null shows everything. */
  readonly update: (change: Change | null) => void;
  readonly fitAll: () => void;
  readonly openFind: () => void;
  /** Does what a letter or sign typed anywhere on the page asks for; keys that move the focus or press buttons are left alone. */
  readonly type: (event: KeyboardEvent) => void;
}

const zoomToFitMs = 120;

/** Makes the view; `onHelp` opens the list of keys, `ofFile` says that it is of a schedule file. */
export function makeTimelineView(store: Store, onHelp: () => void, ofFile = false): TimelineView {
  const shown = (): Drawn | null => shownDrawn(store.state(), store.view());
  const compared = (): Drawn | null => comparedDrawn(store.state(), store.view());
  const operations = (): Operations | null => shown()?.operations ?? null;
  const others = (): Operations | null => compared()?.operations ?? null;
  const durationMs = (): number => Math.max(operations()?.timeline.makespanMs ?? 0, others()?.timeline.makespanMs ?? 0, Number.MIN_VALUE);
  const viewportOf = (extent: Extent): Viewport => mapped(store.view().viewport, (viewport) => clamp(viewport, extent)) ?? fitAll(extent);
  let stopEase = (): void => undefined;
  const show = (viewport: Viewport | null): void => {
    stopEase();
    store.setView({ viewport });
  };
  const easeTo = (target: Viewport | null): void => {
    stopEase();
    const from = viewportOf(pane.extent());
    const to = target ?? fitAll(pane.extent());
    stopEase = ease(zoomToFitMs, (fraction) => store.setView({ viewport: fraction >= 1 ? target : between(from, to, fraction) }));
  };

  const path = cachedPath();
  const props = (of: () => Operations | null, isMain: boolean): PaneProps => ({
    operations: of,
    durationMs,
    viewport: viewportOf,
    selection: () => (isMain ? store.view().selection : null),
    stage: () => markedStage(),
    criticalPath: () => (store.view().criticalPath ? mapped(of(), path) : null),
    tooltip: (pointer, extent) => tooltipLines(of(), pointer, viewportOf(extent), extent),
  });
  const pane = makePane(props(operations, true));
  const otherPane = makePane(props(others, false));
  const memoryStage = (): StageMemory | null => {
    const profile = shown()?.memory ?? null;
    if (profile === null) return null;
    return profile.stages.find(({ stage }) => stage === store.view().stage) ?? worstStage(profile);
  };
  const markedStage = (): number | null => {
    const stage = memoryStage()?.stage ?? store.view().stage;
    return stage === null || stage >= (operations()?.stages ?? 0) ? null : stage;
  };
  const lane = makeMemoryLane({
    viewport: () => viewportOf(pane.extent()),
    shown: () => {
      const [profile, stage, of] = [shown()?.memory ?? null, memoryStage(), operations()];
      return profile === null || stage === null || of === null ? null : { operations: of, profile, stage };
    },
  });
  const minimap = makeMinimap({
    operations,
    durationMs,
    viewport: () => viewportOf(pane.extent()),
    onWindow: (startMs, endMs) => {
      const before = viewportOf(pane.extent());
      const keepsWidth = Math.abs(endMs - startMs - (before.endMs - before.startMs)) < 1e-9 * durationMs();
      const extent = pane.extent();
      show(keepsWidth ? panTime(before, startMs - before.startMs, extent) : clamp({ ...before, startMs, endMs }, extent));
    },
  });

  const live = h('div', { class: 'visually-hidden', 'aria-live': 'polite' });
  const pick = (operation: Operation | null, stage: number | null): void => {
    const selection = mapped(
      operation,
      (found) => ({ type: 'operation', chunk: found.chunk, kind: found.kind, unit: found.unitIndex }) as const,
    );
    store.setView({ selection, stage: operation?.stage ?? stage ?? store.view().stage });
  };
  const goTo = (operation: Operation | null): void => {
    const of = operations();
    if (operation === null || of === null) return;
    const viewport = reveal(viewportOf(pane.extent()), operation.stage, operation.startMs, operation.endMs, pane.extent());
    if (store.view().viewport !== null) show(viewport);
    pick(operation, null);
    live.textContent = spoken(of, operation);
  };
  const selected = (): Operation | null => {
    const selection = store.view().selection;
    const of = operations();
    if (selection?.type !== 'operation' || of === null) return null;
    const row = of.rowOf(selection.chunk, selection.kind, selection.unit);
    return row < 0 ? null : operationAt(of, row);
  };
  const zoomTo = (operation: Operation): void => {
    pick(operation, null);
    easeTo(fitOperation(viewportOf(pane.extent()), operation.stage, operation.startMs, operation.endMs, pane.extent()));
  };
  const rangeViewport = ({ startMs, endMs }: { readonly startMs: number; readonly endMs: number }): Viewport =>
    fitRange(viewportOf(pane.extent()), startMs, endMs, pane.extent());
  const findBar = makeFindBar({
    operations,
    ofFile,
    after: () => selected()?.row ?? -1,
    found: goTo,
    left: () => lanes.focus(),
  });
  const move = (action: KeyAction): void => {
    const extent = pane.extent();
    const viewport = viewportOf(extent);
    const operation = selected();
    const of = operations();
    const stage = operation?.stage ?? markedStage() ?? 0;
    const moved = movedBy(action, viewport, extent, mapped(operation, middleOf));
    if (moved !== null) show(moved);
    else if (action.do === 'step' && of !== null) goTo(operation === null ? edgeOf(of, stage, 'first') : stepFrom(of, operation, action));
    else if (action.do === 'edge' && of !== null) goTo(edgeOf(of, stage, action.end));
  };
  const act = (action: KeyAction): void => {
    const { selection, criticalPath: outlined, viewport } = store.view();
    switch (action.do) {
      case 'fitSelection': {
        const operation = selected();
        if (operation !== null) zoomTo(operation);
        else if (selection?.type === 'range') easeTo(rangeViewport(selection));
        else easeTo(null);
        break;
      }
      case 'fitAll':
        easeTo(null);
        break;
      case 'criticalPath':
        store.setView({ criticalPath: !outlined });
        break;
      case 'find':
        findBar.open();
        break;
      case 'help':
        onHelp();
        break;
      case 'back':
        if (selection !== null) store.setView({ selection: null });
        else if (viewport !== null) easeTo(null);
        break;
      case 'zoom':
      case 'zoomRows':
      case 'pan':
      case 'scroll':
      case 'step':
      case 'edge':
        move(action);
    }
  };
  const lanes = h('div', { class: 'lanes-region', role: 'application', tabindex: 0 }, pane.element, otherPane.element);
  // Keys work at once in a tab that opens; what has the focus elsewhere, in the page or in VS Code, keeps it.
  const takeFocus = (): void => {
    if (document.hasFocus() && document.activeElement === document.body && !body.hidden) lanes.focus({ preventScroll: true });
  };
  window.addEventListener('focus', takeFocus);
  const press = (event: KeyboardEvent): void => {
    const action = readKey(event);
    if (action === null) return;
    event.preventDefault();
    event.stopPropagation();
    act(action);
  };
  lanes.addEventListener('keydown', (event) => {
    if (!isControl(event.target)) press(event);
  });
  const actions = (of: () => Operations | null, own: Pane, isMain: boolean): Parameters<typeof wirePointer>[1] => ({
    operations: of,
    viewport: () => viewportOf(own.extent()),
    show,
    pick: (operation, stage) => {
      lanes.focus({ preventScroll: true });
      pick(isMain ? operation : null, stage);
    },
    pickRange: (startMs, endMs, firstStage, lastStage) => {
      if (isMain) store.setView({ selection: { type: 'range', startMs, endMs, firstStage, lastStage } });
    },
    zoomTo: (operation) => {
      if (isMain) zoomTo(operation);
    },
  });
  wirePointer(pane, actions(operations, pane, true));
  wirePointer(otherPane, actions(others, otherPane, false));

  const table = makeOperationTable({
    operations,
    stage: () => markedStage() ?? 0,
    selected: () => selected()?.row ?? null,
    pick: goTo,
  });
  const missing = h('div', { class: 'placeholder' });
  const body = h('div', { class: 'timeline-body' }, minimap.element, lanes, lane.element);
  const element = h('div', { class: 'timeline-view' }, findBar.element, body, missing, table.element, live);

  const update = (change: Change | null): void => {
    const drawn = shown();
    const of = operations();
    body.hidden = of === null;
    missing.hidden = of !== null || drawn === null;
    if (drawn === null) return;
    if (of === null) {
      const { plan } = store.state();
      const comes = plan !== null && isWithheld(store.state(), shownCandidate(plan, store.view()).id);
      const why = t('This plan has more operations than are drawn. Its numbers, memory and slices are in the other tabs.');
      missing.replaceChildren(icon('information'), h('p', {}, comes ? t('Fetching its operations') : why));
      table.element.hidden = true;
      return;
    }
    const view = store.view();
    const before = change?.before ?? null;
    const differs = (...keys: readonly (keyof ViewState)[]): boolean => before === null || keys.some((key) => before[key] !== view[key]);
    const isNew = change === null || change.state || differs('candidate', 'compareWith');
    if (isNew) takeFocus();
    if (isNew) {
      const other = compared();
      lanes.setAttribute('aria-label', regionLabel(drawn, of));
      otherPane.element.hidden = others() === null;
      pane.setCaption(other === null ? '' : captionOf(drawn));
      if (other !== null) otherPane.setCaption(captionOf(other));
    }
    if (isNew || differs('viewport', 'criticalPath', 'stage')) {
      pane.redraw();
      if (!otherPane.element.hidden) otherPane.redraw();
      lanes.style.maxHeight = `${pane.highestPx() + (otherPane.element.hidden ? 0 : otherPane.highestPx())}px`;
      lane.redraw();
    } else if (differs('selection')) pane.redrawOverlay();
    if (isNew) minimap.redraw();
    else if (differs('viewport')) minimap.moveWindow();
    table.element.hidden = !view.table;
    if (view.table) table.update();
  };
  const type = (event: KeyboardEvent): void => {
    if (event.key.length === 1 && !takesLetters(event.target) && operations() !== null) press(event);
  };
  return { element, update, fitAll: () => easeTo(null), openFind: findBar.open, type };
}

function tooltipLines(operations: Operations | null, pointer: Pointer, viewport: Viewport, extent: Extent): (string | null)[] {
  if (operations === null || pointer.stage === null || pointer.x < gutters.leftPx) return [];
  const { operation, stage } = pointer;
  if (operation !== null)
    return [
      headline(operations, operation),
      placeText(operations, operation),
      unitText(operations, operation),
      t('{0}, from {1}', timeText(operations, operation.endMs - operation.startMs), timeText(operations, operation.startMs)),
      waitText(operations, operation),
    ];
  const idle = idleAt(operations, stage, timeAt(viewport, pointer.x - gutters.leftPx, extent));
  if (idle === null || pointer.x > gutters.leftPx + extent.widthPx) return [];
  return [t('Idle for {0}', timeText(operations, idle.endMs - idle.startMs)), stageText(operations, stage), idle.cause];
}

function headline({ ofFile }: Operations, operation: Operation): string {
  const { microBatch, slice } = operation.unit;
  return ofFile
    ? t('{0} · micro-batch {1}', kindName(operation), microBatch)
    : t('{0} · micro-batch {1} · slice {2}', kindName(operation), microBatch, slice);
}

function regionLabel({ name, lengthMs }: Drawn, operations: Operations): string {
  const { stages, count, ofFile } = operations;
  if (ofFile)
    return t(
      'Timeline of {0}: {1} ranks, {2} operations, {3}. Arrow keys move between operations, question mark shows all keys.',
      name,
      formatCount(stages),
      formatCount(count),
      timeText(operations, lengthMs),
    );
  return t(
    'Timeline of {0}: {1} stages, {2} operations, {3} per step. Arrow keys move between operations, question mark shows all keys.',
    name,
    formatCount(stages),
    formatCount(count),
    timeText(operations, lengthMs),
  );
}

/** Plans alone are compared. */
function captionOf({ name, lengthMs, bubbleRate }: Drawn): string {
  return t('{0} · {1} per step · bubble {2}', capitalised(name), timeText({ ofFile: false }, lengthMs), formatPercent(bubbleRate));
}

function cachedPath(): (operations: Operations) => Uint32Array {
  const known = new WeakMap<Operations, Uint32Array>();
  return (operations) => {
    const path = known.get(operations) ?? criticalPath(operations);
    known.set(operations, path);
    return path;
  };
}

function middleOf({ startMs, endMs }: Operation): number {
  return (startMs + endMs) / 2;
}

function mapped<A, B>(value: A | null, map: (value: A) => B): B | null {
  return value === null ? null : map(value);
}
