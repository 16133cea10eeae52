/** An entry of JSON with its reason also as `because`, the name it had first. */
export function withBecause<T extends { readonly reason: string }>(entry: T): T & { readonly because: string } {
  return { ...entry, because: entry.reason };
}
