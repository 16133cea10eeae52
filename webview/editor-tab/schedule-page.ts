import { formatCount, plural } from '../../src/core/format';
import type { SteppedSchedule } from '../../src/core/schedules/pytorch-csv/schedule-file';
import type { PageAction } from '../base/actions';
import { fill, h } from '../base/dom';
import { makeInspector } from '../inspector/inspector';
import { bubbleFigure, figure } from '../shared/figures';
import { notices, staleness } from '../shared/notices';
import type { Change, Store } from '../base/store';
import { partAttributes } from '../base/parts';
import { t } from '../base/strings';
import { exportItems } from './exports';
import { makeViewActions } from './view-actions';
import { makeTimelineActions } from '../tabs/timeline/actions';
import { makeTimelineView } from '../tabs/timeline/view';

/** The editor tab of a schedule file. */
export interface SchedulePage {
  readonly element: HTMLElement;
  readonly update: (change: Change | null, schedule: SteppedSchedule) => void;
  /** Does what a command asks of the page. */
  readonly act: (action: PageAction) => void;
}

/** Header with length and bubble, and the timeline with its inspector, find bar, table and minimap. */
export function makeSchedulePage(store: Store, onHelp: () => void): SchedulePage {
  const status = h('div', { class: 'visually-hidden', role: 'status' });
  const timeline = makeTimelineView(store, true);
  const inspector = makeInspector(
    store,
    () => true,
    ({ chunk, kind, unitIndex }) => store.setView({ selection: { type: 'operation', chunk, kind, unit: unitIndex } }),
  );
  const ofTimeline = makeTimelineActions(store, { fit: timeline.fitAll, find: timeline.openFind, help: onHelp });
  const exports = exportItems(store, (message) => (status.textContent = message), true);
  const actions = makeViewActions(store, exports, null);
  actions.add(ofTimeline.elements);
  const header = h('header', { class: 'header', ...partAttributes, 'aria-label': t('Schedule and figures') });
  const noticeArea = h('div', { class: 'notices', ...partAttributes, role: 'group', 'aria-label': t('Notices') });
  const bar = h(
    'div',
    { class: 'view-bar' },
    h('p', { class: 'step-rule' }, t('Each pass takes 1 step, a full backward 2.')),
    actions.element,
  );
  const panel = h('div', { class: 'panel panel-timeline', ...partAttributes }, timeline.element);
  const main = h('div', { class: 'main' }, h('div', { class: 'panels' }, panel), inspector.element);
  const element = h('div', { class: 'page page-tab page-schedule' }, header, noticeArea, bar, main, status);
  let drawn: SteppedSchedule | null = null;
  const update = (change: Change | null, schedule: SteppedSchedule): void => {
    if (change === null || change.state) {
      fill(noticeArea, ...notices(store.state(), store.host));
      fill(header, headline(schedule, staleness(store.state())), numbers(schedule));
    }
    element.classList.toggle('with-inspector', store.view().inspector);
    inspector.element.hidden = !store.view().inspector;
    ofTimeline.update(true);
    actions.update(true);
    inspector.update();
    timeline.update(drawn === schedule ? change : null);
    drawn = schedule;
  };
  return { element, update, act: timeline.act };
}

function headline({ timeline, format, version }: SteppedSchedule, stale: HTMLElement | null): HTMLElement {
  const { name, stages, stageOfChunk, units } = timeline;
  const parts = [
    plural(stages, t('rank'), t('ranks')),
    plural(stageOfChunk.length, t('stage'), t('stages')),
    plural(units.length, t('micro-batch'), t('micro-batches')),
    format === 'compute_only' ? t('passes only') : t('with sends and receives'),
    ...(version === null ? [] : [t('for PyTorch {0}', version)]),
  ];
  return h(
    'div',
    { class: 'header-title' },
    h('h1', { title: name }, name),
    h('p', { class: 'setting' }, ...parts.map((part) => h('span', {}, part))),
    h('p', { class: 'setting' }, h('span', {}, t('PyTorch pipeline schedule')), stale),
  );
}

function numbers({ timeline, bubbleRate, inFlight }: SteppedSchedule): HTMLElement {
  const steps = timeline.makespanMs;
  const most = inFlight.reduce((largest, held) => Math.max(largest, held), 0);
  const rank = inFlight.indexOf(most);
  return h(
    'dl',
    { class: 'figures' },
    figure(
      { value: formatCount(steps), unit: steps === 1 ? t('step') : t('steps') },
      t('from first to last pass'),
      null,
      t('Each pass takes 1 step, a full backward 2.'),
      'plain',
    ),
    bubbleFigure(bubbleRate, t('Share without passes, mean over the ranks, of the longest time from first to last pass of a rank')),
    figure(
      { value: formatCount(most), unit: '' },
      t('in flight, rank {0}', rank),
      null,
      t('In flight: micro-batches of a stage whose activations are held.'),
      'plain',
    ),
  );
}
