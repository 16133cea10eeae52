import { h } from '../base/dom';

/** Makes parts that open and close, and keep their state when they are rebuilt. */
export function makeDisclosures(): (key: string, title: string, content: HTMLElement | null, openAtFirst: boolean) => HTMLElement {
  const opened = new Map<string, boolean>();
  return (key, title, content, openAtFirst) => {
    const element = h(
      'details',
      { class: 'disclosure', open: opened.get(key) ?? openAtFirst },
      h('summary', { 'data-focus': key }, title),
      content,
    );
    element.addEventListener('toggle', () => opened.set(key, element.open));
    return element;
  };
}
