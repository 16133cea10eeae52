import type { Change } from '../core/rules/plan/remedy';
import { parseSetting, settingTexts } from '../core/terapipe/overrides';
import { printable } from '../core/text';
import { configOptions, measured, ofWholeRun, schedule } from './common-options';
import type { Line } from './command';
import { free, schedules } from './search-options';

/** Options that every command of a chain takes over: what the config is planned for. */
const keptOptions: readonly string[] = Object.keys({ ...configOptions, measured, schedule, schedules, free });
/** Those that only `plan` has. */
const keptByPlan: readonly string[] = Object.keys(ofWholeRun);

/** What the next command does that this one did not. */
interface Next {
  /** Further options as words. */
  readonly words?: readonly string[];
  /** Settings of terapipe.json; what this command line sets of the same keys is left out. */
  readonly sets?: Change['sets'];
}

/**
 * The command line to run next on the same FILE, with what this one sets of the machine and the run, to be pasted into a shell.
 * @returns null for standard input, which is read already, and for words that a terminal does not show as they are.
 */
export function nextCommand(
  { path, options }: Pick<Line, 'path' | 'options'>,
  command: 'plan' | 'export',
  { words = [], sets = [] }: Next,
): string | null {
  const replaced = new Set(sets.map(([key]) => key));
  const kept = options.filter(({ name, value }) => isTakenOver(name, command, words) && !replaced.has(keySet(name, value)));
  const all = [
    command,
    path,
    ...kept.flatMap(({ name, value }) => (value === undefined ? [`--${name}`] : [`--${name}`, value])),
    ...settingTexts(sets).flatMap((set) => ['--set', set]),
    ...words,
  ];
  return path.startsWith('-') || all.some((word) => printable(word) !== word) ? null : ['terapipe', ...all.map(quotedWord)].join(' ');
}

/** Whether the next command has an option too. A search does not take lengths. */
function isTakenOver(name: string, command: string, words: readonly string[]): boolean {
  if (name === 'lengths' && words.includes('--search')) return false;
  return keptOptions.includes(name) || (command === 'plan' && keptByPlan.includes(name));
}

/** The key of terapipe.json that an option sets; empty where it sets none by its name. */
function keySet(name: string, value: string | undefined): string {
  if (name === 'schedule') return name;
  return name === 'set' && value !== undefined ? (parseSetting(value)?.key ?? '') : '';
}

/** A word as a POSIX shell takes it. */
function quotedWord(word: string): string {
  return /^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
