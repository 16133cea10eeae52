import { formatCount, formatPercent } from '../../../src/core/format';
import { h, icon } from '../../base/dom';
import { makeMemoryLane, type MemoryLane } from './memory-lane';
import { capitalised } from '../../shared/sentence';
import { lanesAttributes } from '../../base/parts';
import { t } from '../../base/strings';
import { shownCandidate, type Change, type Drawn, type Store } from '../../base/store';
import { isWithheld } from '../../base/withheld';
import type { ViewState } from '../../base/view-state';
import { timelineCommands, type TimelineCommands } from './commands';
import { criticalPath } from '../../charts/lanes/dependencies';
import { makeFindBar } from './find-bar';
import { wirePane, wirePointer, type PointerArea } from '../../charts/lanes/input';
import { makeMinimap, type Minimap } from './minimap';
import type { PageAction } from '../../base/actions';
import { operationBy, type Operations } from '../../base/operations';
import { makePane, pointAtTime, type Pane, type PaneProps } from '../../charts/lanes/pane';
import { makeOperationTable } from './table';
import type { TimelineActionProps } from './actions';
import { gutterPx } from '../../charts/lanes/gutter';
import { makeRowButtons } from './row-buttons';
import { areCollapsed, timelineRows } from '../../charts/lanes/rows';
import { tooltipLines } from './tooltips';
import { clamp, panTime, timeAt, type Extent, type Viewport } from '../../base/viewport';
import { timeText } from '../../charts/lanes/labels';
import { makeLegend } from './legend';
import { hiddenTail, lookedAt, timelineLook } from './look';
import { shownTimeline, type ShownTimeline } from './shown';

/** The timeline of the shown candidate, of the one it is compared with, and the memory under it. */
interface TimelineView {
  readonly element: HTMLElement;
  /** Shows what changed; null shows everything. */
  readonly update: (change: Change | null) => void;
  readonly fitAll: () => void;
  readonly openFind: () => void;
  readonly nodes: NonNullable<TimelineActionProps['nodes']>;
  /** Does what a command asks of the page. */
  readonly act: (action: PageAction) => void;
}

/** Makes the view; `ofFile` says that it is of a schedule file. */
export function makeTimelineView(store: Store, ofFile = false): TimelineView {
  const timeline = shownTimeline(store);
  const { operations, comparedOperations } = timeline;
  const leftPx = (): number => gutterPx(timeline.rows());
  const lane = laneOf(store, timeline, () => timeline.viewport(pane.extent()));
  const pane = makePane({
    ...paneProps(store, timeline, operations, true),
    onTime: lane.point,
    onPoint: (pointer) => rowButtons.point(pointer),
    onDrawn: () => rowButtons.place(),
  });
  const otherPane = makePane(paneProps(store, timeline, comparedOperations, false));
  const live = h('div', { class: 'visually-hidden', 'aria-live': 'polite' });
  const commands = timelineCommands(store, timeline, {
    extent: pane.extent,
    openFind: () => findBar.open(),
    say: (text) => (live.textContent = text),
  });
  const findBar = makeFindBar({
    operations,
    ofFile,
    after: () => timeline.selected()?.row ?? -1,
    found: commands.goTo,
    left: () => lanes.focus(),
  });
  const lanes = h('div', { class: 'lanes-region', role: 'application', tabindex: 0, ...lanesAttributes }, pane.element, otherPane.element);
  const focus = (): void => lanes.focus({ preventScroll: true });
  const rowButtons = makeRowButtons(pane, {
    ofFile,
    viewport: () => timeline.viewport(pane.extent()),
    show: commands.show,
    onNode: commands.rows.toggleNode,
    onPin: commands.rows.togglePin,
    focusLanes: focus,
  });
  pane.canvas.after(rowButtons.element);
  wirePane(pane, { operations, ...pointerActions({ store, timeline, commands, focus, pane, isMain: true }) });
  wirePane(otherPane, {
    operations: comparedOperations,
    ...pointerActions({ store, timeline, commands, focus, pane: otherPane, isMain: false }),
  });
  wirePointer(laneArea(lane, timeline, pane), {
    ...pointerActions({ store, timeline, commands, focus, pane, isMain: true }),
    pick: (operation) => {
      lane.focus();
      if (operation !== null) commands.goTo(operation);
    },
  });

  const parts: Parts = {
    lanes,
    pane,
    otherPane,
    lane,
    minimap: minimapOf(store, timeline, pane, commands),
    table: makeOperationTable({
      operations,
      stage: () => timeline.markedStage() ?? 0,
      selected: () => timeline.selected()?.row ?? null,
      pick: commands.goTo,
    }),
    legend: makeLegend({
      operations,
      tail: timeline.tail,
      look: () => store.get(timelineLook),
      onLook: (look) => store.set(timelineLook, look),
    }),
    missing: h('div', { class: 'placeholder' }),
  };
  const element = h('div', { class: 'timeline-view' });
  const body = h('div', { class: 'timeline-body' }, parts.legend.element, parts.minimap.element, lanes, parts.lane.element);
  // A tab that opens takes the keyboard focus, unless something else in the page or in VS Code has it.
  const takeFocus = (): void => {
    if (document.hasFocus() && document.activeElement === document.body && !body.hidden) focus();
  };
  window.addEventListener('focus', takeFocus);
  element.append(findBar.element, body, parts.missing, parts.table.element, live);
  return {
    element,
    update: (change) => {
      const drawn = timeline.drawn();
      const of = operations();
      body.hidden = of === null;
      parts.missing.hidden = of !== null || drawn === null;
      if (drawn === null) return;
      const selected = change === null || change.before.selection === store.view().selection ? null : timeline.selected();
      if (selected !== null) commands.rows.openStage(selected.stage);
      element.style.setProperty('--gutter', `${leftPx()}px`);
      if (of === null) showMissing(store, parts);
      else if (showDrawn(store, timeline, parts, { drawn, of }, change)) takeFocus();
    },
    fitAll: () => commands.easeTo(null),
    openFind: findBar.open,
    nodes: {
      toggle: commands.rows.toggleNodes,
      areCollapsed: () => (timeline.nodes().length === 0 ? null : areCollapsed(store.get(timelineRows), timeline.nodes())),
    },
    act: (action) => {
      if (operations() !== null) commands.act(action);
    },
  };
}

