import { Composer, isAlias, isMap, isScalar, isSeq, Lexer, Parser, type Document, type Node, type Pair, type YAMLMap } from 'yaml';
import type { Place, TextRange } from '../../domain/located';
import { printable, quoted } from '../../text';
import { ExpectedError, configError } from '../../errors';
import { fileStart } from '../json/document';
import { sentence, type Sentence } from '../../sentence';
import { own } from '../../records';

/** A value in no collection. `text` is without quotes; empty for a key without a value. */
export interface YamlScalar {
  readonly kind: 'scalar';
  /** Exactly the value's text, its quotes included, its anchor and tag not. Of an alias: the alias. */
  readonly range: TextRange;
  readonly text: string;
  readonly quoted: boolean;
}

interface YamlList {
  readonly kind: 'list';
  readonly range: TextRange;
  readonly items: readonly YamlNode[];
}

export interface YamlMap {
  readonly kind: 'map';
  readonly range: TextRange;
  /** In file order; entries merged with `<<` come last. Keys are strings as written. */
  readonly entries: ReadonlyMap<string, YamlEntry>;
}

export type YamlNode = YamlScalar | YamlList | YamlMap;

export interface YamlEntry {
  readonly key: string;
  readonly keyRange: TextRange;
  readonly value: YamlNode;
  /** Where the value's own text ends; for an alias the value's range is that of its anchor. */
  readonly end: number;
  readonly flow: boolean;
  /** Its map has no other entry. */
  readonly isOnly: boolean;
  /** Of documents that are merged, the one that it is in. */
  readonly document?: YamlDocument;
}

/** What a launcher's loader does with a key that occurs twice: refuse the file, as OmegaConf, or take the last, as PyYAML. */
type Repeated = 'refused' | 'last';

export interface YamlDocument {
  readonly file: string;
  readonly text: string;
  readonly root: YamlMap;
  /** Keys that a later one of the same name replaces, where the loader lets it. */
  readonly replaced: readonly { readonly key: string; readonly range: TextRange }[];
}

const maximumDepth = 100;
/** Configs use a handful; each alias is one more reference to a node that exists already, so even a bomb stays as small as its text. */
const maximumAliases = 1000;
/** Merging, unlike an alias, copies: of one large mapping into many. */
const maximumMerged = 10_000;
/**
 * The parser takes about a second for a hostile text of this length or this many tokens; launcher files have some 20 kB and 2,000 tokens.
 */
const maximumSize = 2 ** 20;
const maximumTokens = 100_000;

/**
 * Parses a YAML config whose root is a mapping. Nothing in it is constructed or executed: tags are ignored and scalars stay text.
 * @throws ExpectedError `config-empty`, `config-binary`, `config-too-large`, `config-too-deep`, `config-yaml-syntax`,
 * `config-yaml-aliases`, `config-duplicate-key`, `config-forbidden-key` or `config-wrong-type`, placed.
 */
export function parseYaml(file: string, text: string, repeated: Repeated = 'refused'): YamlDocument {
  refuseUnfit(file, text);
  const documents = compose(file, text);
  const [first, second] = documents;
  const error = first?.errors.find(({ code }) => code !== 'TAG_RESOLVE_FAILED');
  if (error !== undefined) throw syntaxError(file, text, error.code, error.message, error.pos);
  if (second !== undefined)
    throw new ExpectedError('config-yaml-syntax', sentence`A second YAML document begins here`, sentence`keep one document in the file`, {
      file,
      range: { start: second.range[0], end: second.range[0] + 1 },
    });
  const contents = first?.contents ?? null;
  const state: Conversion = { file, repeated, replaced: [], anchors: new Map(), aliases: 0, merged: 0 };
  const root = contents === null ? null : convert(state, contents);
  if (root?.kind !== 'map')
    throw configError(
      'config-wrong-type',
      sentence`A launcher config is a mapping, not ${root === null || root.range.end === root.range.start ? sentence`nothing` : sentence`a ${root.kind}`}`,
      sentence`write it as key: value lines`,
      root === null ? fileStart(file) : { file, range: root.range },
    );
  return { file, text, root, replaced: state.replaced };
}

/** The node under dotted keys, with the maps on the way to it; null where a key is missing. */
export function entryAt(map: YamlMap, path: readonly string[]): YamlEntry | null {
  const [name = '', ...rest] = path;
  const entry = map.entries.get(name);
  if (entry === undefined || rest.length === 0) return entry ?? null;
  return entry.value.kind === 'map' ? entryAt(entry.value, rest) : null;
}

/** The map under dotted keys; null where there is none, or something else. */
export function mapAt(map: YamlMap, path: readonly string[]): YamlMap | null {
  const value = entryAt(map, path)?.value;
  return value?.kind === 'map' ? value : null;
}

