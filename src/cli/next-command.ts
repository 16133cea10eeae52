import { configOptions, measured, schedule } from './common-options';
import type { Line } from './command';
import { free, schedules } from './search-options';

/** Options that every command of a chain takes over: what the config is planned for. */
const keptOptions: readonly string[] = Object.keys({ ...configOptions, measured, schedule, schedules, free });

/**
 * The command line to run next on the same FILE, with what this one sets of the machine and the run, to be pasted into a shell.
 * @param more further options as words. @returns null for standard input, which is read already.
 */
export function nextCommand({ path, options }: Pick<Line, 'path' | 'options'>, command: string, more: readonly string[]): string | null {
  if (path === '-') return null;
  const kept = options.flatMap(({ name, value }) => {
    if (!keptOptions.includes(name)) return [];
    return value === undefined ? [`--${name}`] : [`--${name}`, value];
  });
  return ['terapipe', command, path, ...kept, ...more].map(quotedWord).join(' ');
}

/** A word as a POSIX shell takes it. */
function quotedWord(word: string): string {
  return /^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
