/**
 * What a table has under a key of its own. A key that a file writes may be named like a member of Object.prototype (`constructor`), which a
 * plain look-up would find.
 */
export function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** Adds any number of items to a list: `push(...items)` takes only some 100,000. */
export function append<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item);
}

/** An object without some of its optional properties. */
export function without<T extends object, K extends keyof T>(from: T, ...names: readonly K[]): Omit<T, K> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => !names.some((other) => other === name))) as Omit<T, K>;
}

/** A JSON object: neither null nor an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a key, computed and kept where there is none yet. `compute` never gives undefined. */
export function memoized<K, V>(known: { get(key: K): V | undefined; set(key: K, value: V): unknown }, key: K, compute: () => V): V {
  let value = known.get(key);
  if (value === undefined) known.set(key, (value = compute()));
  return value;
}

/** Items by key, keys in the order of their first item. */
export function groupedBy<T, K>(items: Iterable<T>, key: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) memoized(groups, key(item), () => []).push(item);
  return groups;
}
