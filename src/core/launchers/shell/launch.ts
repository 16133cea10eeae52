import type { Place, TextRange } from '../../domain/located';
import type { Command, Evaluation } from '../../languages/shell/evaluation';
import type { ScriptTexts } from '../../languages/shell/script-texts';
import type { LocatedFlag } from '../tables/located-flag';
import { maximum } from '../../numbers';
import { flagKey, flagWords } from '../megatron/megatron-flags';
import { detectPurpose } from './purpose';
import type { Settings } from './program';
import { removableRange } from '../../languages/shell/whole-flag';
import { flatten, sitePath, sliceRange, wordText, type Element, type FlatWord, type Piece } from '../../languages/shell/words';

/** A flag of the launch command with what its value depends on. */
export interface LaunchFlag extends LocatedFlag {
  readonly pieces: readonly Piece[];
}

export type LaunchFlags = ReadonlyMap<string, LaunchFlag>;

/** Flags of the programs that start the processes, not of Megatron. */
const clusterFlags: ReadonlySet<string> = new Set([
  'nproc-per-node',
  'actor-num-nodes',
  'actor-num-gpus-per-node',
  'nnodes',
  'nodes',
  'num-nodes',
  'num-gpus',
  'gpus-per-node',
  'gres',
  'ntasks',
  'ntasks-per-node',
]);

/** Those of Megatron-LM and its forks. */
const megatronSettings: Settings = { words: flagWords, abbreviable: [...clusterFlags] };

/** Short names that Slurm and MPI have for them. */
const shortFlags: ReadonlyMap<string, string> = new Map([
  ['-N', '--nodes'],
  ['-n', '--ntasks'],
  ['-np', '--ntasks'],
]);

const noShortFlags: ReadonlyMap<string, string> = new Map();

const slurmOrMpi = /(^|\/)(srun|salloc|mpirun|mpiexec|orterun|prun)$/;
const quiet = /^(echo|printf|cat|mkdir|export|cd|rm|cp|mv|ls|source|\.|set|shift|exit|wait|sleep)$/;

/** Far more pieces than the commands of a script have together. */
const maximumSteps = 200_000;

/** The command that starts the processes. */
export interface Launch {
  readonly flags: LaunchFlags;
  /** The program with its path, or the module; null: no command is found, or it is only known when the script runs. */
  readonly program: string | null;
  /** Whether there is such a command; else the flags are those of all lists that the script sets. */
  readonly isCommand: boolean;
  /** Keys of the flags that the program itself takes, not what starts it. */
  readonly own: ReadonlySet<string>;
  /** torchrun starts it, and all that it is given is known. */
  readonly isOfTorchrun: boolean;
  /** Words that are known only at run time and that may be more flags: `"$@"`, `$EXTRA_ARGS`. */
  readonly rest: readonly OpenWord[];
  /** The command itself, where there is one. */
  readonly command?: Command;
  /** Where other commands of the script start training with other settings of the program. */
  readonly others: readonly Place[];
}

interface OpenWord {
  readonly place: Place;
  readonly variable: string;
}

/**
 * The command that starts the training: the one with the most flags of the program. Where there is no such command, the flags in all lists
 * that the script sets.
 */
export function findLaunch(texts: ScriptTexts, { commands, variables }: Evaluation, settings = megatronSettings): Launch {
  const budget = { left: maximumSteps };
  const found: Started[] = [];
  let best: Launch = { flags: new Map(), program: null, isCommand: false, own: new Set(), isOfTorchrun: false, rest: [], others: [] };
  let bestScore = 0;
  let planned: Started | undefined;
  for (const command of commands) {
    if (isQuiet(command)) continue;
    const words = flatten(command.words, budget);
    const flags = readLaunchFlags(texts, words, settings);
    const score = [...flags.keys()].filter((key) => settings.words(key) !== undefined && !clusterFlags.has(key)).length;
    const started = { command, words, flags, score };
    if (score > 0) found.push(started);
    if (score <= bestScore) continue;
    planned = started;
    [best, bestScore] = [{ flags, ...startedProgram(words), isCommand: true, rest: openWords(texts, words), others: [] }, score];
  }
  if (planned !== undefined) return { ...best, command: planned.command, others: otherRuns(texts, found, planned, settings) };
  const lists = [...variables.values()].map(({ value }): Element => ({
    start: 0,
    end: 0,
    parts: [{ kind: 'ref', start: 0, end: 0, quoted: false, value }],
  }));
  const flags = readLaunchFlags(texts, flatten(lists, budget), settings);
  return { flags, program: null, isCommand: false, own: new Set(flags.keys()), isOfTorchrun: false, rest: [], others: [] };
}

