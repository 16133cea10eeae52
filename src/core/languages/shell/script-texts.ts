import type { Place, TextRange } from '../../domain/located';

/**
 * The texts that a script is made of, joined end to end so that one offset names one character: its own first, then what it sources, hands
 * to another shell, or writes to a file that it runs.
 */
export interface ScriptTexts {
  /** The script's own file. */
  readonly file: string;
  /** All of them; grows with `add`. */
  readonly text: () => string;
  /**
   * Adds a text and gives its start; null where they would become too many or too long.
   * @param fallback where the statement is that brings it in.
   */
  readonly add: (text: string, origin: Origin, fallback: Place) => number | null;
  /** Where a range is in its file. */
  readonly placeAt: (range: TextRange) => Place;
  /** The condition under which a text that was put together is so at a range, where it is known only at run time. */
  readonly conditionAt: (range: TextRange) => TextRange | undefined;
  /** The range in the script's own file, if the text is the same there apart from continued lines, so that it can be cut out. */
  readonly ownRange: (range: TextRange) => TextRange | undefined;
}

/** Where a text comes from, by ranges of its own. */
export interface Origin {
  /** Null where it was put together of pieces that do not follow each other. */
  readonly placeInFile: (range: TextRange) => Place | null;
  readonly conditionAt?: (range: TextRange) => TextRange | undefined;
}

interface Part extends TextRange, Origin {
  readonly fallback: Place;
}

/** All texts that a script is made of together. */
const maximumLength = 8_000_000;
const maximumParts = 200;

/** The texts of a script, so far only its own. */
export function scriptTexts(file: string, own: string): ScriptTexts {
  let all = own;
  const inOwn = (range: TextRange): Place => ({ file, range });
  const first: Part = { start: 0, end: own.length, placeInFile: inOwn, fallback: inOwn({ start: 0, end: 0 }) };
  const parts = [first];
  const partAt = (offset: number): Part => parts.findLast(({ start }) => start <= offset) ?? first;
  return {
    file,
    text: () => all,
    add: (text, origin, fallback) => {
      const start = all.length + 1;
      if (start + text.length > maximumLength || parts.length >= maximumParts) return null;
      all += `\n${text}`;
      parts.push({ ...origin, start, end: start + text.length, fallback });
      return start;
    },
    placeAt: (range) => {
      const part = partAt(range.start);
      const end = Math.max(Math.min(range.end, part.end), range.start);
      return part.placeInFile({ start: range.start - part.start, end: end - part.start }) ?? part.fallback;
    },
    conditionAt: ({ start, end }) => {
      const part = partAt(start);
      return part.conditionAt?.({ start: start - part.start, end: end - part.start });
    },
    ownRange: ({ start, end }) => {
      const part = partAt(start);
      const place = end > part.end ? null : part.placeInFile({ start: start - part.start, end: end - part.start });
      if (place?.file !== file) return undefined;
      const [written, meant] = [own.slice(place.range.start, place.range.end), all.slice(start, end)];
      // within quotes a line that is continued is one with the next
      return written === meant || written.replace(/\\\r?\n/g, '') === meant ? place.range : undefined;
    },
  };
}
