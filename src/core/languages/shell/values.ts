import type { ShellNode } from './parser';
import { valueText, type Element, type Part, type Value } from './words';

/** Longer lists are linked, not copied, so that appending stays cheap. */
const copiedLength = 2000;

/** What `+=` makes of two values. */
export function appended(old: Value, more: Value): Value {
  const length = old.kind === 'scalar' ? old.parts.length : old.elements.length;
  if (length > copiedLength) {
    const parts: readonly Part[] = [{ kind: 'ref', start: 0, end: 0, quoted: true, value: old }];
    return old.kind === 'scalar' && more.kind === 'scalar'
      ? { kind: 'scalar', parts: [...parts, ...more.parts] }
      : { kind: 'array', elements: [{ start: 0, end: 0, parts }, ...valueElements(more)] };
  }
  if (old.kind === 'scalar' && more.kind === 'scalar') return { kind: 'scalar', parts: [...old.parts, ...more.parts] };
  return { kind: 'array', elements: [...valueElements(old), ...valueElements(more)] };
}

function valueElements(value: Value): readonly Element[] {
  if (value.kind === 'array') return value.elements;
  const [first, last] = [value.parts[0], value.parts.at(-1)];
  return first === undefined || last === undefined ? [] : [{ start: first.start, end: last.end, parts: value.parts }];
}

/** The patterns of one `pattern)` of a `case`, and what it does. */
export function caseItem(
  text: string,
  { start, end, children }: ShellNode,
): { readonly patterns: readonly string[]; readonly body: readonly ShellNode[] } {
  const written = text
    .slice(start, end)
    .replace(/^\(/, '')
    .replace(/\)[\s\S]*$/, '');
  const patterns = written.split('|').map((pattern) => pattern.trim().replace(/^(["'])(.*)\1$/, '$2'));
  const bodyStart = text.indexOf(')', start);
  return { patterns, body: children.filter((child) => child.start > bodyStart) };
}

/** Whether two values are the same known text. */
export function sameText(a: Value, b: Value): boolean {
  const text = valueText(a);
  return text !== null && text === valueText(b);
}

/** Whether a value is a list of flags, whose differences are reported flag by flag. */
export function isGroup(value: Value): boolean {
  return value.kind === 'array' || value.parts.length > 1 || (valueText(value) ?? '--').includes('--');
}

/** Whether a value is an argument of the script and nothing else: `"$2"`. */
export function isArgument(value: Value): boolean {
  return value.kind === 'scalar' && value.parts.length === 1 && isArgumentPart(value.parts[0]);
}

function isArgumentPart(part: Part | undefined): boolean {
  if (part?.kind === 'text') return part.text === null && /^\d$/.test(part.variable ?? '');
  if (part?.kind === 'group') return part.parts.length === 1 && isArgumentPart(part.parts[0]);
  return part !== undefined && isArgument(part.value);
}

/** The end of the line, or of the statement on it, that starts at `start`. */
export function lineEnd(text: string, start: number): number {
  const at = text.slice(start, start + 200).search(/[\r\n;]/);
  return at === -1 ? start + 200 : start + at;
}
