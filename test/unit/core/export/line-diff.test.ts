import assert from 'node:assert/strict';
import fc from 'fast-check';
import { editsBetween, splitLines, unifiedDiff } from '../../../../src/core/export/line-diff';

const texts = fc.array(fc.constantFrom('a\n', 'b\n', 'c\r\n', '\n', 'é🦜\n', 'end'), { maxLength: 40 }).map((lines) => lines.join(''));

/** As `patch` does, every line of context checked. */
function patched(before: string, diff: string): string {
  const lines = splitLines(before);
  const shown = splitLines(diff).slice(2);
  const out: string[] = [];
  let at = 0;
  for (const [index, line] of shown.entries()) {
    const isLast = shown[index + 1]?.startsWith('\\') === true;
    const text = isLast ? line.slice(1, -1) : line.slice(1);
    const start = /^@@ -(\d+)(,0)?/.exec(line);
    if (start !== null) {
      const from = Number(start[1]) - (start[2] === undefined ? 1 : 0);
      out.push(...lines.slice(at, from));
      at = from;
    } else if (line.startsWith('+')) out.push(text);
    else if (!line.startsWith('\\')) {
      assert.equal(lines[at], text);
      if (line.startsWith(' ')) out.push(text);
      at += 1;
    }
  }
  return [...out, ...lines.slice(at)].join('');
}

/** Lines that two texts have in common in order, by the textbook's table. */
function commonLines(a: readonly string[], b: readonly string[]): number {
  let row = new Array<number>(b.length + 1).fill(0);
  for (const line of a) {
    const next = [0];
    for (const [index, other] of b.entries()) next.push(line === other ? row[index]! + 1 : Math.max(row[index + 1]!, next[index]!));
    row = next;
  }
  return row[b.length]!;
}

describe('difference of two texts', () => {
  it('keeps as many lines as can be kept', () => {
    fc.assert(
      fc.property(texts, texts, (before, after) => {
        const kept = splitLines(before).length - splitLines(unifiedDiff(before, after, 'a', 'b')).filter((line, index) => index > 1 && line.startsWith('-')).length; // prettier-ignore
        assert.equal(kept, commonLines(splitLines(before), splitLines(after)));
      }),
      { seed: 3, numRuns: 500 },
    );
  });

  it('as edits gives the other text, as a patch too', () => {
    fc.assert(
      fc.property(texts, texts, (before, after) => {
        const edits = [...editsBetween('f', before, after)];
        let end = -1;
        for (const { place } of edits) {
          assert.ok(place.range.start > end || end === -1, 'edits touch');
          end = place.range.end;
        }
        const edited = edits.reduceRight(
          (text, { place: { range }, newText }) => text.slice(0, range.start) + newText + text.slice(range.end),
          before,
        );
        assert.equal(edited, after);
        const diff = unifiedDiff(before, after, 'a', 'b');
        assert.equal(before === after ? '' : diff.slice(0, 14), before === after ? diff : '--- a\n+++ b\n@@');
        assert.equal(patched(before, diff), after);
      }),
      { seed: 4, numRuns: 500 },
    );
  });
});
