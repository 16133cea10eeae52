import { h } from '../base/dom';
import { t } from '../base/strings';
import { button } from '../base/ui';

/**
 * Running work: a thin bar, what it does and a button to stop it. Updates keep the elements, so that a press during an update is still a
 * click.
 */
export interface RunningStrip<Running extends { readonly fraction: number | null }> {
  readonly element: HTMLElement;
  /** Hidden for null; `fraction` from 0 to 1, null while unknown. */
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
