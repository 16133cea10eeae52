import { createScanner, parseTree, printParseErrorCode, type JSONScanner, type Node, type ParseError } from 'jsonc-parser';
import { formatCount } from '../../format';
import type { Place } from '../../domain/located';
import { quoted } from '../../text';
import { configError } from '../../errors';
import { sentence, type Sentence, type Value } from '../../sentence';

/** Configs are kilobytes; more than this is a mistake. UTF-16 units here, bytes where files are read. */
export const maximumConfigSize = 5 * 2 ** 20;

const maximumDepth = 100;

/**
 * Keys, values, lists and objects of a config at most: each takes some hundred bytes in the tree, and 5 MB hold millions. The 21,843 labels
 * of ImageNet-21k, by number and by name, are 87,372.
 */
export const maximumConfigNodes = 100_000;

/** jsonc-parser's `SyntaxKind`, a const enum that isolated modules cannot name. */
const token = { openBrace: 1, closeBrace: 2, openBracket: 3, closeBracket: 4, comma: 5, colon: 6, string: 10, endOfFile: 17 } as const;

/** A parsed file: the tree keeps offsets, so that every value has its place. */
export interface JsonDocument {
  readonly file: string;
  readonly text: string;
  /** Always an object. */
  readonly root: Node;
}

/** A property of an object: the nodes of its key and value. */
export interface Member {
  readonly name: string;
  readonly key: Node;
  readonly value: Node;
}

/** `json`: as Python's json module reads it. `jsonc`: comments and trailing commas too. */
type JsonDialect = 'json' | 'jsonc';

/**
 * Parses a config whose root is an object.
 * @throws ExpectedError `config-empty`, `config-binary`, `config-too-large`, `config-too-deep`, `config-json-syntax` or
 * `config-wrong-type`, placed.
 */
export function parseDocument(file: string, text: string, dialect: JsonDialect): JsonDocument {
  const clean = text.startsWith('\uFEFF') ? ` ${text.slice(1)}` : text;
  refuseUnfit(file, clean);
  refuseDeepAndMany(file, clean);
  const errors: ParseError[] = [];
  const root = parseTree(dialect === 'json' ? withInfinity(clean) : clean, errors, {
    disallowComments: dialect === 'json',
    allowTrailingComma: dialect === 'jsonc',
    allowEmptyContent: false,
  });
  const first = errors[0];
  if (first !== undefined) throw syntaxError(file, clean, first);
  if (root?.type !== 'object')
    throw configError(
      'config-wrong-type',
      sentence`A config is a JSON object, not ${root === undefined ? sentence`nothing` : describeKind(root)}`,
      sentence`write it as { "key": value, ... }`,
      root === undefined ? fileStart(file) : nodePlace({ file }, root),
    );
  return { file, text: clean, root };
}

/**
 * Python's json module reads and writes `Infinity` and `-Infinity`, as in `time_step_limit` of Mamba-2: a number of as many characters that
 * is beyond all.
 */
function withInfinity(text: string): string {
  if (!text.includes('Infinity')) return text;
  return text.replace(/"(?:[^"\\]|\\.)*"|\bInfinity\b/g, (found) => (found === 'Infinity' ? '1e999999' : found));
}

/** Where a node is. */
export function nodePlace({ file }: Pick<JsonDocument, 'file'>, node: Node): Place {
  return { file, range: { start: node.offset, end: node.offset + node.length } };
}

/** The first character of a file. */
export function fileStart(file: string): Place {
  return { file, range: { start: 0, end: 0 } };
}

/**
 * The properties of an object by name, in file order.
 * @throws ExpectedError `config-wrong-type` when it is not an object, `config-duplicate-key`, `config-forbidden-key`.
 */
export function readMembers(document: JsonDocument, node: Node, what: Value): ReadonlyMap<string, Member> {
  if (node.type !== 'object')
    throw configError(
      'config-wrong-type',
      sentence`${what} must be an object, not ${describeKind(node)}`,
      sentence`write { "key": value, ... }`,
      nodePlace(document, node),
    );
  const members = new Map<string, Member>();
  for (const property of node.children ?? []) {
    const [key, value] = property.children ?? [];
    if (key === undefined || value === undefined) continue;
    const name = String(key.value);
    if (name === '__proto__')
      throw configError(
        'config-forbidden-key',
        sentence`"__proto__" is not a key that a config may have`,
        sentence`remove it`,
        nodePlace(document, key),
      );
    if (members.has(name))
      throw configError(
        'config-duplicate-key',
        sentence`${quoted(name)} appears twice in ${what}`,
        sentence`keep one of the two`,
        nodePlace(document, key),
      );
    members.set(name, { name, key, value });
  }
  return members;
}

