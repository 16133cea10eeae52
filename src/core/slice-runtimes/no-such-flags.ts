/** Flags that a runtime does not know, in lines of names: no value of them is as good as none. */
export function noSuchFlags(...lines: readonly string[]): Readonly<Record<string, null>> {
  return Object.fromEntries(lines.flatMap((line) => line.split(' ')).map((flag) => [flag, null]));
}
