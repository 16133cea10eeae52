import { formatCount, plural } from '../../../src/core/format';
import type { LayoutAnswer, LayoutState } from '../../../src/protocol/layout';
import { makeChart } from '../../charts/chart';
import { fill, h } from '../../base/dom';
import { partAttributes } from '../../base/parts';
import { makePagedTable, rowsBelowPicture } from '../../base/paged-table';
import { makeDisclosures } from '../../shared/disclosures';
import { pricedRun } from '../../shared/training-cost';
import { whenChanged } from '../../shared/when-changed';
import { t } from '../../base/strings';
import type { Store } from '../../base/store';
import { dropdown, filterField } from '../../base/ui';
import { planContent } from './content';
import { layoutDetail } from './detail';
import { layoutFacts } from './facts';
import { layoutHead } from './head';
import { layoutSettings, pressedColumn, type LayoutViewSettings } from './settings';
import { launchedLayout, parseTokens, layoutRows, rowSchedules, shownRows, type LayoutRow } from './rows';
import { searchButton } from './states';
import { layoutTable } from './table';

const everySchedule = '';

/** The layouts of an answer. */
interface FoundView {
  readonly element: HTMLElement;
  readonly update: (answer: LayoutAnswer, state: LayoutState) => void;
}

/** The layouts of an answer as a plot and a table, with the details of one. */
export function makeFoundView(store: Store): FoundView {
  const selection = makeSelection(store);
  const { set, picked, pick, open } = selection;
  const findLayoutRow = (id: string): LayoutRow | null => selection.rows().find((row) => row.id === id) ?? null;
  const chart = makeChart({
    className: 'layout',
    label: () => chartLabel(selection.rows()),
    selected: () => picked()?.id ?? null,
    pick: (dot) => pick(dot === null || findLayoutRow(dot.id) === null ? null : dot.id),
    open: (dot) => open(findLayoutRow(dot.id)),
  });
  const table = makePagedTable(rowsBelowPicture);
  const disclosure = makeDisclosures();
  const filters = makeFilters(set);
  const controls = makeControls(store, set);
  const head = h('div', { class: 'layout-head-area' });
  const detail = h('div', { class: 'layout-detail', 'aria-live': 'polite' });
  const facts = h('div', { class: 'layout-facts' });
  const element = h(
    'div',
    { class: 'layout-found' },
    h('div', { class: 'layout-head' }, head, controls.element),
    h('div', { class: 'layout-middle' }, plotSection(chart.element), detail),
    facts,
    h('section', { ...partAttributes, class: 'table-twin layout-table', 'aria-label': t('Layouts') }, filters.element, table.element),
  );
  const changes = { head: whenChanged(), plot: whenChanged(), detail: whenChanged(), facts: whenChanged(), table: whenChanged() };
  const update = (answer: LayoutAnswer, state: LayoutState): void => {
    const view = store.get(layoutSettings);
    const run = pricedRun({ ...answer, tokens: view.tokenBudget ?? answer.tokens }, store.state().trainingCost);
    const launched = launchedLayout(state);
    const shown = [answer.id, launched];
    controls.update(state);
    changes.plot(shown, () => {
      chart.show(planContent(answer, selection.show(layoutRows(answer, launched))));
      controls.showTokens(run.tokens);
    });
    const rows = selection.rows();
    const now = picked();
    changes.head([shown, run], () => fill(head, layoutHead(answer, launched, rows, run)));
    changes.detail([shown, now?.id, run], () =>
      fill(detail, ...(now === null ? [] : layoutDetail(answer, now, run, () => open(picked()), store.host))),
    );
    changes.facts([answer.id, answer.improvements, state.running === null, store.state().places], () =>
      fill(facts, ...layoutFacts(answer, store.state(), store.host, disclosure)),
    );
    changes.table([shown, view, run], () => {
      filters.show(view, rowSchedules(rows));
      const press = (column: LayoutViewSettings['by']): void => set(pressedColumn(store.get(layoutSettings), column));
      const props = {
        settings: view,
        tokens: run.tokens,
        picked: now?.id ?? null,
        bestMs: answer.plans[answer.best]?.iterationMs ?? NaN,
        pick: ({ id }: LayoutRow) => pick(id),
        open,
        press,
      };
      table.show(layoutTable(shownRows(rows, view), rows.length, props));
    });
    chart.update();
  };
  return { element, update };
}

/** The rows of the answer, the one that has the details, and what a person does with them. */
function makeSelection(store: Store) {
  let rows: readonly LayoutRow[] = [];
  const answerNow = (): LayoutAnswer | null => store.state().layout?.answer ?? null;
  const set = (part: Partial<LayoutViewSettings>): void => store.set(layoutSettings, { ...store.get(layoutSettings), ...part });
  return {
    rows: () => rows,
    show: (next: readonly LayoutRow[]) => (rows = next),
    set,
    picked: (): LayoutRow | null => pickedRow(rows, answerNow(), store.get(layoutSettings)),
    pick: (row: string | null): void => {
      const answer = answerNow();
      set({ picked: answer === null || row === null ? null : { answer: answer.id, row } });
    },
    open: (row: LayoutRow | null): void => {
      const answer = answerNow();
      if (row === null || answer === null) return;
      const { index, isLaunched } = row;
      store.host.post({ type: 'openLayout', point: index === null || isLaunched ? null : { answer: answer.id, index } });
      if (isLaunched && (store.state().layout?.opened ?? null) === null) store.setView({ tab: 'timeline', candidate: null });
    },
  };
}

/** The row with details: the selected one, else the best. */
function pickedRow(rows: readonly LayoutRow[], answer: LayoutAnswer | null, { picked }: LayoutViewSettings): LayoutRow | null {
  const own = picked === null || picked.answer !== answer?.id ? undefined : rows.find(({ id }) => id === picked.row);
  return own ?? rows.find(({ isBest }) => isBest) ?? null;
}

/** The token budget, the button to search again, and how old the answer is. */
function makeControls(store: Store, set: (change: Partial<LayoutViewSettings>) => void) {
  const tokens = filterField(t('Tokens to train on'), '15T', (text) => set({ tokenBudget: parseTokens(text) }));
  const stale = h('span', { class: 'stale', role: 'status' });
  const again = searchButton(store.host, t('Search again'), 'secondary');
  const label = h('span', { class: 'control-label', 'aria-hidden': 'true' }, t('Tokens to train on'));
  const budget = h('div', { class: 'control layout-budget' }, label, tokens.element);
  return {
    element: h('div', { class: 'layout-controls' }, budget, again, stale),
    showTokens: (shown: number | null): void => tokens.show(shown === null ? '' : formatCount(shown)),
    update: ({ running, staleEdits }: LayoutState): void => {
      again.hidden = running !== null;
      stale.textContent = staleEdits === 0 ? '' : t('from {0} ago', plural(staleEdits, t('edit'), t('edits')));
    },
  };
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

function plotSection(chart: HTMLElement): HTMLElement {
  const title = t('Step time against peak memory');
  return h('section', { class: 'layout-plot', 'aria-label': title }, h('h2', {}, title), legend(), chart);
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
