import { h } from '../dom';
import { t } from '../strings';
import { keyHelp } from '../timeline/keys';
import { button } from '../ui';

/** The list of keys, as a dialog that Escape closes. */
export function makeHelp(): { readonly element: HTMLDialogElement; readonly open: () => void } {
  const close = button({ label: t('Close'), appearance: 'secondary', onClick: () => element.close() });
  const element = h(
    'dialog',
    { class: 'help', 'aria-label': t('Keys of the timeline') },
    h('h2', {}, t('Keys of the timeline')),
    h('dl', {}, ...keyHelp.map(([keys, does]) => h('div', {}, h('dt', {}, keys), h('dd', {}, t(does))))),
    h('div', { class: 'help-close' }, close),
  );
  return { element, open: () => element.showModal() };
}
