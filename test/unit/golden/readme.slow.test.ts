import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { accuracyClaims, accuracyTable, cellsOf, readmeTable, tableIn, terapipeTable } from '../../golden/readme-table';

const read = (file: string): string => readFileSync(path.join(import.meta.dirname, '../../..', file), 'utf8');
const accuracy = read('docs/accuracy.md');

describe('README and docs/accuracy.md (npm run golden -- --write-readme writes their tables)', () => {
  /** All but the rule below the header, whose width a formatter chooses. */
  const rowsOf = (lines: readonly string[]): string[][] => lines.filter((_, index) => index !== 1).map(cellsOf);

  it('shows the mean and worst error of every set of measured runs as they are now', () => {
    const now = accuracyTable();
    assert.equal(now.length, 2 + 9);
    assert.deepEqual(rowsOf(tableIn(accuracy, now)), rowsOf(now));
  });

  it('shows some of them in README', () => {
    const now = readmeTable();
    assert.equal(now.length, 2 + 5);
    assert.deepEqual(rowsOf(tableIn(read('README.md'), now)), rowsOf(now));
  });

  it('shows the predictions of the ten TeraPipe settings as they are now', () => {
    const now = terapipeTable();
    assert.equal(now.length, 2 + 10);
    assert.deepEqual(rowsOf(tableIn(accuracy, now)), rowsOf(now));
  });

  it('names the errors of single groups as they are now', () => {
    const text = accuracy.replace(/\s+/g, ' ');
    for (const claim of accuracyClaims()) assert.ok(text.includes(claim), claim);
  });
});
