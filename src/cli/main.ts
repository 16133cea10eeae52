import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { endUnwritten, openOutput } from './output';
import { openParts } from './parts';
import type * as textThere from './text-at-once';

/** Words of a command line that may ask for a text. */
const asking: readonly string[] = ['-h', '--help', '--version'];

/** Prints help or the version, for which no command runs. False: the command line asks for something else, and nothing is printed. */
function printAtOnce(args: readonly string[]): boolean {
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

const args = process.argv.slice(2);

/** `mcp` or `mcp FOLDER`, which serves agents: it has a bundle of its own, that no other command loads. */
const isServer = args[0] === 'mcp' && args.length <= 2 && args[1]?.startsWith('-') !== true;

if (isServer) createRequire(__filename)(path.join(__dirname, 'mcp.js'));
else if (!printAtOnce(args)) void import('./run-on-thread');
