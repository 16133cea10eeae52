import { yamlNumber } from '../../languages/yaml/number';
import type { FactName, LauncherFile } from '../../run/facts';
import { entryRemovalRange } from '../../languages/yaml/removal';
import { entryAt, parseYaml, type YamlDocument, type YamlEntry, type YamlMap } from '../../languages/yaml/document';
import type { TextRange } from '../../domain/located';
import type { Syntax } from './editor';
import { spellLike, detectLineBreak, lineEnd, lineStart, nearestSetting, spliced, splicedWithRemark } from '../../languages/text-edits';
import type { SettingEdit } from './desired-setting';
import type { SettingValue } from '../../languages/text-edits';
import type { KeyNames, Spellings } from './key-names';

/** How the YAML of one launcher differs from the others'. */
export interface YamlDialect {
  /** Paths of each setting from the root of a file; the first is written where none exists. */
  readonly keys: (document: YamlDocument, launcher: LauncherFile) => KeyNames;
  /** What is not set is taken out; otherwise it is null, so that a remark behind it stays. */
  readonly removes?: true;
  /** The path of a precision that is a switch of its own name; absent: a precision is a value. */
  readonly precisionSwitch?: (document: YamlDocument, precision: string) => readonly string[];
  /** What is written for values of ours that have other words. */
  readonly spelled?: Spellings;
}

/** YAML of one launcher, comments and layout kept. */
export function yamlSyntax(dialect: YamlDialect): Syntax {
  return {
    open: (launcher) => openEntries(launcher, dialect),
    edit: (launcher, edit) => editYaml(launcher, dialect, edit),
  };
}

/** As the readers parse: of a key that occurs twice the last counts. */
function parsed({ file, text }: Pick<LauncherFile, 'file' | 'text'>): YamlDocument {
  return parseYaml(file, text, 'last');
}

/** Entries that the reader ignores because they refer to somewhere else. */
function openEntries(launcher: LauncherFile, dialect: YamlDialect): ReadonlyMap<FactName, string> {
  const document = parsed(launcher);
  const found = new Map<FactName, string>();
  for (const fact of Object.keys(dialect.keys(document, launcher)) as FactName[]) {
    if (launcher.facts[fact]?.source.kind === 'file') continue;
    const value = keyPaths(document, dialect, launcher, fact)
      .map((path) => entryAt(document.root, path)?.value)
      .find((node) => node !== undefined);
    if (value?.kind === 'scalar' && value.text.includes('$')) found.set(fact, value.text);
  }
  return found;
}

/** Paths of a setting from the root, the one that gave the fact first. */
function keyPaths(document: YamlDocument, dialect: YamlDialect, launcher: LauncherFile, fact: FactName): readonly (readonly string[])[] {
  const known = (dialect.keys(document, launcher)[fact] ?? []).map((path) => path.split('.'));
  const given = launcher.facts[fact];
  if (given?.source.kind !== 'file' || given.source.place.file !== launcher.file) return known;
  const path = pathAt(document.root, given.source.place.range);
  return path === null ? known : [path, ...known];
}

/** The path of keys to the entry whose value or key is in a range. */
function pathAt(map: YamlMap, range: TextRange): readonly string[] | null {
  for (const [name, { value, keyRange }] of map.entries) {
    if (value.kind === 'map') {
      const inside = pathAt(value, range);
      if (inside !== null) return [name, ...inside];
    } else if (isAround(value.range, range) || isAround(keyRange, range)) return [name];
  }
  return null;
}

function isAround(outer: TextRange, inner: TextRange): boolean {
  return outer.start <= inner.start && inner.end <= outer.end;
}

function editYaml(launcher: LauncherFile, dialect: YamlDialect, { fact, value, flag }: SettingEdit): readonly string[] {
  const { text } = launcher;
  const document = parsed(launcher);
  if (fact === 'precision' && dialect.precisionSwitch !== undefined)
    return editSwitch(launcher, document, (name) => dialect.precisionSwitch?.(document, name) ?? [name], value);
  const paths = flag === undefined ? keyPaths(document, dialect, launcher, fact) : [flag.split('.')];
  const existing = paths.filter((path) => entryAt(document.root, path) !== null);
  const spelled = flag === undefined ? spelledAs(dialect, fact, value) : value;
  const [first] = existing;
  if (first !== undefined) {
    // A length that is in several sections must be the same in all; those that refer to another follow it.
    const others = fact === 'sequenceLength' ? existing.slice(1).filter((path) => isNumber(entryAt(document.root, path))) : [];
    return withEach(launcher, dialect, [first, ...others], spelled);
  }
  const given = launcher.facts[fact];
  const isOfBase = given?.source.kind === 'file' && given.source.place.file !== launcher.file;
  // a switch that the base leaves off is off
  if (spelled === undefined && (!isOfBase || given.value === false)) return [text];
  const [target] = paths.filter((path) => isSection(document, path)).concat(paths);
  const off = given?.value === true ? 'false' : 'null';
  const inserted = target === undefined ? null : insertion(document, target, spelled === undefined ? off : yamlValue(spelled));
  return inserted === null ? [] : [inserted];
}

