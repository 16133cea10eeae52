import { endUnwritten, openOutput } from './output';
import { openParts } from './parts';
import type * as textThere from './text-at-once';

/** Words of a command line that may ask for a text. */
const asking: readonly string[] = ['-h', '--help', '--version'];

/** Prints help or the version, for which no command runs. False: the command line asks for something else, and nothing is printed. */
export function printAtOnce(args: readonly string[]): boolean {
  if (args[0] !== 'help' && !args.some((arg) => asking.includes(arg))) return false;
  const parts = openParts(__dirname, 'help');
  const { textAtOnce } = parts.load('text-at-once') as typeof textThere;
  const text = textAtOnce(args);
  if (text === null) return false;
  openOutput(endUnwritten).write(text, () => {
    parts.keepCode();
  });
  return true;
}
