import { h } from '../base/dom';
import { t } from '../base/strings';
import { button } from '../base/ui';

/** Keys and what they do, in the order of the list. `readKey` and `wirePointer` are where they do it. */
function keyHelp(): readonly (readonly [keys: string, does: string])[] {
  return [
    ['W / S, + / -', t('Zoom in and out')],
    ['A / D', t('Move left and right')],
    ['Shift+W / Shift+S', t('Higher and lower rows')],
    ['← →', t('Previous and next operation of the stage')],
    ['↑ ↓', t('Operation of the neighbouring stage')],
    ['[ ]', t('Previous and next of the same micro-batch')],
    ['Home / End', t('First and last operation of the stage')],
    ['Page up / Page down', t('Scroll the stages')],
    ['F, Enter', t('Zoom to the selection')],
    ['0', t('Zoom to the whole step')],
    ['C', t('Outline the critical path')],
    ['/', t('Find a stage, micro-batch or slice')],
    ['Escape', t('Step back')],
    [t('Ctrl or Cmd + wheel'), t('Zoom at the pointer')],
    [t('Wheel, Shift + wheel'), t('Scroll the stages, move in time')],
    [t('Alt + wheel'), t('Higher and lower rows')],
    [t('Drag'), t('Select, with sums')],
    [t('Drag on the axis'), t('Move in time')],
    [t('Double click'), t('Zoom to an operation')],
  ];
}

/** The list of keys, as a dialog that Escape closes. */
export function makeHelp(): { readonly element: HTMLDialogElement; readonly open: () => void } {
  const close = button({ label: t('Close'), appearance: 'secondary', onClick: () => element.close() });
  const element = h(
    'dialog',
    { class: 'help', 'aria-label': t('Keys of the timeline') },
    h('h2', {}, t('Keys of the timeline')),
    h('dl', {}, ...keyHelp().map(([keys, does]) => h('div', {}, h('dt', {}, keys), h('dd', {}, does)))),
    h('div', { class: 'help-close' }, close),
  );
  return { element, open: () => element.showModal() };
}
