import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { judgeOf, readVerdicts, writtenVerdicts } from '../../corpus/verdict-file';
import { configErrorCodes } from '../../../src/core/errors';
import { findingPages } from '../../docs/finding-pages';

describe('verdicts on the corpus', () => {
  const verdicts = readVerdicts();

  it('are one a line, in order of file and rule, none twice', () => {
    const written = readFileSync(`${import.meta.dirname}/../../corpus/verdicts.json`, 'utf8');
    assert.equal(written, writtenVerdicts(verdicts));
    const keys = verdicts.map(({ file, rule }) => `${file} ${rule}`);
    assert.deepEqual(
      keys.filter((key, index) => keys.indexOf(key) !== index),
      [],
    );
  });

  it('are found by file and rule', () => {
    const [first, second] = [
      { file: 'a/b.sh', rule: 'world-size-factor', verdict: true, why: '8 GPUs for 16 stages' },
      { file: 'a/b.sh', rule: 'recognised', verdict: false, why: 'converts a checkpoint' },
    ];
    const judge = judgeOf([first, second]);
    assert.equal(judge('a/b.sh', 'recognised'), second);
    assert.equal(judge('a/c.sh', 'recognised'), undefined);
    assert.deepEqual(JSON.parse(writtenVerdicts([first, second])), [second, first]);
  });

  it('name rules that there are', () => {
    const refusals = readFileSync(`${import.meta.dirname}/../../../docs/findings.md`, 'utf8').matchAll(/^## `([a-z-]+)`$/gm);
    const documented = Array.from(refusals, ([, code = '']) => code);
    const codes = new Set<string>(['recognised', ...configErrorCodes, ...findingPages().map(({ code }) => code), ...documented]);
    assert.deepEqual(
      verdicts.filter(({ rule }) => !codes.has(rule)),
      [],
    );
  });
});