function compose(file: string, text: string): Document.Parsed[] {
  const parser = new Parser();
  const composer = new Composer({ schema: 'failsafe', uniqueKeys: false, logLevel: 'silent' });
  const documents: Document.Parsed[] = [];
  let tokens = 0;
  const checked = function* () {
    for (const lexeme of new Lexer().lex(text)) {
      yield* parser.next(lexeme);
      tokens += 1;
      if (parser.stack.length > maximumDepth + 1) throw tooDeep(file, parser.offset);
      if (tokens > maximumTokens) throw tooLarge(file);
    }
    yield* parser.end();
  };
  for (const document of composer.compose(checked(), true, text.length)) {
    documents.push(document);
    if (documents.length > 1) break;
  }
  return documents;
}

interface Conversion {
  readonly file: string;
  readonly repeated: Repeated;
  readonly replaced: { readonly key: string; readonly range: TextRange }[];
  readonly anchors: Map<string, YamlNode>;
  aliases: number;
  merged: number;
}

function convert(state: Conversion, node: Node): YamlNode {
  if (isAlias(node)) return resolveAlias(state, node.source, toTextRange(node));
  const range = toTextRange(node);
  const converted = isMap(node)
    ? convertMap(state, node)
    : isSeq(node)
      ? convertList(state, node.items, range)
      : convertScalar(node, range);
  const { anchor }: { readonly anchor?: string | undefined } = node;
  if (anchor !== undefined) state.anchors.set(anchor, converted);
  return converted;
}

function convertScalar(node: Node, range: TextRange): YamlScalar {
  const scalar = isScalar(node) ? node : null;
  const isText = scalar?.type !== 'PLAIN' && scalar?.type !== undefined;
  return { kind: 'scalar', range, text: typeof scalar?.value === 'string' ? scalar.value : '', quoted: isText };
}

function convertList(state: Conversion, items: readonly unknown[], range: TextRange): YamlList {
  return { kind: 'list', range, items: items.map((item) => convert(state, item as Node)) };
}

function convertMap(state: Conversion, map: YAMLMap): YamlMap {
  const entries = new Map<string, YamlEntry>();
  const merged: YamlNode[] = [];
  const pairs = map.items as Pair<Node, Node | null>[];
  for (const pair of pairs) {
    const { key } = pair;
    if (!isScalar(key) || typeof key.value !== 'string') continue;
    const keyRange = toTextRange(key);
    const name = key.value;
    refuseKey(state, entries, name, keyRange);
    const value = pair.value === null ? convertScalar(key, { start: keyRange.end, end: keyRange.end }) : convert(state, pair.value);
    const end = pair.value === null ? keyRange.end : toTextRange(pair.value).end;
    if (name === '<<' && key.type === 'PLAIN') merged.push(value);
    else entries.set(name, { key: name, keyRange, value, end, flow: map.flow === true, isOnly: pairs.length === 1 });
  }
  for (const part of merged.flatMap(mergeable)) addMerged(state, entries, part);
  return { kind: 'map', range: toTextRange(map), entries };
}

function mergeable(node: YamlNode): readonly YamlMap[] {
  return (node.kind === 'list' ? node.items : [node]).filter((item) => item.kind === 'map');
}

function addMerged(state: Conversion, entries: Map<string, YamlEntry>, { range, entries: added }: YamlMap): void {
  state.merged += added.size;
  if (state.merged > maximumMerged)
    throw new ExpectedError(
      'config-yaml-aliases',
      sentence`More than ${maximumMerged} entries are merged with <<`,
      sentence`write the values themselves`,
      {
        file: state.file,
        range: { start: range.start, end: range.start + 1 },
      },
    );
  for (const [name, entry] of added) if (!entries.has(name)) entries.set(name, entry);
}

/** Refuses a key that none may have, or that exists already where the loader refuses that. */
function refuseKey(
  { file, repeated, replaced }: Conversion,
  entries: ReadonlyMap<string, YamlEntry>,
  name: string,
  range: TextRange,
): void {
  if (name === '__proto__')
    throw configError('config-forbidden-key', sentence`"__proto__" is not a key that a config may have`, sentence`remove it`, {
      file,
      range,
    });
  const before = entries.get(name);
  if (before === undefined) return;
  if (repeated === 'last') replaced.push({ key: name, range: before.keyRange });
  else
    throw configError('config-duplicate-key', sentence`${quoted(name)} appears twice in one mapping`, sentence`keep one of the two`, {
      file,
      range,
    });
}

