import type { FactName, LauncherFile } from '../../run/facts';
import { flagKey, flagWords } from './megatron-flags';
import type { TextRange } from '../../domain/located';
import { flagsBy, inputs, openFlags, variable, type OpenFlag } from './shell-inputs';
import type { Syntax } from '../writing/editor';
import {
  spellLike,
  detectLineBreak,
  lineEnd,
  lineStart,
  nearestSetting,
  rewritten,
  spliced,
  splicedWithRemark,
} from '../../languages/text-edits';
import type { SettingEdit } from '../writing/desired-setting';
import type { SettingValue } from '../../languages/text-edits';

/** Scripts that launch Megatron, and files of its arguments: values are changed where they are, in the variable that a flag takes. */
export const shellSyntax: Syntax = { open, edit: put, inputs };

/** Flags next to which new ones are written where no other is nearer, best first. */
const anchors: readonly FactName[] = [
  'pipeline',
  'tensor',
  'context',
  'expert',
  'sequenceParallel',
  'distributedOptimizer',
  'virtualStages',
  'layersPerVirtualStage',
  'firstStageLayers',
  'lastStageLayers',
  'expertTensor',
  'pipelineLayout',
  'recomputeGranularity',
  'recomputeMethod',
  'recomputeLayers',
  'recomputeModules',
  'microBatch',
  'globalBatch',
  'sequenceLength',
  'precision',
  'maxPositions',
  'layers',
  'hidden',
  'heads',
];

function open(launcher: LauncherFile): ReadonlyMap<FactName, string> {
  return new Map([...openFlags(launcher)].map(([fact, { written }]) => [fact, written]));
}

