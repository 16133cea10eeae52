import type { Fact, FactName, Facts, FactValues } from '../../formats/facts';
import { factOf, type LocatedFlag } from './located-flag';
import type { FlagRead } from '../../languages/reads';

/** One setting that gives a fact. */
interface FlagRule<T> {
  readonly flag: string;
  readonly read: FlagRead<T>;
}

/** Which settings give which fact, by `flagKey`. Of several the first one present wins. */
export type FlagTable = { readonly [K in FactName]?: readonly FlagRule<FactValues[K]>[] };

export const rule = <T>(flag: string, read: FlagRead<T>): FlagRule<T> => ({ flag, read });

/** The same read under several names. */
export const rules = <T>(read: FlagRead<T>, ...flags: readonly string[]): readonly FlagRule<T>[] => flags.map((flag) => rule(flag, read));

/** Every setting of a table with how it is read. */
export function readsOf(table: FlagTable): [string, FlagRead<unknown>][] {
  return Object.values(table).flatMap((each) => each.map(({ flag, read }): [string, FlagRead<unknown>] => [flag, read]));
}

/** What the settings of a launch set. A value that is unknown or not allowed gives no fact. */
export function factsOfTable(table: FlagTable, flags: ReadonlyMap<string, LocatedFlag>): Facts {
  const facts: Partial<Record<FactName, Fact<unknown>>> = {};
  for (const [name, each] of Object.entries(table) as [FactName, readonly FlagRule<unknown>[]][]) {
    const fact = each.map((entry) => factOf(flags.get(entry.flag), entry.read)).find((found) => found !== undefined);
    if (fact !== undefined) facts[name] = fact;
  }
  return facts as Facts;
}
