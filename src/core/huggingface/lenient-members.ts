import { byDefault, from, type Located } from '../domain/located';
import { readMembers } from '../languages/json/document';
import { own } from '../records';
import { sentence } from '../sentence';
import { classDetails, type ClassDetails } from './class-details';
import { located, memberNamed, type Members, type Source } from './members';

/*
 * Values on which no plan depends, as a config or its class sets them: one of another type than expected is left out, not refused.
 */

/** Columns of a row of `classDetails`. */
const columns = { activation: 0, initStd: 1, rotaryBase: 2, normEpsilon: 3 } as const;

/** What the class has by default. @param key as the reason names it. */
export function classDefault<C extends keyof typeof columns>(
  { family }: Source,
  column: C,
  key: string,
): Located<NonNullable<ClassDetails[(typeof columns)[C]]>> | undefined {
  const value = own(classDetails, family.configClass)?.[columns[column]] ?? undefined;
  return value === undefined ? undefined : byDefault(value, sentence`${family.configClass} default: ${key} ${String(value)}`);
}

/** What follows from a value; undefined where nothing does. */
export function mapped<T, M>(detail: Located<T> | undefined, meaning: (value: T) => M | undefined): Located<M> | undefined {
  const value = detail === undefined ? undefined : meaning(detail.value);
  return detail === undefined || value === undefined ? undefined : from(detail, value);
}

/** The members of an object; none for any other value. */
export function objectIn({ document, members: ofConfig }: Source, name: string, members = ofConfig): Members {
  const member = members.get(name);
  return member?.value.type === 'object' ? readMembers(document, member.value, name) : new Map();
}

/** The first of several keys, or what its class has for one, unless the config has null. */
function readValue<T>(
  source: Source,
  keys: readonly string[],
  members: Members,
  is: (value: unknown) => value is T,
): Located<T> | undefined {
  const { document, family } = source;
  const member = memberNamed(
    members,
    keys.filter((key) => members.get(key)?.value.type !== 'null'),
  );
  const value: unknown = member?.value.value;
  if (member !== undefined) return is(value) ? located(document, member, value) : undefined;
  const key = keys.find((name) => !members.has(name) && rare(family.configClass, name) !== undefined);
  const otherwise = key === undefined || members !== source.members ? undefined : rare(family.configClass, key);
  return is(otherwise) ? byDefault(otherwise, sentence`${family.configClass} default: ${key ?? ''} ${String(otherwise)}`) : undefined;
}

/** A number, and null, absence or another type: none. @param least the smallest that is taken; usually above 0. */
export function readNumber(
  source: Source,
  keys: readonly string[],
  members = source.members,
  least = Number.MIN_VALUE,
): Located<number> | undefined {
  return readValue(
    source,
    keys,
    members,
    (value): value is number => typeof value === 'number' && Number.isFinite(value) && value >= least,
  );
}

export function readFlag(source: Source, keys: readonly string[], members = source.members): Located<boolean> | undefined {
  return readValue(source, keys, members, (value): value is boolean => typeof value === 'boolean');
}

export function readWord(source: Source, keys: readonly string[], members = source.members): Located<string> | undefined {
  return readValue(source, keys, members, (value): value is string => typeof value === 'string' && value !== '');
}

function rare(configClass: string, name: string): number | boolean | string | undefined {
  return own(own(classDetails, configClass)?.[4] ?? {}, name);
}
