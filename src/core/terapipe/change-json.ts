import { findNodeAtLocation, modify, applyEdits, parseTree, type Node, type ParseError } from 'jsonc-parser';
import { ExpectedError } from '../errors';
import type { TextRange } from '../domain/located';
import { oldKey } from './renamed-keys';
import { sentence } from '../sentence';

/** One value to set in a JSON text; `undefined` removes the key. */
export interface JsonChange {
  readonly path: readonly string[];
  readonly value: string | number | boolean | readonly (string | number | object)[] | undefined;
}

/** The one replacement that turns a text into its changed version. */
interface Replacement extends TextRange {
  readonly newText: string;
}

/**
 * Sets values in a JSON text with comments; everything else in it, layout and comments, stays as it is written. Null when nothing changes.
 * @throws ExpectedError `config-json-syntax` when the text is not a JSON object: editing it would make it worse.
 */
export function changeJson(text: string, changes: readonly JsonChange[]): Replacement | null {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  if (errors.length > 0 || (root !== undefined && root.type !== 'object'))
    throw new ExpectedError('config-json-syntax', sentence`terapipe.json has a JSON error`, sentence`fix it first, then choose again`);
  return replacementBetween(text, changes.reduce(applyChange, text));
}

function applyChange(text: string, { path: wanted, value }: JsonChange): string {
  const root = parseTree(text);
  const path = writtenPath(root, wanted);
  if (root === undefined) return value === undefined ? text : `${nestedObject(path, value)}\n`;
  if (value === undefined)
    return findNodeAtLocation(root, [...path]) === undefined ? text : applyEdits(text, modify(text, [...path], undefined, {}));
  let parent = root;
  for (const [depth, key] of path.entries()) {
    const rest = path.slice(depth + 1);
    const node = findNodeAtLocation(parent, [key]);
    if (node === undefined) return insertProperty(text, parent, `${JSON.stringify(key)}: ${nestedObject(rest, value)}`);
    if (rest.length === 0 || node.type !== 'object')
      return replaceRange(text, node.offset, node.offset + node.length, nestedObject(rest, value));
    parent = node;
  }
  return text;
}

/** The path of a key as the text has it: by its old name where that exists. */
function writtenPath(root: Node | undefined, path: readonly string[]): readonly string[] {
  const old = oldKey(path.join('.'))?.split('.');
  return root !== undefined && old !== undefined && findNodeAtLocation(root, old) !== undefined ? old : path;
}

/** `{ "a": { "b": value } }` for the path a, b; the value itself for none. */
function nestedObject(path: readonly string[], value: NonNullable<JsonChange['value']>): string {
  return path.reduceRight((inner, key) => `{ ${JSON.stringify(key)}: ${inner} }`, JSON.stringify(value));
}

/** Adds a property at the end of an object: on a line of its own where the others have one, behind a remark that follows the last. */
function insertProperty(text: string, object: Node, property: string): string {
  const last = object.children?.at(-1);
  const open = object.offset + 1;
  if (last === undefined) return replaceRange(text, open, open, /^\s*\}/.test(text.slice(open)) ? ` ${property} ` : ` ${property}`);
  const end = last.offset + last.length;
  const lineEnd = lineEndAfter(text, end);
  const restOfLine = /^(\s*,)?[ \t]*(\/\/.*|\/\*.*\*\/[ \t]*)?$/.exec(text.slice(end, lineEnd));
  const line = /(^|\n|\r)([ \t]*)$/.exec(text.slice(0, last.offset));
  if (restOfLine === null || line === null) return replaceRange(text, end, end, `, ${property}`);
  const comma = restOfLine[1] === undefined ? ',' : '';
  const lineBreak = text.includes('\r\n') ? '\r\n' : '\n';
  return text.slice(0, end) + comma + text.slice(end, lineEnd) + lineBreak + (line[2] ?? '') + property + text.slice(lineEnd);
}

function lineEndAfter(text: string, offset: number): number {
  const length = text.slice(offset).search(/[\r\n]/);
  return length < 0 ? text.length : offset + length;
}

function replaceRange(text: string, start: number, end: number, newText: string): string {
  return text.slice(0, start) + newText + text.slice(end);
}

/** The smallest single replacement from one text to another. */
function replacementBetween(before: string, after: string): Replacement | null {
  if (before === after) return null;
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let tail = 0;
  while (tail < shorter - start && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  return { start, end: before.length - tail, newText: after.slice(start, after.length - tail) };
}