/** Longer numbers and lists are described instead of quoted. */
const mostShownCharacters = 40;

/** A node in words, for `..., not an object`: numbers and short lists of them as written, strings quoted. */
export function describeNode({ text }: Pick<JsonDocument, 'text'>, node: Node): Value {
  const written = text.slice(node.offset, node.offset + node.length);
  switch (node.type) {
    case 'string':
      return quoted(String(node.value));
    case 'number':
      return node.length > mostShownCharacters ? sentence`a number of ${node.length} digits` : written;
    case 'boolean':
    case 'null':
      return String(node.value);
    case 'array':
      if (node.children?.length === 0) return sentence`an empty list`;
      return node.length <= mostShownCharacters && /^[\d.,eE+ [\]-]*$/.test(written) ? written : describeKind(node);
    case 'object':
    case 'property':
      return describeKind(node);
  }
}

/**
 * Names of the root's properties without a full parse; tolerant, so that a broken file is still recognised. Empty when it is not an object.
 */
export function topLevelKeys(text: string): ReadonlySet<string> {
  const keys = new Set<string>();
  const scanner = createScanner(text.replace(/^\uFEFF/, ' '), true);
  if (toNumber(scanner.scan()) !== token.openBrace) return keys;
  let depth = 1;
  let lastString: string | null = null;
  for (let kind = toNumber(scanner.scan()); kind !== token.endOfFile && depth > 0; kind = toNumber(scanner.scan())) {
    if (kind === token.openBrace || kind === token.openBracket) depth += 1;
    else if (kind === token.closeBrace || kind === token.closeBracket) depth -= 1;
    else if (kind === token.colon && depth === 1 && lastString !== null) keys.add(lastString);
    lastString = kind === token.string ? scanner.getTokenValue() : null;
  }
  return keys;
}

/**
 * Keys directly under each top-level key that has an object, from one scan; null for one that has another value. Works on broken texts.
 */
export function topLevelSections(text: string): ReadonlyMap<string, ReadonlySet<string> | null> {
  const sections = new Map<string, Set<string> | null>();
  const scanner = createScanner(text.replace(/^\uFEFF/, ' '), true);
  if (toNumber(scanner.scan()) !== token.openBrace) return sections;
  let [depth, lastString, open]: [number, string | null, Set<string> | null] = [1, null, null];
  let key: string | null = null;
  for (let kind = toNumber(scanner.scan()); kind !== token.endOfFile && depth > 0; kind = toNumber(scanner.scan())) {
    if (key !== null) {
      open = kind === token.openBrace ? new Set<string>() : null;
      sections.set(key, open);
    }
    key = kind === token.colon && depth === 1 ? lastString : null;
    if (kind === token.colon && depth === 2 && lastString !== null) open?.add(lastString);
    if (kind === token.openBrace || kind === token.openBracket) depth += 1;
    else if (kind === token.closeBrace || kind === token.closeBracket) depth -= 1;
    lastString = kind === token.string ? scanner.getTokenValue() : null;
  }
  return sections;
}

function refuseUnfit(file: string, text: string): void {
  const place = fileStart(file);
  if (text.length > maximumConfigSize)
    throw configError(
      'config-too-large',
      sentence`The file is over 5 MB, too large for a config`,
      sentence`name the config file itself`,
      place,
    );
  if (text.trim() === '')
    throw configError('config-empty', sentence`The file is empty`, sentence`write a model config or a terapipe.json`, place);
  if (looksBinary(text)) throw configError('config-binary', sentence`The file is not text`, sentence`name a JSON config file`, place);
}

