import { fill, h } from '../base/dom';

/** A box next to the pointer; screen readers get what it shows from elsewhere. */
interface Tooltip {
  readonly element: HTMLElement;
  /** Shows lines, the first of them as title, next to a place in an area, CSS px; no lines hide it. */
  readonly show: (lines: readonly string[], x: number, y: number, areaWidth: number, areaHeight: number) => void;
  readonly hide: () => void;
}

/** Makes a hidden tooltip, for an element with `position: relative`. */
export function makeTooltip(): Tooltip {
  const element = h('div', { class: 'tooltip', role: 'presentation', hidden: true });
  return {
    element,
    show: (lines, x, y, areaWidth, areaHeight) => {
      element.hidden = lines.length === 0;
      if (element.hidden) return;
      fill(element, ...lines.map((line, index) => h('div', { class: index === 0 ? 'tooltip-title' : 'tooltip-line' }, line)));
      const { width, height } = element.getBoundingClientRect();
      const left = x + 14 + width > areaWidth ? Math.max(0, x - 14 - width) : x + 14;
      const top = y + 18 + height > areaHeight ? Math.max(0, y - 10 - height) : y + 18;
      element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
    },
    hide: () => (element.hidden = true),
  };
}
