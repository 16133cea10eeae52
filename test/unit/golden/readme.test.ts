import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cellsOf, terapipeTable } from '../../golden/readme-table';

describe('README', () => {
  it('shows the predictions of the ten TeraPipe settings as they are now', () => {
    const readme = readFileSync(join(__dirname, '..', '..', '..', 'README.md'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('| ('));
    const now = terapipeTable().filter((line) => line.startsWith('| ('));
    assert.deepEqual(readme.map(cellsOf), now.map(cellsOf));
  });
});
