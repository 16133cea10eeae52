import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { own } from '../core/records';
import { endUnwritten, openOutput } from './output';

/** Words of a command line that may ask for a text. */
const asking: readonly string[] = ['-h', '--help', '--version'];

/**
 * The text of a command line that asks for nothing else: `--help`, `NAME --help`, `help NAME` or `--version`, as the build wrote it. Null
 * for others, and where the build's file is missing.
 */
function writtenText(args: readonly string[]): string | null {
  const [first = '', second = ''] = args;
  const isHelp = (word: string): boolean => word === '-h' || word === '--help';
  const isName = (word: string): boolean => word !== 'help' && !word.startsWith('-');
  const name =
    args.length === 1 && (first === 'help' || isHelp(first))
      ? ''
      : args.length === 1 && first === '--version'
        ? first
        : args.length === 2 && (first === 'help' || isHelp(second))
          ? [first, second].find(isName)
          : undefined;
  if (name === undefined) return null;
  try {
    const texts = createRequire(__filename)(path.join(__dirname, 'help.js')) as Readonly<Record<string, string>>;
    return own(texts, name) ?? null;
  } catch {
    return null;
  }
}

const args = process.argv.slice(2);

/** `mcp` or `mcp FOLDER`, which serves agents: it has a bundle of its own, that no other command loads. */
const isServer = args[0] === 'mcp' && args.length <= 2 && args[1]?.startsWith('-') !== true;

const text = writtenText(args);
if (text !== null) openOutput(endUnwritten).write(text);
else if (isServer) createRequire(__filename)(path.join(__dirname, 'mcp.js'));
else if (args[0] === 'help' || args.some((arg) => asking.includes(arg))) void import('./print-at-once');
else void import('./run-on-thread');
