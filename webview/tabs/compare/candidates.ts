import { formatDuration } from '../../../src/core/format';
import type { CandidateId, Plan } from '../../../src/core/planner/plan';
import { neededFor } from '../../../src/core/schedules/runtimes';
import { runtimeProfile } from '../../../src/core/domain/runtime';
import { h, icon } from '../../base/dom';
import { t } from '../../base/strings';
import { shownCandidate, type Store } from '../../base/store';
import { affordableCandidates, isWithheld } from '../../base/withheld';
import { onThemeChange } from '../../base/theme';
import { compareAll, compareOrder, listed, ordered, pressed, type CompareColumn } from './candidate-order';
import { makeCompareRow, timeScale, type CompareRow } from './row';
import { say } from '../../../src/core/sentence';

/** Candidates side by side in the chosen order, each with its timeline on one time scale. Selecting one shows it in every view. */
export function makeCandidates(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  const body = h('tbody');
  const caption = h('caption');
  const headers = sortableHeaders((column) => store.set(compareOrder, pressed(store.get(compareOrder), column)));
  const timelineHeader = h('th', { scope: 'col', class: 'compare-timeline' });
  const note = h('p', { class: 'hint' });
  const all = h('button', { class: 'link', type: 'button', onclick: () => store.set(compareAll, !store.get(compareAll)) });
  const table = h(
    'table',
    { class: 'compare-table' },
    caption,
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'col' }, t('Plan')),
        ...headers.map((header) => header.element),
        h('th', { scope: 'col', class: 'fit' }, t('Fits')),
        timelineHeader,
      ),
    ),
    body,
  );
  const element = h('div', { class: 'compare-candidates' }, table, all, note);
  const rows = new Map<CandidateId, CompareRow>();
  onThemeChange(() => rows.forEach((row) => row.redraw()));
  let shownPlan: Plan | null = null;
  let shownOrder: unknown = null;
  const list = (plan: Plan, shown: CandidateId): void => {
    const isCompared = (store.state().comparison ?? null) !== null;
    const few = listed(ordered(plan.candidates, store.get(compareOrder)), plan, shown, isCompared);
    const isAll = store.get(compareAll);
    table.hidden = few.size === 0 && !isAll;
    rows.forEach(({ element }, id) => (element.hidden = !isAll && !few.has(id)));
    all.hidden = few.size === plan.candidates.length;
    all.textContent = isAll ? t('Fewer ways') : t('All {0} ways to run this step', plan.candidates.length);
  };
  const update = (): void => {
    const { plan } = store.state();
    if (plan === null) return;
    const order = store.get(compareOrder);
    if (plan !== shownPlan) {
      const scale = timeScale(plan);
      const fetched = affordableCandidates(store.state(), plan);
      rows.clear();
      for (const candidate of plan.candidates) {
        const { id } = candidate;
        const pick = (): void => store.setView({ candidate: id, selection: null, tab: 'timeline' });
        const withheld = !isWithheld(store.state(), id) ? null : fetched.includes(id) ? 'comes' : 'on request';
        rows.set(id, makeCompareRow(plan, candidate, scale, withheld, pick));
      }
      caption.replaceChildren(
        t('Ways to run this step, all timelines at one time scale.'),
        h('span', { class: 'compare-speed-up' }, ` ${t('Speed-up is over {0}.', say(scale.baseline.name, t))}`),
      );
      timelineHeader.textContent = t('Timeline, 0 to {0}', formatDuration(scale.longestMs));
    }
    if (plan !== shownPlan || order !== shownOrder) {
      for (const header of headers) header.show(order?.by === header.column ? order.descending : null);
      body.replaceChildren(...ordered(plan.candidates, order).flatMap(({ id }) => rows.get(id)?.element ?? []));
    }
    shownPlan = plan;
    shownOrder = order;
    const shown = shownCandidate(plan, store.view());
    rows.forEach((row, id) => row.mark(id === shown.id));
    list(plan, shown.id);
    const needs = neededFor(shown.schedule, plan.request);
    const { shortName } = runtimeProfile(plan.request.training);
    note.textContent = needs === null ? '' : t('{0} does not run {1}; {2} does.', shortName, say(shown.name, t), say(needs, t));
  };
  return { element, update };
}

interface SortableHeader {
  readonly column: CompareColumn;
  readonly element: HTMLElement;
  /** Null where another column decides. */
  readonly show: (descending: boolean | null) => void;
}

function sortableHeaders(press: (column: CompareColumn) => void): SortableHeader[] {
  const titles: readonly (readonly [CompareColumn, string, string])[] = [
    ['step', 'compare-step', t('Step')],
    ['speedUp', 'compare-speed-up', t('Speed-up')],
    ['bubble', 'compare-bubble', t('Bubble')],
    ['memory', 'compare-memory', t('Peak memory')],
  ];
  return titles.map(([column, className, title]) => {
    const button = h('button', { class: 'sort', type: 'button', onclick: () => press(column) }, h('span', {}, title), icon('down'));
    const element = h('th', { scope: 'col', class: `numeric ${className}` }, button);
    const show = (descending: boolean | null): void => {
      if (descending === null) element.removeAttribute('aria-sort');
      else element.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
    };
    return { column, element, show };
  });
}
