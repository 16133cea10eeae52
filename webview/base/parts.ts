import type { PageFocus } from '../../src/protocol/page-keys';
import { takesLetters } from './ui';

/** Of an element that is a part of the page: keys lead to it, in the order of the document. A screen reader reads its name. */
export const partAttributes = { 'data-part': true } as const;

/** Of what takes the focus in place of the part that it is in. */
export const partFocusAttributes = { 'data-part-focus': true } as const;

/** Of the lanes of a timeline, to which arrow keys belong; they take the focus of their part. */
export const lanesAttributes = { 'data-lanes': true, ...partFocusAttributes } as const;

/** Moves the focus to the next part that is shown, or the one before; after the last comes the first. False where there is none. */
export function goToPart(by: 1 | -1): boolean {
  const parts = [...document.querySelectorAll<HTMLElement>('[data-part]')].filter(isShown);
  const active = document.activeElement;
  const at = active === null || active === document.body ? -1 : parts.findLastIndex((part) => isAtOrAfter(active, part));
  const next = at < 0 && by < 0 ? -1 : at + by;
  const part = parts.at(next % Math.max(1, parts.length));
  if (part === undefined) return false;
  const own = (each: HTMLElement): boolean => isShown(each) && each.closest('[data-part]') === part;
  const target = [...part.querySelectorAll<HTMLElement>('[data-part-focus]')].find(own) ?? part;
  if (target.tabIndex < 0 && !target.hasAttribute('tabindex')) target.tabIndex = -1;
  target.focus();
  return true;
}

/** Whether an element is in a part or comes behind its beginning. */
function isAtOrAfter(element: Element, part: Element): boolean {
  return element === part || (part.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
}

/** Neither hidden nor empty. */
function isShown(element: HTMLElement): boolean {
  return element.offsetHeight > 0 && element.hasChildNodes();
}

/** The part of the page that has the keyboard focus. Lanes are what has the attribute `data-lanes`. */
export function focusNow(): PageFocus {
  if (!document.hasFocus()) return 'none';
  const active = document.activeElement;
  if (takesLetters(active)) return 'field';
  return isLanes(active) ? 'lanes' : 'other';
}

/** Reports, now and at each change, which part of the page has the focus; keeps keys that walk the lanes from scrolling the page. */
export function watchFocus(report: (on: PageFocus) => void): void {
  let lastFocus: PageFocus = 'none';
  const look = (): void => {
    const on = focusNow();
    if (on !== lastFocus) report((lastFocus = on));
  };
  // An element that loses the focus reports it before the next one has it.
  const lookSoon = (): void => void setTimeout(look, 0);
  document.addEventListener('focusin', look);
  document.addEventListener('focusout', lookSoon);
  window.addEventListener('focus', look);
  window.addEventListener('blur', lookSoon);
  document.addEventListener('keydown', (event) => {
    // What had the focus may have left the page without a word.
    look();
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (isPlain && scrolling.has(event.key) && isLanes(event.target)) event.preventDefault();
  });
  look();
}

const scrolling: ReadonlySet<string> = new Set(['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End', 'PageUp', 'PageDown']);

function isLanes(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches('[data-lanes]');
}
