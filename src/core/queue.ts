/** A binary heap of entries by ascending key. */
interface Queue<T> {
  readonly push: (key: number, entry: T) => void;
  readonly pop: () => { readonly key: number; readonly entry: T } | undefined;
  /** Smallest key; Infinity when empty. */
  readonly least: () => number;
}

/**
 * An empty queue. Entries of one key leave it in the order in which they came, so that which of several best is found first does not
 * depend on entries that are left out.
 */
export function createQueue<T>(): Queue<T> {
  const heap: { readonly key: number; readonly turn: number; readonly entry: T }[] = [];
  let turns = 0;
  const isBefore = (a: number, b: number): boolean => {
    const [one, other] = [heap[a], heap[b]];
    if (one === undefined || other === undefined) return one !== undefined;
    return one.key < other.key || (one.key === other.key && one.turn < other.turn);
  };
  const swap = (a: number, b: number): void => {
    const [one, other] = [heap[a], heap[b]];
    if (one === undefined || other === undefined) return;
    heap[a] = other;
    heap[b] = one;
  };
  return {
    least: () => heap[0]?.key ?? Infinity,
    push: (key, entry) => {
      heap.push({ key, turn: turns++, entry });
      for (let at = heap.length - 1; at > 0;) {
        const parent = (at - 1) >> 1;
        if (!isBefore(at, parent)) break;
        swap(parent, at);
        at = parent;
      }
    },
    pop: () => {
      swap(0, heap.length - 1);
      const first = heap.pop();
      for (let at = 0; ;) {
        const left = 2 * at + 1;
        const child = isBefore(left + 1, left) ? left + 1 : left;
        if (!isBefore(child, at)) break;
        swap(at, child);
        at = child;
      }
      return first;
    },
  };
}