interface Started {
  readonly command: Command;
  readonly words: readonly FlatWord[];
  readonly flags: LaunchFlags;
  /** Settings of the program that it gives. */
  readonly score: number;
}

/**
 * Commands that train with other settings than the planned one, and may run where it runs; those with less than half as many settings do
 * something next to it.
 */
function otherRuns(texts: ScriptTexts, found: readonly Started[], planned: Started, settings: Settings): readonly Place[] {
  const most = maximum(found.map(({ score }) => score));
  const runs = new Map([[settingsText(planned.flags, settings), planned.command]]);
  for (const { command, words, flags, score } of found) {
    const text = settingsText(flags, settings);
    const isAlternative = [...runs.values()].some((other) => areExclusive(command, other));
    if (2 * score < most || runs.has(text) || isAlternative || !trains(words)) continue;
    runs.set(text, command);
  }
  return [...runs.values()].flatMap((command) => (command === planned.command ? [] : [texts.placeAt(command)]));
}

/** Whether two commands are in different branches of one statement: at most one of them runs. */
function areExclusive(one: Command, other: Command): boolean {
  return one.branches.some(({ site, index }) => other.branches.some((branch) => branch.site === site && branch.index !== index));
}

/** Settings that the plan depends on, and their values: nodes of one run differ in others. */
export function settingsText(flags: LaunchFlags, settings: Settings): string {
  const known = [...flags].filter(([key]) => settings.words(key) !== undefined && !clusterFlags.has(key));
  return JSON.stringify(known.map(([key, { words }]) => [key, ...words.map(({ text }) => text)]).sort());
}

/** Whether a command starts training: by the program, else by what follows the first word (`swift infer` does not). */
function trains(words: readonly FlatWord[]): boolean {
  const { program, own } = startedProgram(words);
  const named = words.slice(0, 2).map((word) => wordText(word) ?? '$').join('/'); // prettier-ignore
  return (detectPurpose(program ?? named, own) ?? 'training') === 'training';
}

/** Variables that hold flags, by their names. */
const holdsFlags = /^[@*]$|ARG|OPT|PARAM|FLAG|EXTRA|CMD/i;

function openWords(texts: ScriptTexts, words: readonly FlatWord[]): readonly OpenWord[] {
  return words.flatMap((word, index) => {
    const [piece] = word;
    const before = words[index - 1];
    const isValue = before !== undefined && flagHead(before, noShortFlags) !== null;
    if (word.length !== 1 || piece?.variable === undefined || piece.text !== null || isValue || !holdsFlags.test(piece.variable)) return [];
    return [{ place: wordPlace(texts, word), variable: piece.variable }];
  });
}

/** Modules that start other programs. */
const starters = /^(?:torch\.|deepspeed|coverage|accelerate|torchrun|intel_extension|torch_npu|nsys|pdb|debugpy|msrun)/;

/** torchrun, by its name or its module. */
const torchrun = /(?:^|\/)torchrun$|^torch\.distributed\.(?:run|launch)$/;

/** The program that a command starts: its first word that is Python, or the module of `-m` that starts no other; and its own flags. */
function startedProgram(given: readonly FlatWord[]): Pick<Launch, 'program' | 'own' | 'isOfTorchrun'> {
  const flat = given.flatMap((word, index) => (isPython(given, index) ? [word] : commandInWord(word)));
  const words = flat.map((word) => word.map(({ text }) => text ?? '$').join(''));
  const ownFrom = (index: number): ReadonlySet<string> =>
    new Set(flat.slice(index).flatMap((word) => flagKey(flagHead(word, noShortFlags)?.name ?? '') || []));
  const started = (index: number, program: string): ReturnType<typeof startedProgram> => {
    const from = words.findIndex((word) => torchrun.test(word));
    const isOfTorchrun = from !== -1 && from < index && !words.slice(from, index).some((word) => word.includes('$'));
    return { program, own: ownFrom(index), isOfTorchrun };
  };
  for (const [index, word] of words.entries()) {
    if (word.endsWith('.py') && word !== '.py') return started(index, word);
    if (words[index - 1] === '-m' && /^[A-Za-z_][\w.]*$/.test(word) && !starters.test(word))
      return started(index, word.replaceAll('.', '/'));
  }
  return { program: null, own: new Set(), isOfTorchrun: false };
}

