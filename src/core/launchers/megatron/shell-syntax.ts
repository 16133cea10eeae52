import type { FactName, LauncherFile } from '../../run/facts';
import { flagKey, flagWords } from './megatron-flags';
import type { TextRange } from '../../domain/located';
import { megatronFlags } from './written-keys';
import type { Syntax } from '../writing/editor';
import { spellLike, detectLineBreak, lineEnd, lineStart, spliced } from '../../languages/text-edits';
import type { SettingEdit } from '../writing/desired-setting';
import type { SettingValue } from '../../languages/text-edits';

/** Scripts that launch Megatron, and files of its arguments: values are changed where they are, in the variable that a flag takes. */
export const shellSyntax: Syntax = { open, edit: put };

const flags: Partial<Record<FactName, readonly string[]>> = megatronFlags;

/** Flags next to which new ones are added, best first. */
const anchors: readonly FactName[] = [
  ...([
    'pipeline',
    'tensor',
    'context',
    'expert',
    'sequenceParallel',
    'distributedOptimizer',
    'virtualStages',
    'layersPerVirtualStage',
  ] as const),
  ...(['microBatch', 'globalBatch', 'sequenceLength', 'precision', 'maxPositions', 'layers', 'hidden', 'heads'] as const),
];

interface OpenFlag {
  readonly range: TextRange;
  readonly written: string;
}

function open(launcher: LauncherFile): ReadonlyMap<FactName, string> {
  return new Map([...openFlags(launcher)].map(([fact, { written }]) => [fact, written]));
}

/** The reader remarks on every flag whose value only the run knows, at the word it depends on. */
function openFlags({ file, remarks, text }: LauncherFile): ReadonlyMap<FactName, OpenFlag> {
  const found = new Map<FactName, OpenFlag>();
  for (const { code, message, place } of remarks) {
    const [name] = message.values;
    if (code !== 'flag-unknown-value' || typeof name !== 'string' || place.file !== file) continue;
    const key = flagKey(name);
    const fact = Object.entries(flags).find(([, names]) => names.some((flag) => flagKey(flag) === key))?.[0];
    const { range } = place;
    if (fact !== undefined) found.set(fact as FactName, { range, written: text.slice(range.start, range.end) });
  }
  return found;
}

function put(launcher: LauncherFile, { fact, value, flag: own }: SettingEdit): readonly string[] {
  if (fact === 'precision') return editPrecision(launcher, value);
  const { text, facts } = launcher;
  const given = facts[fact];
  const isThere = given?.source.kind === 'file' && (own === undefined || given.name === own);
  // what a sourced file sets is changed there
  if (isThere && given.source.place.file !== launcher.file) return given.value === value ? [text] : [];
  if (value === undefined || value === false)
    return !isThere || given.value === false ? [text] : given.whole === undefined ? [] : [spliced(text, given.whole, '')];
  const unknown = openFlags(launcher).get(fact);
  if (unknown !== undefined) return [spliced(text, unknown.range, withDefault(unknown.written, value))];
  const flag = own ?? flags[fact]?.[0];
  if (!isThere) return flag === undefined ? [] : insertions(launcher, value === true ? flag : `${flag} ${shellValue(value)}`);
  const { range } = given.source.place;
  const written = text.slice(range.start, range.end);
  const bare = /["']/.test(text.charAt(range.start - 1)) ? plainText(value) : shellValue(value);
  return [
    spliced(text, range, spellLike(written, given.value, value, bare)),
    // Where others take the same variable and must keep it: the number in place of the variable.
    ...(given.whole === undefined ? [] : detached(text, given.whole, given.name ?? '', shellValue(value))),
  ];
}

/** `$TP` that nobody sets takes a default, so that what is set outside still wins; anything else is replaced. */
function withDefault(written: string, value: SettingValue): string {
  const name = /^\$\{?(\w+)\}?$/.exec(written)?.[1];
  return name === undefined ? shellValue(value) : `\${${name}:-${plainText(value)}}`;
}

function detached(text: string, whole: TextRange, name: string, value: string): readonly string[] {
  const slice = text.slice(whole.start, whole.end);
  const at = slice.indexOf(name);
  const rest = at === -1 ? null : /^(?:=|[ \t]+)("[^"\n]*"|'[^'\n]*'|[^\s"']+)/.exec(slice.slice(at + name.length));
  const word = rest?.[1];
  if (rest === null || word === undefined) return [];
  const start = whole.start + at + name.length + rest[0].length - word.length;
  return [spliced(text, { start, end: start + word.length }, value)];
}

/** `--bf16` and `--fp16` are switches of which at most one is set. */
function editPrecision(launcher: LauncherFile, value: SettingValue): readonly string[] {
  const { text, facts } = launcher;
  const given = facts.precision;
  if (given?.source.kind !== 'file') return value === undefined ? [text] : insertions(launcher, `--${plainText(value)}`);
  const { range, file } = given.source.place;
  if (file !== launcher.file) return [];
  if (value === undefined) return given.whole === undefined ? [] : [spliced(text, given.whole, '')];
  return text.slice(range.start, range.end).startsWith('--') ? [spliced(text, range, `--${plainText(value)}`)] : [];
}

/** New words before a flag that exists: on a line of their own where that flag begins its line. */
function insertions({ text, facts }: LauncherFile, words: string): readonly string[] {
  const texts: string[] = [];
  for (const name of anchors) {
    const fact = facts[name];
    if (fact?.source.kind !== 'file' || fact.whole === undefined || flagWords(flagKey(fact.name ?? '')) === undefined) continue;
    const at = text.slice(fact.whole.start, fact.whole.end).search(/--?[A-Za-z]/);
    const start = fact.whole.start + at;
    if (at === -1 || /["'\w]/.test(text.charAt(start - 1))) continue;
    texts.push(spliced(text, { start, end: start }, `${words}${separatorBefore(text, start)}`));
    if (texts.length === 3) break;
  }
  return texts;
}

function separatorBefore(text: string, start: number): string {
  const line = lineStart(text, start);
  const indent = text.slice(line, start);
  if (indent.trim() !== '') return ' ';
  const isContinued = (from: number, to: number): boolean => /\\\s*$/.test(text.slice(from, to));
  const continues = isContinued(lineStart(text, Math.max(line - 1, 0)), line) || isContinued(start, lineEnd(text, start));
  return `${continues ? ' \\' : ''}${detectLineBreak(text)}${indent}`;
}

/** A value as one word of a command. */
export function shellValue(value: SettingValue): string {
  if (typeof value === 'object') return value.join(' ');
  const text = plainText(value);
  return /^[\w.,:=/+-]+$/.test(text) ? text : `"${text.replace(/["$`\\]/g, '\\$&')}"`;
}

function plainText(value: SettingValue): string {
  return typeof value === 'object' ? value.join(' ') : String(value);
}
