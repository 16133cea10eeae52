import type { PageFocus } from '../../src/protocol/page-keys';
import { takesLetters } from './ui';

/** What of the page has the keyboard focus. Lanes are what has the attribute `data-lanes`. */
export function focusNow(): PageFocus {
  if (!document.hasFocus()) return 'none';
  const active = document.activeElement;
  if (takesLetters(active)) return 'field';
  return isLanes(active) ? 'lanes' : 'other';
}

/** Reports, now and whenever it changes, what of the page has the focus; and keeps keys that walk the lanes from scrolling the page. */
export function watchFocus(tell: (on: PageFocus) => void): void {
  let told: PageFocus = 'none';
  const look = (): void => {
    const on = focusNow();
    if (on !== told) tell((told = on));
  };
  // An element that loses the focus says so before the next one has it.
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
