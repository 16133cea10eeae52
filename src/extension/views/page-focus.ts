import type { ActMessage, PageKind } from '../../protocol/page';
import { pageKeys, type PageCommand, type PageCommandId, type PageFocus } from '../../protocol/page-keys';

/** One page, as who keeps the focus knows it. */
export interface FocusedPage {
  readonly kind: PageKind;
  readonly send: (message: ActMessage) => void;
}

/** Which page has the keyboard focus, and which part of it. */
export interface PageFocusKeeper {
  /** A page reports which part has the focus. */
  readonly note: (page: FocusedPage, on: PageFocus) => void;
  /** A page is gone, or hidden. */
  readonly left: (page: FocusedPage) => void;
  /** Has the page with the focus do something; without one, as from the palette, the last that had it and knows the command. */
  readonly act: (command: PageCommandId) => void;
}

/**
 * Keeps account of the focus. Each page reports its own, and the report of one that loses the focus may arrive after that of the next.
 * @param changed given `field`, `lanes` or `other` when a page has the keyboard focus, `none` when no page has it any more.
 */
export function createPageFocus(changed: (on: PageFocus) => void): PageFocusKeeper {
  let focused: FocusedPage | null = null;
  /** Those that had it, the last first. */
  let before: readonly FocusedPage[] = [];
  let now: PageFocus = 'none';
  const set = (page: FocusedPage | null, on: PageFocus): void => {
    focused = page;
    if (on === now) return;
    now = on;
    changed(on);
  };
  return {
    note: (page, on) => {
      if (on === 'none') {
        if (focused === page) set(null, 'none');
        return;
      }
      if (before[0] !== page) before = [page, ...before.filter((each) => each !== page)];
      set(page, on);
    },
    left: (page) => {
      before = before.filter((each) => each !== page);
      if (focused === page) set(null, 'none');
    },
    act: (command) => {
      const { pages }: PageCommand = pageKeys[command];
      (focused ?? before.find(({ kind }) => pages.includes(kind)))?.send({ type: 'act', command, focus: now });
    },
  };
}
