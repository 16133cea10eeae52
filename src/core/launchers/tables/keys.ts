import type { Finding } from '../../findings';
import type { Place } from '../../domain/located';
import { quoted } from '../../text';
import type { Fact, FactName, Facts } from '../../run/facts';
import type { FlagOutcome } from '../../languages/reads';
import type { Row, Table, Read } from './table';
import { firstPlace } from './values';
import type { Plain, Resolver } from '../../languages/yaml/references';
import { entryRemovalRange } from '../../languages/yaml/removal';
import { entryAt, type YamlDocument, type YamlEntry, type YamlScalar } from '../../languages/yaml/document';
import { sentence, type Value } from '../../sentence';

/** What one file sets through its keys. */
export interface KeyReader {
  readonly facts: (table: Table) => Facts;
  /** The value of one key, from which no table makes a fact. */
  readonly one: <T>(path: string, read: Read<T>) => Fact<T> | undefined;
  /** The file has the key, with a variable that nothing here sets. */
  readonly isOpen: (path: string) => boolean;
  /** Values that the launcher will refuse, in the order met; each key once. */
  readonly remarks: () => readonly Finding[];
  /** `${NAME}` placeholders that were used as values. */
  readonly placeholders: () => readonly string[];
}

/** Reads facts from a document; `find` may know the keys by other spellings than the table's. */
export function createKeyReader(document: YamlDocument, resolve: Resolver, find = entryAt): KeyReader {
  const remarks = new Map<string, Finding>();
  const placeId = ({ file, range }: Place): string => JSON.stringify([file, range.start]);
  const placeholders = new Set<string>();

  const one = <T>(path: string, read: Read<T>): Fact<T> | undefined => {
    const keys = path.split('.');
    const entry = find(document.root, keys);
    if (entry === null) return undefined;
    const { file, text } = entry.document ?? document;
    const place = { file, range: entry.value.range };
    const outcome = entryOutcome(entry, keys, read);
    if ('expects' in outcome) remarks.set(placeId(place), refusal(entry, path, outcome.expects, place));
    if (!('value' in outcome)) return undefined;
    const whole = entryRemovalRange(text, entry);
    const name = [...keys.slice(0, -1), entry.key].join('.');
    return { value: outcome.value, source: { kind: 'file', place, key: name }, name, ...(whole && { whole }) };
  };

  const entryOutcome = <T>(entry: YamlEntry, keys: readonly string[], read: Read<T>): FlagOutcome<T> => {
    if ('ofNode' in read) return read.ofNode(entry.value);
    const nodes = entry.value.kind === 'list' ? entry.value.items : [entry.value];
    const words: string[] = [];
    for (const node of nodes) {
      if (node.kind !== 'scalar') return { silent: true };
      const plain = plainAt(node, keys);
      if (plain === undefined || plain === null) return { silent: true };
      words.push(String(plain));
    }
    const outcome = read.words === 'one' && entry.value.kind === 'list' ? { expects: sentence`one value, not a list` } : read.of(words);
    // a name in quotes may mean a number too: a tokenizer's means its vocabulary
    const isText = entry.value.kind === 'scalar' && entry.value.quoted && /^\s*[+-]?[\d.][\d._e+-]*\s*$/i.test(entry.value.text);
    return isText && 'value' in outcome && typeof outcome.value === 'number' ? { expects: unquoted } : outcome;
  };

  const plainAt = (node: YamlScalar, keys: readonly string[]): Plain | undefined => {
    const resolution = resolve(node, keys);
    if (resolution.kind === 'value') return plainText(node, resolution.value);
    if (resolution.kind === 'cycle') remarks.set(placeId({ file: document.file, range: node.range }), cycleRemark(document, node, keys));
    else
      for (const [, name] of node.text.slice(0, 1000).matchAll(/\$\{(?:oc\.env:)?(\w+)[,}]/g))
        if (name !== undefined) placeholders.add(name);
    return undefined;
  };

  const facts = (table: Table): Facts => {
    const rows = Object.entries(table) as [FactName, readonly Row<unknown>[]][];
    const found = rows.map(([name, rules]) => [name, firstFact(rules)] as const);
    return Object.fromEntries(found.filter(([, fact]) => fact !== undefined));
  };

  const firstFact = (rules: readonly Row<unknown>[]): Fact<unknown> | undefined => {
    for (const { name, read } of rules) {
      const fact = one(name, read);
      if (fact !== undefined) return fact;
    }
    return undefined;
  };

  const isOpen = (path: string): boolean => {
    const keys = path.split('.');
    const value = find(document.root, keys)?.value;
    return value?.kind === 'scalar' && resolve(value, keys).kind !== 'value';
  };

  return { facts, one, isOpen, remarks: () => [...remarks.values()], placeholders: () => [...placeholders] };
}

/** Numbers keep their spelling: `1_000`, `8.0`. */
function plainText(node: YamlScalar, value: Plain): Plain {
  return value === null || node.text.includes('${') ? value : node.text;
}

/** The first place that facts of this document are at, else its first key. */
export function factsPlace({ file, root }: YamlDocument, facts: Facts): Place {
  const [first] = root.entries.values();
  return firstPlace(file, facts, { file, range: first?.keyRange ?? { start: 0, end: 0 } });
}

const unquoted = sentence`the number without quotes`;

function refusal({ value }: YamlEntry, path: string, expects: Value, place: Place): Finding {
  const written = value.kind === 'scalar' ? quoted(value.text) : value.kind === 'list' ? sentence`a list` : sentence`a map`;
  const isUnquotable = value.kind === 'scalar' && value.quoted && expects === unquoted;
  return {
    code:
      value.kind === 'scalar' && /^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(value.text) && !value.quoted
        ? 'config-out-of-range'
        : 'config-wrong-type',
    severity: 'error',
    place,
    message: sentence`${path} is ${written}`,
    remedy: sentence`give it ${expects}`,
    fixes: isUnquotable
      ? [{ title: sentence`Write ${value.text} without quotes`, preferred: true, edits: [{ place, newText: value.text }] }]
      : [],
  };
}

function cycleRemark({ file }: YamlDocument, { range }: YamlScalar, keys: readonly string[]): Finding {
  return {
    code: 'reference-cycle',
    severity: 'error',
    place: { file, range },
    message: sentence`${keys.join('.')} refers to itself`,
    remedy: sentence`write the value itself at one of the keys on the way`,
    fixes: [],
  };
}
