/** Maps values; an object that follows itself is mapped once. */
export function mapAlike<T, R>(values: readonly T[], map: (value: T) => R): R[] {
  const mapped: R[] = [];
  values.forEach((value, index) => {
    const before = mapped.at(-1);
    mapped.push(before !== undefined && value === values[index - 1] ? before : map(value));
  });
  return mapped;
}