function put(launcher: LauncherFile, { fact, value, flag: own }: SettingEdit): readonly string[] {
  if (fact === 'precision') return editPrecision(launcher, value);
  const { text, facts } = launcher;
  const given = facts[fact];
  const isThere = given?.source.kind === 'file' && (own === undefined || given.name === own);
  // whether the file sets it is known only when it runs
  if (given?.isConditional === true) return isThere && given.value === value ? [text] : [];
  // what a sourced file sets is changed there
  if (isThere && given.source.place.file !== launcher.file) return given.value === value ? [text] : [];
  if (value === undefined || value === false)
    return !isThere || given.value === false ? [text] : given.whole === undefined ? [] : withoutFlag(text, given.whole);
  const unknown = openFlags(launcher).get(fact);
  // All arguments of the script: others than this one would be lost.
  if (unknown !== undefined) return /\$\{?[@*]/.test(unknown.written) ? [] : [filledIn(text, unknown, value)];
  const flag = own ?? flagsBy[fact]?.[0];
  if (!isThere) return flag === undefined ? [] : insertions(launcher, value === true ? flag : `${flag} ${shellValue(value)}`);
  const { range } = given.source.place;
  const written = text.slice(range.start, range.end);
  const bare = /["']/.test(text.charAt(range.start - 1)) ? plainText(value) : shellValue(value);
  const inPlace = splicedWithRemark(text, range, given.value, spellLike(written, given.value, value, bare));
  const isPlain = rewritten(written, given.value, plainText(value)) !== null;
  return [
    ...(isPlain || given.whole === undefined ? [] : reassigned(text, given.whole, plainText(value))),
    inPlace,
    // Where others take the same variable and must keep it: the number in place of the variable.
    ...(given.whole === undefined ? [] : detached(text, given.whole, given.name ?? '', shellValue(value))),
  ];
}

/**
 * `$TP` that nobody sets takes a default, so that what is set outside still wins. Anything else is replaced: arguments of a script are
 * given by their place, together with others, and one that is given still would win over a default.
 */
function filledIn(text: string, { range, written }: OpenFlag, value: SettingValue): string {
  const name = variable.exec(written)?.[1];
  if (name === undefined) return spliced(text, range, shellValue(value));
  if (!/^\d/.test(name)) return spliced(text, range, `\${${name}:-${plainText(value)}}`);
  const next = spliced(text, range, shellValue(value));
  const end = range.start + shellValue(value).length;
  const before = text.slice(lineStart(text, range.start), range.start);
  const quote = /^["']?(?=[ \t]*\r?(?:\n|$))/.exec(next.slice(end, end + 100))?.[0];
  const isAssignment = /^[ \t]*(?:(?:export|local|readonly)[ \t]+)?\w+=["']?$/.test(before);
  const at = end + (quote ?? '').length;
  return isAssignment && quote !== undefined ? spliced(next, { start: at, end: at }, ` # in place of ${written}`) : next;
}

/** The variable that a flag takes, where it is only another's value: `PP_SIZE=${WORLD_SIZE}`. */
function reassigned(text: string, { start, end }: TextRange, value: string): readonly string[] {
  const [, name] = /\$\{?(\w+)\}?["']?\s*\\?\s*$/.exec(text.slice(start, end)) ?? [];
  if (name === undefined) return [];
  const found = [
    ...text.matchAll(new RegExp(`^([ \\t]*(?:export[ \\t]+)?${name}=)(["']?)\\$\\{?\\w+\\}?\\2(?=[ \\t\\r]*(?:#.*)?$)`, 'gm')),
  ];
  const [only] = found;
  if (found.length !== 1 || only === undefined) return [];
  const [all, head = '', quote = ''] = only;
  const next = spliced(text, { start: only.index, end: only.index + all.length }, `${head}${quote}${value}${quote}`);
  return withoutUnused(next, /\$\{?(\w+)/.exec(all)?.[1]);
}

/** Without a flag, and without the definition of a variable that nothing else takes. */
function withoutFlag(text: string, whole: TextRange): readonly string[] {
  return withoutUnused(spliced(text, whole, ''), /\$\{?(\w+)\}?/.exec(text.slice(whole.start, whole.end))?.[1]);
}

/** Without the one line that defines a variable that nothing takes any more, then as it is. */
function withoutUnused(text: string, name: string | undefined): readonly string[] {
  if (name === undefined || new RegExp(`\\b${name}\\b(?!=)`).test(text)) return [text];
  const value = `(?:[\\w.,"'-]*|\\$\\(\\([^()\\n]*\\)\\))`;
  const lines = [...text.matchAll(new RegExp(`^[ \\t]*${name}=${value}[ \\t]*(?:#.*)?(?:\\r?\\n|$)`, 'gm'))];
  const [line] = lines;
  if (lines.length !== 1 || line === undefined) return [text];
  return [spliced(text, { start: line.index, end: line.index + line[0].length }, ''), text];
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

/** `--bf16` and `--fp16` are switches; at most one of them is set. */
function editPrecision(launcher: LauncherFile, value: SettingValue): readonly string[] {
  const { text, facts } = launcher;
  const given = facts.precision;
  if (given?.source.kind !== 'file') return value === undefined ? [text] : insertions(launcher, `--${plainText(value)}`);
  const { range, file } = given.source.place;
  if (file !== launcher.file) return [];
  if (value === undefined) return given.whole === undefined ? [] : withoutFlag(text, given.whole);
  return text.slice(range.start, range.end).startsWith('--') ? [spliced(text, range, `--${plainText(value)}`)] : [];
}

/** New words behind the nearest flag that exists, else before one: on a line of their own where that flag has its line. */
function insertions({ text, facts, file }: LauncherFile, words: string): readonly string[] {
  const places = anchors.flatMap((fact): Anchor[] => {
    const { source, whole, name = '' } = facts[fact] ?? {};
    if (source?.kind !== 'file' || source.place.file !== file || whole === undefined || flagWords(flagKey(name)) === undefined) return [];
    const at = text.slice(whole.start, whole.end).search(/--?[A-Za-z]/);
    const start = whole.start + at;
    return at === -1 || /["'\w]/.test(text.charAt(start - 1)) ? [] : [{ name, start, end: endOfWords(text, whole) }];
  });
  const inOrder = [...places].sort((a, b) => a.start - b.start);
  const nearest = nearestSetting(words.split(' ')[0] ?? '', inOrder, ({ name }) => name);
  const best = [...(nearest === null ? [] : [nearest]), ...places.filter((place) => place !== nearest)].slice(0, 3);
  return [
    ...best.flatMap(({ start, end }) => insertedBehind(text, start, end, words) ?? []),
    ...best.map(({ start }) => spliced(text, { start, end: start }, `${words}${separatorBefore(text, start)}`)),
  ];
}

/** A flag that others are written next to: from its name to behind its value. */
interface Anchor extends TextRange {
  readonly name: string;
}

/** Where a flag ends that is cut out with what continues its line. */
function endOfWords(text: string, { start, end }: TextRange): number {
  return start + text.slice(start, end).replace(/(?:[ \t]*\\?\r?\n)?[ \t]*$/, '').length;
}

/** Null where the flag has no line of its own, or something else behind it. */
function insertedBehind(text: string, start: number, end: number, words: string): string | null {
  const indent = text.slice(lineStart(text, start), start);
  const next = lineEnd(text, end);
  const rest = text.slice(end, next);
  const lineBreak = detectLineBreak(text);
  if (indent.trim() !== '' || !rest.endsWith('\n')) return null;
  if (/^[ \t]*\\\r?\n$/.test(rest)) return spliced(text, { start: next, end: next }, `${indent}${words}${rest}`);
  const isContinued = /\\[ \t]*\r?\n$/.test(text.slice(0, lineStart(text, start)));
  if (isContinued) return /^[ \t]*\r?\n$/.test(rest) ? spliced(text, { start: end, end }, ` \\${lineBreak}${indent}${words}`) : null;
  return /^[ \t]*(#.*)?\r?\n$/.test(rest) ? spliced(text, { start: next, end: next }, `${indent}${words}${lineBreak}`) : null;
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
