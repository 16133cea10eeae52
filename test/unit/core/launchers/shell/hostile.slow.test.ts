import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'mocha';
import { ExpectedError } from '../../../../../src/core/errors';
import type { LauncherReader } from '../../../../../src/core/run/facts';
import { isMaxtextScript } from '../../../../../src/core/launchers/maxtext/recognise';
import { isMegatronShell } from '../../../../../src/core/launchers/shell/recognise';
import { fixtures, shellReader, values } from './shell-reader';

let read: LauncherReader;
const facts = (text: string): object => values(read('run.sh', text).facts);
const fixture = readFileSync(path.join(fixtures, 'defaults.sh'), 'utf8');

before(async () => {
  read = await shellReader();
});

describe('the shell reader on hostile text', () => {
  it('refuses what is not text with a code and a place', () => {
    const refused: readonly (readonly [string, string])[] = [
      ['', 'config-empty'],
      [' \n', 'config-empty'],
      ['\0\u0001ELF', 'config-binary'],
      ['\uFFFD'.repeat(500), 'config-binary'],
      ['a'.repeat(5 * 2 ** 20 + 1), 'config-too-large'],
      ['ARGS+=(--x 1)\n'.repeat(300_000), 'shell-too-complex'],
    ];
    for (const [text, code] of refused)
      assert.throws(
        () => read('run.sh', text),
        (error) => error instanceof ExpectedError && error.code === code && error.place?.file === 'run.sh',
        code,
      );
  });

  it('ends with variables that name each other', () => {
    assert.deepEqual(facts('A=$B\nB=$A\nA="$B $A"\nB="$A$B"\ntorchrun --num-layers $A --hidden-size 4'), { hidden: 4 });
  });

  it('ends with variables that double, and with functions that call themselves', () => {
    const doubling = Array.from({ length: 100 }, (_, index) => `A${index + 1}="$A${index} $A${index}"\n: \${A${index + 1}:-1}`).join('\n');
    const text = `A0=x\n${doubling}\nf() { f; f; f; }\nf\ntorchrun --num-layers 3 --hidden-size 4 $A100`;
    // 2^100 words, or calls without end, if either were followed: then this test never ends, and the runner names it.
    assert.deepEqual(facts(text), { layers: 3, hidden: 4 });
  });

  it('reads on where quotes and brackets do not close', () => {
    const broken = fixture.replace('--swiglu', '--swiglu "');
    assert.doesNotThrow(() => read('run.sh', broken));
    const half = read('run.sh', 'torchrun --num-layers 3 --hidden-size 4\nA=(\n');
    assert.equal(half.facts.layers?.value, 3);
    for (const text of ['"', "'", '(', '{', '$(', '${', '`', '$((', '<<', 'if true; then ', 'case $x in ', '\\', '[[ '])
      assert.doesNotThrow(() => read('run.sh', `torchrun --num-layers 3\n${text.repeat(3000)}`), text);
  });

  it('reads every beginning of a script', () => {
    for (let end = 1; end < fixture.length; end += 23) assert.doesNotThrow(() => read('run.sh', fixture.slice(0, end)));
  });

  it('shows where the syntax is lost', () => {
    const { remarks } = read('run.sh', 'torchrun --num-layers 3 --hidden-size 4\nfi; )\n');
    assert.deepEqual(
      remarks.map(({ code, severity }) => [code, severity]),
      [['shell-syntax', 'information']],
    );
  });

  it('takes names of Object for plain names', () => {
    assert.deepEqual(facts('__proto__=7\ntorchrun --num-layers $__proto__ --constructor 3 --__proto__ 4 --hidden-size $constructor'), {
      layers: 7,
    });
  });

  it('refuses numbers that are none', () => {
    const { facts: found, remarks } = read(
      'run.sh',
      'torchrun --num-layers 1e308 --hidden-size -4 --seq-length 99999999999999999999 --bf16',
    );
    assert.deepEqual(values(found), { precision: 'bf16' });
    assert.deepEqual(
      remarks.map(({ code }) => code),
      ['flag-invalid-value', 'flag-invalid-value', 'flag-invalid-value'],
    );
  });
});

// How long these take is what `npm run bench` prints; here a reader that grew with the square of the text would not end.
describe('the shell reader on long text', () => {
  it('reads a launcher of 2,000 lines as it reads one of 50', () => {
    const script = fixture.repeat(Math.ceil(2000 / fixture.split('\n').length));
    assert.deepEqual(facts(script), facts(fixture));
  });

  it('passes over other scripts', () => {
    const other = '#!/bin/bash\nset -e\nfor f in *; do\n  cp --force "$f" --size 3 /tmp\ndone\n';
    assert.ok(!isMegatronShell(other) && !isMegatronShell(other.repeat(20_000)));
  });

  it('sniffs hostile text', () => {
    for (const text of ['--num-layers'.repeat(200_000), '# --num-layers '.repeat(200_000), `-size${' '.repeat(2_600_000)}`])
      assert.ok(!isMegatronShell(text));
    for (const letter of 'abcdef') assert.ok(!isMegatronShell(`pretrain_vision_${letter.repeat(260_000)}`));
  });

  it('sniffs paths without end for MaxText', () => {
    for (const path of ['maxtext/', 'maxtext.', 'MaxText/$', 'MAXTEXT/{', 'maxtext/a/', 'maxtext./', 'maxtext/.', 'maxtext.$/'])
      for (const length of [28_000, 30_000, 32_000]) assert.ok(!isMaxtextScript(path.repeat(length)));
    assert.ok(!isMaxtextScript('maxtext/train/'.repeat(20_000)));
    assert.ok(isMaxtextScript('python3 -m maxtext.trainers.pre_train.train base.yml model_name=llama2-7b remat_policy=full'));
  });
});
