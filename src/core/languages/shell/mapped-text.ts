import type { TextRange } from '../../domain/located';
import { flatten, type FlatWord, type Part, type Piece } from './words';

/** A text put together from pieces of another, such as a here-document with its variables filled in. */
interface MappedText {
  readonly text: string;
  /** Where a range of it is in the other one; null when it spans pieces that do not follow each other. */
  readonly sourceRange: (range: TextRange) => TextRange | null;
  /** The condition under which a range of it is so, where it is known only at run time. */
  readonly conditionAt: (range: TextRange) => TextRange | undefined;
}

/** Of one here-document. */
const maximumPieces = 5000;

interface Span extends TextRange {
  readonly source: TextRange;
  readonly condition: TextRange | undefined;
}

/** Fills in what is known; a variable that is not stays as it is written in `text`, in braces. */
export function mappedText(text: string, parts: readonly Part[]): MappedText {
  const words = flatten([{ start: 0, end: 0, parts }], { left: maximumPieces });
  const spans: Span[] = [];
  const pieces: string[] = [];
  let at = 0;
  for (const piece of joined(words)) {
    const inner = piece.text ?? placeholder(text.slice(piece.start, piece.end));
    spans.push({ start: at, end: at + inner.length, source: { start: piece.start, end: piece.end }, condition: piece.condition });
    pieces.push(inner);
    at += inner.length;
  }
  return {
    text: pieces.join(''),
    sourceRange: (range) => sourceRange(spans, range),
    conditionAt: (range) => touchedBy(spans, range).find(({ condition }) => condition !== undefined)?.condition,
  };
}

/** The pieces of words with a blank between two words, as an array in quotes has. */
function joined(words: readonly FlatWord[]): readonly Piece[] {
  return words.flatMap((word, index): readonly Piece[] => {
    const [first] = word;
    return index === 0 || first === undefined ? word : [{ ...first, start: first.start, end: first.start, text: ' ' }, ...word];
  });
}

function placeholder(written: string): string {
  const name = /^\$\{?(\w+)/.exec(written)?.[1];
  return name === undefined ? written : `\${${name}}`;
}

function touchedBy(spans: readonly Span[], { start, end }: TextRange): readonly Span[] {
  return spans.filter((span) => span.start < end && span.end > start);
}

function sourceRange(spans: readonly Span[], { start, end }: TextRange): TextRange | null {
  const touched = touchedBy(spans, { start, end });
  const [first, last] = [touched[0], touched.at(-1)];
  if (first === undefined || last === undefined) return null;
  const from = exact(first) ? first.source.start + Math.max(start - first.start, 0) : first.source.start;
  const to = exact(last) ? last.source.end - Math.max(last.end - end, 0) : last.source.end;
  const isOrdered = touched.every((span, index) => index === 0 || span.source.start >= (touched[index - 1]?.source.end ?? 0));
  return isOrdered ? { start: from, end: to } : null;
}

function exact({ start, end, source }: Span): boolean {
  return end - start === source.end - source.start;
}
