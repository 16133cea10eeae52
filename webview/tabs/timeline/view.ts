import { formatCount, formatPercent } from '../../../src/core/format';
import type { PageAction } from '../../base/actions';
import { h, icon } from '../../base/dom';
import type { Operations } from '../../base/operations';
import { lanesAttributes } from '../../base/parts';
import { shownCandidate, type Change, type Drawn, type Store } from '../../base/store';
import { t } from '../../base/strings';
import type { Setting, ViewState } from '../../base/view-state';
import { isWithheld } from '../../base/withheld';
import { timeText } from '../../charts/lanes/labels';
import { areCollapsed, timelineRows } from '../../charts/lanes/rows';
import { capitalised } from '../../shared/sentence';
import type { MakeTabView } from '../../base/tab';
import { makeTimelineActions, type TimelineActionProps } from './actions';
import { timelineCommands } from './commands';
import { makeFindBar } from './find-bar';
import { makeLegend } from './legend';
import { timelineLook } from './look';
import { makeMemoryLane, type MemoryLane } from './memory-lane';
import { makeMinimap, type Minimap } from './minimap';
import { makeTimelinePane, wirePointers } from './panes';
import { makeRowButtons } from './row-buttons';
import { shownTimeline, type ShownTimeline } from './shown';
import { makeOperationTable } from './table';

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

/** The timeline with its buttons. */
export const makeTimelineTab: MakeTabView = (store, { onHelp }) => {
  const { element, update, act, fitAll, openFind, nodes } = makeTimelineView(store);
  const actions = makeTimelineActions(store, { fit: fitAll, find: openFind, nodes, help: onHelp });
  return {
    element,
    act,
    actions: actions.elements,
    update: (change) => {
      const { plan } = store.state();
      actions.update(plan !== null && shownCandidate(plan, store.view()).timeline !== null);
      update(change);
    },
  };
};

/** Makes the view; `ofFile` means that it is of a schedule file. */
export function makeTimelineView(store: Store, ofFile = false): TimelineView {
  const timeline = shownTimeline(store);
  const parts = makeParts(store, timeline, ofFile);
  const { lanes, commands, findBar } = parts;
  const body = h('div', { class: 'timeline-body' }, parts.legend.element, parts.minimap.element, lanes, parts.lane.element);
  const missing = h('div', { class: 'placeholder' });
  const element = h('div', { class: 'timeline-view' }, findBar.element, body, missing, parts.table.element, parts.live);
  // A tab that opens takes the keyboard focus, unless something else in the page or in VS Code has it.
  const takeFocus = (): void => {
    if (document.hasFocus() && document.activeElement === document.body && !body.hidden) parts.focus();
  };
  window.addEventListener('focus', takeFocus);
  const update = (change: Change | null): void => {
    const [drawn, operations] = [timeline.drawn(), timeline.operations()];
    body.hidden = operations === null;
    missing.hidden = operations !== null || drawn === null;
    if (drawn === null) return;
    const selected = change === null || change.before.selection === store.view().selection ? null : timeline.selected();
    if (selected !== null) commands.rows.openStage(selected.stage);
    element.style.setProperty('--gutter', `${timeline.leftPx()}px`);
    if (operations === null) {
      missing.replaceChildren(icon('information'), h('p', {}, missingText(store)));
      parts.table.element.hidden = true;
      return;
    }
    const changes = viewChanges(store, change);
    if (changes.isNew) nameTimelines(parts, timeline, drawn, operations);
    redraw(parts, changes, store.view().table);
    if (changes.isNew) takeFocus();
  };
  return {
    element,
    update,
    fitAll: () => commands.easeTo(null),
    openFind: findBar.open,
    nodes: {
      toggle: commands.rows.toggleNodes,
      areCollapsed: () => (timeline.nodes().length === 0 ? null : areCollapsed(store.get(timelineRows), timeline.nodes())),
    },
    act: (action) => {
      if (timeline.operations() !== null) commands.act(action);
    },
  };
}

/** What the view redraws when something changes. */
interface Parts {
  readonly lanes: HTMLElement;
  readonly pane: ReturnType<typeof makeTimelinePane>;
  readonly comparedPane: ReturnType<typeof makeTimelinePane>;
  readonly lane: MemoryLane;
  readonly minimap: Minimap;
  readonly table: ReturnType<typeof makeOperationTable>;
  readonly legend: ReturnType<typeof makeLegend>;
}