function isQuiet({ words }: Command): boolean {
  const part = words[0]?.parts[0];
  return part?.kind === 'text' && part.text !== null && quiet.test(part.text);
}

/**
 * The flag that argparse takes a beginning for. Other flags of a program, which no table has, may begin the same way, so most of the name
 * has to be there.
 */
function fullName(key: string, { words, abbreviable = [] }: Settings): string {
  if (words(key) !== undefined || abbreviable.includes(key)) return key;
  const [only, ...others] = abbreviable.filter((name) => name.startsWith(key) && key.length >= name.length * 0.6);
  return only === undefined || others.length > 0 ? key : only;
}

/** Flags with their words, by key; of a repeated one the last. */
export function readLaunchFlags(texts: ScriptTexts, command: readonly FlatWord[], settings = megatronSettings): LaunchFlags {
  const text = texts.text();
  const words = command
    .flatMap((word, index) => (isPython(command, index) ? [] : commandInWord(word)))
    .map((word) => word.map((piece) => withCondition(texts, piece)));
  const flags = new Map<string, LaunchFlag>();
  const isOfScheduler = words.slice(0, 40).some((word) => slurmOrMpi.test(wordText(word) ?? ''));
  const short = settings.short ?? (isOfScheduler ? shortFlags : noShortFlags);
  for (let index = 0; index < words.length;) {
    const head = overrideHead(words[index] ?? [], settings) ?? flagHead(words[index] ?? [], short);
    if (head === null) {
      index += 1;
      continue;
    }
    const key = fullName(flagKey(head.name), settings);
    const end = head.value === null ? valuesEnd(words, index + 1, settings.words(key)) : index + 1;
    const values = head.value === null ? words.slice(index + 1, end) : [head.value];
    const range = settings.words(key) === undefined ? undefined : removableRange(text, words, index, end);
    const place = wordPlace(texts, head.pieces);
    const given = values.map((word) => ({
      text: wordText(word),
      ...knownPathEnd(word),
      place: word.length === 0 ? place : wordPlace(texts, word),
    }));
    // a fix changes one file: what another one sets is changed there
    const isOwn = given.every((word) => word.place.file === texts.file);
    const whole = range === undefined || !isOwn ? undefined : texts.ownRange(range);
    const pieces = values.length === 0 ? head.pieces : values.flat();
    flags.set(key, {
      name: head.name,
      place,
      words: given,
      pieces,
      ...(whole && { whole }),
      ...([...head.pieces, ...pieces].some(({ condition }) => condition !== undefined) && { isConditional: true as const }),
    });
    index = Math.max(end, index + 1);
  }
  return flags;
}

/** A word that a variable holds, as the value of a setting of its name. */
export function settingOfWord(texts: ScriptTexts, name: string, word: FlatWord): LaunchFlag {
  const pieces = word.map((piece) => withCondition(texts, piece));
  const place = wordPlace(texts, pieces);
  const isConditional = pieces.some(({ condition }) => condition !== undefined);
  return { name, place, words: [{ text: wordText(pieces), place }], pieces, ...(isConditional && { isConditional: true as const }) };
}

/** What follows a folder that only a run knows. */
function knownPathEnd(word: FlatWord): { readonly pathEnd?: string } {
  const hole = word.findLastIndex(({ text }) => text === null);
  const known = word.slice(hole + 1).map(({ text }) => text ?? '').join(''); // prettier-ignore
  return hole !== -1 && known.startsWith('/') ? { pathEnd: `.${known}` } : {};
}

function withCondition(texts: ScriptTexts, piece: Piece): Piece {
  const condition = piece.condition ?? texts.conditionAt(piece);
  return condition === undefined ? piece : { ...piece, condition };
}

interface Head {
  readonly name: string;
  readonly pieces: readonly Piece[];
  /** The part after `=`. */
  readonly value: FlatWord | null;
}

