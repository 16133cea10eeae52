import { formatCount, plural } from '../../../src/core/format';
import type { LayoutAnswer, LayoutState } from '../../../src/protocol/layout';
import { makeChart } from '../../base/chart/chart';
import type { ChartContent } from '../../base/chart/content';
import { fill, h } from '../../base/dom';
import { makePagedTable } from '../../base/paged-table';
import { errorNotice } from '../../shared/notices';
import { whenChanged } from '../../shared/when-changed';
import { t } from '../../base/strings';
import type { Store } from '../../base/store';
import { dropdown, filterField } from '../../base/ui';
import { planContent } from './content';
import { layoutDetail } from './detail';
import { layoutFacts } from './facts';
import { layoutHead } from './head';
import { pressedColumn, type LayoutViewSettings } from './view-settings';
import { launchedOf, parseTokens, rowsOf, schedulesOf, shownRows, type LayoutRow } from './rows';
import { makeEmptyLayout, makeSearchStrip, searchButton } from './states';
import { layoutTable } from './table';

const everySchedule = '';

/** The Layout tab: the layouts that a search found beside the config's own, as a plot, a table, and one of them closely. */
export function makeLayoutView(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  let rows: readonly LayoutRow[] = [];
  let content: ChartContent | null = null;
  const set = (part: Partial<LayoutViewSettings>): void => store.setView({ layoutSettings: { ...store.view().layoutSettings, ...part } });
  const answerNow = (): LayoutAnswer | null => store.state().layout?.answer ?? null;
  const picked = (): LayoutRow | null => pickedRow(rows, answerNow(), store.view().layoutSettings);
  const pick = (row: string | null): void => {
    const answer = answerNow();
    set({ picked: answer === null || row === null ? null : { answer: answer.id, row } });
  };
  const open = (row: LayoutRow | null): void => {
    const answer = answerNow();
    if (row === null || answer === null) return;
    const { index, isLaunched } = row;
    store.host.post({ type: 'openLayout', point: index === null || isLaunched ? null : { answer: answer.id, index } });
    if (isLaunched && (store.state().layout?.opened ?? null) === null) store.setView({ tab: 'timeline', candidate: null });
  };
  const rowOf = (id: string): LayoutRow | null => rows.find((row) => row.id === id) ?? null;
  const chart = makeChart({
    className: 'layout',
    content: () => content,
    label: () => chartLabel(rows),
    selected: () => picked()?.id ?? null,
    pick: (dot) => pick(dot === null || rowOf(dot.id) === null ? null : dot.id),
    open: (dot) => open(rowOf(dot.id)),
  });
  const strip = makeSearchStrip(store.host);
  const empty = makeEmptyLayout(store.host);
  const table = makePagedTable();
  const filters = makeFilters(set);
  const tokens = filterField(t('Tokens to train on'), '15T', (text) => set({ tokenBudget: parseTokens(text) }));
  const notices = h('div', { class: 'layout-notices' });
  const head = h('div', { class: 'layout-head-area' });
  const stale = h('span', { class: 'stale', role: 'status' });
  const again = searchButton(store.host, t('Search again'), 'secondary');
  const controls = h(
    'div',
    { class: 'layout-controls' },
    h(
      'div',
      { class: 'control layout-budget' },
      h('span', { class: 'control-label', 'aria-hidden': 'true' }, t('Tokens to train on')),
      tokens.element,
    ),
    again,
    stale,
  );
  const detail = h('div', { class: 'layout-detail', 'aria-live': 'polite' });
  const plot = h(
    'section',
    { class: 'layout-plot', 'aria-label': t('Step time against peak memory') },
    h('h2', {}, t('Step time against peak memory')),
    legend(),
    chart.element,
  );
  const facts = h('div', { class: 'layout-facts' });
  const found = h(
    'div',
    { class: 'layout-found' },
    h('div', { class: 'layout-head' }, head, controls),
    h('div', { class: 'layout-middle' }, plot, detail),
    facts,
    h('section', { class: 'table-twin layout-table', 'aria-label': t('Layouts') }, filters.element, table.element),
  );
  const element = h('div', { class: 'layout-view' }, strip.element, notices, empty.element, found);
  const changes = {
    head: whenChanged(),
    plot: whenChanged(),
    detail: whenChanged(),
    facts: whenChanged(),
    table: whenChanged(),
    notices: whenChanged(),
    empty: whenChanged(),
  };

  const showAnswer = (answer: LayoutAnswer, state: LayoutState): void => {
    const view = store.view().layoutSettings;
    const tokenBudget = view.tokenBudget ?? answer.tokenBudget;
    const launched = launchedOf(state);
    const about = [answer.id, launched];
    changes.plot(about, () => {
      rows = rowsOf(answer, launched);
      content = planContent(answer, rows);
      tokens.show(tokenBudget === null ? '' : formatCount(tokenBudget));
    });
    const now = picked();
    changes.head([about, tokenBudget], () => fill(head, layoutHead(answer, launched, rows, tokenBudget)));
    changes.detail([about, now?.id, tokenBudget], () =>
      fill(detail, ...(now === null ? [] : layoutDetail(answer, now, tokenBudget, () => open(picked()), store.host))),
    );
    changes.facts([answer.id, answer.improvements, state.running === null, store.state().places], () =>
      fill(facts, ...layoutFacts(answer, store.state(), store.host)),
    );
    changes.table([about, view, tokenBudget], () => {
      filters.show(view, schedulesOf(rows));
      const press = (column: LayoutViewSettings['by']): void => set(pressedColumn(store.view().layoutSettings, column));
      const props = { settings: view, tokenBudget, picked: now?.id ?? null, pick: ({ id }: LayoutRow) => pick(id), open, press };
      table.show(layoutTable(shownRows(rows, view), rows.length, props));
    });
    chart.update();
  };
  const update = (): void => {
    const state = store.state().layout;
    if (state === null) return;
    const { answer, running, error, staleEdits } = state;
    strip.update(running);
    found.hidden = answer === null;
    empty.element.hidden = answer !== null;
    again.hidden = running !== null;
    stale.textContent = staleEdits === 0 ? '' : t('from {0} ago', plural(staleEdits, t('edit'), t('edits')));
    changes.notices([error, answer === null], () =>
      fill(notices, error === null || answer === null ? null : errorNotice(error, store.host)),
    );
    changes.empty([error, running === null], () => empty.update(state));
    if (answer !== null) showAnswer(answer, state);
  };
  return { element, update };
}

