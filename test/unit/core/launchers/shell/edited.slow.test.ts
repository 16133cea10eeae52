import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { randomNumbers } from '../../../../../src/core/numbers';
import { loadShellParser, type ShellParser } from '../../../../../src/core/languages/shell/parser';
import { longShell } from '../../../../bench/texts';

const { resolve } = createRequire(import.meta.url);
const wasm = {
  runtime: readFileSync(resolve('web-tree-sitter/web-tree-sitter.wasm')),
  bash: readFileSync(resolve('tree-sitter-bash/tree-sitter-bash.wasm')),
};

/** What people type and take away, and what changes the meaning of all that follows. */
const typed = [
  '7',
  ' ',
  '\n',
  '"',
  "'",
  '$',
  '\\',
  '# ',
  '<<EOF\n',
  'EOF\n',
  '$(',
  ')',
  '{',
  '}',
  'é',
  '😀',
  'if x; then\n',
  'fi\n',
  '&& ',
  '| ',
  '',
];

describe('a script that is edited', () => {
  it('has the tree of the same text read for the first time', async () => {
    const [edited, fresh]: ShellParser[] = [await loadShellParser(wasm), await loadShellParser(wasm)];
    assert.ok(edited !== undefined && fresh !== undefined);
    const random = randomNumbers(39);
    const start = longShell(600);
    let text = start;
    for (let edit = 0; edit < 150; edit++) {
      if (edit % 15 === 0) text = start;
      const at = Math.floor(random() * text.length);
      const taken = random() < 0.5 ? Math.floor(random() * 12) : 0;
      const put = typed[Math.floor(random() * typed.length)] ?? '';
      text = text.slice(0, at) + put + text.slice(at + taken);
      // a short text between, so that the other one keeps nothing
      fresh.parse(`${' '.repeat(20_000)}echo ${edit}`);
      assert.deepEqual(edited.parse(text), fresh.parse(text), `edit ${edit}`);
    }
  });
});
