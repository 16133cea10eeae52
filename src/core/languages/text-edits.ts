import type { TextRange } from '../domain/located';

/**
 * The new value as this file writes such values, quotes and capitals kept; null where the text is not a plain value (an expression, a flag
 * that stands for true).
 */
export function rewritten(written: string, old: unknown, value: number | string | boolean): string | null {
  const [, open = '', bare = '', close = ''] = /^(["']?)(.*?)(["']?)$/s.exec(written) ?? [];
  if (open !== close || !standsFor(bare, old)) return null;
  return open + (typeof value === 'boolean' ? booleanLike(bare, value) : String(value)) + close;
}

function standsFor(bare: string, old: unknown): boolean {
  if (typeof old === 'number') return /^[\d_.]+(e\+?\d+)?$/i.test(bare) && Number(bare.replaceAll('_', '')) === old;
  if (typeof old === 'boolean') return /^(true|false|0|1)$/i.test(bare);
  return typeof old === 'string' && /^[\w.-]+$/.test(bare);
}

function booleanLike(bare: string, value: boolean): string {
  if (/^[01]$/.test(bare)) return value ? '1' : '0';
  const word = String(value);
  return /^[A-Z]/.test(bare) ? word.charAt(0).toUpperCase() + word.slice(1) : word;
}

/** A value as it is written; undefined: the setting is missing. */
export type SettingValue = number | string | boolean | readonly (string | readonly string[])[] | undefined;

/** A text with a range replaced. */
export function spliced(text: string, { start, end }: TextRange, newText: string): string {
  return text.slice(0, start) + newText + text.slice(end);
}

/** The line break that a text uses. */
export function detectLineBreak(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

/** Where the line of an offset starts. */
export function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
}

/** Behind the line break of an offset's line, or the end of the text. */
export function lineEnd(text: string, offset: number): number {
  const at = text.indexOf('\n', offset);
  return at === -1 ? text.length : at + 1;
}

/** A value in the place of another: with its quotes and capitals where both are plain values, else as `spelled`. */
export function spellLike(written: string, old: unknown, value: SettingValue, spelled: string): string {
  const like = typeof value === 'object' || value === undefined ? null : rewritten(written, old, value);
  return like ?? spelled;
}
