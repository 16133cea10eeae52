import type { TextRange } from '../../domain/located';

/** A run of characters that are in the text, or a hole (`text` null) that is only known when the script runs. */
export interface TextPart extends TextRange {
  readonly kind: 'text';
  readonly text: string | null;
  /** Variable that nobody sets, where the hole is one. */
  readonly variable?: string;
}

/** The value of a variable where it is used. */
export interface RefPart extends TextRange {
  readonly kind: 'ref';
  readonly quoted: boolean;
  readonly value: Value;
  /** The condition under which the variable has this value, when it is not known. */
  readonly condition?: TextRange;
  /** Entries of an array are one text with blanks between them: `"${A[*]}"`, and `${A[@]}` where no words are made (`X="${A[@]}"`). */
  readonly joined?: true;
}

/** The right side of one assignment. */
interface GroupPart extends TextRange {
  readonly kind: 'group';
  readonly parts: readonly Part[];
}

export type Part = TextPart | RefPart | GroupPart;

/** One word of a command or array as it is written, before variables are expanded and split. */
export interface Element extends TextRange {
  readonly parts: readonly Part[];
}

export type Value =
  { readonly kind: 'scalar'; readonly parts: readonly Part[] } | { readonly kind: 'array'; readonly elements: readonly Element[] };

/** Where a piece is, from the outside in: the word of the command, the `$X` in it, the assignment that gave X its value, ... */
export interface Site extends TextRange {
  readonly kind: 'element' | 'expansion' | 'group';
  readonly outer: Site | null;
}

export interface Piece extends TextRange {
  readonly text: string | null;
  readonly site: Site | null;
  readonly condition: TextRange | undefined;
  readonly variable: string | undefined;
}

/** A word as the command gets it. Never empty. */
export type FlatWord = readonly Piece[];

interface Task {
  readonly part: Part | 'break';
  readonly split: boolean;
  readonly inElement: boolean;
  readonly site: Site | null;
  readonly condition: TextRange | undefined;
}

const wordBreak: Task = { part: 'break', split: false, inElement: false, site: null, condition: undefined };

/** How many pieces may still be visited; counts down. */
interface Budget {
  left: number;
}

/** Sizes, names and paths are short; a longer text counts as unknown. */
const maximumTextSteps = 300;

/**
 * Expands variables and splits words as a shell does; patterns are left unchanged. Variables that double (`A=$B$B`) end where the budget
 * does, with an unknown word.
 */
export function flatten(elements: readonly Element[], budget: Budget): readonly FlatWord[] {
  const words: FlatWord[] = [];
  let word: Piece[] = [];
  const finish = (): void => {
    if (word.length > 0) words.push(word);
    word = [];
  };
  const stack = elementTasks(elements, { split: false, site: null, condition: undefined }).reverse();
  for (let task = stack.pop(); task !== undefined; task = stack.pop()) {
    budget.left -= 1;
    if (budget.left < 0) {
      word.push({ start: 0, end: 0, text: null, site: null, condition: undefined, variable: undefined });
      break;
    }
    const { part } = task;
    if (part === 'break') finish();
    else if (part.kind !== 'text') for (const inner of inside(part, task).reverse()) stack.push(inner);
    else if (part.text === null || !task.split) word.push(slicePiece(part, task));
    else splitInto(part, part.text, task, finish, (piece) => word.push(piece));
  }
  finish();
  return words;
}

function elementTasks(elements: readonly Element[], { split, site, condition }: Pick<Task, 'split' | 'site' | 'condition'>): Task[] {
  return elements.flatMap(({ start, end, parts }, index): Task[] => {
    const inner: Site = { kind: 'element', start, end, outer: site };
    const tasks = parts.map((part) => ({ part, split, inElement: true, site: inner, condition }));
    return index === 0 ? tasks : [wordBreak, ...tasks];
  });
}

function joinedTasks(elements: readonly Element[], { split, site, condition }: Pick<Task, 'split' | 'site' | 'condition'>): Task[] {
  return elements.flatMap(({ start, end, parts }, index): Task[] => {
    const inner: Site = { kind: 'element', start, end, outer: site };
    const blank: TextPart = { kind: 'text', start, end: start, text: ' ' };
    const own = parts.map((part) => ({ part, split, inElement: false, site: inner, condition }));
    return index === 0 ? own : [{ part: blank, split, inElement: false, site: inner, condition }, ...own];
  });
}

