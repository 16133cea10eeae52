import type { TextRange } from '../../domain/located';
import type { YamlEntry } from './document';

/**
 * What to cut out of a YAML text so that an entry is gone and the rest still parses: its lines with their newline, or in a flow mapping the
 * entry with its comma. Comments on other lines stay. Undefined where no such cut is safe: the only entry of a block mapping (its parent
 * would turn null), an entry behind `-` or `?`, one that defines an anchor.
 */
export function entryRemovalRange(text: string, entry: YamlEntry): TextRange | undefined {
  const { start } = entry.keyRange;
  if (/(^|[\s:,[{])&[^\s,[\]{}]/.test(text.slice(start, entry.end))) return undefined;
  return entry.flow ? flowRemoval(text, start, entry.end) : entry.isOnly ? undefined : blockRemoval(text, start, entry.end);
}

function blockRemoval(text: string, keyStart: number, valueEnd: number): TextRange | undefined {
  const start = lineStart(text, keyStart);
  if (
    text
      .slice(start, keyStart)
      .replace(/^\uFEFF/, '')
      .trim() !== ''
  )
    return undefined;
  return {
    start: start + (text.startsWith('\uFEFF', start) ? 1 : 0),
    end: text[valueEnd - 1] === '\n' ? valueEnd : lineEnd(text, valueEnd),
  };
}

function flowRemoval(text: string, keyStart: number, valueEnd: number): TextRange | undefined {
  const comma = /[ \t]*,/y;
  comma.lastIndex = valueEnd;
  const hasComma = comma.test(text);
  if (!hasComma && /^(\s|#[^\n]*\n)*,/.test(text.slice(valueEnd, valueEnd + 1000))) return undefined;
  const end = hasComma ? comma.lastIndex : valueEnd;
  const start = lineStart(text, keyStart);
  const after = /[ \t]*(#[^\n]*)?(\r?\n|$)/y;
  after.lastIndex = end;
  const fillsLines = text.slice(start, keyStart).trim() === '' && after.test(text);
  return fillsLines
    ? { start, end: lineEnd(text, end) }
    : { start: keyStart, end: end + (/^[ \t]*/.exec(text.slice(end, end + 100))?.[0].length ?? 0) };
}

function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
}

function lineEnd(text: string, offset: number): number {
  const newline = text.indexOf('\n', offset);
  return newline < 0 ? text.length : newline + 1;
}