/** The memory of the marked stage. */
function laneOf(store: Store, timeline: ShownTimeline, viewport: () => Viewport): MemoryLane {
  const { operations, memoryStage } = timeline;
  return makeMemoryLane({
    leftPx: () => gutterPx(timeline.rows()),
    viewport,
    shown: () => {
      const [profile, stage, of] = [timeline.drawn()?.memory ?? null, memoryStage(), operations()];
      return profile === null || stage === null || of === null ? null : { operations: of, profile, stage };
    },
    selectedMs: () => {
      const selected = timeline.selected();
      return selected?.stage === memoryStage()?.stage ? (selected?.startMs ?? null) : null;
    },
    selectedRange: () => {
      const { selection } = store.view();
      const stage = memoryStage()?.stage ?? -1;
      return selection?.type === 'range' && selection.firstStage <= stage && stage <= selection.lastStage ? selection : null;
    },
  });
}

/** The memory lane as an area on the time axis of a pane, in which everything is of the stage that it shows. */
function laneArea({ canvas }: MemoryLane, { operations, memoryStage, viewport }: ShownTimeline, pane: Pane): PointerArea {
  const { leftPx, extent } = pane;
  const msAt = (x: number): number | null =>
    x < leftPx() || x > leftPx() + extent().widthPx ? null : timeAt(viewport(extent()), x - leftPx(), extent());
  return {
    canvas,
    leftPx,
    extent,
    axisPx: 0,
    at: (x, y) => {
      const [ms, of, stage] = [msAt(x), operations(), memoryStage()?.stage ?? null];
      const operation = ms === null || of === null || stage === null ? null : operationBy(of, stage, ms);
      return { x, y, row: null, stage, operation };
    },
    stagesBetween: () => [memoryStage()?.stage ?? []].flat(),
    point: (pointer) => pointAtTime(pane, viewport(extent()), pointer === null ? null : msAt(pointer.x)),
  };
}

function minimapOf(store: Store, timeline: ShownTimeline, pane: Pane, commands: TimelineCommands): Minimap {
  const { operations } = timeline;
  return makeMinimap({
    operations,
    painted: () => {
      const of = operations();
      return of === null ? null : lookedAt(of, store.get(timelineLook));
    },
    tail: timeline.tail,
    hiddenTail: () => hiddenTail(store.get(timelineLook)),
    durationMs: timeline.durationMs,
    leftPx: pane.leftPx,
    viewport: () => timeline.viewport(pane.extent()),
    onWindow: (startMs, endMs) => commands.show(windowAt(startMs, endMs, timeline, pane.extent())),
  });
}

/** What the view redraws when something changes. */
interface Parts {
  readonly lanes: HTMLElement;
  readonly pane: ReturnType<typeof makePane>;
  readonly otherPane: ReturnType<typeof makePane>;
  readonly lane: MemoryLane;
  readonly minimap: Minimap;
  readonly table: ReturnType<typeof makeOperationTable>;
  readonly legend: ReturnType<typeof makeLegend>;
  readonly missing: HTMLElement;
}

function showMissing(store: Store, { missing, table }: Parts): void {
  const { plan } = store.state();
  const comes = plan !== null && isWithheld(store.state(), shownCandidate(plan, store.view()).id);
  const why = t('This plan has more operations than are drawn. Its numbers, memory and slices are in the other tabs.');
  missing.replaceChildren(icon('information'), h('p', {}, comes ? t('Fetching its operations') : why));
  table.element.hidden = true;
}

