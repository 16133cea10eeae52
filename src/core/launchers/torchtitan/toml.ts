import { ParseError, parseTOML, type AST } from 'toml-eslint-parser';
import { ExpectedError, configError } from '../../errors';
import type { TextRange } from '../../domain/located';
import { quoted } from '../../text';
import type { Setting, Settings } from '../tables/values';
import { refuseUnfitToml } from './toml-limits';
import { lowerFirst, sentence, type Sentence } from '../../sentence';
import { own } from '../../records';

/**
 * Every setting of a TOML 1.0 text by its dotted name (`training.seq_len`), with places; tables inside arrays are left out, and keys that
 * themselves contain a dot.
 * @throws ExpectedError `config-empty`, `config-binary`, `config-too-large`, `config-too-deep`, `config-toml-syntax`,
 * `config-duplicate-key` or `config-forbidden-key`, placed.
 */
export function parseToml(file: string, text: string): Settings {
  const clean = text.startsWith('\uFEFF') ? ` ${text.slice(1)}` : text;
  refuseUnfitToml(file, clean);
  const document: Document = { file, text: clean, settings: new Map() };
  for (const part of parsed(file, clean).body[0].body) {
    if (part.type === 'TOMLKeyValue') addSetting(document, [], part, lineRange);
    else addTable(document, part);
  }
  return document.settings;
}

interface Document {
  readonly file: string;
  readonly text: string;
  readonly settings: Map<string, Setting>;
}

/** Deeper paths are not settings of a launcher, and would make names that grow with the square of the text. */
const maximumPath = 10;

type WholeOf = (text: string, node: AST.TOMLKeyValue) => TextRange;

function addTable(document: Document, table: AST.TOMLTable): void {
  const path = table.resolvedKey.map(String);
  if (table.resolvedKey.some((key) => typeof key === 'number')) return;
  refuseForbidden(document.file, table.key);
  for (const part of table.body) addSetting(document, path, part, lineRange);
}

function addSetting(document: Document, prefix: readonly string[], node: AST.TOMLKeyValue, findWhole: WholeOf): void {
  const { file, text, settings } = document;
  refuseForbidden(file, node.key);
  const path = [...prefix, ...node.key.keys.map((key) => (key.type === 'TOMLBare' ? key.name : key.value))];
  if (path.length > maximumPath) return;
  const { value } = node;
  if (value.type === 'TOMLInlineTable') for (const member of value.body) addSetting(document, path, member, memberRange);
  if (path.some((key) => key.includes('.'))) return;
  const name = path.join('.');
  const place = { file, range: nodeRange(value) };
  settings.set(name, { name, value: plain(value), described: described(text, value), place, whole: findWhole(text, node) });
}

/** The lines of a setting with their newline and a comment after it. TOML has one setting a line. */
function lineRange(text: string, node: AST.TOMLKeyValue): TextRange {
  const end = text.indexOf('\n', node.range[1]);
  return { start: text.lastIndexOf('\n', node.range[0] - 1) + 1, end: end === -1 ? text.length : end + 1 };
}

/** A member of an inline table with one of its commas. */
function memberRange(_text: string, node: AST.TOMLKeyValue): TextRange {
  const members = node.parent.body;
  const index = members.findIndex((member) => member === node);
  const [previous, next] = [members[index - 1], members[index + 1]];
  const [start, end] = node.range;
  if (next !== undefined) return { start, end: next.range[0] };
  return { start: previous?.range[1] ?? start, end };
}

function refuseForbidden(file: string, key: AST.TOMLKey): void {
  const bad = key.keys.find((part) => (part.type === 'TOMLBare' ? part.name : part.value) === '__proto__');
  if (bad === undefined) return;
  const place = { file, range: nodeRange(bad) };
  throw configError('config-forbidden-key', sentence`"__proto__" is not a key that a config may have`, sentence`remove it`, place);
}

function nodeRange({ range: [start, end] }: AST.TOMLNode): TextRange {
  return { start, end };
}

function plain(node: AST.TOMLContentNode): unknown {
  if (node.type === 'TOMLArray') return node.elements.map(plain);
  if (node.type === 'TOMLInlineTable' || typeof node.value === 'object') return undefined;
  return node.value;
}

function described(text: string, node: AST.TOMLContentNode): string {
  if (node.type === 'TOMLArray') return node.elements.length === 0 ? 'an empty list' : 'a list';
  if (node.type === 'TOMLInlineTable') return 'a table';
  if (typeof node.value === 'object') return 'a date or time';
  if (node.kind === 'string') return quoted(node.value);
  const [start, end] = node.range;
  return end - start > 40 ? `a number of ${end - start} digits` : text.slice(start, end);
}

function parsed(file: string, text: string): AST.TOMLProgram {
  try {
    return parseTOML(text, { tomlVersion: '1.0' });
  } catch (error) {
    if (error instanceof ParseError) throw syntaxError(file, text, error);
    // Anything else would be a fault of the parser on odd input: the file is unreadable, the reader is not.
    throw new ExpectedError('config-toml-syntax', sentence`The file cannot be read as TOML`, sentence`fix the syntax`, {
      file,
      range: { start: 0, end: Math.min(1, text.length) },
    });
  }
}

const sentences: Readonly<Record<string, readonly [what: Sentence, remedy: Sentence]>> = {
  'Unspecified values are invalid': [sentence`a value is expected`, sentence`write a number, true, false, or a string in quotes`],
  'Unexpected character': [sentence`not a TOML value`, sentence`put strings in quotes; write true and false in lower case`],
  'Unexpected token': [sentence`not expected here`, sentence`write name = value, or [section]`],
  'Must be a newline': [sentence`something follows the value`, sentence`put each setting on a line of its own`],
  'Expected equal (=) token': [sentence`an equals sign is expected`, sentence`write name = value`],
  'Expected comma (,) token': [sentence`a comma is expected`, sentence`add a comma`],
  'Unterminated string constant': [sentence`the string is not closed`, sentence`close it with the quote that opened it`],
  'Unterminated table-key': [sentence`the section name is not closed`, sentence`close it with ]`],
  'Unterminated array': [sentence`the list is not closed`, sentence`close it with ]`],
  'Unterminated inline table': [sentence`the table is not closed`, sentence`close it with ${'}'}`],
};

function syntaxError(file: string, text: string, { message, index }: ParseError): ExpectedError {
  const contentEnd = text.trimEnd().length;
  const atEnd = index >= contentEnd;
  const start = atEnd ? Math.max(contentEnd - 1, 0) : index;
  const word = /^[^\s,[\]{}#="']{1,40}/.exec(text.slice(start, start + 40))?.[0] ?? '';
  const place = { file, range: { start, end: start + (atEnd ? 1 : Math.max(word.length, 1)) } };
  if (message.startsWith('Defining a key'))
    return configError('config-duplicate-key', sentence`${quoted(word)} is defined twice`, sentence`keep one of the two`, place);
  const [what, remedy] = own(sentences, message) ?? [lowerFirst(sentence`${message}`), sentence`fix the syntax`];
  return new ExpectedError(
    'config-toml-syntax',
    atEnd ? sentence`The file ends too early: ${what}` : sentence`TOML error: ${what}`,
    remedy,
    place,
  );
}
