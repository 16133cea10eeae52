import type { TextRange } from '../../domain/located';
import { expandText, type Scope } from './expand';
import type { ShellNode } from './parser';
import { flatten, wordText, type Element, type FlatWord, type Part } from './words';

/** Far more pieces than the words of one command have. */
const maximumSteps = 20_000;

const shell = /^(?:\S*\/)?(?:ba|z|da|k)?sh$/;

/** What another shell is given to run, and the words of the command before it. */
interface CommandString {
  readonly parts: readonly Part[];
  readonly range: TextRange;
  readonly starter: readonly Element[];
}

/**
 * The text that `bash -c`, at the end of any command, or `eval` takes; null where there is none, or where it is nothing but the words of
 * one command as the script has them, which are read as they are.
 */
export function commandString(words: readonly Element[]): CommandString | null {
  const first = textIn(words[0]);
  if (first === 'eval') return parseCommandString(words.slice(1), []);
  const at = words.findIndex((word, index) => isCommandOption(textIn(word)) && shell.test(textIn(words[index - 1]) ?? ''));
  return at === -1 ? null : parseCommandString(words.slice(at + 1), words.slice(0, at - 1));
}

/** `-c`, and what people join with it: `-lc`, `-xec`. */
function isCommandOption(text: string | null): boolean {
  return text !== null && /^-[a-z]*c$/.test(text);
}

/** Of `bash -c` the first word counts; what follows it are its arguments, but `"${ARGS[@]}"` in it makes words of its own. */
function parseCommandString(words: readonly Element[], starter: readonly Element[]): CommandString | null {
  const [first, last] = [words[0], words.at(-1)];
  if (first === undefined || last === undefined) return null;
  const pieces = flatten(words, { left: maximumSteps }).flat();
  const isPieced = pieces.length > words.length && pieces.some(({ text }) => text !== null && /\s/.test(text));
  if (!isPieced && !pieces.some(({ text }) => text !== null && /[$`;"'\\\n]|&&|\|\|/.test(text))) return null;
  const parts = words.flatMap(({ parts: own }, index): readonly Part[] => (index === 0 ? own : [blank(own), ...own]));
  return { parts, range: { start: first.start, end: last.end }, starter };
}

/** What joins the words of `eval`. */
function blank(parts: readonly Part[]): Part {
  const at = parts[0]?.start ?? 0;
  return { kind: 'text', start: at, end: at, text: ' ' };
}

/** The file that `source` or `.` takes; null for another command. */
export function sourcePath(
  words: readonly Element[],
): { readonly path: string | null; readonly isWhole: boolean; readonly range: TextRange } | null {
  const [command, word] = words;
  const name = textIn(command);
  if (word === undefined || (name !== 'source' && name !== '.')) return null;
  const [flat] = flatten([word], { left: maximumSteps });
  // `~` in a piece of its own is $HOME, below which a script's own files lie; `~/.bashrc` as written is the shell's.
  const hole = flat?.findLastIndex(({ text }, index) => text === null || (text === '~' && index === 0 && flat.length > 1)) ?? -1;
  const known = (flat ?? []).slice(hole + 1).map(({ text }) => text ?? '').join(''); // prettier-ignore
  const isPath = hole === -1 ? known !== '' : /^\/./.test(known);
  return { path: isPath ? (hole === -1 ? known : known.slice(1)) : null, isWhole: hole === -1, range: word };
}

/** The script that a command runs (`./job.sh`, `bash job.sh`, `srun job.sh`), if it exists by `isThere`; otherwise null. */
export function scriptRun(
  words: readonly Element[],
  isThere: (path: string) => boolean,
): { readonly path: string; readonly range: TextRange; readonly starter: readonly Element[] } | null {
  const at = words.findIndex((word) => isThere(plainPath(textIn(word) ?? '')));
  const word = words[at];
  if (word === undefined || quiet.test(textIn(words[0]) ?? '')) return null;
  const isShell = shell.test(textIn(words[at - 1]) ?? '');
  return { path: plainPath(textIn(word) ?? ''), range: word, starter: words.slice(0, isShell ? at - 1 : at) };
}

/** Commands that take a file and do not run it. */
const quiet = /^(?:cat|chmod|rm|cp|mv|ls|echo|printf|scp|rsync|sed|grep|tee|python3?|head|tail|touch|realpath|dirname)$/;

/** The file that `cat <<EOF > FILE` or `tee FILE <<EOF` writes, as a script of its own could name it; null: none, or it is not known. */
export function pathWritten(scope: Scope, command: ShellNode, redirect: ShellNode | undefined): string | null {
  const [name, word] = command.children;
  const written = name === undefined ? null : expandText(scope, name);
  const target = written === 'tee' ? word : redirect?.children.findLast(({ type }) => type !== 'file_descriptor');
  const path = target === undefined || (written !== 'cat' && written !== 'tee') ? null : expandText(scope, target);
  return path === null ? null : plainPath(path);
}

function plainPath(path: string): string {
  return path.replace(/^(?:\.\/)+/, '');
}

/** The one word that an element evaluates to; null where it is several, or not known. */
function textIn(element: Element | undefined): string | null {
  if (element === undefined || element.parts.length > 8) return null;
  const words: readonly FlatWord[] = flatten([element], { left: 50 });
  const [word] = words;
  return word === undefined || words.length > 1 ? null : wordText(word);
}
