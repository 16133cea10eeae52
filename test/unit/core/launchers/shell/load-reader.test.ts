import assert from 'node:assert/strict';
import { shellReaderFrom } from '../../../../../src/core/launchers/shell/load-reader';

describe('the reader of shell scripts', () => {
  it('is loaded again after a failure, and for calls at the same time once', async () => {
    let loads = 0;
    const load = shellReaderFrom((name) => {
      if (name === 'tree-sitter-bash.wasm') loads++;
      return Promise.reject(new Error(`no ${name}`));
    });
    const [first, second] = [load(), load()];
    await assert.rejects(first, { code: 'installation-damaged', message: /damaged.*no web-tree-sitter/ });
    await assert.rejects(second, /no web-tree-sitter/);
    assert.equal(loads, 1);
    await assert.rejects(load(), /no web-tree-sitter/);
    assert.equal(loads, 2);
  });
});
