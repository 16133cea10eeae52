import type { TextRange } from '../../spec/located';
import { flatten, type FlatWord, type Part } from './words';

/** A text put together from pieces of another, such as a here-document with its variables filled in. */
export interface MappedText {
  readonly text: string;
  /** Where a range of it stands in the other one; null when it spans pieces that do not follow each other. */
  readonly sourceOf: (range: TextRange) => TextRange | null;
}

/** Of one here-document. */
const maximumPieces = 5000;

interface Span extends TextRange {
  readonly source: TextRange;
}

/** Fills in what is known; a variable that is not stays as it is written in `text`, in braces. */
export function mappedText(text: string, parts: readonly Part[]): MappedText {
  const words = flatten([{ start: 0, end: 0, parts }], { left: maximumPieces });
  const spans: Span[] = [];
  const pieces: string[] = [];
  let at = 0;
  for (const piece of words.flatMap((word: FlatWord) => word)) {
    const inner = piece.text ?? placeholder(text.slice(piece.start, piece.end));
    spans.push({ start: at, end: at + inner.length, source: { start: piece.start, end: piece.end } });
    pieces.push(inner);
    at += inner.length;
  }
  return { text: pieces.join(''), sourceOf: (range) => sourceOf(spans, range) };
}

function placeholder(written: string): string {
  const name = /^\$\{?(\w+)/.exec(written)?.[1];
  return name === undefined ? written : `\${${name}}`;
}

function sourceOf(spans: readonly Span[], { start, end }: TextRange): TextRange | null {
  const touched = spans.filter((span) => span.start < end && span.end > start);
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