/** Redraws what changed; true when another timeline is shown. */
function showDrawn(
  store: Store,
  timeline: ShownTimeline,
  { lanes, pane, otherPane, lane, legend, minimap, table }: Parts,
  { drawn, of }: { readonly drawn: Drawn; readonly of: Operations },
  change: Change | null,
): boolean {
  const view = store.view();
  const before = change?.before ?? null;
  const differs = (...keys: readonly (keyof ViewState)[]): boolean => before === null || keys.some((key) => before[key] !== view[key]);
  const isOtherLook =
    before === null || timelineLook.of(before) !== store.get(timelineLook) || timelineRows.of(before) !== store.get(timelineRows);
  const isNew = change === null || change.state || differs('candidate', 'compareWith');
  if (isNew) {
    const other = timeline.compared();
    lanes.setAttribute('aria-label', regionLabel(drawn, of));
    otherPane.element.hidden = timeline.comparedOperations() === null;
    pane.setCaption(other === null ? '' : captionOf(drawn));
    if (other !== null) otherPane.setCaption(captionOf(other));
  }
  legend.update();
  if (isNew || isOtherLook || differs('viewport', 'criticalPath', 'stage')) {
    pane.redraw();
    if (!otherPane.element.hidden) otherPane.redraw();
    const highestPx = pane.highestPx() + (otherPane.element.hidden ? 0 : otherPane.highestPx());
    lanes.style.maxHeight = `${highestPx}px`;
    // The style sheet's least height is for many stages.
    lanes.style.minHeight = highestPx < lanesLeastPx ? `${highestPx}px` : '';
    lane.redraw();
  } else if (differs('selection')) pane.redrawOverlay();
  if (differs('selection')) lane.follow();
  if (isNew || isOtherLook) minimap.redraw();
  else if (differs('viewport')) minimap.moveWindow();
  table.element.hidden = !view.table;
  if (view.table) table.update();
  return isNew;
}

function paneProps(store: Store, timeline: ShownTimeline, operations: () => Operations | null, isMain: boolean): PaneProps {
  const path = cachedPath();
  return {
    operations,
    durationMs: timeline.durationMs,
    viewport: timeline.viewport,
    selection: () => (isMain ? store.view().selection : null),
    stage: timeline.markedStage,
    criticalPath: () => {
      const of = operations();
      return store.view().criticalPath && of !== null ? path(of) : null;
    },
    painted: () => {
      const of = operations();
      return of === null ? null : lookedAt(of, store.get(timelineLook));
    },
    tail: () => (isMain ? timeline.tail() : timeline.comparedTail()),
    hiddenTail: () => hiddenTail(store.get(timelineLook)),
    list: timeline.rows,
    tooltip: (pointer, extent) =>
      tooltipLines({
        operations: operations(),
        tail: isMain ? timeline.tail() : timeline.comparedTail(),
        pointer,
        viewport: timeline.viewport(extent),
        extent,
        leftPx: gutterPx(timeline.rows()),
      }),
  };
}

/** Least height of the lanes where they have as many rows as want it, CSS px. */
const lanesLeastPx = 136;

interface PointedPane {
  readonly store: Store;
  readonly timeline: ShownTimeline;
  readonly commands: TimelineCommands;
  readonly focus: () => void;
  readonly pane: Pane;
  /** Not that of the plan that is compared: nothing is selected there. */
  readonly isMain: boolean;
}

function pointerActions({ store, timeline, commands, focus, pane, isMain }: PointedPane): Parameters<typeof wirePointer>[1] {
  return {
    viewport: () => timeline.viewport(pane.extent()),
    show: commands.show,
    pick: (operation, stage) => {
      focus();
      timeline.select(isMain ? operation : null, stage);
    },
    pickRange: (startMs, endMs, firstStage, lastStage) => {
      if (isMain) store.setView({ selection: { type: 'range', startMs, endMs, firstStage, lastStage } });
    },
    zoomTo: (operation) => {
      if (isMain) commands.zoomTo(operation);
    },
    openNode: commands.rows.toggleNode,
  };
}

/** The viewport whose window was drawn or moved in the minimap. */
function windowAt(startMs: number, endMs: number, { viewport, durationMs }: ShownTimeline, extent: Extent): Viewport {
  const before = viewport(extent);
  const keepsWidth = Math.abs(endMs - startMs - (before.endMs - before.startMs)) < 1e-9 * durationMs();
  return keepsWidth ? panTime(before, startMs - before.startMs, extent) : clamp({ ...before, startMs, endMs }, extent);
}

function regionLabel({ name, lengthMs }: Drawn, operations: Operations): string {
  const { stages, count, ofFile } = operations;
  if (ofFile)
    return t(
      'Timeline of {0}: {1} ranks, {2} operations, {3}. Arrow keys move; question mark shows all keys.',
      name,
      formatCount(stages),
      formatCount(count),
      timeText(operations, lengthMs),
    );
  return t(
    'Timeline of {0}: {1} stages, {2} operations, {3} per step. Arrow keys move; ? shows all keys.',
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
