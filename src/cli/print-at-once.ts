import process from 'node:process';
import { endUnwritten, openOutput } from './output';
import { openParts } from './parts';
import type * as textThere from './text-at-once';

/** Prints help or the version, for which no command runs. False: the command line asks for something else, and nothing is printed. */
function printAtOnce(args: readonly string[]): boolean {
  const parts = openParts(__dirname, 'help');
  const { textAtOnce } = parts.load('text-at-once') as typeof textThere;
  const text = textAtOnce(args);
  if (text === null) return false;
  openOutput(endUnwritten).write(text, () => {
    parts.keepCode();
  });
  return true;
}

if (!printAtOnce(process.argv.slice(2))) void import('./run-on-thread');
