import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'mocha';
import type { LauncherReader } from '../../../../src/core/run/facts';
import { say } from '../../../../src/core/sentence';
import { shellReader } from './shell/shell-reader';

const text = readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers/openrlhf.sh'), 'utf8');

describe('a script of OpenRLHF', () => {
  let read: LauncherReader;
  before(async () => {
    read = await shellReader();
  });

  const values = (script: string, ...names: readonly string[]): unknown[] => {
    const { facts } = read('run.sh', script);
    return names.map((name) => (facts as Record<string, { readonly value: unknown } | undefined>)[name]?.value);
  };

  it('gives the training step of the actor, on the GPUs of the actor', () => {
    assert.deepEqual(values(text, 'flavor', 'nodes', 'gpusPerNode', 'sequenceLength', 'globalBatch', 'zeroStage', 'precision'), [
      'meta-llama/Meta-Llama-3-8B',
      1,
      8,
      2048,
      128,
      3,
      'bf16',
    ]);
    assert.deepEqual(values(text, 'recomputeGranularity'), ['full']);
  });

  it('packs as many sequences as the tokens of a GPU hold', () => {
    assert.deepEqual(values(text, 'microBatch'), [8]);
    const plain = text.replace('   --train.dynamic_batch_enable \\\n', '');
    assert.deepEqual(values(plain, 'microBatch'), [1], 'one sequence where nothing is set');
    assert.deepEqual(values(plain.replace('--ds.zero_stage 3', '--ds.zero_stage 3 --train.micro_batch_size 4'), 'microBatch'), [4]);
  });

  it('names rollout, reference, critic and reward with their GPUs and memory, and plans none of them', () => {
    const [remark] = read('run.sh', text).remarks;
    assert.equal(remark?.code, 'policy-alone');
    assert.ok(say(remark.message).includes('rollout (8 GPUs, 50 % of their memory), reference (8 GPUs), critic (8 GPUs), reward (8 GPUs)'));
    const other = text.replace('--ds.zero_stage 3', '--ds.zero_stage 3 --algo.advantage.estimator rloo --reward.remote_url f.py');
    const [fewer] = read('run.sh', other).remarks;
    assert.ok(fewer && !/critic|reward/.test(say(fewer.message)));
  });

  it('trains LoRA by its rank', () => {
    const lora = text.replace('--ds.zero_stage 3', '--ds.zero_stage 3 --ds.lora.rank 32 --ds.load_in_4bit');
    const { adapters } = read('run.sh', lora);
    assert.deepEqual([adapters?.rank?.value, adapters?.baseBits?.value], [32, 4]);
  });
});
