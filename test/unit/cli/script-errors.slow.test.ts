import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { openCommandLine } from './command-line';

const script = (sizes: string, more = ''): string =>
  `torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py ${sizes} --num-layers 8 --hidden-size 1024 --num-attention-heads 16 ${more} \\
  --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 64 --vocab-size 50257 --bf16
`;

describe('a script with errors on a terminal', () => {
  const { folder, run, dispose } = openCommandLine();
  after(dispose);
  const answered = async (text: string, ...options: readonly string[]) => {
    writeFileSync(path.join(folder, 'train.sh'), text);
    return run(['plan', 'train.sh', ...options]);
  };
  const next = (out: string): string | undefined => /^ {2}next +(.*)$/mu.exec(out)?.[1];

  it('is refused for the size that does not divide the model, not for the replicas that it leaves', async () => {
    const { err } = await answered(script('--tensor-model-parallel-size 3'));
    assert.match(err, /16 attention heads are not divisible by a tensor size of 3/);
  });

  it('is searched on all its GPUs where its sizes leave some over, and next is the command that mends the sizes', async () => {
    const { out } = await answered(
      script('--tensor-model-parallel-size 3 --pipeline-model-parallel-size 2'),
      '--search',
      '--quick',
      '--gpu',
      'H100-80GB',
    );
    assert.match(out, /^train: 8 layers on 16 x H100-80GB /);
    assert.match(next(out) ?? '', /^terapipe export train\.sh .*--search --out best\/$/);
  });

  it('has the remedy of an error that no layout mends as the next step, of a plan and of a search', async () => {
    const text = script('--tensor-model-parallel-size 2', '--group-query-attention --num-query-groups 7');
    for (const options of [[], ['--search', '--quick']])
      assert.equal(next((await answered(text, ...options)).out), 'use 8 or 4 key/value heads', options.join(' '));
    assert.ok(!(await answered(text)).out.includes('kv-heads-tp'));
  });
});
