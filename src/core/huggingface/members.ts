import { byDefault, type Located } from '../domain/located';
import { ExpectedError } from '../errors';
import { nodePlace, type JsonDocument, type Member } from '../languages/json/document';
import { boolean, type Rule } from '../domain/settings/rules';
import { readByRule } from '../languages/json/read-by-rule';
import type { Family } from './family';
import { sentence } from '../sentence';

export type Members = ReadonlyMap<string, Member>;

/** The object of a config.json that describes the language model, and how it is read. */
export interface Source {
  readonly document: JsonDocument;
  readonly members: Members;
  readonly family: Family;
}

/** The first of several keys that the config has. */
export function memberNamed(members: Members, names: readonly string[] | undefined): Member | undefined {
  const name = names?.find((key) => members.has(key));
  return name === undefined ? undefined : members.get(name);
}

/** A value with the place of the member that gives it. */
export function located<T>(document: JsonDocument, member: Member, value: T): Located<T> {
  return { value, source: { kind: 'file', place: nodePlace(document, member.value), key: member.name } };
}

/**
 * What a member sets, judged by a rule; undefined when it is absent, and, in a config of a family that we only guess at, when the rule
 * refuses it.
 * @throws ExpectedError as `readByRule`.
 */
export function readMember<T>({ document, family }: Source, member: Member | undefined, rule: Rule<T>): Located<T> | undefined {
  if (member === undefined) return undefined;
  try {
    return located(document, member, readByRule(document, member.value, member.name, rule));
  } catch (error) {
    if (family.assumed === true && error instanceof ExpectedError) return undefined;
    throw error;
  }
}

/** A switch of the class; null and absence are its default. @throws ExpectedError as `readByRule`. */
export function flag(source: Source, name: string, otherwise: boolean): Located<boolean> {
  const member = source.members.get(name);
  const read = member?.value.type === 'null' ? undefined : readMember(source, member, boolean);
  return read ?? byDefault(otherwise, sentence`${source.family.configClass} default: ${name} ${String(otherwise)}`);
}
