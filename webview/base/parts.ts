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
