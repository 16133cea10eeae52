import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
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

  it('reads the same where several are loaded at once, which only a new process shows', async () => {
    const program = `
      const { shellReader } = require('./test/unit/core/launchers/shell/shell-reader.ts');
      const layersAfter = async (waitMs) => {
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        const read = await shellReader();
        return read('train.sh', 'torchrun pretrain_gpt.py --num-layers 8 --hidden-size 64').facts.layers.value;
      };
      Promise.all([0, 0, 3, 6, 9, 12].map(layersAfter)).then((layers) => console.log(JSON.stringify(layers)));
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', './test/harness/typescript.mjs', '--eval', program], {
      cwd: path.resolve(import.meta.dirname, '../../../../..'),
    });
    assert.deepEqual(JSON.parse(stdout), [8, 8, 8, 8, 8, 8]);
  });
});
