import { formatDuration } from '../../src/core/format';
import { verdictText } from '../../src/core/memory-model/verdict';
import { say } from '../../src/core/sentence';
import type { HistoryState, PastPlan } from '../../src/protocol/what-if';
import { fill, h, icon } from '../base/dom';
import type { Store } from '../base/store';
import { t } from '../base/strings';
import { changeTexts, differenceText } from '../shared/past-plan';

const fullId = 'history-full';

/** Changes of a plan that are listed in a row; the tooltip has all. */
const listedChanges = 3;

/** The plans that there were: what the edits since the file was saved came to, and a list that opens. */
export function makeHistory(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  const { host } = store;
  const summary = h('summary', { class: 'history-summary' });
  const rows = h('tbody');
  const list = h(
    'table',
    { class: 'history-table' },
    h('caption', { class: 'visually-hidden' }, t('Plans since this config was opened')),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ...[t('Plan'), t('Changed'), t('Step'), t('Difference'), t('Memory')].map((title) => h('th', { scope: 'col' }, title)),
        h('td'),
      ),
    ),
    rows,
  );
  const full = h('p', { class: 'hint history-full', id: fullId, role: 'status', hidden: true });
  const details = h('details', { class: 'history' }, summary, h('div', { class: 'history-list' }, full, list));
  const undo = h('button', { class: 'link history-undo', type: 'button', onclick: () => host.post({ type: 'undo' }) }, t('Undo'));
  const element = h('div', { class: 'history-group' }, details, undo);
  document.addEventListener('pointerdown', ({ target }) => {
    if (target instanceof Node && !details.contains(target)) details.open = false;
  });
  details.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !details.open) return;
    details.open = false;
    summary.focus();
    event.stopPropagation();
  });
  const update = (): void => {
    const { history = null } = store.state();
    element.hidden = history === null || history.plans.length < 2;
    if (history === null || element.hidden) return;
    undo.hidden = !history.canUndo;
    const isFull = history.plans.filter(({ isPinned }) => isPinned).length >= history.mostPinned;
    full.hidden = !isFull;
    full.textContent = isFull ? t('{0} plans are pinned. Unpin one to pin another.', history.mostPinned) : '';
    fill(summary, icon('down'), summaryText(history));
    fill(
      rows,
      ...history.plans.map((plan, index) => row(store, plan, { before: history.plans[index + 1] ?? null, isCurrent: index === 0, isFull })),
    );
  };
  return { element, update };
}

function summaryText({ plans }: HistoryState): string {
  const [now] = plans;
  const saved = plans.find(({ isSaved }) => isSaved);
  if (now === undefined || saved === undefined || saved === now) return t('{0} plans', plans.length);
  return t('{0} since saved', differenceText(saved, now));
}

interface RowPlace {
  readonly before: PastPlan | null;
  readonly isCurrent: boolean;
  /** Whether no more plans can be pinned. */
  readonly isFull: boolean;
}

function row(store: Store, plan: PastPlan, { before, isCurrent, isFull }: RowPlace): HTMLElement {
  const { host } = store;
  const { id, figures, isSaved, isPinned } = plan;
  const texts = changeTexts(plan);
  const tags = [isCurrent ? t('now') : null, isSaved ? t('saved') : null].filter((tag) => tag !== null);
  const act = (name: 'pin' | 'unpin' | 'compare', label: string): HTMLElement => {
    const isRefused = name === 'pin' && isFull;
    return h(
      'button',
      {
        class: 'link',
        type: 'button',
        'data-focus': `${name === 'compare' ? name : 'pin'}-${id}`,
        ...(isRefused ? { 'aria-disabled': 'true', 'aria-describedby': fullId } : {}),
        onclick: () => {
          if (!isRefused) host.post({ type: 'past', act: name, id });
        },
      },
      label,
    );
  };
  return h(
    'tr',
    { class: isPinned ? 'pinned' : '' },
    h('th', { scope: 'row' }, String(id), ...tags.map((tag) => h('span', { class: 'tag' }, tag))),
    h(
      'td',
      { class: 'history-changes', title: texts.join('\n') },
      before === null ? t('as opened') : texts.slice(0, listedChanges).join(', '),
    ),
    h('td', { class: 'number' }, formatDuration(figures.iterationMs)),
    h('td', { class: 'number' }, before === null ? '' : differenceText(before, plan)),
    h('td', { class: figures.verdict.fits ? 'history-fit' : 'history-fit history-over' }, say(verdictText(figures.verdict), t)),
    h(
      'td',
      { class: 'history-acts' },
      act(isPinned ? 'unpin' : 'pin', isPinned ? t('Unpin') : t('Pin')),
      isCurrent ? null : act('compare', t('Compare')),
    ),
  );
}
