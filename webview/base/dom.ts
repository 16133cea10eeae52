/** What `h` takes as attributes: functions are listeners (`onclick`), true is an empty attribute, false and null leave it out. */
export type Attributes = Readonly<Record<string, string | number | boolean | null | ((event: Event) => void)>>;

/** What an element may hold; null is left out. Strings become text nodes: never markup. */
export type Child = Node | string | null;

/** Makes an element. Styles are classes: a strict CSP refuses style attributes. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Sets (or with null and false removes) attributes; adds listeners. */
export function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.replace(/^on/, ''), value);
    else if (value === false || value === null) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

/** Replaces what an element holds and keeps the keyboard focus on the thing with the same `data-focus`. */
export function fill(element: Element, ...children: readonly Child[]): void {
  const active = document.activeElement;
  const focus = active !== null && element.contains(active) ? active.closest('[data-focus]')?.getAttribute('data-focus') : null;
  element.replaceChildren(...children.filter((child) => child !== null));
  if (focus === null || focus === undefined) return;
  for (const candidate of element.querySelectorAll('[data-focus]')) {
    if (candidate.getAttribute('data-focus') === focus && candidate instanceof HTMLElement) candidate.focus();
  }
}

const svgNamespace = 'http://www.w3.org/2000/svg';

/** 16 px drawings in the manner of codicons, drawn for this project. */
const iconPaths = {
  warning: 'M8 2.2 14.6 14H1.4L8 2.2Zm0 2.1L3.1 13h9.8L8 4.3ZM7.5 7h1v3.2h-1V7Zm0 4.1h1v1h-1v-1Z',
  error:
    'M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13Zm0 1a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM7.5 4.5h1v4.2h-1V4.5Zm0 5.5h1v1.1h-1V10Z',
  information:
    'M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13Zm0 1a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM7.5 4.7h1v1.1h-1V4.7Zm0 2.4h1v4.2h-1V7.1Z',
  check: 'm6.3 11.9 7-7-.7-.7-6.3 6.3L3.4 7.6l-.7.7 3.6 3.6Z',
  cross: 'm8 8.7 4 4 .7-.7-4-4 4-4-.7-.7-4 4-4-4-.7.7 4 4-4 4 .7.7 4-4Z',
  chevron: 'm5.7 13.7-.7-.7 5-5-5-5 .7-.7L11.4 8l-5.7 5.7Z',
  down: 'm8 10.7 4.4-4.4-.7-.7L8 9.3 4.3 5.6l-.7.7L8 10.7Z',
  up: 'm8 5.3 4.4 4.4-.7.7L8 6.7l-3.7 3.7-.7-.7L8 5.3Z',
  fit: 'M2 2h4v1H3v3H2V2Zm8 0h4v4h-1V3h-3V2ZM2 10h1v3h3v1H2v-4Zm11 0h1v4h-4v-1h3v-3ZM5 5h6v6H5V5Zm1 1v4h4V6H6Z',
  search: 'M6.5 2a4.5 4.5 0 0 1 3.6 7.2l3.8 3.8-.7.7-3.8-3.8A4.5 4.5 0 1 1 6.5 2Zm0 1a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7Z',
  table: 'M2 3h12v10H2V3Zm1 1v2h10V4H3Zm0 3v2h4V7H3Zm5 0v2h5V7H8Zm-5 3v2h4v-2H3Zm5 0v2h5v-2H8Z',
  keyboard:
    'M1 4h14v8H1V4Zm1 1v6h12V5H2Zm1 1h1v1H3V6Zm2 0h1v1H5V6Zm2 0h1v1H7V6Zm2 0h1v1H9V6Zm2 0h2v1h-2V6ZM3 8h1v1H3V8Zm2 0h6v1H5V8Zm7 0h1v1h-1V8Z',
  export: 'M8 1.6 11.4 5l-.7.7-2.2-2.2V10h-1V3.5L5.3 5.7 4.6 5 8 1.6ZM3 8h2v1H4v4h8V9h-1V8h2v6H3V8Z',
  inspector: 'M2 2h12v12H2V2Zm1 1v10h6V3H3Zm7 0v10h3V3h-3Z',
  pin: 'M5 2h6v1h-1v4l2 2v1H8.5v4h-1v-4H4V9l2-2V3H5V2Zm2 1v4.4L5.4 9h5.2L9 7.4V3H7Z',
  nodes: 'M2 4h9v9H2V4Zm1 1v7h7V5H3Zm1 3h5v1H4V8ZM5 2h9v9h-1V3H5V2Z',
  more: 'M3 7h2v2H3V7Zm4 0h2v2H7V7Zm4 0h2v2h-2V7Z',
  path: 'M3 2.5a1.5 1.5 0 0 1 1.4 2H9v7h2.6a1.5 1.5 0 1 1 0 1H8v-7H4.4A1.5 1.5 0 1 1 3 2.5Z',
} as const;

/** Name of an icon. */
export type IconName = keyof typeof iconPaths;

/** The outline of an icon, 16 px wide, to draw on a canvas. */
export function iconPath(name: IconName): string {
  return iconPaths[name];
}

/** A decorative icon in the text colour; give its meaning in text next to it or as a label of its button. */
export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS(svgNamespace, 'svg');
  setAttributes(svg, {
    viewBox: '0 0 16 16',
    width: 16,
    height: 16,
    'aria-hidden': 'true',
    class: `icon icon-${name}`,
    fill: 'currentColor',
  });
  const path = document.createElementNS(svgNamespace, 'path');
  setAttributes(path, { d: iconPaths[name], 'fill-rule': 'evenodd' });
  svg.append(path);
  return svg;
}
