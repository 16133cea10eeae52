import { formatUsage, formatDuration } from '../../../src/core/format';
import { verdictText } from '../../../src/core/memory-model/verdict';
import { say } from '../../../src/core/sentence';
import type { HistoryState, PastPlan } from '../../../src/protocol/what-if';
import { fill, h } from '../../base/dom';
import type { Store } from '../../base/store';
import { t } from '../../base/strings';
import { differenceText } from '../../shared/past-plan';
import { capitalised } from '../../shared/sentence';
import { whenChanged } from '../../shared/when-changed';

/** The pinned plans of this config, each compared with the current one; hidden where none is pinned. */
export function makePinned(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  const rows = h('tbody');
  const titles = [t('Plan'), t('Step'), t('Now'), t('Peak memory'), t('Fits')];
  const element = h(
    'section',
    { class: 'compare-pinned' },
    h(
      'table',
      {},
      h('caption', {}, t('Pinned plans, and what the plan now takes more or less')),
      h('thead', {}, h('tr', {}, ...titles.map((title, index) => h('th', { scope: 'col', class: numericAt(index) }, title)), h('td'))),
      rows,
    ),
  );
  const changed = whenChanged();
  const update = (): void => {
    const { history = null } = store.state();
    const pinned = history?.plans.filter(({ isPinned }) => isPinned) ?? [];
    element.hidden = pinned.length === 0;
    if (history !== null && !element.hidden) changed(history, () => fill(rows, ...pinned.map((plan) => row(store, plan, history))));
  };
  return { element, update };
}

function numericAt(column: number): string | null {
  return column >= 1 && column <= 3 ? 'numeric' : null;
}

function row({ host }: Store, plan: PastPlan, { plans: [now] }: HistoryState): HTMLElement {
  const { id, figures } = plan;
  const { name, iterationMs, verdict } = figures;
  const isNow = plan.id === now?.id;
  const link = (act: 'compare' | 'unpin', label: string): HTMLElement =>
    h(
      'button',
      { class: 'link', type: 'button', 'data-focus': `${act}-${id}`, onclick: () => host.post({ type: 'past', act, id }) },
      label,
    );
  const cells = [
    formatDuration(iterationMs),
    now === undefined || isNow ? '' : differenceText(plan, now),
    formatUsage(verdict.peakBytes, verdict.usableBytes),
    verdict.fits ? t('fits') : say(verdictText(verdict), t),
  ];
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, t('Plan {0}: {1}', id, capitalised(say(name, t))), isNow ? h('span', { class: 'tag' }, t('now')) : null),
    ...cells.map((text, index) => h('td', { class: numericAt(index + 1) ?? (verdict.fits ? null : 'fit-over') }, text)),
    h('td', { class: 'compare-pinned-acts' }, isNow ? null : link('compare', t('Compare')), link('unpin', t('Unpin'))),
  );
}
