import type { Fact, FactName, Facts, FactValues } from '../../run/facts';
import type { FlagOutcome, FlagRead } from '../../languages/reads';
import type { SettingValue } from '../../languages/text-edits';
import type { YamlNode } from '../../languages/yaml/document';
import { flagFact, type LocatedFlag } from './located-flag';
import type { Setting, Settings, Sheet, ValueRead } from './values';
import { ExpectedError } from '../../errors';
import type { Finding } from '../../findings';

/** How a node becomes a fact where words are not enough: lists, nested mappings. */
export interface NodeRead<T> extends Writing {
  readonly ofNode: (node: YamlNode) => FlagOutcome<T>;
}

export type Read<T> = FlagRead<T> | NodeRead<T>;

/** A flag or key that gives a fact. */
export interface Row<T, R = Read<T>> {
  /** As `flagKey` spells a flag, or dotted from the root of a file: `num-layers`, `model.num_layers`. */
  readonly name: string;
  readonly read: R;
}

/** Which flags or keys give which fact. Of several the first that gives a value wins; the first is the one that is written. */
export type Table = { readonly [K in FactName]?: readonly Row<FactValues[K]>[] };

/** The same of flags, whose values are words. */
export type FlagTable = { readonly [K in FactName]?: readonly Row<FactValues[K], FlagRead<FactValues[K]>>[] };

/** The same of plain values. */
export type ValueTable = { readonly [K in FactName]?: readonly Row<FactValues[K], ValueRead<FactValues[K]>>[] };

/** A table of any values: only names and how values are written matter. */
export type NamedTable = Readonly<Partial<Record<FactName, readonly { readonly name: string; readonly read: Writing }[]>>>;

/** How a read writes: see `FlagRead.writes`. */
type Writing = Pick<FlagRead<never>, 'writes'>;

/** A row of a table. */
export const row = <R>(name: string, read: R): { readonly name: string; readonly read: R } => ({ name, read });

/** The same read under several names. */
export const rows = <R>(read: R, ...names: readonly string[]): readonly { readonly name: string; readonly read: R }[] =>
  names.map((name) => row(name, read));

/** The same table under other names. */
export function renamed(table: FlagTable, ...spellings: readonly ((name: string) => string)[]): FlagTable;
export function renamed(table: Table, ...spellings: readonly ((name: string) => string)[]): Table;
export function renamed(table: Table, ...spellings: readonly ((name: string) => string)[]): Table {
  const entries = Object.entries(table) as [FactName, readonly Row<unknown>[]][];
  return Object.fromEntries(
    entries.map(([fact, each]) => [fact, each.flatMap(({ name, read }) => spellings.map((spelling) => row(spelling(name), read)))]),
  );
}

/** The same table under each of several sections, one after the other: `model.`, or nothing for the root. */
export function under(prefixes: readonly string[], table: Table): Table {
  return renamed(table, ...prefixes.map((prefix) => (name: string) => prefix + name));
}

/** Two tables; where both know a fact, the rows of the first come first. */
export function joined(first: FlagTable, second: FlagTable): FlagTable;
export function joined(first: Table, second: Table): Table;
export function joined(first: Table, second: Table): Table {
  const names = new Set([...Object.keys(first), ...Object.keys(second)] as FactName[]);
  return Object.fromEntries([...names].map((name) => [name, [...(first[name] ?? []), ...(second[name] ?? [])]]));
}

/** The same, but a word that it does not know sets nothing: for sets that grow with every version. */
export function lenient<T>(read: FlagRead<T>): FlagRead<T> {
  return {
    ...read,
    of: (words) => {
      const outcome = read.of(words);
      return 'expects' in outcome ? { silent: true } : outcome;
    },
  };
}

/** The same, but `auto` sets nothing: the launcher works it out. */
export function unlessAuto<T>(read: FlagRead<T>): FlagRead<T> {
  return { ...read, of: (words) => (words.join(' ') === 'auto' ? { silent: true } : read.of(words)) };
}

/** The same read, which writes a value as `writes` has it. */
export function written<R>(read: R, writes: (value: SettingValue) => SettingValue): R & Required<Writing> {
  return { ...read, writes };
}

/** The first fact of a table that a name sets. */
export function factNamed(table: NamedTable, name: string): FactName | undefined {
  const facts = Object.entries(table) as [FactName, readonly { readonly name: string }[]][];
  return facts.find(([, each]) => each.some((one) => one.name === name))?.[0];
}

/** Every flag of a table with how it is read. */
export function tableReads(table: FlagTable): [string, FlagRead<unknown>][] {
  return Object.values(table).flatMap((each) => each.map(({ name, read }): [string, FlagRead<unknown>] => [name, read]));
}

/** What the flags of a launch set. A value that is unknown or not allowed gives no fact. */
export function factsOfTable(table: FlagTable, flags: ReadonlyMap<string, LocatedFlag>): Facts {
  const facts: Partial<Record<FactName, Fact<unknown>>> = {};
  for (const [fact, each] of Object.entries(table) as [FactName, readonly Row<unknown, FlagRead<unknown>>[]][]) {
    const given = each.map(({ name, read }) => flagFact(flags.get(name), read)).find((found) => found !== undefined);
    if (given !== undefined) facts[fact] = given;
  }
  return facts as Facts;
}

/** What the settings of a file set, and a remark (an error at the value) for each value that cannot be. */
export function factsOfSettings(table: ValueTable, settings: Settings): Sheet {
  const remarks: Finding[] = [];
  const facts: Partial<Record<FactName, Fact<unknown>>> = {};
  for (const [fact, each] of Object.entries(table) as [FactName, readonly Row<unknown, ValueRead<unknown>>[]][])
    for (const { name, read } of each) {
      const setting = settings.get(name);
      const meant = setting === undefined ? null : judged(setting, read, remarks);
      if (setting === undefined || meant === null) continue;
      const { place, whole } = setting;
      facts[fact] = { value: meant, source: { kind: 'file', place, key: name }, whole, name };
      break;
    }
  return { facts: facts as Sheet['facts'], remarks };
}

function judged<T>(setting: Setting, { ofSetting }: ValueRead<T>, remarks: Finding[]): T | null {
  try {
    return ofSetting(setting);
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    const { code, what: message, remedy } = error;
    const { place } = setting;
    if (!remarks.some((remark) => remark.place === place)) remarks.push({ code, severity: 'error', place, message, remedy, fixes: [] });
    return null;
  }
}
