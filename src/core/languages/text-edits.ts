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

/**
 * A value replaced where it is, and with it the count that a remark behind it repeats: `8  # 8-way TP`.
 * @param old the value that is replaced.
 */
export function splicedWithRemark(text: string, range: TextRange, old: unknown, newText: string): string {
  const end = lineEnd(text, range.end);
  const rest = text.slice(range.end, end);
  const [, value = ''] = /^["']?(\d+)["']?$/.exec(newText) ?? [];
  const isCount = typeof old === 'number' && value !== '' && /^["']?[ \t]*,?[ \t]*#/.test(rest);
  const remark = isCount ? rest.replace(new RegExp(`(?<![\\w.])${old}(?=-way\\b)`), value) : rest;
  return text.slice(0, range.start) + newText + remark + text.slice(end);
}

/** Names of settings that are written next to each other, of the layout also those that no other family has. */
const layoutNames = /parallel|pipeline|pipe.|virtual/;
const families = [
  /recompute|activations?.checkpoint|checkpoint.(activations|num.layers)|selective.ac/,
  /batch|accumulation.steps/,
  layoutNames,
] as const;

/**
 * The setting that a new one is best written after: of the same family the one whose name shares the most words with the new name, the
 * last of several. Null where there is none of its family.
 */
export function nearestSetting<Setting>(name: string, settings: readonly Setting[], toName: (setting: Setting) => string): Setting | null {
  const words = (text: string): readonly string[] => text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const own = new Set(words(name));
  const family = families.find((names) => names.test(name)) ?? layoutNames;
  const shared = (setting: Setting): number => words(toName(setting)).filter((word) => own.has(word)).length;
  return settings
    .filter((setting) => family.test(toName(setting)))
    .reduce<Setting | null>((best, setting) => (best === null || shared(setting) >= shared(best) ? setting : best), null);
}