function flagHead(word: FlatWord, short: ReadonlyMap<string, string>): Head | null {
  const hole = word.findIndex(({ text }) => text === null);
  const known = (hole === -1 ? word : word.slice(0, hole)).map(({ text }) => text ?? '').join('');
  const long = hole === -1 ? short.get(known) : undefined;
  if (long !== undefined) return { name: long, pieces: word, value: null };
  const found = /^(--?[A-Za-z][\w.-]*)(=)?/.exec(known);
  const name = found?.[1];
  if (name === undefined || (!name.startsWith('--') && name.length < 4)) return null;
  if (found?.[2] === undefined) return hole === -1 && name === known ? { name, pieces: word, value: null } : null;
  return { name, pieces: slice(word, 0, name.length), value: slice(word, name.length + 1, Infinity) };
}

/** `data.max_length=4096`, as Hydra takes settings; `+` and `++` in front add one. */
function overrideHead(word: FlatWord, { override }: Settings): Head | null {
  if (override === undefined) return null;
  const hole = word.findIndex(({ text }) => text === null);
  const known = (hole === -1 ? word : word.slice(0, hole)).map(({ text }) => text ?? '').join('');
  const name = override.exec(known)?.[1];
  if (name === undefined) return null;
  const start = known.indexOf(name);
  return { name, pieces: slice(word, start, start + name.length), value: slice(word, known.indexOf('=') + 1, Infinity) };
}

/** Characters `from` to `to` of a word. */
function slice(word: FlatWord, from: number, to: number): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const piece of word) {
    const length = piece.text?.length ?? 0;
    const [start, end] = [Math.max(from - at, 0), Math.min(to - at, length)];
    if (piece.text === null ? at >= from : start < end)
      pieces.push({ ...piece, ...sliceRange(piece, piece.text, start, end), text: piece.text?.slice(start, end) ?? null });
    at += length;
  }
  return pieces;
}

function valuesEnd(words: readonly FlatWord[], from: number, arity: ReturnType<typeof flagWords>): number {
  const most = arity === 'none' ? from : arity === 'one' ? from + 1 : words.length;
  let end = from;
  while (end < most && end < words.length && isValue(words[end] ?? [])) end += 1;
  return end;
}

/** Not the next flag, nor the script that follows the launcher's own flags. */
function isValue(word: FlatWord): boolean {
  const text = wordText(word);
  return text === null ? flagHead(word, noShortFlags) === null : !/^--?[A-Za-z]/.test(text) && !text.endsWith('.py');
}

function wordPlace(texts: ScriptTexts, word: FlatWord): Place {
  const [first, last] = [word[0], word.at(-1)];
  return texts.placeAt(first === undefined || last === undefined ? { start: 0, end: 0 } : commonRange(first, last));
}

/** From one piece to another in the innermost text that holds both. */
function commonRange(first: Piece, last: Piece): TextRange {
  if (first.site === last.site && first.start <= last.end) return { start: first.start, end: last.end };
  const [a, b] = [
    [...sitePath(first), first],
    [...sitePath(last), last],
  ];
  const level = a.findIndex((step, index) => step.start !== b[index]?.start || step.end !== b[index].end);
  const [from, to] = [a[level] ?? first, b[level] ?? first];
  return from.start <= to.end ? { start: from.start, end: to.end } : { start: first.start, end: first.end };
}

/** Whether a word is Python that `python -c` runs, whose text is not a command line. */
function isPython(words: readonly FlatWord[], index: number): boolean {
  const [program, option] = [words[index - 2], words[index - 1]].map((word) => (word === undefined ? null : wordText(word)));
  return option === '-c' && /(?:^|\/)python[\d.]*$/.test(program ?? '');
}

/** A quoted word that is a command line of its own, as for `bash -c "torchrun ..."`, taken apart. */
function commandInWord(word: FlatWord): readonly FlatWord[] {
  if (!word.some(({ text }) => text !== null && / --[a-z]/.test(text) && text.length > 40)) return [word];
  const words: Piece[][] = [];
  let open: Piece[] = [];
  for (const piece of word) {
    if (piece.text === null) {
      if (open.length === 0) words.push(open);
      open.push(piece);
      continue;
    }
    for (const match of piece.text.matchAll(/\s+|["']+|[^\s"']+/g)) {
      const [token] = match;
      if (/^\s/.test(token)) open = [];
      if (/^[\s"']/.test(token)) continue;
      if (open.length === 0) words.push(open);
      open.push({
        ...piece,
        ...sliceRange(piece, piece.text, match.index, match.index + token.length),
        text: /[$`]/.test(token) ? null : token,
      });
    }
  }
  return words;
}
