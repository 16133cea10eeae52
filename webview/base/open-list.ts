/**
 * Hands on what arrives at once, but while a dropdown's list is open only when it closes, in the order it came: nothing moves under a
 * pointer that is about to choose.
 */
export function heldWhileListIsOpen<T>(take: (arrived: T) => void): (arrived: T) => void {
  const held: T[] = [];
  const isOpen = (): boolean => document.querySelector('vscode-dropdown[open]') !== null;
  const handOn = (): void => {
    if (!isOpen()) for (const arrived of held.splice(0)) take(arrived);
  };
  new MutationObserver(handOn).observe(document.documentElement, { subtree: true, attributeFilter: ['open'] });
  return (arrived) => {
    held.push(arrived);
    handOn();
  };
}
