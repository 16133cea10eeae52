import type { Finding } from '../../core/findings';
import { formatCount } from '../../core/format';
import { toCsvFinding, problemOfFile } from '../../core/schedules/pytorch-csv/problems';
import { sentence } from '../../core/sentence';

/**
 * The most cells and characters (UTF-16 units) of a schedule file that the editor draws: its timeline takes 33 bytes a cell in the
 * extension host, which all extensions share. The terminal reads larger files.
 */
export const maximumDrawnCells = 1_000_000;
export const maximumDrawnSize = 16 * 2 ** 20;

/** Why a schedule file is too large to be drawn in the editor; null where it is not. @param file its identity. */
export function tooLargeToDraw(text: string, file: string): Finding | null {
  const what =
    text.length > maximumDrawnSize
      ? `${formatCount(maximumDrawnSize)} characters`
      : countCells(text) > maximumDrawnCells
        ? `${formatCount(maximumDrawnCells)} cells`
        : null;
  if (what === null) return null;
  const message = sentence`The file has more than ${what}, the most that the editor draws`;
  return toCsvFinding(problemOfFile(text, 'too-large', message, sentence`check it on the terminal, or write a shorter schedule`), file);
}

/** Counts cells without making an object for each; what follows the last line break is not one. */
function countCells(text: string): number {
  let separators = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === comma || code === lineFeed || (code === carriageReturn && text.charCodeAt(at + 1) !== lineFeed)) separators += 1;
  }
  return separators + (text.endsWith('\n') || text.endsWith('\r') ? 0 : 1);
}

const [comma, lineFeed, carriageReturn] = [44, 10, 13];
