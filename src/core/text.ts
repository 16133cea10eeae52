/** A position as editors and terminals count it: both from 1, columns in UTF-16 units. */
interface LineColumn {
  readonly line: number;
  readonly column: number;
}

/** Line and column of a UTF-16 offset; an offset past the end is the end. Lines end in LF, CRLF or CR. */
export function lineColumnAt(text: string, offset: number): LineColumn {
  const end = Math.min(Math.max(offset, 0), text.length);
  let line = 1;
  let lineStart = 0;
  for (const match of text.slice(0, end).matchAll(/\r\n|\n|\r/g)) {
    line += 1;
    lineStart = match.index + match[0].length;
  }
  return { line, column: end - lineStart + 1 };
}

/** A text that starts a line: first letter upper case. */
export function capitalised(text: string): string {
  return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}

/**
 * Makes text from outside safe for one line of a terminal or message: control, bidirectional and other invisible characters become escapes.
 */
export function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Text from outside as part of a sentence: in double quotes, printable, cut to `limit` characters. */
export function quoted(text: string, limit = 60): string {
  const cut = text.length > limit ? `${text.slice(0, limit)}…` : text;
  return `"${printable(cut)}"`;
}

/** `a`, `a or b`, `a, b or c`. */
export function orList(items: readonly string[]): string {
  return items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} or ${items.at(-1) ?? ''}`;
}

/** The last part of a path, on whatever system it was written. */
export function baseName(file: string): string {
  return file.split(/[/\\]/).at(-1) ?? file;
}
