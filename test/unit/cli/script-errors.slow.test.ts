import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { openCommandLine } from './command-line';

const script = (sizes: string, more = '', tokens = 1024): string =>
  `torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py ${sizes} --num-layers 8 --hidden-size 1024 --num-attention-heads 16 ${more} \\
  --seq-length ${tokens} --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 64 --vocab-size 50257 --bf16
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

  const quick = ['--search', '--quick', '--gpu', 'H100-80GB'] as const;
  const writesBest = /^terapipe export train\.sh .*--search --out best\/$/;

  for (const [tensor, pipeline] of [
    [3, 2],
    [4, 3],
  ])
    it(`is searched on all its GPUs where TP${tensor} PP${pipeline} leave some over, and next writes the best layout`, async () => {
      const sizes = `--tensor-model-parallel-size ${tensor} --pipeline-model-parallel-size ${pipeline}`;
      const { out } = await answered(script(sizes), ...quick);
      assert.match(out, /^train: 8 layers on 16 x H100-80GB /);
      assert.match(next(out) ?? '', writesBest);
    });

  for (const [code, sizes, tokens] of [
    ['cp-seq-multiple', '--context-parallel-size 8', 1000],
    ['sp-tp-seq', '--tensor-model-parallel-size 8 --sequence-parallel', 1020],
  ] as const)
    it(`has the export as the next step where the best layout lacks an error that is not at a size: ${code}`, async () => {
      const text = script(sizes, '', tokens);
      writeFileSync(path.join(folder, 'train.sh'), text);
      assert.match((await run(['check', 'train.sh'])).out, new RegExp(`error: .*\\[${code}\\]`));
      assert.match(next((await answered(text, ...quick)).out) ?? '', writesBest);
    });

  it('has the remedy of an error that every layout has as the next step, of a plan and of a search', async () => {
    const text = script('--tensor-model-parallel-size 2', '--group-query-attention --num-query-groups 7');
    for (const options of [[], ['--search', '--quick']])
      assert.equal(next((await answered(text, ...options)).out), 'use 8 or 4 key/value heads', options.join(' '));
    assert.ok(!(await answered(text)).out.includes('kv-heads-tp'));
  });
});
