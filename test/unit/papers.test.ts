import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'docs/papers.md'), 'utf8');

/** Cells of the rows below a heading. */
function rows(heading: string): string[][] {
  const section = text.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('docs/papers.md', () => {
  it('names a test that exists for every paper that is planned', () => {
    const planned = rows('Planned here');
    assert.ok(planned.length > 10);
    for (const [paper = '', , , command = '', , test = ''] of planned) {
      assert.match(command, /`\w+/, paper);
      const files = [...test.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file);
      assert.ok(files.length > 0, paper);
      for (const file of files) assert.ok(existsSync(join(root, file)), `${paper}: ${file}`);
    }
  });

  it('gives a reason for every other', () => {
    const others = rows('Not here');
    assert.ok(others.length > 5);
    for (const [paper = '', , reason = ''] of others) assert.ok(reason.length > 20, paper);
  });
});
