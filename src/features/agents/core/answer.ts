import { printable } from '../../../core/text';
import type { ToolAnswer } from './tool';

/** Tokens of an answer, its text and its data together. */
export const mostTokens = 1500;

/** Tokens that a model counts in a text, as an upper estimate: digits by three, words by five letters, each other sign by itself. */
export function countTokens(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(/[A-Za-z]+|\d+|[^\sA-Za-z\d]|\n/g)) {
    const per = /^\d/.test(piece) ? 3 : 5;
    tokens += Math.ceil(piece.length / per);
  }
  return tokens;
}

/**
 * An answer within `mostTokens`: lines are in the order of their weight, and the last ones are left out where they are too many, which the
 * answer reports.
 */
export function boundedAnswer(lines: readonly (string | null)[], data: ToolAnswer['data']): ToolAnswer {
  const shown = lines.filter((line): line is string => line !== null && line !== '').map(tidy);
  const room = mostTokens - countTokens(JSON.stringify(data)) - 30;
  const kept: string[] = [];
  let tokens = 0;
  for (const line of shown) {
    tokens += countTokens(line) + 1;
    if (tokens > room) break;
    kept.push(line);
  }
  const left = shown.length - kept.length;
  if (left > 0) kept.push(`${left} more lines are left out: ask about one part, or run terapipe with --all or --json.`);
  return { text: kept.join('\n'), data };
}

/** One line, whose sentences end with one full stop. */
function tidy(line: string): string {
  return printable(line.replaceAll(/\s*\\?\n\s*/g, ' '))
    .replaceAll(/\.\.(?=\s|$)/g, '.')
    .replaceAll(/\?\.(?=\s|$)/g, '?');
}

/** A list cut to its first entries. */
export function few<T>(items: readonly T[], most: number): readonly T[] {
  return items.slice(0, most);
}

/** Four significant digits: data is read by models, for whom more are only tokens. */
export function rounded(value: number, digits = 4): number {
  return Number.isFinite(value) ? Number(value.toPrecision(digits)) : value;
}

/** GiB with two decimals. */
export function gib(bytes: number): number {
  return Math.round((bytes / 2 ** 30) * 100) / 100;
}
