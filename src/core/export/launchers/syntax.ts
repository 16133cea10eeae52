import type { FactName, LauncherFile } from '../../formats/facts';
import { rewritten } from '../../rules/fixes';
import type { TextRange } from '../../domain/located';
import type { SettingEdit, SettingValue } from './desired-setting';

/** How settings are written in one kind of file. */
export interface Syntax {
  /** Settings that are there with a value that only a run (or whoever fills a template) knows, as written. */
  readonly open: (launcher: LauncherFile) => ReadonlyMap<FactName, string>;
  /**
   * Texts of the file with one setting written, best first; empty where there is no place for it. Unchecked: the caller reads them back.
   */
  readonly edit: (launcher: LauncherFile, edit: SettingEdit) => readonly string[];
}

/** A text with a range replaced. */
export function spliced(text: string, { start, end }: TextRange, newText: string): string {
  return text.slice(0, start) + newText + text.slice(end);
}

/** The line break that a text uses. */
export function lineBreakOf(text: string): string {
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

/** A value in the place of another: with its quotes and capitals where both are plain values, else as `spelled` says. */
export function inPlaceOf(written: string, old: unknown, value: SettingValue, spelled: string): string {
  const like = typeof value === 'object' || value === undefined ? null : rewritten(written, old, value);
  return like ?? spelled;
}