/** The row looked at closely: the one picked, else the best. */
function pickedRow(rows: readonly LayoutRow[], answer: LayoutAnswer | null, { picked }: LayoutViewSettings): LayoutRow | null {
  const own = picked === null || picked.answer !== answer?.id ? undefined : rows.find(({ id }) => id === picked.row);
  return own ?? rows.find(({ isBest }) => isBest) ?? null;
}

function makeFilters(set: (change: Partial<LayoutViewSettings>) => void): {
  readonly element: HTMLElement;
  readonly show: (settings: LayoutViewSettings, schedules: readonly string[]) => void;
} {
  const text = filterField(t('Filter layouts'), t('Filter layouts'), (typed) => set({ text: typed }));
  const schedule = dropdown(t('Schedule'), (value) => set({ schedule: value === everySchedule ? null : value }));
  const show = (now: LayoutViewSettings, schedules: readonly string[]): void => {
    text.show(now.text);
    const known = now.schedule !== null && schedules.includes(now.schedule) ? now.schedule : everySchedule;
    schedule.show([{ value: everySchedule, text: t('All schedules') }, ...schedules.map((name) => ({ value: name, text: name }))], known);
  };
  return { element: h('div', { class: 'layout-filters', role: 'search' }, text.element, schedule.element), show };
}

function chartLabel(rows: readonly LayoutRow[]): string {
  return `${t('{0} by step time and peak memory; the table below holds them all.', plural(rows.length, t('layout'), t('layouts')))} ${t('Arrow keys move between layouts, Enter opens one.')}`;
}

function legend(): HTMLElement {
  const entry = (name: string, glyph: string, text: string): HTMLElement =>
    h('span', { class: 'legend-entry' }, h('span', { class: `layout-glyph layout-glyph-${name}`, 'aria-hidden': 'true' }, glyph), text);
  return h(
    'div',
    { class: 'legend layout-legend' },
    entry('best', '★', t('best')),
    entry('front', '●', t('fastest for its memory')),
    entry('other', '○', t('others')),
    entry('launched', '◆', t('as launched')),
    entry('over', '×', t('too large')),
    entry('tie', '', t('within error of the best')),
  );
}