function resolveAlias(state: Conversion, name: string, range: TextRange): YamlNode {
  const place = { file: state.file, range };
  state.aliases += 1;
  if (state.aliases > maximumAliases)
    throw new ExpectedError(
      'config-yaml-aliases',
      sentence`More than ${maximumAliases} aliases`,
      sentence`write the values themselves`,
      place,
    );
  const target = state.anchors.get(name);
  if (target === undefined)
    throw new ExpectedError(
      'config-yaml-aliases',
      sentence`No complete value before this has the anchor ${quoted(`&${name}`)}`,
      sentence`write the value itself`,
      place,
    );
  return target.kind === 'scalar' ? { ...target, range } : target;
}

function toTextRange({ range }: { readonly range?: readonly [number, number, number] | null }): TextRange {
  return { start: range?.[0] ?? 0, end: range?.[1] ?? 0 };
}

function refuseUnfit(file: string, text: string): void {
  if (text.length > maximumSize) throw tooLarge(file);
  if (text.replace(/^\uFEFF/, '').trim() === '')
    throw configError('config-empty', sentence`The file is empty`, sentence`write a launcher config`, fileStart(file));
  if (text.includes('\0') || /(?![\t\n\f\r])\p{Cc}/u.test(text.slice(0, 4096)))
    throw configError('config-binary', sentence`The file is not text`, sentence`name a YAML config file`, fileStart(file));
}

function tooLarge(file: string): Error {
  return configError(
    'config-too-large',
    sentence`The file is over 1 MB or has more than 10,000 settings, too large for a launcher config`,
    sentence`name the config file itself`,
    fileStart(file),
  );
}

function tooDeep(file: string, offset: number): Error {
  const range = { start: Math.max(offset - 1, 0), end: Math.max(offset, 1) };
  return configError('config-too-deep', sentence`Nested more than ${maximumDepth} levels deep`, sentence`name a config file`, {
    file,
    range,
  });
}

const syntaxSentences: Readonly<Record<string, readonly [what: Sentence, remedy: Sentence]>> = {
  TAB_AS_INDENT: [sentence`a tab indents this line`, sentence`indent with spaces`],
  BAD_INDENT: [sentence`this line is not indented as its neighbours are`, sentence`give the keys of one mapping the same indentation`],
  MISSING_CHAR: [
    sentence`a character is missing`,
    sentence`close the quotes, brackets and braces, and put a colon and a space after each key`,
  ],
  BLOCK_AS_IMPLICIT_KEY: [
    sentence`a nested mapping is not allowed on one line`,
    sentence`put the value on a line of its own, or in quotes`,
  ],
  MULTILINE_IMPLICIT_KEY: [sentence`a key must be on one line`, sentence`put a colon and a space after the key`],
  UNEXPECTED_TOKEN: [sentence`something unexpected`, sentence`fix the syntax`],
};

function syntaxError(file: string, text: string, code: string, message: string, [from, to]: readonly [number, number]): Error {
  const [what, remedy] = own(syntaxSentences, code) ?? [sentence`${printable(message.split('\n', 1)[0] ?? '')}`, sentence`fix the syntax`];
  const contentEnd = Math.max(text.trimEnd().length, 1);
  const start = Math.min(from, contentEnd - 1);
  const lineEnd = text.indexOf('\n', start);
  const end = Math.min(to, contentEnd, lineEnd < 0 ? contentEnd : lineEnd);
  const place: Place = { file, range: { start, end: Math.max(start + 1, end) } };
  return new ExpectedError('config-yaml-syntax', sentence`YAML error: ${what}`, remedy, place);
}

/**
 * Documents over each other, weakest first: mappings are merged, everything else of a later one replaces what was there, as
 * `OmegaConf.merge` does. Each entry knows the document that it is in. @throws Error without a document.
 */
export function mergedDocument(documents: readonly YamlDocument[]): YamlDocument {
  const own = documents.at(-1);
  if (own === undefined) throw new Error('no document');
  const root = documents.map((document) => ownedMap(document.root, document)).reduce(mergedMaps);
  return { ...own, root };
}

function ownedMap(map: YamlMap, document: YamlDocument): YamlMap {
  const entries = [...map.entries].map(([name, entry]): [string, YamlEntry] => [
    name,
    { ...entry, document, value: owned(entry.value, document) },
  ]);
  return { ...map, entries: new Map(entries) };
}

function owned(node: YamlNode, document: YamlDocument): YamlNode {
  return node.kind === 'map' ? ownedMap(node, document) : node;
}

function mergedMaps(base: YamlMap, over: YamlMap): YamlMap {
  const entries = new Map(base.entries);
  for (const [name, entry] of over.entries) {
    const before = entries.get(name)?.value;
    const isBoth = before?.kind === 'map' && entry.value.kind === 'map';
    entries.set(name, isBoth ? { ...entry, value: mergedMaps(before, entry.value) } : entry);
  }
  return { ...over, entries };
}
