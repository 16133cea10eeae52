import type { FactName } from '../../run/facts';
import type { SettingValue } from '../../languages/text-edits';
import type { NamedTable } from '../tables/table';
import type { SettingEdit } from './desired-setting';

/** Where each setting goes in a file that does not have it yet: flags or dotted keys, the first one is written. */
export type KeyNames = Readonly<Partial<Record<FactName, readonly string[]>>>;

/** Where writing puts each fact: under the first name that reading knows, or, of facts in `alike`, under any of its names. */
export function namesIn(table: NamedTable, facts: readonly FactName[], alike: readonly FactName[] = []): KeyNames {
  const writtenNames = (fact: FactName): readonly string[] => {
    const names = [...new Set((table[fact] ?? []).map(({ name }) => name))];
    return alike.includes(fact) ? names : names.slice(0, 1);
  };
  return Object.fromEntries([...facts, ...alike].map((fact) => [fact, writtenNames(fact)]));
}

/** What is written for values of ours that have other words. */
export type Spellings = Readonly<Partial<Record<FactName, (value: SettingValue) => SettingValue>>>;

/** How the rows of a table write the values of each fact, the first that has words of its own. */
export function spellingsIn(table: NamedTable): Spellings {
  const rows = Object.entries(table) as [FactName, NonNullable<NamedTable[FactName]>][];
  return Object.fromEntries(
    rows.flatMap(([fact, each]) => {
      const writes = each.find(({ read }) => read.writes !== undefined)?.read.writes;
      return writes === undefined ? [] : [[fact, writes]];
    }),
  );
}

/** The same settings under names that are spelled otherwise. */
export function spelledWith(keys: KeyNames, spelling: (path: string) => string): KeyNames {
  return Object.fromEntries(Object.entries(keys).map(([fact, paths]) => [fact, paths.map(spelling)]));
}

/** The same keys in a section. @param prefix `model.`. */
export function keysUnder(prefix: string, keys: KeyNames): KeyNames {
  return spelledWith(keys, (path) => prefix + path);
}

/** Names without their sections. */
export function withoutSections(keys: KeyNames): KeyNames {
  return spelledWith(keys, (path) => path.slice(path.lastIndexOf('.') + 1));
}

/** What a new file has for each edit, by its path; edits of settings without a key are left out. */
export function settingsByPath(
  edits: readonly SettingEdit[],
  keyNames: KeyNames,
  spellings: Spellings = {},
): readonly [string, SettingValue][] {
  return edits.flatMap(({ fact, value }): [string, SettingValue][] => {
    const path = keyNames[fact]?.[0];
    return path === undefined ? [] : [[path, spellings[fact]?.(value) ?? value]];
  });
}