function isSection({ root }: YamlDocument, path: readonly string[]): boolean {
  return path.length === 1 || entryAt(root, path.slice(0, -1))?.value.kind === 'map';
}

function isNumber(entry: YamlEntry | null): boolean {
  return entry?.value.kind === 'scalar' && /^\d+$/.test(entry.value.text);
}

function withEach(
  { file, text }: LauncherFile,
  dialect: YamlDialect,
  paths: readonly (readonly string[])[],
  value: SettingValue,
): readonly string[] {
  let current = text;
  for (const path of paths) {
    const document = parsed({ file, text: current });
    const entry = entryAt(document.root, path);
    if (entry === null) continue;
    const next = value === undefined ? without(current, entry, dialect) : replaced(current, entry, value);
    if (next === null) return [];
    current = next;
  }
  return [current];
}

function without(text: string, entry: YamlEntry, { removes }: YamlDialect): string | null {
  if (removes !== true) return replaced(text, entry, 'null');
  const range = entryRemovalRange(text, entry);
  return range === undefined ? null : spliced(text, range, '');
}

function replaced(text: string, { value, keyRange, end }: YamlEntry, next: SettingValue): string | null {
  const spelled = next === 'null' ? 'null' : yamlValue(next);
  // An alias or a merged entry is elsewhere: the text of its own is up to where its value ends.
  if (value.range.end > end || value.range.start < keyRange.end) return null;
  if (value.range.start === value.range.end) {
    const colon = text.indexOf(':', keyRange.end);
    return colon === -1 ? null : spliced(text, { start: colon + 1, end: colon + 1 }, ` ${spelled}`);
  }
  const written = text.slice(value.range.start, value.range.end);
  const [, variable, , close] = (typeof next === 'object' || next === 'null' ? null : withDefault.exec(written)) ?? [];
  if (variable !== undefined && close !== undefined) return spliced(text, value.range, `${variable}${String(next)}${close}`);
  const old = value.kind !== 'scalar' ? null : /^\d/.test(value.text) ? Number(value.text.replaceAll('_', '')) : value.text;
  const isSwitch = typeof next === 'boolean' && /^(true|false)$/i.test(written);
  const before = isSwitch ? /^true$/i.test(written) : old;
  return splicedWithRemark(text, value.range, before, next === 'null' ? spelled : spellLike(written, before, next, spelled));
}

/** A variable of the environment, with the default that counts where nobody sets it: `${PRIMUS_TP:1}`. */
const withDefault = /^(\$\{\w+:-?)([\w.]*)(\})$/;

/** `bf16: true` or `--bf16: true`: the precision is the key. @param toPath where a new one goes. */
function editSwitch(
  launcher: LauncherFile,
  document: YamlDocument,
  toPath: (name: string) => readonly string[],
  value: SettingValue,
): readonly string[] {
  const { text, facts, file } = launcher;
  const { source } = facts.precision ?? {};
  const given = source?.kind === 'file' && source.place.file === file ? pathAt(document.root, source.place.range) : null;
  const old = given === null ? null : entryAt(document.root, given);
  if (typeof value !== 'string') {
    const cut = old === null ? undefined : entryRemovalRange(text, old);
    return old === null ? [text] : cut === undefined ? [] : [spliced(text, cut, '')];
  }
  const usual = toPath(value);
  const key = usual.at(-1) ?? value;
  const path = given === null ? usual : [...given.slice(0, -1), key];
  if (old === null) return withSwitchOn(document, path);
  const off = replaced(text, old, false);
  return [spliced(text, old.keyRange, key), ...(off === null ? [] : withSwitchOn(parsed({ file, text: off }), path))];
}

function withSwitchOn(document: YamlDocument, path: readonly string[]): readonly string[] {
  const entry = entryAt(document.root, path);
  const next = entry === null ? insertion(document, path, 'true') : replaced(document.text, entry, true);
  return next === null ? [] : [next];
}

