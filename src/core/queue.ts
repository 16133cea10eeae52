/** A binary heap of entries by ascending key. */
interface Queue<T> {
  readonly push: (key: number, entry: T) => void;
  readonly pop: () => { readonly key: number; readonly entry: T } | undefined;
  /** Smallest key; Infinity when empty. */
  readonly least: () => number;
}

/** An empty queue. Entries of one key leave it in no set order, the same every time. */
export function createQueue<T>(): Queue<T> {
  const keys: number[] = [];
  const entries: T[] = [];
  const keyAt = (index: number): number => keys[index] ?? Infinity;
  const swap = (a: number, b: number): void => {
    [keys[a], keys[b]] = [keyAt(b), keyAt(a)];
    const [first, second] = [entries[a], entries[b]];
    entries[a] = second as T;
    entries[b] = first as T;
  };
  return {
    least: () => keyAt(0),
    push: (key, entry) => {
      keys.push(key);
      entries.push(entry);
      for (let at = keys.length - 1; at > 0;) {
        const parent = (at - 1) >> 1;
        if (keyAt(parent) <= keyAt(at)) break;
        swap(parent, at);
        at = parent;
      }
    },
    pop: () => {
      if (keys.length === 0) return undefined;
      swap(0, keys.length - 1);
      const [key, entry] = [keys.pop() ?? Infinity, entries.pop() as T];
      for (let at = 0; ;) {
        const left = 2 * at + 1;
        const child = keyAt(left + 1) < keyAt(left) ? left + 1 : left;
        if (keyAt(child) >= keyAt(at)) break;
        swap(at, child);
        at = child;
      }
      return { key, entry };
    },
  };
}
