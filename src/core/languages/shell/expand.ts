import type { TextRange } from '../../domain/located';
import { arithmetic } from './arithmetic';
import type { ShellNode } from './parser';
import { valueText, type Element, type Part, type RefPart, type TextPart, type Value } from './words';
import { append } from '../../records';

/** A variable as the script has left it so far. */
export interface Variable {
  readonly value: Value;
  /** Set under this condition only, which is known when the script runs. */
  readonly condition?: TextRange;
}

/** What a word needs to be expanded. */
export interface Scope {
  readonly text: string;
  readonly get: (name: string) => Variable | undefined;
  readonly set: (name: string, value: Value) => void;
}

const expansions: ReadonlySet<string> = new Set([
  'simple_expansion',
  'expansion',
  'arithmetic_expansion',
  'command_substitution',
  'process_substitution',
]);

/** A word of a command or array. */
export function expandElement(scope: Scope, node: ShellNode): Element {
  return { start: node.start, end: node.end, parts: expandParts(scope, node, false) };
}

/** The right side of an assignment: a list for `( ... )`. */
export function valueOf(scope: Scope, node: ShellNode): Value {
  if (node.type === 'array') return { kind: 'array', elements: node.children.map((child) => expandElement(scope, child)) };
  return {
    kind: 'scalar',
    parts: [{ kind: 'group', start: node.start, end: node.end, parts: joinedParts(expandParts(scope, node, false)) }],
  };
}

/** An assignment makes no words: of an array all entries are one text. */
function joinedParts(parts: readonly Part[]): readonly Part[] {
  return parts.map((part) => (part.kind === 'ref' ? { ...part, joined: true } : part));
}

/** The text of a word without splitting; null where it is not known. */
export function expandText(scope: Scope, node: ShellNode): string | null {
  return valueText({ kind: 'scalar', parts: expandParts(scope, node, true) });
}

/** Text and expansions between two offsets, as inside double quotes or a here-document. */
export function mixedParts(scope: Scope, start: number, end: number, children: readonly ShellNode[], style: 'quoted' | 'raw'): Part[] {
  const parts: Part[] = [];
  let at = start;
  for (const child of children.filter(({ type }) => expansions.has(type))) {
    append(parts, literal(scope.text, at, child.start, style));
    append(parts, expandParts(scope, child, true));
    at = child.end;
  }
  append(parts, literal(scope.text, at, end, style));
  return parts;
}

function expandParts(scope: Scope, node: ShellNode, quoted: boolean): readonly Part[] {
  const { text } = scope;
  const { start, end } = node;
  switch (node.type) {
    case 'word':
    case 'number':
    case 'variable_name':
    case 'extglob_pattern':
    case 'regex':
      return literal(text, start, end, 'bare');
    case 'raw_string':
      return [textPart(text, start + 1, closing(text, start, end, "'"))];
    case 'string':
      return stringParts(scope, node, start + 1);
    case 'translated_string':
      return node.children.flatMap((child) => expandParts(scope, child, quoted));
    case 'command_name':
    case 'concatenation':
      return node.children.flatMap((child) => expandParts(scope, child, quoted));
    case 'simple_expansion':
      return [variablePart(scope, node, node.children[0], quoted)];
    case 'expansion':
      return [parameterPart(scope, node, quoted)];
    case 'arithmetic_expansion': {
      const value = arithmetic(node, { text, read: (inner) => expandText(scope, inner), variable: (name) => textOfVariable(scope, name) });
      return [{ kind: 'text', start, end, text: value === null ? null : String(value) }];
    }
    default:
      return [hole(node)];
  }
}

function stringParts(scope: Scope, node: ShellNode, from: number): readonly Part[] {
  const end = closing(scope.text, node.start, node.end, '"');
  const parts = mixedParts(scope, from, end, node.children, 'quoted');
  return parts.length === 0 ? [{ kind: 'text', start: from, end: from, text: '' }] : parts;
}

/** An unfinished string has no closing quote. */
function closing(text: string, start: number, end: number, quote: string): number {
  return end - 1 > start && text[end - 1] === quote ? end - 1 : end;
}

function hole({ start, end }: TextRange, variable?: string): TextPart {
  return { kind: 'text', start, end, text: null, ...(variable !== undefined && { variable }) };
}

function textPart(text: string, start: number, end: number): TextPart {
  return { kind: 'text', start, end, text: text.slice(start, end) };
}