/** What a format writes for a value of ours; undefined: nothing. */
function spelledAs({ spelled, removes }: YamlDialect, fact: FactName, value: SettingValue): SettingValue {
  const other = spelled?.[fact];
  if (other !== undefined) return other(value);
  // A switch of an argument list is present or not.
  return removes === true && value === false ? undefined : value;
}

/** A new entry: behind its last neighbour with a plain value, else before the first; missing sections come with it. */
function insertion({ text, root }: YamlDocument, path: readonly string[], value: string): string | null {
  const lineBreak = detectLineBreak(text);
  let map: YamlMap = root;
  let depth = 0;
  for (; depth < path.length - 1; depth += 1) {
    const entry = map.entries.get(path[depth] ?? '');
    if (entry === undefined) break;
    if (entry.value.kind !== 'map') return null;
    map = entry.value;
  }
  const rest = path.slice(depth);
  if (text.charAt(map.range.start) === '{') return insertedInFlow(text, map, rest, value);
  const own = [...map.entries.values()].filter(
    ({ keyRange }) =>
      text.slice(lineStart(text, keyRange.start), keyRange.start).trim() === '' &&
      keyRange.start >= map.range.start &&
      keyRange.end <= map.range.end,
  );
  const siblings = own.filter(
    ({ value: node, keyRange, end }) => node.kind === 'scalar' && !text.slice(keyRange.start, end).includes('\n'),
  );
  const nearest = (name: string): YamlEntry | null => nearestSetting(name, siblings, ({ key }) => key);
  const anchor = nearest(rest.at(-1) ?? '') ?? nearest('parallel') ?? siblings.at(-1);
  const first = own[0];
  if (first === undefined) return null;
  const indent = text.slice(lineStart(text, first.keyRange.start), first.keyRange.start).replace('\uFEFF', '');
  const lines =
    rest.map((key, index) => `${indent}${'  '.repeat(index)}${key}:${index === rest.length - 1 ? ` ${value}` : ''}`).join(lineBreak) +
    lineBreak;
  if (map === root && (rest.length > 1 || anchor === undefined)) return withBreak(text, lineBreak) + lines;
  const at = anchor === undefined ? lineStart(text, first.keyRange.start) : lineEnd(text, anchor.end);
  return withBreak(text.slice(0, at), lineBreak) + lines + text.slice(at);
}

/** In a flow mapping: on a line of its own behind its neighbour where those have theirs, else behind the bracket. */
function insertedInFlow(text: string, map: YamlMap, keys: readonly string[], value: string): string {
  const own = [...map.entries.values()].filter(({ keyRange: { start } }) => start > map.range.start && start < map.range.end);
  const mark = /^["']/.exec(text.slice(own[0]?.keyRange.start))?.[0] ?? '';
  const flow = keys.reduceRight((inner, key, index) => {
    const name = `${mark}${key}${mark}`;
    return index === keys.length - 1 ? `${name}: ${inner}` : `${name}: { ${inner} }`;
  }, value);
  const ofLine = own.filter(({ keyRange: { start } }) => text.slice(lineStart(text, start), start).trim() === '');
  const plain = ofLine.filter(({ value: { range } }) => /^[ \t]*,[ \t]*(#.*)?\r?\n/.test(text.slice(range.end, lineEnd(text, range.end))));
  const nearest = (name: string): YamlEntry | null => nearestSetting(name, plain, ({ key }) => key);
  const before = nearest(keys.at(-1) ?? '') ?? nearest('parallel');
  const lineBreak = detectLineBreak(text);
  const indentBefore = ({ keyRange: { start } }: YamlEntry): string => text.slice(lineStart(text, start), start);
  if (before !== null) {
    const at = lineEnd(text, before.value.range.end);
    return spliced(text, { start: at, end: at }, `${indentBefore(before)}${flow},${lineBreak}`);
  }
  const [first] = ofLine;
  const at = first?.keyRange.start ?? map.range.start + 1;
  return spliced(text, { start: at, end: at }, first === undefined ? `${flow}, ` : `${flow},${lineBreak}${indentBefore(first)}`);
}

function withBreak(text: string, lineBreak: string): string {
  return text === '' || text.endsWith('\n') ? text : text + lineBreak;
}

/** A value in YAML's notation; lists in brackets. */
export function yamlValue(value: SettingValue): string {
  if (typeof value === 'object') return `[${value.map((item) => yamlValue(item)).join(', ')}]`;
  if (typeof value === 'number') return yamlNumber(value);
  if (typeof value !== 'string') return String(value);
  return /^[A-Za-z_][\w.+-]*$/.test(value) && !/^(true|false|null|yes|no|on|off)$/i.test(value) ? value : JSON.stringify(value);
}
