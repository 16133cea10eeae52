import type { LayoutState } from '../../../src/protocol/layout';
import { picture } from '../../shared/picture';
import { fill, h } from '../../base/dom';
import type { Host } from '../../base/host';
import { errorNotice } from '../../shared/notices';
import { makeRunningStrip, type RunningStrip } from '../../shared/running-strip';
import { t } from '../../base/strings';
import { button } from '../../base/ui';
import { runningSentence } from './labels';

/** The button that starts a search. */
export function searchButton(host: Host, label: string, appearance: 'primary' | 'secondary'): HTMLElement {
  return button({ label, appearance, onClick: () => host.post({ type: 'command', command: 'terapipe.searchLayout' }) });
}

/** A running search: the best so far and a button to stop it. */
export function makeSearchStrip(host: Host): RunningStrip<NonNullable<LayoutState['running']>> {
  return makeRunningStrip('layout-running', t('Searching layouts'), runningSentence, () =>
    host.post({ type: 'command', command: 'terapipe.cancelSearch' }),
  );
}

/** What the tab shows before the first answer: what a search is and one button, or why there is none. */
export function makeEmptyLayout(host: Host): { readonly element: HTMLElement; readonly update: (state: LayoutState) => void } {
  const error = h('div', { class: 'layout-error' });
  const start = h(
    'div',
    { class: 'empty' },
    picture('layout'),
    h('p', {}, t('Finds the fastest layout of this model on these GPUs that fits; what the files fix stays.')),
    searchButton(host, t('Search layouts'), 'primary'),
  );
  const element = h('div', { class: 'layout-empty' }, error, start);
  return {
    element,
    update: (state) => {
      start.hidden = state.running !== null;
      error.hidden = state.error === null;
      fill(error, state.error === null ? null : errorNotice(state.error, host));
    },
  };
}
