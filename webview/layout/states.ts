import type { LayoutState } from '../../src/protocol/layout';
import { fill, h } from '../dom';
import type { Host } from '../host';
import { errorNotice } from '../shared/notices';
import { t } from '../strings';
import { button } from '../ui';
import { runningSentence } from './words';

/** The button that starts a search. */
export function searchButton(host: Host, label: string, appearance: 'primary' | 'secondary'): HTMLElement {
  return button({ label, appearance, onClick: () => host.post({ type: 'command', command: 'terapipe.searchLayout' }) });
}

/** A search under way: a thin bar, the best so far and how to stop it. The same elements over every message, so that a press between two is a click. */
export function makeSearchStrip(host: Host): { readonly element: HTMLElement; readonly update: (running: LayoutState['running']) => void } {
  const bar = h('progress', { class: 'progress', max: 1, 'aria-label': t('Searching layouts') });
  const words = h('p', { class: 'layout-running-words' });
  const cancel = button({
    label: t('Cancel'),
    appearance: 'secondary',
    onClick: () => host.post({ type: 'command', command: 'terapipe.cancelSearch' }),
  });
  const element = h('div', { class: 'layout-running', hidden: true }, bar, h('div', { class: 'layout-running-row' }, words, cancel));
  return {
    element,
    update: (running) => {
      element.hidden = running === null;
      if (running === null) return;
      if (running.fraction === null) bar.removeAttribute('value');
      else bar.value = Math.min(1, running.fraction);
      words.textContent = runningSentence(running);
      words.title = words.textContent;
    },
  };
}

/** What the tab shows before the first answer: what a search is and one button, or why there is none. */
export function makeEmptyLayout(host: Host): { readonly element: HTMLElement; readonly update: (state: LayoutState) => void } {
  const error = h('div', { class: 'layout-error' });
  const start = h(
    'div',
    { class: 'empty' },
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
