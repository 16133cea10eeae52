import assert from 'node:assert/strict';
import type { Finding } from '../../../../../src/core/findings';
import { say } from '../../../../../src/core/sentence';
import { shellReader } from './shell-reader';

const run = (layers: number, more = ''): string => `torchrun --nproc_per_node 8 ${more} pretrain_gpt.py --num-layers ${layers} --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --micro-batch-size 1\n`; // prettier-ignore

async function others(text: string): Promise<readonly Finding[]> {
  const { remarks } = (await shellReader())('run.sh', text);
  return remarks.filter(({ code }) => code === 'launch-one-of-several');
}

describe('a script that starts training several times', () => {
  it('names the first run that is not planned, and how many follow', async () => {
    const text = run(24) + run(32) + run(40);
    const [found, ...more] = await others(text);
    assert.ok(found && more.length === 0);
    assert.equal(found.severity, 'information');
    assert.equal(say(found.message), 'This command and 1 more start other runs than the planned one');
    assert.equal(text.slice(found.place.range.start).indexOf(run(32).slice(0, 8)), 0);
    assert.equal(say((await others(run(24) + run(32)))[0]?.message ?? ''), 'This command starts another run than the planned one');
  });

  it('is one run where only the ranks of its nodes differ, or nothing else trains', async () => {
    assert.deepEqual(await others(run(24, '--nnodes 2 --node_rank 0') + run(24, '--nnodes 2 --node_rank 1')), []);
    assert.deepEqual(await others(run(24)), []);
    const evaluation = 'torchrun tasks/main.py --task LAMBADA --num-layers 32 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --micro-batch-size 8\n'; // prettier-ignore
    assert.deepEqual(await others(run(24) + evaluation), []);
  });

  it('is one run where a condition takes one of several', async () => {
    assert.deepEqual(await others(`if [ "$DEBUG" = 1 ]; then\n${run(24)}else\n${run(32)}fi\n`), []);
    assert.deepEqual(await others(`if [ "$A" = 1 ]; then\n${run(24)}elif [ "$A" = 2 ]; then\n${run(32)}fi\n`), []);
    assert.deepEqual(await others(`case $SIZE in\n s) ${run(24)};;\n m) ${run(32)};;\n l) ${run(40)};;\nesac\n`), []);
  });

  it('starts another where a condition leaves the planned one', async () => {
    assert.equal((await others(`${run(24)}if [ "$MORE" = 1 ]; then\n${run(32)}fi\n`)).length, 1);
    const [found] = await others(`${run(24)}if [ "$MORE" = 1 ]; then\n${run(32)}else\n${run(40)}fi\n`);
    assert.equal(say(found?.message ?? ''), 'This command starts another run than the planned one');
  });

  it('is found of other programs, too', async () => {
    const swift = (name: string, more: string): string => `swift ${name} --model Qwen/Qwen3-8B --max_length 4096 --per_device_train_batch_size 1 ${more}\n`; // prettier-ignore
    assert.equal(
      (await others(swift('sft', '--tuner_type lora') + swift('rlhf', '--rlhf_type dpo --tuner_type lora --max_length 8192'))).length,
      1,
    );
    assert.deepEqual(await others(swift('sft', '--tuner_type lora') + swift('infer', '--max_new_tokens 2048')), []);
  });
});