/** Makes the parts of the view, wired to each other. */
function makeParts(store: Store, timeline: ShownTimeline, ofFile: boolean) {
  const lane = makeMemoryLane(store, timeline, () => timeline.viewport(pane.extent()));
  const pane = makeTimelinePane(store, timeline, timeline, {
    onTime: lane.point,
    onPoint: (pointer) => rowButtons.point(pointer),
    onDrawn: () => rowButtons.place(),
  });
  const comparedPane = makeTimelinePane(store, timeline, timeline.compared);
  const lanes = h(
    'div',
    { class: 'lanes-region', role: 'application', tabindex: 0, ...lanesAttributes },
    pane.element,
    comparedPane.element,
  );
  const focus = (): void => lanes.focus({ preventScroll: true });
  const live = h('div', { class: 'visually-hidden', 'aria-live': 'polite' });
  const commands = timelineCommands(store, timeline, {
    extent: pane.extent,
    openFind: () => findBar.open(),
    say: (text) => (live.textContent = text),
  });
  const findBar = makeFindBar({
    operations: timeline.operations,
    ofFile,
    after: () => timeline.selected()?.row ?? -1,
    found: commands.goTo,
    left: () => lanes.focus(),
  });
  const rowButtons = makeRowButtons(pane, {
    ofFile,
    viewport: () => timeline.viewport(pane.extent()),
    show: commands.show,
    onNode: commands.rows.toggleNode,
    onPin: commands.rows.togglePin,
    focusLanes: focus,
  });
  pane.canvas.after(rowButtons.element);
  wirePointers(store, timeline, { pane, comparedPane, lane, commands, focus });
  const minimap = makeMinimap(timeline, pane, commands.show);
  const table = makeOperationTable(timeline, commands.goTo);
  return { lanes, pane, comparedPane, lane, minimap, table, legend: makeLegend(store, timeline), live, commands, findBar, focus };
}

/** Why no timeline is drawn. */
function missingText(store: Store): string {
  const { plan } = store.state();
  return plan !== null && isWithheld(store.state(), shownCandidate(plan, store.view()).id)
    ? t('Fetching its operations')
    : t('This plan has more operations than are drawn. Its numbers, memory and slices are in the other tabs.');
}

/** What differs from what was drawn before. */
interface Changes {
  /** Another timeline. */
  readonly isNew: boolean;
  /** Other operations are hidden, shaded otherwise, or on other rows. */
  readonly look: boolean;
  readonly viewport: boolean;
  /** What is marked in all lanes: the stage and the critical path. */
  readonly marks: boolean;
  readonly selection: boolean;
}

function viewChanges(store: Store, change: Change | null): Changes {
  const [before, view] = [change?.before ?? null, store.view()];
  const differs = (...keys: readonly (keyof ViewState)[]): boolean => before === null || keys.some((key) => before[key] !== view[key]);
  const hasChanged = <T>(setting: Setting<T>): boolean => before === null || setting.of(before) !== setting.of(view);
  return {
    isNew: change === null || change.state || differs('candidate', 'compareWith'),
    look: hasChanged(timelineLook) || hasChanged(timelineRows),
    viewport: differs('viewport'),
    marks: differs('criticalPath', 'stage'),
    selection: differs('selection'),
  };
}

/** Names the timelines where others are shown. */
function nameTimelines({ lanes, pane, comparedPane }: Parts, { compared }: ShownTimeline, drawn: Drawn, operations: Operations): void {
  const other = compared.drawn();
  lanes.setAttribute('aria-label', regionLabel(drawn, operations));
  comparedPane.element.hidden = compared.operations() === null;
  pane.setCaption(other === null ? '' : planCaption(drawn));
  if (other !== null) comparedPane.setCaption(planCaption(other));
}

/** Least height of the lanes where they have as many rows as want it, CSS px. */
const lanesLeastPx = 136;

function redraw(parts: Parts, { isNew, look, viewport, marks, selection }: Changes, showsTable: boolean): void {
  const { pane, lane, legend, minimap, table } = parts;
  legend.update();
  if (isNew || look || viewport || marks) {
    redrawLanes(parts);
    lane.redraw();
  } else if (selection) pane.redrawOverlay();
  if (selection) lane.follow();
  if (isNew || look) minimap.redraw();
  else if (viewport) minimap.moveWindow();
  table.element.hidden = !showsTable;
  if (showsTable) table.update();
}

function redrawLanes({ lanes, pane, comparedPane }: Parts): void {
  const panes = comparedPane.element.hidden ? [pane] : [pane, comparedPane];
  for (const each of panes) each.redraw();
  const highestPx = panes.reduce((sum, each) => sum + each.highestPx(), 0);
  lanes.style.maxHeight = `${highestPx}px`;
  // The style sheet's least height is for many stages.
  lanes.style.minHeight = highestPx < lanesLeastPx ? `${highestPx}px` : '';
}

function regionLabel({ name, lengthMs }: Drawn, operations: Operations): string {
  const { stages, count, ofFile } = operations;
  if (ofFile)
    return t(
      'Timeline of {0}: {1} ranks, {2} operations, {3}. Arrow keys move; question mark: all keys.',
      name,
      formatCount(stages),
      formatCount(count),
      timeText(operations, lengthMs),
    );
  return t(
    'Timeline of {0}: {1} stages, {2} operations, {3} per step. Arrow keys move; question mark: all keys.',
    name,
    formatCount(stages),
    formatCount(count),
    timeText(operations, lengthMs),
  );
}

/** Only plans are compared. */
function planCaption({ name, lengthMs, bubbleRate }: Drawn): string {
  return t('{0} · {1} per step · bubble {2}', capitalised(name), timeText({ ofFile: false }, lengthMs), formatPercent(bubbleRate));
}
