/** Calls `run` only when `key` has changed, so that buttons are not re-created under the pointer by frequent messages. */
export function whenChanged(): (key: unknown, run: () => void) => void {
  let last: string | null = null;
  return (key, run) => {
    const next = JSON.stringify(key);
    if (next === last) return;
    last = next;
    run();
  };
}
