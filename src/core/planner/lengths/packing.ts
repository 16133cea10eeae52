/** Documents that share a sequence, longest first. */
export type Pack = readonly number[];

/**
 * Packs documents into sequences of at most `capacity` tokens, best fit decreasing: the longest first, each into the fullest pack that has
 * room. At most 11/9 of the fewest packs possible and 2/3 of one more (Dósa 2007, for first fit decreasing; best fit decreasing is not
 * worse: Johnson et al. 1974).
 *
 * @param descending lengths, none above `capacity`.
 */
export function packBestFit(descending: readonly number[], capacity: number): readonly Pack[] {
  const packs: number[][] = [];
  const withRoom = new Map<number, number[]>();
  /** Rooms that some pack has, ascending. */
  const rooms: number[] = [];
  const add = (room: number, pack: number): void => {
    const same = withRoom.get(room);
    if (same !== undefined && same.length > 0) same.push(pack);
    else {
      withRoom.set(room, [pack]);
      rooms.splice(firstAtLeast(rooms, room), 0, room);
    }
  };
  const take = (tokens: number): { readonly room: number; readonly pack: number } => {
    const at = firstAtLeast(rooms, tokens);
    const room = rooms[at];
    const fitting = room === undefined ? undefined : withRoom.get(room);
    const pack = fitting?.pop();
    if (room === undefined || fitting === undefined || pack === undefined) return { room: capacity, pack: packs.push([]) - 1 };
    if (fitting.length === 0) rooms.splice(at, 1);
    return { room, pack };
  };
  for (const tokens of descending) {
    const { room, pack } = take(tokens);
    packs[pack]?.push(tokens);
    add(room - tokens, pack);
  }
  return packs;
}

/** Index of the first of ascending values that is not less; their number where none is. */
export function firstAtLeast(ascending: readonly number[], value: number): number {
  let [from, to] = [0, ascending.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((ascending[middle] ?? Infinity) < value) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * Schedules items on workers, the heaviest first, each on the worker with the least weight (longest processing time first, Graham 1969).
 */
export function longestFirstSchedule<T>(
  items: readonly { readonly item: T; readonly weight: number }[],
  workers: number,
): readonly (readonly T[])[] {
  const loads = Array.from({ length: workers }, () => ({ weight: 0, items: [] as T[] }));
  for (const { item, weight } of items.toSorted((a, b) => b.weight - a.weight)) {
    const least = loads.reduce((best, load) => (load.weight < best.weight ? load : best));
    least.items.push(item);
    least.weight += weight;
  }
  return loads.map((load) => load.items);
}