/** Removes backslashes: the pieces between them keep their places. */
function literal(text: string, start: number, end: number, style: 'bare' | 'quoted' | 'raw'): TextPart[] {
  if (start >= end) return [];
  const parts: TextPart[] = [];
  let at = start;
  for (let next = text.indexOf('\\', at); next !== -1 && next < end - 1; next = text.indexOf('\\', next + 2)) {
    const width = text.startsWith('\r\n', next + 1) ? 3 : 2;
    const escaped = text.slice(next + 1, next + width);
    const continues = escaped.endsWith('\n');
    if (!continues && style !== 'bare' && !'$`"\\'.includes(escaped)) continue;
    if (next > at) parts.push(textPart(text, at, next));
    if (!continues) parts.push({ kind: 'text', start: next, end: next + width, text: escaped });
    at = next + width;
  }
  if (at < end) parts.push(textPart(text, at, end));
  return parts;
}

function textOfVariable(scope: Scope, name: string): string | null {
  const found = scope.get(name);
  return found === undefined ? null : valueText(firstEntry(found.value));
}

/** `$ARRAY` is its first entry. */
function firstEntry(value: Value): Value {
  return value.kind === 'array' ? { kind: 'array', elements: value.elements.slice(0, 1) } : value;
}

function variablePart(scope: Scope, site: TextRange, target: ShellNode | undefined, quoted: boolean): Part {
  const name = target === undefined ? '' : scope.text.slice(target.start, target.end);
  const isAll = target?.type === 'special_variable_name' && /^[@*]$/.test(name);
  const found = target?.type === 'variable_name' || isAll ? scope.get(name) : undefined;
  return found === undefined ? hole(site, name) : refPart(site, isAll ? found.value : firstEntry(found.value), quoted, found.condition);
}

function refPart({ start, end }: TextRange, value: Value, quoted: boolean, condition: TextRange | undefined): RefPart {
  return { kind: 'ref', start, end, quoted, value, ...(condition !== undefined && { condition }) };
}

/** `${X}`, `${X[@]}`, `${X:-default}` and the like; other operators cut strings, which no size needs. */
function parameterPart(scope: Scope, node: ShellNode, quoted: boolean): Part {
  const [target, ...rest] = node.children;
  if (target?.start !== node.start + 2) return hole(node);
  const operator = /^(?::?[-=+?])?/.exec(scope.text.slice(target.end, target.end + 2))?.[0] ?? '';
  const plain = target.type === 'subscript' ? entryPart(scope, node, target, quoted) : variablePart(scope, node, target, quoted);
  if (operator === '') return scope.text[target.end] === '}' ? plain : hole(node);
  if (operator.endsWith('?')) return plain;
  const known = plain.kind === 'ref' ? valueText(plain.value) : null;
  const isSet = known !== null && (known !== '' || !operator.startsWith(':'));
  if (operator.endsWith('+') ? !isSet : isSet) return operator.endsWith('+') ? refPart(node, empty, quoted, undefined) : plain;
  const value: Value = { kind: 'scalar', parts: wordParts(scope, target.end + operator.length, node.end - 1, rest) };
  if (operator.endsWith('=') && target.type === 'variable_name') scope.set(scope.text.slice(target.start, target.end), value);
  return refPart(node, value, quoted, undefined);
}

const empty: Value = { kind: 'scalar', parts: [] };

/** The default of `${X:-default}`: words with what is between them. */
function wordParts(scope: Scope, start: number, end: number, children: readonly ShellNode[]): Part[] {
  const parts: Part[] = [];
  let at = start;
  for (const child of children) {
    append(parts, literal(scope.text, at, child.start, 'bare'));
    append(parts, expandParts(scope, child, true));
    at = child.end;
  }
  append(parts, literal(scope.text, at, end, 'bare'));
  return parts;
}

function entryPart(scope: Scope, site: TextRange, subscript: ShellNode, quoted: boolean): Part {
  const [target, index] = subscript.children;
  const found = target === undefined ? undefined : scope.get(scope.text.slice(target.start, target.end));
  if (found === undefined || index === undefined) return hole(site);
  const written = scope.text.slice(index.start, index.end);
  const all = refPart(site, found.value, quoted, found.condition);
  if (written === '@') return all;
  if (written === '*') return quoted ? { ...all, joined: true } : all;
  const at = Number(expandText(scope, index) ?? NaN);
  const entry = found.value.kind === 'array' ? found.value.elements[at] : undefined;
  return entry === undefined ? hole(site) : refPart(site, { kind: 'array', elements: [entry] }, quoted, found.condition);
}
