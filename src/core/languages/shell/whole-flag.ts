import type { TextRange } from '../../domain/located';
import { sitePath, type FlatWord, type Piece, type Site } from './words';

type Step = TextRange & { readonly kind: Site['kind'] | 'literal' };

/**
 * What to cut out of a text to remove words `from` to `to` (exclusive) of a command: in the one array, string or command where they all
 * are.
 * Undefined where they come from different places, or where something else would go with them.
 */
export function removableRange(text: string, words: readonly FlatWord[], from: number, to: number): TextRange | undefined {
  const paths = words.slice(from, to).flatMap((word) => word.map(pieceSteps));
  const first = paths[0];
  if (first === undefined) return undefined;
  const level = deepestCommonLevel(paths, [words[from - 1]?.at(-1), words[to]?.[0]]);
  const start = first[level];
  const ends = paths.map((path) => path[level]?.end ?? NaN);
  const isApart = start === undefined || paths.some((path) => path[level]?.kind === 'group') || start.kind === 'expansion';
  if (isApart || ends.some((end, index) => !(end >= start.start && end >= (ends[index - 1] ?? 0)))) return undefined;
  const range = withQuotes(text, { start: start.start, end: ends.at(-1) ?? NaN });
  if (range === undefined) return undefined;
  const neighbours = [words[from - 1]?.at(-1), words[to]?.[0]].map((piece) => (piece === undefined ? undefined : pieceSteps(piece)[level]));
  if (neighbours.some((step) => step !== undefined && step.kind !== 'literal' && paths.some((path) => same(path[level], step))))
    return undefined;
  return withSpaces(text, range);
}

/**
 * With the quote that opens again after the last word, where its value ends a quoted string for itself: `"... --flag "6,4" ..."`. Undefined
 * where a quote would stay without its other one.
 */
function withQuotes(text: string, { start, end }: TextRange): TextRange | undefined {
  const quotes =
    text
      .slice(start, end)
      .match(/\\.|"/gs)
      ?.filter((quote) => quote === '"').length ?? 0;
  if (quotes % 2 === 0) return { start, end };
  return text[end] === '"' ? { start, end: end + 1 } : undefined;
}

/**
 * The deepest level at which the pieces are siblings; one up where the element around them holds nothing else, so that no empty quotes are
 * left.
 */
function deepestCommonLevel(paths: readonly (readonly Step[])[], neighbours: readonly (Piece | undefined)[]): number {
  const [first = [], ...rest] = paths;
  let level = 0;
  while (level < first.length - 1 && rest.every((path) => level < path.length - 1 && same(path[level], first[level]))) level += 1;
  const around = first[level - 1];
  const isShared = neighbours.some((piece) => piece !== undefined && same(pieceSteps(piece)[level - 1], around));
  return around?.kind === 'element' && !isShared ? level - 1 : level;
}

function pieceSteps(piece: Piece): readonly Step[] {
  return [...sitePath(piece), { kind: 'literal', start: piece.start, end: piece.end }];
}

function same(a: Step | undefined, b: Step | undefined): boolean {
  return a !== undefined && a.kind === b?.kind && a.start === b.start && a.end === b.end;
}

/**
 * Takes the blanks before along, or the line where nothing else is on it. The continuation of the line before stays valid, and so do
 * comments.
 */
function withSpaces(text: string, { start, end }: TextRange): TextRange {
  const before = spacesBefore(text, start);
  const continued = /[ \t]*(?:\\\r?\n[ \t]*)+$/.exec(text.slice(Math.max(0, before - 400), start));
  const isFirst = continued === null ? undefined : text[start - continued[0].length - 1];
  if (continued !== null && isFirst !== '"' && isFirst !== "'") return { start: start - continued[0].length, end };
  const isLineStart = before === 0 || text[before - 1] === '\n';
  if (isLineStart || continued !== null) {
    const rest = /^[ \t]*\\?(?:\r?\n|$)/.exec(text.slice(end, end + 400));
    if (rest !== null) return { start: before, end: end + rest[0].length };
    return { start, end: end + spacesAfter(text, end) };
  }
  return before < start ? { start: before, end } : { start, end: end + spacesAfter(text, end) };
}

function spacesBefore(text: string, offset: number): number {
  let at = offset;
  while (at > 0 && (text[at - 1] === ' ' || text[at - 1] === '\t')) at -= 1;
  return at;
}

function spacesAfter(text: string, offset: number): number {
  return /^[ \t]*/.exec(text.slice(offset, offset + 400))?.[0].length ?? 0;
}