function inside(part: RefPart | GroupPart, task: Task): Task[] {
  if (part.kind === 'group') {
    const site: Site = { kind: 'group', start: part.start, end: part.end, outer: task.site };
    return part.parts.map((inner) => ({ ...task, part: inner, inElement: false, site }));
  }
  const site: Site = { kind: 'expansion', start: part.start, end: part.end, outer: task.site };
  const condition = part.condition ?? task.condition;
  const split = task.split || (task.inElement && !part.quoted);
  if (part.value.kind === 'array' && part.joined === true) return joinedTasks(part.value.elements, { split, site, condition });
  if (part.value.kind === 'array') return elementTasks(part.value.elements, { split, site, condition });
  return part.value.parts.map((inner) => ({ part: inner, split, inElement: false, site, condition }));
}

// Called for each piece of each word: copying three objects into one was a fifth of the time of a long script.
function slicePiece(part: TextPart, { site, condition }: Task, from = 0, to = part.text?.length ?? 0): Piece {
  const { text, variable } = part;
  const { start, end } = sliceRange(part, text, from, to);
  return { start, end, text: text?.slice(from, to) ?? null, site, condition, variable };
}

function splitInto(part: TextPart, text: string, task: Task, finish: () => void, add: (piece: Piece) => void): void {
  let at = 0;
  for (const match of text.matchAll(/\s+|\S+/g)) {
    if (/^\s/.test(match[0])) finish();
    else add(slicePiece(part, task, at, at + match[0].length));
    at += match[0].length;
  }
}

/** Where a part of a text is: exact where characters and source agree, else the whole. */
export function sliceRange({ start, end }: TextRange, text: string | null, from: number, to: number): TextRange {
  return text?.length === end - start ? { start: start + from, end: start + to } : { start, end };
}

/** The text of a word; null where a part of it is not known. */
export function wordText(word: FlatWord): string | null {
  return word.some(({ text }) => text === null) ? null : word.map(({ text }) => text ?? '').join('');
}

/** The text of a value as `"$X"` gives it; null where it is not known. */
export function valueText(value: Value): string | null {
  const words = flatten([{ start: 0, end: 0, parts: [{ kind: 'ref', start: 0, end: 0, quoted: true, value }] }], {
    left: maximumTextSteps,
  }).map(wordText);
  return words.includes(null) ? null : words.join(' ');
}

/** The sites of a piece from the outside in. */
export function sitePath(piece: Piece): readonly Site[] {
  const path: Site[] = [];
  for (let { site } = piece; site !== null; site = site.outer) path.push(site);
  return path.reverse();
}

/**
 * The words of a file of arguments: quotes group, `#` starts a comment, a backslash at the end of a line means nothing. `$X` is known to
 * nobody.
 */
export function argumentWords(text: string): readonly FlatWord[] {
  const words: FlatWord[] = [];
  for (const match of text.matchAll(/#[^\n]*|"[^"\n]*"|'[^'\n]*'|(?:[^\s"'#]|(?<=\S)#)+(?:"[^"\n]*"|'[^'\n]*')?|["']/g)) {
    const [token] = match;
    if (/^(#|\\$|["']$)/.test(token)) continue;
    words.push(argumentWord(token, match.index));
  }
  return words;
}

function argumentWord(token: string, start: number): FlatWord {
  const site: Site = { kind: 'element', start, end: start + token.length, outer: null };
  const pieces: Piece[] = [];
  for (const match of token.matchAll(/[^"']+/g)) {
    const text = /[$`]/.test(match[0]) ? null : match[0];
    pieces.push({
      text,
      start: start + match.index,
      end: start + match.index + match[0].length,
      site,
      condition: undefined,
      variable: undefined,
    });
  }
  return pieces.length > 0 ? pieces : [{ text: '', start, end: start + token.length, site, condition: undefined, variable: undefined }];
}
