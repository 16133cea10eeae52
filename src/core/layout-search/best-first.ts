/** What has a time and a peak. */
interface Costed {
  readonly iterationMs: number;
  readonly peakBytes: number;
}

/** The Pareto front: points that no other beats in both time and size, by ascending time. */
interface ParetoFront<T extends Costed> {
  readonly entries: () => readonly T[];
  /** Takes a point in unless an earlier one is as fast and as small, and drops those that are not better than it. */
  readonly add: (point: T) => void;
  /** Whether a point is as fast and as small as this or better. */
  readonly dominates: (point: Costed) => boolean;
}

export function paretoFront<T extends Costed>(): ParetoFront<T> {
  const entries: T[] = [];
  /** Index of the first entry that is slower. */
  const after = (ms: number): number => {
    let [low, high] = [0, entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((entries[middle]?.iterationMs ?? Infinity) <= ms) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const dominates = ({ iterationMs, peakBytes }: Costed): boolean => (entries[after(iterationMs) - 1]?.peakBytes ?? Infinity) <= peakBytes;
  return {
    entries: () => entries,
    dominates,
    add: (point) => {
      if (dominates(point)) return;
      let at = after(point.iterationMs);
      // an entry just as fast is larger, or it would dominate
      if (entries[at - 1]?.iterationMs === point.iterationMs) at--;
      let end = at;
      while (end < entries.length && (entries[end]?.peakBytes ?? -1) >= point.peakBytes) end++;
      entries.splice(at, end - at, point);
    },
  };
}
