import assert from 'node:assert/strict';
import { isArgumentFile } from '../../../../../src/core/launchers/shell/recognise';
import { shellReader } from './shell-reader';

/** What the fuzzer found, each as small as it became. */
describe('scripts that the fuzzer found', () => {
  it('read empty continued lines before a flag in time that grows with their number', async () => {
    const read = await shellReader();
    const text = `torchrun a.py --num-layers 4 \\\n${'  \\\n'.repeat(1000)}  --hidden-size 64 --num-attention-heads 2\n`;
    const { facts } = read('launch.sh', text);
    assert.equal(facts.hidden?.value, 64);
    assert.equal(text.slice(facts.hidden.whole?.start, facts.hidden.whole?.end).trimStart().replaceAll(/\\\s*/g, ''), '--hidden-size 64');
  });

  it('distinguishes a script from a file of arguments in such time after comments that end as on Windows', () => {
    const comments = '# a line\r\n'.repeat(40);
    assert.equal(isArgumentFile(`${comments}torchrun a.py`), false);
    assert.equal(isArgumentFile(`${comments}\r\n --num-layers 4`), true);
    assert.equal(isArgumentFile(`\uFEFFtorchrun a.py \\\n  --num-layers 4`), false);
    assert.equal(isArgumentFile(`${'\n'.repeat(5_000_000)}--num-layers 4`), true);
  });
});
