import type { FactName, LauncherFile } from '../../formats/facts';
import { removalOf } from '../../formats/yaml/removal';
import { entryAt, parseYaml, type YamlDocument, type YamlEntry, type YamlMap } from '../../formats/yaml/yaml-document';
import type { MegatronFormat } from './megatron-settings';
import { bridgeKeys, megatronConfigKeys, megatronFlags, nemoKeys, type KeyNames } from './key-names';
import { inPlaceOf, lineBreakOf, lineEnd, lineStart, spliced, type Syntax } from './syntax';
import type { SettingEdit, SettingValue } from './desired-setting';

type YamlFormat = Exclude<MegatronFormat, 'megatron-shell'>;

/** YAML of Megatron-LM, NeMo and Megatron-Bridge, comments and layout kept. */
export function yamlSyntax(format: YamlFormat): Syntax {
  return {
    open: (launcher) => openEntries(launcher, format),
    edit: (launcher, edit) => editYaml(launcher, format, edit),
  };
}

/** Entries that are there and say nothing to the reader because they refer to somewhere else. */
function openEntries(launcher: LauncherFile, format: YamlFormat): ReadonlyMap<FactName, string> {
  const document = parseYaml(launcher.file, launcher.text);
  const found = new Map<FactName, string>();
  for (const fact of Object.keys(dialects[format].keys(document)) as FactName[]) {
    if (launcher.facts[fact]?.source.kind === 'file') continue;
    const value = pathsOf(document, format, launcher, fact)
      .map((path) => entryAt(document.root, path)?.value)
      .find((node) => node !== undefined);
    if (value?.kind === 'scalar' && value.text.includes('$')) found.set(fact, value.text);
  }
  return found;
}

/** In what the YAML of one launcher is written otherwise than that of the others. */
interface Dialect {
  readonly keys: (document: YamlDocument) => KeyNames;
  /**
   * Settings are arguments: there or not, and a precision is a key of its own. Otherwise what is not set is null, so that a remark behind
   * it stays.
   */
  readonly isOfArguments: boolean;
  /** What is written for values of ours that have other words. */
  readonly spelled: Readonly<Partial<Record<FactName, (value: SettingValue) => SettingValue>>>;
}

const shardings: Readonly<Record<number, string>> = { 2: 'optim_grads', 3: 'optim_grads_params' };

const dialects: Readonly<Record<YamlFormat, Dialect>> = {
  'megatron-yaml': { keys: argumentKeys, isOfArguments: true, spelled: {} },
  nemo: {
    keys: () => nemoKeys,
    isOfArguments: false,
    spelled: {
      distributedOptimizer: (value) => (value === true ? 'mcore_distributed_optim' : 'fused_adam'),
      precision: (value) => (value === 'bf16' ? 'bf16' : value === 'fp16' ? 16 : 32),
    },
  },
  'megatron-bridge': {
    keys: () => bridgeKeys,
    isOfArguments: false,
    spelled: {
      precision: (value) => (typeof value === 'string' ? `${value}_mixed` : value),
      zeroStage: (value) => (value === undefined ? undefined : (shardings[Number(value)] ?? 'optim')),
    },
  },
};

function argumentKeys(document: YamlDocument): KeyNames {
  if (!hasArguments(document)) return megatronConfigKeys;
  return Object.fromEntries(Object.entries(megatronFlags).map(([fact, flags]) => [fact, flags.map((flag) => `MODEL_ARGS.${flag}`)]));
}

function hasArguments({ root }: YamlDocument): boolean {
  return root.entries.get('MODEL_ARGS')?.value.kind === 'map';
}

/** Paths of a setting from the root, the one that gave the fact first. */
function pathsOf(document: YamlDocument, format: YamlFormat, { facts }: LauncherFile, fact: FactName): readonly (readonly string[])[] {
  const given = facts[fact]?.source.kind === 'file' ? facts[fact].name : undefined;
  const prefix = hasArguments(document) && dialects[format].isOfArguments ? 'MODEL_ARGS.' : '';
  const known = dialects[format].keys(document)[fact] ?? [];
  return [...(given === undefined ? [] : [prefix + given]), ...known].map((path) => path.split('.'));
}

function editYaml(launcher: LauncherFile, format: YamlFormat, { fact, value }: SettingEdit): readonly string[] {
  const { file, text } = launcher;
  const document = parseYaml(file, text);
  if (fact === 'precision' && dialects[format].isOfArguments) return editSwitch(launcher, document, value);
  const paths = pathsOf(document, format, launcher, fact);
  const existing = paths.filter((path) => entryAt(document.root, path) !== null);
  const spelled = spelledAs(format, fact, value);
  const [first] = existing;
  if (first !== undefined) {
    // A length that stands in several sections must be the same in all; those that refer to another follow it.
    const others = fact === 'sequenceLength' ? existing.slice(1).filter((path) => isNumber(entryAt(document.root, path))) : [];
    return withEach(launcher, format, [first, ...others], spelled);
  }
  if (spelled === undefined) return [text];
  const [target] = paths.filter((path) => isSection(document, path)).concat(paths);
  const inserted = target === undefined ? null : insertion(document, target, yamlValue(spelled));
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
  format: YamlFormat,
  paths: readonly (readonly string[])[],
  value: SettingValue,
): readonly string[] {
  let current = text;
  for (const path of paths) {
    const document = parseYaml(file, current);
    const entry = entryAt(document.root, path);
    if (entry === null) continue;
    const next = value === undefined ? without(current, entry, format) : replaced(current, entry, value);
    if (next === null) return [];
    current = next;
  }
  return [current];
}

