import type { TextEdit } from '../findings';

/** Lines `before` to `beforeEnd` of one text that became lines `after` to `afterEnd` of another; from 0, ends exclusive. */
export interface Hunk {
  readonly before: number;
  readonly beforeEnd: number;
  readonly after: number;
  readonly afterEnd: number;
}

/** More differing lines than this are one hunk: the files are not versions of each other. */
const maximumDifferences = 2000;

/** Where two lists of lines differ: the fewest lines, by Myers' greedy algorithm. */
export function diffLines(before: readonly string[], after: readonly string[]): readonly Hunk[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let tail = 0;
  const shorter = Math.min(before.length, after.length) - start;
  while (tail < shorter && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const [a, b] = [before.slice(start, before.length - tail), after.slice(start, after.length - tail)];
  const matched = matches(a, b);
  const hunks: Hunk[] = [];
  let [x, y] = [0, 0];
  for (const [nextX, nextY] of [...matched, [a.length, b.length] as const]) {
    if (nextX > x || nextY > y) hunks.push({ before: start + x, beforeEnd: start + nextX, after: start + y, afterEnd: start + nextY });
    [x, y] = [nextX + 1, nextY + 1];
  }
  return hunks;
}

/** Pairs of equal lines in order. */
function matches(a: readonly string[], b: readonly string[]): readonly (readonly [number, number])[] {
  const most = Math.min(a.length + b.length, maximumDifferences);
  const furthest = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  for (let distance = 0; distance <= most; distance += 1) {
    trace.push(new Map(furthest));
    for (let diagonal = -distance; diagonal <= distance; diagonal += 2) {
      let x = stepsDown(furthest, diagonal, distance) ? (furthest.get(diagonal + 1) ?? 0) : (furthest.get(diagonal - 1) ?? 0) + 1;
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x += 1;
      furthest.set(diagonal, x);
      if (x >= a.length && x - diagonal >= b.length) return backtracked(trace, a.length, b.length);
    }
  }
  return [];
}

function stepsDown(furthest: ReadonlyMap<number, number>, diagonal: number, distance: number): boolean {
  return diagonal === -distance || (diagonal !== distance && (furthest.get(diagonal - 1) ?? 0) < (furthest.get(diagonal + 1) ?? 0));
}

function backtracked(trace: readonly ReadonlyMap<number, number>[], endX: number, endY: number): readonly (readonly [number, number])[] {
  const pairs: (readonly [number, number])[] = [];
  let [x, y] = [endX, endY];
  for (let distance = trace.length - 1; distance >= 0; distance -= 1) {
    const furthest = trace[distance] ?? new Map<number, number>();
    const diagonal = x - y;
    const previous = stepsDown(furthest, diagonal, distance) ? diagonal + 1 : diagonal - 1;
    const previousX = distance === 0 ? 0 : (furthest.get(previous) ?? 0);
    const previousY = distance === 0 ? 0 : previousX - previous;
    while (x > previousX && y > previousY) {
      x -= 1;
      y -= 1;
      pairs.push([x, y]);
    }
    [x, y] = [previousX, previousY];
  }
  return pairs.reverse();
}

/** Lines of a text with their line breaks. */
export function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The edits that turn one text of a file into another: one for each group of changed lines, cut down to the characters that differ. They do not touch each other. */
export function editsBetween(file: string, before: string, after: string): readonly TextEdit[] {
  const [oldLines, newLines] = [linesOf(before), linesOf(after)];
  const offsets = [0];
  for (const line of oldLines) offsets.push((offsets.at(-1) ?? 0) + line.length);
  return diffLines(oldLines, newLines).map((hunk) => {
    const old = oldLines.slice(hunk.before, hunk.beforeEnd).join('');
    const next = newLines.slice(hunk.after, hunk.afterEnd).join('');
    const shorter = Math.min(old.length, next.length);
    let head = 0;
    while (head < shorter && old[head] === next[head]) head += 1;
    let tail = 0;
    while (tail < shorter - head && old[old.length - 1 - tail] === next[next.length - 1 - tail]) tail += 1;
    const start = (offsets[hunk.before] ?? 0) + head;
    return { place: { file, range: { start, end: start + old.length - head - tail } }, newText: next.slice(head, next.length - tail) };
  });
}

/** Lines shown around a change. */
const context = 3;

/** The difference as `diff -u` and `patch` know it; empty for equal texts. Names are printed as they are: make them safe first. */
export function unifiedDiff(before: string, after: string, beforeName: string, afterName: string): string {
  const [oldLines, newLines] = [linesOf(before), linesOf(after)];
  const groups: Hunk[][] = [];
  for (const hunk of diffLines(oldLines, newLines)) {
    const last = groups.at(-1);
    if (last !== undefined && hunk.before - (last.at(-1)?.beforeEnd ?? 0) <= 2 * context) last.push(hunk);
    else groups.push([hunk]);
  }
  if (groups.length === 0) return '';
  return [`--- ${beforeName}\n+++ ${afterName}\n`, ...groups.map((group) => groupText(group, oldLines, newLines))].join('');
}

function groupText(group: readonly Hunk[], oldLines: readonly string[], newLines: readonly string[]): string {
  const [first, last] = [group[0], group.at(-1)];
  if (first === undefined || last === undefined) return '';
  const before = Math.min(context, first.before);
  const after = Math.min(context, oldLines.length - last.beforeEnd);
  const lines: string[] = [];
  let at = first.before - before;
  for (const hunk of group) {
    lines.push(...oldLines.slice(at, hunk.before).map((line) => ` ${line}`));
    lines.push(...oldLines.slice(hunk.before, hunk.beforeEnd).map((line) => `-${line}`));
    lines.push(...newLines.slice(hunk.after, hunk.afterEnd).map((line) => `+${line}`));
    at = hunk.beforeEnd;
  }
  lines.push(...oldLines.slice(at, at + after).map((line) => ` ${line}`));
  const range = (start: number, count: number): string => `${count === 0 ? start : start + 1}${count === 1 ? '' : `,${count}`}`;
  const oldRange = range(first.before - before, last.beforeEnd + after - (first.before - before));
  const newRange = range(first.after - before, last.afterEnd + after - (first.after - before));
  return `@@ -${oldRange} +${newRange} @@\n${lines.map((line) => (line.endsWith('\n') ? line : `${line}\n\\ No newline at end of file\n`)).join('')}`;
}
