import { h } from '../../base/dom';
import { t } from '../../base/strings';
import type { PageAction } from '../../base/actions';
import type { Change, Store } from '../../base/store';
import { button } from '../../base/ui';
import { makeCandidates } from './candidates';
import { makeComparison } from './comparison';
import { makePinned } from './pinned';
import { comparisonSettings } from './settings';

/** The compare tab: the comparison with another plan or a measured run, if there is one, and the candidates of the plan. */
interface CompareView {
  readonly element: HTMLElement;
  readonly update: (change: Change | null) => void;
  /** Does what a command asks of the page. */
  readonly act: (action: PageAction) => void;
}

/** Makes the tab. */
export function makeCompareView(store: Store): CompareView {
  const comparison = makeComparison(store);
  const candidates = makeCandidates(store);
  const pinned = makePinned(store);
  const compare = button({
    label: t('Compare with…'),
    appearance: 'secondary',
    onClick: () => store.host.post({ type: 'command', command: 'terapipe.compareWith' }),
  });
  const invitation = h('p', { class: 'hint' });
  const start = h('div', { class: 'compared-start' }, compare, invitation);
  const element = h('div', { class: 'compare-view' }, comparison.element, start, pinned.element, candidates.element);
  const update = (change: Change | null): void => {
    const isCompared = (store.state().comparison ?? null) !== null;
    invitation.textContent = isCompared
      ? t('another plan, config or run')
      : t('a pinned plan, another config, the best layout, or a run (Chrome trace, step times, log)');
    comparison.update(change);
    pinned.update();
    if (change === null || change.state || comparisonSettings.of(change.before) === store.get(comparisonSettings)) candidates.update();
  };
  return { element, update, act: comparison.act };
}
