import { ExpectedError } from '../../errors';
import type { Finding } from '../../findings';
import type { Place, TextRange } from '../../domain/located';
import type { Fact, FactName, Facts, FactValues } from '../../run/facts';
import type { Rule } from '../../domain/settings/rules';
import { checkByRule } from '../../languages/json/read-by-rule';
import type { Sentence, Value } from '../../sentence';

/** One setting of a launcher file, whatever its syntax. */
export interface Setting {
  /** Path as this file writes it: `parallelism.tensor_parallel_degree`. */
  readonly name: string;
  /** Scalars and lists as plain values; undefined for what no rule accepts (tables, dates). */
  readonly value: unknown;
  /** The value in words, for messages. */
  readonly described: Value;
  /** Exactly the value's text. */
  readonly place: Place;
  /** What to cut so that the file stays well-formed without the setting. */
  readonly whole: TextRange;
}

/** By name, in file order. */
export type Settings = ReadonlyMap<string, Setting>;

type Draft = { -readonly [K in FactName]?: Fact<FactValues[K]> };

/** Facts while they are collected. */
export interface Sheet {
  readonly facts: Draft;
  readonly remarks: Finding[];
}

/** What fills one fact from a file's settings; of two entries for one fact the first that finds something wins. */
export interface Entry {
  readonly fact: FactName;
  /** Settings that set it, the newest first. */
  readonly names: readonly string[];
  readonly fill: (settings: Settings, sheet: Sheet) => void;
}

/** A fact under one or several names, the newest first. */
export function entry<K extends FactName>(fact: K, rule: Rule<FactValues[K]>, ...names: readonly string[]): Entry {
  return entryAs(fact, rule, (value) => value, ...names);
}

/** The same for a value that `meaning` converts; null: it sets nothing, and the next name is tried. */
export function entryAs<K extends FactName, T>(
  fact: K,
  rule: Rule<T>,
  meaning: (value: T) => FactValues[K] | null,
  ...names: readonly string[]
): Entry {
  const fill: Entry['fill'] = (settings, sheet) => {
    if (sheet.facts[fact] !== undefined) return;
    for (const name of names) {
      const setting = settings.get(name);
      const value = setting === undefined ? null : judged(setting, rule, sheet.remarks);
      const meant = value === null ? null : meaning(value);
      if (setting === undefined || meant === null) continue;
      setFact(sheet.facts, fact, factOf(setting, meant));
      return;
    }
  };
  return { fact, names, fill };
}

/** All facts of a table of entries, and a remark (an error at the value) for each value that cannot be. */
export function collect(settings: Settings, entries: readonly Entry[]): Sheet {
  const sheet: Sheet = { facts: {}, remarks: [] };
  for (const { fill } of entries) fill(settings, sheet);
  return sheet;
}

/** The setting's value as a fact. */
function factOf<T>({ name, place, whole }: Setting, value: T): Fact<T> {
  return { value, source: { kind: 'file', place, key: name }, whole, name };
}

/** Adds a fact that follows from others, with the sentence on how; facts that the file gives itself stay. */
export function derive<K extends FactName>(facts: Draft, name: K, value: FactValues[K], reason: Sentence): void {
  if (facts[name] === undefined) setFact(facts, name, { value, source: { kind: 'default', reason } });
}

/** The first fact by position, else the start of the file. */
export function firstPlace(file: string, facts: Facts): Place {
  const places = Object.values(facts).flatMap(({ source }) => (source.kind === 'file' ? [source.place] : []));
  const start = { file, range: { start: 0, end: 0 } };
  return places.length === 0 ? start : places.reduce((first, place) => (place.range.start < first.range.start ? place : first));
}

function setFact<K extends FactName>(facts: { [N in K]?: Fact<FactValues[N]> }, name: K, fact: Fact<FactValues[K]>): void {
  facts[name] = fact;
}

function judged<T>({ value, described, name, place }: Setting, rule: Rule<T>, remarks: Finding[]): T | null {
  try {
    return checkByRule(value, described, name, rule);
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    const { code, what: message, remedy } = error;
    if (!remarks.some((remark) => remark.place === place)) remarks.push({ code, severity: 'error', place, message, remedy, fixes: [] });
    return null;
  }
}
