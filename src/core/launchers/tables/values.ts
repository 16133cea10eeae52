import type { Finding } from '../../findings';
import type { Place, TextRange } from '../../domain/located';
import type { Fact, FactName, Facts, FactValues } from '../../run/facts';
import type { Rule } from '../../domain/settings/rules';
import { fileStart } from '../../languages/json/document';
import { checkByRule } from '../../languages/json/read-by-rule';
import type { SettingValue } from '../../languages/text-edits';
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

/** How a plain value becomes a fact. */
export interface ValueRead<T> {
  /** What a setting means; null: it sets nothing. @throws ExpectedError for a value that cannot be. */
  readonly ofSetting: (setting: Setting) => T | null;
  /** As `FlagRead.writes`. */
  readonly writes?: (value: SettingValue) => SettingValue;
}

/** Values that a rule takes, as they are. */
export function value<T>(rule: Rule<T>): ValueRead<T>;
/** Values that a rule takes and that mean something else; null: nothing. */
export function value<T, M>(rule: Rule<T>, meaning: (value: T) => M | null): ValueRead<M>;
export function value<T>(rule: Rule<T>, meaning = (taken: T): unknown => taken): ValueRead<unknown> {
  return { ofSetting: (setting) => meaning(checkByRule(setting.value, setting.described, setting.name, rule)) };
}

/** The meaning of a switch that picks one of several; switched off it sets nothing. */
export function whenOn<const T>(value: T): (on: boolean) => T | null {
  return (on) => (on ? value : null);
}

/** Adds a fact that follows from others, with the sentence on how; facts that the file gives itself stay. */
export function derive<K extends FactName>(facts: Draft, name: K, value: FactValues[K], reason: Sentence): void {
  if (facts[name] === undefined) setFact(facts, name, { value, source: { kind: 'default', reason } });
}

/** The first place that facts of this file are at, else `otherwise`. */
export function firstPlace(file: string, facts: Facts, otherwise = fileStart(file)): Place {
  const places = Object.values(facts).flatMap(({ source }) => (source.kind === 'file' && source.place.file === file ? [source.place] : []));
  return earliestPlace(places) ?? otherwise;
}

/** The place that begins first; undefined: there is none. */
export function earliestPlace(places: readonly Place[]): Place | undefined {
  const [first] = places.toSorted((a, b) => a.range.start - b.range.start);
  return first;
}

function setFact<K extends FactName>(facts: { [N in K]?: Fact<FactValues[N]> }, name: K, fact: Fact<FactValues[K]>): void {
  facts[name] = fact;
}
