import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { dataFolder, golden } from '../../golden/data';
import { cellsOf } from '../../golden/readme-table';

interface Source {
  readonly what: string;
  readonly from: string;
  readonly licence: string;
  readonly obtained: string;
  readonly commit?: string;
  readonly notice?: string;
}

describe('reference numbers', () => {
  const names = readdirSync(dataFolder).filter((name) => name !== 'README.md');
  const readme = readFileSync(path.join(dataFolder, 'README.md'), 'utf8');
  const listed = readme.split('\n').flatMap((line) => (line.startsWith('| `') ? [cellsOf(line)] : []));

  it('are all listed with their commit and licence as the files set it', () => {
    assert.deepEqual(
      listed.map(([file]) => file),
      names.map((name) => `\`${name}\``),
    );
    for (const [file = '', , commit = '', licence = ''] of listed) {
      const { source } = golden(file.slice(1, -'.json`'.length)) as { readonly source: Source };
      for (const field of ['what', 'from', 'licence', 'obtained'] as const) assert.ok(source[field] !== '', `${file}: ${field}`);
      assert.equal(source.commit?.slice(0, 10) ?? '', commit, file);
      if (/Apache|MIT|BSD/.test(licence)) {
        assert.equal(source.licence, licence, file);
        assert.match(source.notice ?? '', /^Copyright/, file);
        assert.match(source.commit ?? '', /^[0-9a-f]{40}$/, file);
      }
    }
  });

  it('have as many cells in every row of a table as it has columns', () => {
    for (const name of names) {
      const { columns, rows } = golden(name.slice(0, -'.json'.length)) as { readonly columns?: unknown[]; readonly rows?: unknown[][] };
      if (columns === undefined || rows === undefined) continue;
      assert.ok(rows.length > 0, name);
      for (const row of rows) assert.equal(row.length, columns.length, `${name}: ${JSON.stringify(row)}`);
    }
  });
});
