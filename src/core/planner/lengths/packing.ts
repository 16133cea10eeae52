import { maximum } from '../../numbers';
import { createQueue } from '../../queue';

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

/** An item with its weight, at least 0. */
interface Weighed<T> {
  readonly item: T;
  readonly weight: number;
}

/**
 * Schedules items on workers, the heaviest first, each on the worker with the least weight (longest processing time first, Graham 1969).
 */
export function longestFirstSchedule<T>(items: readonly Weighed<T>[], workers: number): readonly (readonly T[])[] {
  const loads = Array.from({ length: workers }, () => ({ weight: 0, items: [] as T[] }));
  for (const { item, weight } of items.toSorted((a, b) => b.weight - a.weight)) {
    const least = loads.reduce((best, load) => (load.weight < best.weight ? load : best));
    least.items.push(item);
    least.weight += weight;
  }
  return loads.map((load) => load.items);
}

/** What some workers have, the heaviest load first. */
type Partition<T> = readonly { readonly weight: number; readonly items: readonly T[] }[];

/**
 * Schedules items on workers by the largest differencing method: the two partitions whose loads differ most become one, the heaviest load
 * of one with the lightest of the other (Karmarkar and Karp 1982; for several workers Michiels, Korst and Aarts 2003; verl's
 * `get_seqlen_balanced_partitions`).
 */
export function differencingSchedule<T>(items: readonly Weighed<T>[], workers: number): readonly (readonly T[])[] {
  const queue = createQueue<Partition<T>>();
  const push = (loads: Partition<T>): void => queue.push((loads.at(-1)?.weight ?? 0) - (loads[0]?.weight ?? 0), loads);
  const none = Array.from({ length: workers - 1 }, () => ({ weight: 0, items: [] }));
  for (const { item, weight } of items) push([{ weight, items: [item] }, ...none]);
  for (;;) {
    const first = queue.pop()?.entry;
    const second = queue.pop()?.entry;
    if (first === undefined) return Array.from({ length: workers }, () => []);
    if (second === undefined) return first.map((load) => load.items);
    const loads = first.map((load, index) => {
      const other = second[workers - 1 - index] ?? { weight: 0, items: [] };
      return { weight: load.weight + other.weight, items: load.items.concat(other.items) };
    });
    push(loads.sort((x, y) => y.weight - x.weight));
  }
}

/** Items times workers up to which differencing is tried: it keeps a load of every worker for every item. */
const mostDifferences = 20_000;
/** Longest first is not improved on where it is as close as this to the bound. */
const closeEnough = 1.001;

/** A schedule of items on workers. */
export interface BalancedSchedule<T> {
  readonly workers: readonly (readonly T[])[];
  /** Weight of the fullest worker over the least that any schedule can reach, at least 1; 1 without weight. */
  readonly overBound: number;
}

/**
 * The better of longest first and largest differencing, with how far the fullest worker may be from the least possible. No worker can do
 * with less than the mean, the heaviest item, or, of more items than workers, the two lightest of the first `workers` + 1.
 */
export function balancedSchedule<T>(items: readonly Weighed<T>[], workers: number): BalancedSchedule<T> {
  const weights = new Map(items.map(({ item, weight }) => [item, weight]));
  const most = (schedule: readonly (readonly T[])[]): number =>
    maximum(schedule.map((own) => own.reduce((sum, item) => sum + (weights.get(item) ?? 0), 0)));
  const longest = longestFirstSchedule(items, workers);
  const bound = leastHeaviest(
    items.map(({ weight }) => weight),
    workers,
  );
  const isClose = most(longest) <= closeEnough * bound || items.length * workers > mostDifferences;
  const others = isClose ? [] : [differencingSchedule(items, workers)];
  const best = others.reduce((least, schedule) => (most(schedule) < most(least) ? schedule : least), longest);
  return { workers: best, overBound: bound > 0 ? atLeastOne(most(best) / bound) : 1 };
}

/** A ratio that is 1 or more except for rounding: 1 where it is within rounding of 1. */
export function atLeastOne(ratio: number): number {
  return ratio < 1 + 1e-9 ? 1 : ratio;
}

function leastHeaviest(weights: readonly number[], workers: number): number {
  const descending = weights.toSorted((a, b) => b - a);
  const pair = descending.length > workers ? (descending[workers - 1] ?? 0) + (descending[workers] ?? 0) : 0;
  return Math.max(descending[0] ?? 0, pair, descending.reduce((sum, weight) => sum + weight, 0) / workers);
}
