/**
 * Whether two values of a page's state say the same: numbers, texts, lists, plain objects and typed arrays are compared by what is in them,
 * all else by identity.
 */
export function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (Array.isArray(a) || ArrayBuffer.isView(a)) return isSameList(a as unknown as List, b as unknown as List);
  if (Object.getPrototypeOf(a) !== Object.prototype) return false;
  const entries = Object.entries(a);
  return (
    entries.length === Object.keys(b).length && entries.every(([key, value]) => Object.hasOwn(b, key) && isSame(value, Reflect.get(b, key)))
  );
}

type List = ArrayLike<unknown>;

function isSameList(a: List, b: List): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) if (!isSame(a[index], b[index])) return false;
  return true;
}
