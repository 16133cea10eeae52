import type { Sentence } from '../../sentence';
import type { ReadType, Rule } from './rules';
import { own } from '../../records';

/**
 * One setting of a run: what files call it in their own ways, under the one name that all of our code has for it. The type of its value,
 * its key in terapipe.json, its hover, its rows in the outline and in `inspect` and its field of a plan follow from this record.
 */
export interface Setting {
  /** The value where files of launchers and models give it, and in terapipe.json and a plan, which take it over as it is. */
  readonly type?: Rule<unknown>;
  /** The value where files of launchers and models give it, if the reader of runs works something else out of it. */
  readonly read?: ReadType<unknown>;
  /** The value in terapipe.json and in a plan, if files of launchers and models do not give it, or not as it is. */
  readonly key?: Rule<unknown>;
  /** Section of its key in terapipe.json, if that is another than the section of the setting; `''` is the root. */
  readonly keySection?: 'training' | '';
  /** What it means for the pipeline, in one sentence; absent: as the first setting of `sets`. */
  readonly meaning?: Sentence;
  /** Settings of a plan that the reader of runs works out of it. */
  readonly sets?: readonly [string, ...string[]];
  /** Its names in the field, in lower case without separators, by which `--set` knows it too. */
  readonly fieldNames?: readonly string[];
  /** Every plan has it: where no file gives it, resolving takes a value, always this one if it is given, and reports why. */
  readonly assumed?: true | { readonly value: unknown; readonly reason: Sentence };
  /** In a message about the value: `tensor parallel size`. */
  readonly title?: Sentence;
  /** A file that is written for a plan is read again and has to give the same value, or `silent` if it leaves the setting out. */
  readonly compared?: { readonly silent?: unknown };
}

/** Sizes that several settings share as their largest. */
export const mostLayers = 10_000;
export const mostRanks = 100_000;
export const mostWidth = 10_000_000;
export const mostTokens = 100_000_000;
export const mostSequences = 10_000_000;

/** Settings of a section by name, in the order in which they are shown. */
export type SettingTable = Readonly<Record<string, Setting>>;

type Frozen<T> = T extends readonly unknown[] ? { readonly [K in keyof T]: Frozen<T[K]> } : T;

type ReadValue<S> = S extends { readonly type: ReadType<infer T> }
  ? Frozen<NonNullable<T>>
  : S extends { readonly read: ReadType<infer T> }
    ? Frozen<T>
    : never;

type PlanValue<S> = S extends { readonly type: ReadType<infer T> }
  ? Frozen<T>
  : S extends { readonly key: ReadType<infer T> }
    ? Frozen<T>
    : never;

/** What files of launchers and models give, by setting. */
export type ReadValues<Table> = {
  readonly [K in keyof Table as Table[K] extends { readonly type: unknown } | { readonly read: unknown } ? K : never]: ReadValue<Table[K]>;
};

type HasKey = { readonly type: unknown } | { readonly key: unknown };
interface ElsewhereKey {
  readonly keySection: string;
}

/** Settings of a section that have a key of it in terapipe.json. */
type KeyName<Table> = keyof {
  [K in keyof Table as Table[K] extends ElsewhereKey ? never : Table[K] extends HasKey ? K : never]: unknown;
} &
  string;

type AssumedName<Table> = keyof { [K in keyof Table as Table[K] extends { readonly assumed: unknown } ? K : never]: unknown };

type OpenName<Table> = Exclude<KeyName<Table>, AssumedName<Table>>;

/** Settings of a section that a file written for a plan has to give again. */
type ComparedName<Table> = keyof { [K in keyof Table as Table[K] extends { readonly compared: unknown } ? K : never]: unknown } & string;

/** A section of a plan: settings with an assumed value are required, the others are present where a file gives them. */
export type PlanValues<Table> = {
  readonly [K in keyof Table as K extends KeyName<Table> & AssumedName<Table> ? K : never]: PlanValue<Table[K]>;
} & {
  readonly [K in keyof Table as K extends OpenName<Table> ? K : never]?: PlanValue<Table[K]>;
};

/** Rules of the keys of a section. */
type KeyRules<Table> = {
  readonly [K in KeyName<Table>]: Table[K] extends { readonly type: infer R } ? R : Table[K] extends { readonly key: infer R } ? R : never;
};

/** Settings that a file gives as a plan takes them. */
type SharedName<Table> = keyof { [K in keyof Table as Table[K] extends { readonly type: unknown } ? K : never]: unknown } & string;

/** The rules of a section's keys in terapipe.json, in order. */
export function keyRules<Table extends SettingTable>(table: Table): KeyRules<Table> {
  return Object.fromEntries(
    Object.entries(table).flatMap(([name, { type, key, keySection }]) => {
      const rule = type ?? key;
      return rule === undefined || keySection !== undefined ? [] : [[name, rule]];
    }),
  ) as KeyRules<Table>;
}

/** Names of the settings of a section that a run takes over as its files give them. */
export function sharedNames<Table extends SettingTable>(table: Table): readonly SharedName<Table>[] {
  return Object.keys(table).filter((name): name is SharedName<Table> => own(table, name)?.type !== undefined);
}

/** Names of the settings of a section that a plan has only where a file gives them. */
export function openNames<Table extends SettingTable>(table: Table): readonly OpenName<Table>[] {
  return Object.keys(keyRules(table)).filter((name): name is OpenName<Table> => own(table, name)?.assumed === undefined);
}

/** Names of the settings of a section that a file written for a plan has to give again. */
export function comparedNames<Table extends SettingTable>(table: Table): readonly ComparedName<Table>[] {
  return Object.keys(table).filter((name): name is ComparedName<Table> => own(table, name)?.compared !== undefined);
}

/** Names of the settings of a section that files of launchers and models give. */
export function readNames<Table extends SettingTable>(table: Table): readonly (keyof ReadValues<Table> & string)[] {
  return Object.keys(table).filter((name): name is keyof ReadValues<Table> & string => {
    const setting = own(table, name);
    return setting?.type !== undefined || setting?.read !== undefined;
  });
}
