import type { FactName, FactValues } from '../../formats/facts';
import type { FlagOutcome, FlagRead } from '../../languages/reads';
import type { YamlNode } from '../../languages/yaml/document';

/** How a node becomes a fact where words are not enough: lists, nested mappings. */
export interface NodeRead<T> {
  readonly ofNode: (node: YamlNode) => FlagOutcome<T>;
}

export type Read<T> = FlagRead<T> | NodeRead<T>;

export interface KeyRule<T> {
  /** Dotted, from the root: `model.num_layers`. */
  readonly path: string;
  readonly read: Read<T>;
}

/** Which keys give which fact. Of several keys the first that gives a value wins. */
export type KeyTable = { readonly [K in FactName]?: readonly KeyRule<FactValues[K]>[] };

/** A row of a table. */
export const key = <T>(path: string, read: Read<T>): KeyRule<T> => ({ path, read });

/** The same table under each of several sections, one after the other: `model.`, or nothing for the root. */
export function under(prefixes: readonly string[], table: KeyTable): KeyTable {
  const rows = Object.entries(table) as [FactName, readonly KeyRule<unknown>[]][];
  return Object.fromEntries(
    rows.map(([name, rules]) => [name, rules.flatMap(({ path, read }) => prefixes.map((prefix) => key(prefix + path, read)))]),
  );
}

/** Two tables; where both know a fact, the rows of the first come first. */
export function joined(first: KeyTable, second: KeyTable): KeyTable {
  const names = new Set([...Object.keys(first), ...Object.keys(second)] as FactName[]);
  return Object.fromEntries([...names].map((name) => [name, [...(first[name] ?? []), ...(second[name] ?? [])]]));
}

/** The same, but a word that it does not know has no information: for sets that grow with every version. */
export function lenient<T>(read: FlagRead<T>): FlagRead<T> {
  return {
    words: read.words,
    of: (words) => {
      const outcome = read.of(words);
      return 'expects' in outcome ? { silent: true } : outcome;
    },
  };
}