/** NUL, or many undecodable or control characters near the start. */
function looksBinary(text: string): boolean {
  if (text.includes('\0')) return true;
  const head = text.slice(0, 1000);
  const odd = (head.match(/[\uFFFD\p{Cc}]/gu) ?? []).filter((character) => character.trim() !== '');
  return odd.length > head.length / 10;
}

function refuseDeepAndMany(file: string, text: string): void {
  const scanner = createScanner(text, true);
  let depth = 0;
  let nodes = 0;
  for (let kind = toNumber(scanner.scan()); kind !== token.endOfFile; kind = toNumber(scanner.scan())) {
    if (kind === token.openBrace || kind === token.openBracket) {
      depth += 1;
      nodes += 1;
    } else if (kind === token.closeBrace || kind === token.closeBracket) depth -= 1;
    else if (kind !== token.comma && kind !== token.colon) nodes += 1;
    if (depth > maximumDepth)
      throw configError(
        'config-too-deep',
        sentence`Nested more than ${maximumDepth} levels deep`,
        sentence`name a config file`,
        tokenPlace(file, scanner),
      );
    if (nodes > maximumConfigNodes) {
      const message = sentence`The file has more than ${formatCount(maximumConfigNodes)} values, too many for a config`;
      throw configError('config-too-large', message, sentence`name the config file itself`, tokenPlace(file, scanner));
    }
  }
}

function tokenPlace(file: string, scanner: JSONScanner): Place {
  const start = scanner.getTokenOffset();
  return { file, range: { start, end: start + 1 } };
}

function toNumber(kind: number): number {
  return kind;
}

const syntaxSentences: Readonly<Record<string, readonly [what: Sentence, remedy: Sentence]>> = {
  InvalidSymbol: [sentence`not a JSON value`, sentence`write a number, true, false, null, or a string in double quotes`],
  InvalidNumberFormat: [sentence`not a JSON number`, sentence`write digits only`],
  PropertyNameExpected: [sentence`a property name is expected`, sentence`write a name in double quotes, or remove the comma before`],
  ValueExpected: [sentence`a value is expected`, sentence`write a value, or remove the comma before`],
  ColonExpected: [sentence`a colon is expected`, sentence`put : between name and value`],
  CommaExpected: [sentence`a comma is expected`, sentence`add a comma`],
  CloseBraceExpected: [sentence`${'}'} is missing`, sentence`close the object`],
  CloseBracketExpected: [sentence`] is missing`, sentence`close the list`],
  EndOfFileExpected: [sentence`something follows the end of the JSON`, sentence`remove it`],
  InvalidCommentToken: [sentence`a comment, which JSON does not allow`, sentence`remove the comment`],
  UnexpectedEndOfComment: [sentence`the comment is not closed`, sentence`close it with */`],
  UnexpectedEndOfString: [sentence`the string is not closed`, sentence`close it with "`],
  UnexpectedEndOfNumber: [sentence`the number is not finished`, sentence`write digits after it`],
  InvalidUnicode: [sentence`not a \\u escape`, sentence`write four hexadecimal digits`],
  InvalidEscapeCharacter: [sentence`not an escape`, sentence`write \\\\ for a backslash`],
  InvalidCharacter: [sentence`a control character inside a string`, sentence`write it as an escape`],
};

function syntaxError(file: string, text: string, { error, offset, length }: ParseError): Error {
  const [what, remedy] = syntaxSentences[printParseErrorCode(error)] ?? [sentence`not JSON`, sentence`fix the syntax`];
  const contentEnd = text.trimEnd().length;
  const atEnd = offset >= contentEnd;
  const start = atEnd ? Math.max(contentEnd - 1, 0) : offset;
  // jsonc-parser counts one character more than there is where a comment is not closed.
  const end = atEnd ? contentEnd : Math.min(offset + Math.max(length, 1), text.length);
  const message = atEnd ? sentence`The file ends too early: ${what}` : sentence`JSON error: ${what}`;
  return configError('config-json-syntax', message, remedy, { file, range: { start, end } });
}

function describeKind(node: Node): Value {
  const names: Readonly<Record<Node['type'], Value>> = {
    object: sentence`an object`,
    array: sentence`a list`,
    property: sentence`a property`,
    string: sentence`a string`,
    number: sentence`a number`,
    boolean: sentence`true or false`,
    null: 'null',
  };
  return names[node.type];
}
