import { h } from '../base/dom';
import { t } from '../base/strings';
import { button } from '../base/ui';

/** Work under way: a thin bar, what is done and how to stop it. The same elements over every message, so that a press between two is a click. */
export interface RunningStrip<Running extends { readonly fraction: number | null }> {
  readonly element: HTMLElement;
  /** Hidden for null; `fraction` from 0 to 1, null while nobody knows. */
  readonly update: (running: Running | null) => void;
}

/** @param className of the whole, for its place on the page. */
export function makeRunningStrip<Running extends { readonly fraction: number | null }>(
  className: string,
  label: string,
  sentence: (running: Running) => string,
  onCancel: () => void,
): RunningStrip<Running> {
  const bar = h('progress', { class: 'progress', max: 1, 'aria-label': label });
  const words = h('p', { class: 'running-words' });
  const cancel = button({ label: t('Cancel'), appearance: 'secondary', onClick: onCancel });
  const element = h('div', { class: className, hidden: true }, bar, h('div', { class: 'running-row' }, words, cancel));
  return {
    element,
    update: (running) => {
      element.hidden = running === null;
      if (running === null) return;
      if (running.fraction === null) bar.removeAttribute('value');
      else bar.value = Math.min(1, running.fraction);
      words.textContent = sentence(running);
      words.title = words.textContent;
    },
  };
}
