/** Runs what it is given when the key is another one than before: messages may come ten times a second, and a button that is replaced under the pointer is no button. */
export function onlyNew(): (key: unknown, run: () => void) => void {
  let last: string | null = null;
  return (key, run) => {
    const next = JSON.stringify(key);
    if (next === last) return;
    last = next;
    run();
  };
}
