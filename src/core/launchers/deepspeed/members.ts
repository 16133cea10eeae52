import type { Node } from 'jsonc-parser';
import type { TextRange } from '../../domain/located';
import type { Setting } from '../tables/values';
import { describeNode, readMembers, nodePlace, type JsonDocument, type Member } from '../../languages/json/document';

/** Settings of DeepSpeed are at most three levels down. */
const maximumPath = 5;

/**
 * Every member of a JSON document by its dotted name, objects included (without a value).
 * @throws ExpectedError `config-duplicate-key` or `config-forbidden-key`, placed; DeepSpeed refuses duplicates too.
 */
export function settingsOfJson(document: JsonDocument): ReadonlyMap<string, JsonSetting> {
  const settings = new Map<string, JsonSetting>();
  addMembers(document, document.root, [], settings);
  return settings;
}

type JsonSetting = Setting & { readonly node: Node };

function addMembers(document: JsonDocument, object: Node, prefix: readonly string[], settings: Map<string, JsonSetting>): void {
  const members = [...readMembers(document, object, prefix.at(-1) ?? 'the file').values()];
  for (const [index, { name, value }] of members.entries()) {
    const path = [...prefix, name];
    if (path.length > maximumPath || name.includes('.')) continue;
    const dotted = path.join('.');
    const whole = memberCutRange(object, members[index - 1], members[index], members[index + 1]);
    const described = describeNode(document, value);
    settings.set(dotted, { name: dotted, value: plain(value), described, place: nodePlace(document, value), whole, node: value });
    if (value.type === 'object') addMembers(document, value, path, settings);
  }
}

/** A member with one of its commas; the last one goes with everything between the braces. */
function memberCutRange(object: Node, previous: Member | undefined, own: Member | undefined, next: Member | undefined): TextRange {
  const inside = { start: object.offset + 1, end: object.offset + object.length - 1 };
  if (own === undefined) return inside;
  if (next !== undefined) return { start: own.key.offset, end: next.key.offset };
  return previous === undefined ? inside : { start: nodeEnd(previous.value), end: nodeEnd(own.value) };
}

function nodeEnd(node: Node): number {
  return node.offset + node.length;
}

function plain(node: Node): unknown {
  if (node.type === 'array') return (node.children ?? []).map(plain);
  return node.type === 'object' || node.type === 'property' ? undefined : node.value;
}
