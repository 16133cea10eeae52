import type { Finding, Fix } from '../findings';
import type { Located } from '../domain/located';
import { readMembers, nodePlace, type JsonDocument, type Member } from '../languages/json/document';
import { type Node, modify } from 'jsonc-parser';
import type { Rule } from '../domain/settings/rules';
import { readByRule } from '../languages/json/read-by-rule';
import type { LocatedPartial } from '../run/given';
import { withCurrentKeys } from './renamed-keys';
import { quoted } from '../text';
import { closest } from '../suggest';
import { sentence } from '../sentence';

/** More unknown keys than this in one object are not remarked on: it is something else than a config. */
const maximumUnknownKeys = 10;

/** One object of a terapipe.json while it is read: its path from the root, its properties, and where remarks go. */
export interface Section {
  readonly document: JsonDocument;
  readonly path: readonly string[];
  readonly node: Node;
  readonly members: ReadonlyMap<string, Member>;
  readonly remarks: Finding[];
}

/**
 * Opens an object of a terapipe.json. Old names of keys are read as the names of today. Remarks on keys that are not in `known`.
 * @throws ExpectedError as `readMembers` and `withCurrentKeys`.
 */
export function openSection(
  document: JsonDocument,
  node: Node,
  path: readonly string[],
  known: readonly string[],
  remarks: Finding[],
): Section {
  const members = withCurrentKeys(
    document,
    readMembers(document, node, path.length === 0 ? 'terapipe.json' : path.join('.')),
    path,
    remarks,
  );
  const present = new Set(members.keys());
  const unknown = [...members.values()].filter(({ name }) => !known.includes(name));
  for (const member of unknown.slice(0, maximumUnknownKeys)) remarks.push(unknownKey(document, member, path, present, known));
  return { document, path, node, members, remarks };
}

/** The object under a key, opened; undefined when the key is absent. */
export function openChild(section: Section, name: string, known: readonly string[]): Section | undefined {
  const member = section.members.get(name);
  return member === undefined ? undefined : openSection(section.document, member.value, [...section.path, name], known, section.remarks);
}

/**
 * One value under a key, judged and located; undefined when the key is absent.
 * @throws ExpectedError as `readByRule`.
 */
export function readField<T>(section: Section, name: string, rule: Rule<T>): Located<T> | undefined {
  const member = section.members.get(name);
  if (member === undefined) return undefined;
  const key = [...section.path, name].join('.');
  const value = readByRule(section.document, member.value, key, rule);
  return { value, source: { kind: 'file', place: nodePlace(section.document, member.value), key } };
}

/** All fields of a table that a section gives. */
export function readFields<T extends object>(
  section: Section | undefined,
  fields: { readonly [K in keyof T]-?: Rule<T[K]> },
): LocatedPartial<T> {
  if (section === undefined) return {};
  const entries = Object.entries<Rule<unknown>>(fields).flatMap(([name, rule]) => {
    const value = readField(section, name, rule);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries) as LocatedPartial<T>;
}

/** Plain values of fields, without their places. */
export function plain<T extends object>(given: LocatedPartial<T>): Partial<T> {
  return Object.fromEntries(Object.entries(given).map(([name, located]) => [name, (located as Located<unknown>).value])) as Partial<T>;
}

/**
 * A key that the reader does not know, with the known one it probably means.
 *
 * @finding unknown-key
 * A key that the file may not have, close to one it may. It is ignored, so a default was taken for what it means. Rename or remove it; the
 * quick fix does.
 * @example `"trainning": {}` in a terapipe.json. ""trainning" is not a key of the config and is ignored"
 * @source The reader of `terapipe.json`: [docs/configuration.md](configuration.md) lists its keys.
 * @ignore the key is for a program of your own.
 */
function unknownKey(
  document: JsonDocument,
  member: Member,
  parents: readonly string[],
  present: ReadonlySet<string>,
  known: readonly string[],
): Finding {
  const place = nodePlace(document, member.key);
  const meant = closest(
    member.name,
    known.filter((key) => !present.has(key)),
  );
  const rename: Fix[] =
    meant === null ? [] : [{ title: sentence`Rename to "${meant}"`, preferred: true, edits: [{ place, newText: JSON.stringify(meant) }] }];
  // a key without a name is not found again by its path
  const edits = removal(document, [...parents, member.name]);
  const remove: Fix[] = edits.length === 0 ? [] : [{ title: sentence`Remove ${quoted(member.name)}`, preferred: false, edits }];
  const where = parents.length === 0 ? 'terapipe.json' : parents.join('.');
  return {
    code: 'unknown-key',
    severity: 'warning',
    place,
    message: sentence`${quoted(member.name)} is not a key of ${where} and is ignored`,
    remedy: meant === null ? sentence`remove it; known keys are ${known.join(', ')}` : sentence`did you mean "${meant}"?`,
    fixes: [...rename, ...remove],
  };
}

/** Entries of lists are named as in `groups[0]`. */
function removal(document: JsonDocument, path: readonly string[]): Fix['edits'] {
  const steps = path.flatMap((step) => {
    const [, list, index] = /^(.+)\[(\d+)\]$/.exec(step) ?? [];
    return list === undefined ? [step] : [list, Number(index)];
  });
  return modify(document.text, steps, undefined, {}).map(({ offset, length, content }) => ({
    place: { file: document.file, range: { start: offset, end: offset + length } },
    newText: content,
  }));
}
