import { formatTokens } from '../../../src/core/format';
import { h, setAttributes } from '../../base/dom';
import { t } from '../../base/strings';
import { addCut, moveCut, removeCut, type Lengths } from './trial';
import { own } from '../../../src/core/records';

interface HandleProps {
  readonly lengths: () => Lengths;
  /** Of the grid, tokens. */
  readonly unit: () => number;
  /** While it is dragged `moving` is true. */
  readonly onChange: (lengths: Lengths, moving: boolean) => void;
}

/** Keys on a cut and by how many units they move it. */
const moves: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -8, PageUp: 8 };

/** The cuts of a sequence as sliders over its bar: dragged, moved by keys, removed with Delete; a double click cuts a slice in two. */
export function makeCutHandles(props: HandleProps): { readonly element: HTMLElement; readonly update: () => void } {
  const element = h('div', { class: 'cut-handles', role: 'group', 'aria-label': t('Cuts') });
  const handles: HTMLElement[] = [];
  const total = (): number => props.lengths().reduce((sum, length) => sum + length, 0);
  const update = (): void => {
    const lengths = props.lengths();
    while (handles.length > lengths.length - 1) handles.pop()?.remove();
    while (handles.length < lengths.length - 1) {
      const handle = makeHandle(handles.length, props, total);
      handles.push(handle);
      element.append(handle);
    }
    let at = 0;
    handles.forEach((handle, index) => {
      const [before = 0, after = 0] = [lengths[index], lengths[index + 1]];
      at += before;
      handle.style.left = `${(at / total()) * 100}%`;
      setAttributes(handle, {
        'aria-valuemin': at - before + 1,
        'aria-valuemax': at + after - 1,
        'aria-valuenow': at,
        'aria-valuetext': t('after {0}: slices of {1} and {2}', formatTokens(at), formatTokens(before), formatTokens(after)),
      });
    });
  };
  element.addEventListener('dblclick', (event) => {
    if (event.target !== element) return;
    const box = element.getBoundingClientRect();
    let left = ((event.clientX - box.left) / box.width) * total();
    const index = props.lengths().findIndex((length) => (left -= length) < 0);
    if (index >= 0) props.onChange(addCut(props.lengths(), index, props.unit()), false);
  });
  return { element, update };
}

function makeHandle(index: number, { lengths, unit, onChange }: HandleProps, total: () => number): HTMLElement {
  const handle = h('div', {
    class: 'cut-handle',
    role: 'slider',
    tabindex: 0,
    'aria-label': t('Cut {0}', index + 1),
    title: t('Drag it, or move it with the arrow keys; Delete removes it.'),
  });
  handle.addEventListener('keydown', (event) => {
    const by = own(moves, event.key);
    const removes = event.key === 'Delete' || event.key === 'Backspace';
    if (by === undefined && !removes) return;
    event.preventDefault();
    event.stopPropagation();
    onChange(by === undefined ? removeCut(lengths(), index) : moveCut(lengths(), index, by * unit(), unit()), false);
  });
  handle.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    handle.focus();
    handle.setPointerCapture(event.pointerId);
    const [from, start] = [lengths(), event.clientX];
    const move = ({ clientX }: PointerEvent): void => {
      const width = handle.parentElement?.getBoundingClientRect().width ?? 1;
      const units = Math.round((((clientX - start) / width) * total()) / unit());
      onChange(moveCut(from, index, units * unit(), unit()), true);
    };
    const done = (): void => {
      handle.removeEventListener('pointermove', move);
      onChange(lengths(), false);
    };
    handle.addEventListener('pointermove', move);
    handle.addEventListener('lostpointercapture', done, { once: true });
  });
  return handle;
}