function without(text: string, entry: YamlEntry, format: YamlFormat): string | null {
  if (!dialects[format].isOfArguments) return replaced(text, entry, 'null');
  const range = removalOf(text, entry);
  return range === undefined ? null : spliced(text, range, '');
}

function replaced(text: string, { value, keyRange, end }: YamlEntry, next: SettingValue): string | null {
  const spelled = next === 'null' ? 'null' : yamlValue(next);
  // An alias or a merged entry stands elsewhere: the text of its own is up to where its value ends.
  if (value.range.end > end || value.range.start < keyRange.end) return null;
  if (value.range.start === value.range.end) {
    const colon = text.indexOf(':', keyRange.end);
    return colon === -1 ? null : spliced(text, { start: colon + 1, end: colon + 1 }, ` ${spelled}`);
  }
  const written = text.slice(value.range.start, value.range.end);
  const old = value.kind !== 'scalar' ? null : /^\d/.test(value.text) ? Number(value.text.replaceAll('_', '')) : value.text;
  const isSwitch = typeof next === 'boolean' && /^(true|false)$/i.test(written);
  return spliced(
    text,
    value.range,
    next === 'null' ? spelled : inPlaceOf(written, isSwitch ? /^true$/i.test(written) : old, next, spelled),
  );
}

/** `bf16: true` or `--bf16: true`: the precision is the key. */
function editSwitch(launcher: LauncherFile, document: YamlDocument, value: SettingValue): readonly string[] {
  const { text, facts } = launcher;
  const isArguments = hasArguments(document);
  const pathOf = (name: string): readonly string[] =>
    isArguments ? ['MODEL_ARGS', `--${name}`] : (facts.precision?.name ?? name).replace(/\w+$/, name).split('.');
  const given = facts.precision?.source.kind === 'file' ? facts.precision.name : undefined;
  const old = given === undefined ? null : entryAt(document.root, isArguments ? ['MODEL_ARGS', given] : given.split('.'));
  if (typeof value !== 'string') {
    const cut = old === null ? undefined : removalOf(text, old);
    return old === null ? [text] : cut === undefined ? [] : [spliced(text, cut, '')];
  }
  if (old === null) return withSwitchOn(document, pathOf(value));
  const off = replaced(text, old, false);
  return [
    spliced(text, old.keyRange, isArguments ? `--${value}` : value),
    ...(off === null ? [] : withSwitchOn(parseYaml(document.file, off), pathOf(value))),
  ];
}

function withSwitchOn(document: YamlDocument, path: readonly string[]): readonly string[] {
  const entry = entryAt(document.root, path);
  const next = entry === null ? insertion(document, path, 'true') : replaced(document.text, entry, true);
  return next === null ? [] : [next];
}

/** What a format writes for a value of ours; undefined: nothing. */
function spelledAs(format: YamlFormat, fact: FactName, value: SettingValue): SettingValue {
  const { spelled, isOfArguments } = dialects[format];
  const other = spelled[fact];
  if (other !== undefined) return other(value);
  // A switch of an argument list is there or not.
  return isOfArguments && value === false ? undefined : value;
}

/** Settings that stand together. */
const families = [/recompute|activations_checkpoint/, /parallel.(size|layout)$|pipeline|micro.batch|sequence.parallel/] as const;

/** A new entry: behind its last neighbour with a plain value, else before the first; missing sections come with it. */
function insertion({ text, root }: YamlDocument, path: readonly string[], value: string): string | null {
  const lineBreak = lineBreakOf(text);
  let map: YamlMap = root;
  let depth = 0;
  for (; depth < path.length - 1; depth += 1) {
    const entry = map.entries.get(path[depth] ?? '');
    if (entry === undefined) break;
    if (entry.value.kind !== 'map') return null;
    map = entry.value;
  }
  const rest = path.slice(depth);
  if (text.charAt(map.range.start) === '{') {
    const flow = rest.reduceRight((inner, key, index) => (index === rest.length - 1 ? `${key}: ${inner}` : `${key}: { ${inner} }`), value);
    return spliced(text, { start: map.range.start + 1, end: map.range.start + 1 }, `${flow}, `);
  }
  const own = [...map.entries.values()].filter(
    ({ keyRange }) =>
      text.slice(lineStart(text, keyRange.start), keyRange.start).trim() === '' &&
      keyRange.start >= map.range.start &&
      keyRange.end <= map.range.end,
  );
  const beside = own.filter(({ value: node, keyRange, end }) => node.kind === 'scalar' && !text.slice(keyRange.start, end).includes('\n'));
  const family = families.find((names) => names.test(rest.at(-1) ?? '')) ?? families[1];
  const anchor = beside.findLast(({ key }) => family.test(key)) ?? beside.findLast(({ key }) => families[1].test(key)) ?? beside.at(-1);
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

function withBreak(text: string, lineBreak: string): string {
  return text === '' || text.endsWith('\n') ? text : text + lineBreak;
}

/** A value in YAML's notation; lists in brackets. */
export function yamlValue(value: SettingValue): string {
  if (typeof value === 'object') return `[${value.map((item) => yamlValue(item)).join(', ')}]`;
  if (typeof value !== 'string') return String(value);
  return /^[A-Za-z_][\w.+-]*$/.test(value) && !/^(true|false|null|yes|no|on|off)$/i.test(value) ? value : JSON.stringify(value);
}
