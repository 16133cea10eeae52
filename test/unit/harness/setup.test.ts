import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { dependenciesAreCurrent, lastWords, root } from '../../harness/setup.mjs';

describe('set-up of the harness', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-setup-test-'));
  const lock = (file: string, packages: object) => {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), JSON.stringify({ packages }));
  };
  const wanted = { '': {}, 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '2.0.0', optional: true } };
  lock('package-lock.json', wanted);
  after(() => rmSync(folder, { recursive: true }));

  it('sees that nothing is installed', () => assert.equal(dependenciesAreCurrent(folder), false));

  it('is content when only packages for other platforms are absent', () => {
    lock('node_modules/.package-lock.json', { 'node_modules/a': { version: '1.0.0' } });
    assert.equal(dependenciesAreCurrent(folder), true);
  });

  it('sees another version and a missing package', () => {
    lock('node_modules/.package-lock.json', { 'node_modules/a': { version: '1.0.1' } });
    assert.equal(dependenciesAreCurrent(folder), false);
    lock('node_modules/.package-lock.json', { 'node_modules/b': { version: '2.0.0' } });
    assert.equal(dependenciesAreCurrent(folder), false);
  });

  it('shows the gist of a failed npm in one line', () => {
    const output = 'npm error code E404\nnpm error 404 Not Found\nnpm error A complete log of this run can be found in: x\n';
    assert.equal(lastWords(output), 'code E404 / 404 Not Found');
  });

  for (const file of ['package-lock.json', 'test/harness/workbench/package-lock.json']) {
    it(`installs from any registry: ${file} names none`, () => {
      assert.doesNotMatch(readFileSync(path.join(root, file), 'utf8'), /"resolved":/);
    });
  }
});
