import { ParseError, parseTOML, type AST } from 'toml-eslint-parser';
import { ExpectedError } from '../../errors';
import type { TextRange } from '../../spec/located';
import { quoted } from '../../text';
import { configError } from '../errors';
import type { Setting, Settings } from '../fact-table';
import { refuseUnfitToml } from './toml-limits';

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

/** Deeper paths are no settings of a launcher, and would make names that grow with the square of the text. */
const maximumPath = 10;

type WholeOf = (text: string, node: AST.TOMLKeyValue) => TextRange;

function addTable(document: Document, table: AST.TOMLTable): void {
  const path = table.resolvedKey.map(String);
  if (table.resolvedKey.some((key) => typeof key === 'number')) return;
  refuseForbidden(document.file, table.key);
  for (const part of table.body) addSetting(document, path, part, lineRange);
}

function addSetting(document: Document, prefix: readonly string[], node: AST.TOMLKeyValue, wholeOf: WholeOf): void {
  const { file, text, settings } = document;
  refuseForbidden(file, node.key);
  const path = [...prefix, ...node.key.keys.map((key) => (key.type === 'TOMLBare' ? key.name : key.value))];
  if (path.length > maximumPath) return;
  const { value } = node;
  if (value.type === 'TOMLInlineTable') for (const member of value.body) addSetting(document, path, member, memberRange);
  if (path.some((key) => key.includes('.'))) return;
  const name = path.join('.');
  const place = { file, range: rangeOf(value) };
  settings.set(name, { name, value: plain(value), described: described(text, value), place, whole: wholeOf(text, node) });
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
  const place = { file, range: rangeOf(bad) };
  throw configError('config-forbidden-key', '"__proto__" is not a key that a config may have', 'remove it', place);
}

function rangeOf({ range: [start, end] }: AST.TOMLNode): TextRange {
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
    throw new ExpectedError('config-toml-syntax', 'The file cannot be read as TOML', 'fix the syntax', {
      file,
      range: { start: 0, end: Math.min(1, text.length) },
    });
  }
}

const sentences: Readonly<Record<string, readonly [message: string, remedy: string]>> = {
  'Unspecified values are invalid': ['a value is expected', 'write a number, true, false, or a string in quotes'],
  'Unexpected character': ['not a TOML value', 'put strings in quotes; write true and false in lower case'],
  'Unexpected token': ['not expected here', 'write name = value, or [section]'],
  'Must be a newline': ['something follows the value', 'put each setting on a line of its own'],
  'Expected equal (=) token': ['an equals sign is expected', 'write name = value'],
  'Expected comma (,) token': ['a comma is expected', 'add a comma'],
  'Unterminated string constant': ['the string is not closed', 'close it with the quote that opened it'],
  'Unterminated table-key': ['the section name is not closed', 'close it with ]'],
  'Unterminated array': ['the list is not closed', 'close it with ]'],
  'Unterminated inline table': ['the table is not closed', 'close it with }'],
};

function syntaxError(file: string, text: string, { message, index }: ParseError): ExpectedError {
  const contentEnd = text.trimEnd().length;
  const atEnd = index >= contentEnd;
  const start = atEnd ? Math.max(contentEnd - 1, 0) : index;
  const word = /^[^\s,[\]{}#="']{1,40}/.exec(text.slice(start, start + 40))?.[0] ?? '';
  const place = { file, range: { start, end: start + (atEnd ? 1 : Math.max(word.length, 1)) } };
  if (message.startsWith('Defining a key'))
    return configError('config-duplicate-key', `${quoted(word)} is defined twice`, 'keep one of the two', place);
  const [sentence, remedy] = sentences[message] ?? [`${message.charAt(0).toLowerCase()}${message.slice(1)}`, 'fix the syntax'];
  return new ExpectedError('config-toml-syntax', `${atEnd ? 'The file ends too early' : 'TOML error'}: ${sentence}`, remedy, place);
}
