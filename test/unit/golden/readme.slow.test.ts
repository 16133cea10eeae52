import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { accuracyTable, cellsOf, readmeClaims, tableIn, terapipeTable } from '../../golden/readme-table';

const readme = readFileSync(path.join(import.meta.dirname, '../../../README.md'), 'utf8');

describe('README (npm run golden -- --write-readme writes its tables)', () => {
  /** All but the rule below the header, whose width a formatter chooses. */
  const rowsOf = (lines: readonly string[]): string[][] => lines.filter((_, index) => index !== 1).map(cellsOf);

  it('shows the mean and worst error of every set of measured runs as they are now', () => {
    const now = accuracyTable();
    assert.equal(now.length, 2 + 9);
    assert.deepEqual(rowsOf(tableIn(readme, now)), rowsOf(now));
  });

  it('shows the predictions of the ten TeraPipe settings as they are now', () => {
    const now = terapipeTable();
    assert.equal(now.length, 2 + 10);
    assert.deepEqual(rowsOf(tableIn(readme, now)), rowsOf(now));
  });

  it('names the errors of single groups as they are now', () => {
    const text = readme.replace(/\s+/g, ' ');
    for (const claim of readmeClaims()) assert.ok(text.includes(claim), claim);
  });
});
