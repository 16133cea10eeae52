import { version } from '../../package.json';
import { understand } from './arguments';
import { commandHelp, helpText } from './help';
import { commands } from './registry';

/** The help or the version that a command line asks for; null: it asks for a command, or is one that a command refuses. */
export function textAtOnce(args: readonly string[]): string | null {
  try {
    const understood = understand(args);
    return 'help' in understood ? understood.help : null;
  } catch {
    return null;
  }
}

/** What the build writes for the program to print: help by command, that of all under no name, and the version under its option. */
export function everyText(): Readonly<Record<string, string>> {
  const helps = Object.keys(commands).map((name): [string, string] => [name, commandHelp(name)]);
  return Object.fromEntries([...helps, ['', helpText()], ['--version', `${version}\n`]]);
}
