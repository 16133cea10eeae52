import { diffArrays, FILE_HEADERS_ONLY, formatPatch, structuredPatch } from 'diff';
import type { TextEdit } from '../findings';

/** Lines shown around a change. */
const context = 3;

/** Lines of a text with their line breaks. */
export function splitLines(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/**
 * The edits that turn one text of a file into another: one for each group of changed lines, cut down to the characters that differ. They do
 * not touch each other.
 */
export function editsBetween(file: string, before: string, after: string): readonly TextEdit[] {
  const edits: TextEdit[] = [];
  let [at, old, next] = [0, '', ''];
  const close = () => {
    if (old !== '' || next !== '') edits.push(editBetween(file, at, old, next));
    [at, old, next] = [at + old.length, '', ''];
  };
  for (const { added, removed, value } of diffArrays([...splitLines(before)], [...splitLines(after)])) {
    const text = value.join('');
    if (removed) old += text;
    else if (added) next += text;
    else {
      close();
      at += text.length;
    }
  }
  close();
  return edits;
}

/** The edit that turns the `old` text at an offset into the `next` one; only the characters that differ. */
function editBetween(file: string, at: number, old: string, next: string): TextEdit {
  const shorter = Math.min(old.length, next.length);
  let head = 0;
  while (head < shorter && old[head] === next[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old[old.length - 1 - tail] === next[next.length - 1 - tail]) tail += 1;
  const start = at + head;
  return { place: { file, range: { start, end: at + old.length - tail } }, newText: next.slice(head, next.length - tail) };
}

/** The difference as `diff -u` and `patch` know it; empty for equal texts. Names are printed as they are: make them safe first. */
export function unifiedDiff(before: string, after: string, beforeName: string, afterName: string): string {
  const patch = structuredPatch(beforeName, afterName, before, after, undefined, undefined, { context });
  return patch.hunks.length === 0 ? '' : formatPatch(patch, FILE_HEADERS_ONLY);
}
