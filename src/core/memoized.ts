/** The value of a key, computed and kept where there is none yet. `compute` never gives undefined. */
export function memoized<K, V>(known: { get(key: K): V | undefined; set(key: K, value: V): unknown }, key: K, compute: () => V): V {
  let value = known.get(key);
  if (value === undefined) known.set(key, (value = compute()));
  return value;
}
