import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { readAllocation, readAllocations } from '../../../../src/core/launchers/areal/allocation';
import { readAreal } from '../../../../src/core/launchers/areal/areal';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { say } from '../../../../src/core/sentence';
import type { LauncherFile } from '../../../../src/core/run/facts';
import { load, readerOf } from '../config-files/files';

const text = readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers/areal.yaml'), 'utf8');
const values = ({ facts }: LauncherFile, ...names: readonly string[]): unknown[] =>
  names.map((name) => (facts as Record<string, { readonly value: unknown } | undefined>)[name]?.value);

describe("AReaL's allocations", () => {
  it('name a backend and the ranks by letters', () => {
    const { backend, data, tensor, gpus } = readAllocation('fsdp:d4p1t2') ?? {};
    assert.deepEqual([backend, data, tensor, gpus], ['fsdp', 4, 2, 8]);
    assert.equal(readAllocation('d2p2t1')?.backend, 'megatron');
    assert.equal(readAllocation('d8')?.backend, 'fsdp');
    assert.equal(readAllocation('archon[actor]:d4e4')?.expert, 4);
  });

  it('give experts ranks of their own', () => {
    const { tensor, expert, expertTensor, gpus } = readAllocation('megatron:(attn:d1p12t4|ffn:d1p12e4)') ?? {};
    assert.deepEqual([tensor, expert, expertTensor, gpus], [4, 4, 1, 48]);
  });

  it('are nothing where they are none', () => {
    for (const written of ['', 'fsdp', 'fsdp:x4', 'fsdp:d0', '${actor.backend}', 'd'.repeat(9999)])
      assert.equal(readAllocation(written), null);
  });

  it('were one string for the whole experiment', () => {
    assert.deepEqual(readAllocations('sglang:d8+d8').map(({ backend, gpus }) => [backend, gpus]), [['sglang', 8], ['fsdp', 8]]); // prettier-ignore
  });
});

describe('an AReaL YAML', () => {
  it('gives the training step of the actor on its ranks, with packed micro-batches', () => {
    const read = readAreal('a.yaml', text);
    assert.deepEqual(values(read, 'tensor', 'pipeline', 'data', 'expert', 'world', 'nodes', 'globalBatch', 'microBatch', 'sequenceLength'), [4, 12, 1, 4, 48, 6, 256, 1, 30_000]); // prettier-ignore
    const shorter = readAreal(
      'a.yaml',
      text.replace('max_tokens: 30000', 'top_k: 5').replace('max_new_tokens: 8192', 'max_new_tokens: 1024'),
    );
    assert.deepEqual(values(shorter, 'sequenceLength', 'microBatch'), [2048, 16]);
  });

  it('takes a response as long as max_new_tokens, within what the prompt leaves of max_tokens', () => {
    const length = (gconfig: string): unknown[] => values(readAreal('a.yaml', text.replace(/econfig:[^]*?\n\n/, '').replace(/ {2}max_new_tokens[^]*?30000\n/, gconfig)), 'sequenceLength'); // prettier-ignore
    assert.deepEqual(length('  max_new_tokens: 8192\n  max_tokens: 30000\n'), [9216]);
    assert.deepEqual(length('  max_new_tokens: 8192\n  max_tokens: 4096\n'), [4096]);
    assert.deepEqual(length('  max_tokens: 30000\n'), [17_408]);
    assert.deepEqual(length(''), [17_408]);
  });

  it('updates four times on what it generated, once in fine-tuning', () => {
    const silent = text.replace(/ {2}ppo_n_minibatches.*\n/, '');
    assert.deepEqual(values(readAreal('a.yaml', silent), 'globalBatch'), [64]);
    const tuning = silent
      .replace(/gconfig:[^]*?\n\n/, '')
      .replace(/rollout:[^]*?\n\n/, '')
      .replace(/econfig:[^]*?\n\n/, '');
    assert.deepEqual(values(readAreal('a.yaml', tuning), 'globalBatch', 'sequenceLength'), [16, 1024]);
    assert.deepEqual(values(readAreal('a.yaml', tuning.replace(/ {2}max_length.*\n?/, '')), 'sequenceLength'), [32_768]);
  });

  it('names rollout and reference with their GPUs and memory', () => {
    const remark = readAreal('a.yaml', text).remarks.find(({ code }) => code === 'policy-alone');
    assert.match(say(remark?.message ?? ''), /rollout \(32 GPUs, 80 % of their memory\), reference \(48 GPUs\)$/);
  });

  it('on FSDP2 trains weights in bf16 as they are', async () => {
    const fsdp = text.replace(/'megatron:.*'/, "'fsdp:d8p1t1'").replace('Qwen3-235B-A22B', 'Qwen3-8B');
    const { training, layout } = resolveRun(await load({ 'a.yaml': fsdp }), { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 });
    assert.deepEqual([layout.data, training.runtime, training.zeroStage, training.masterWeightBytes, training.recompute], [8, 'fsdp1', 3, 0, 'full']); // prettier-ignore
  });

  // areal/engine/megatron_utils/pipeline_parallel.py makes a layout of the parameters
  it('may have stages that do not divide the layers', async () => {
    const config = await loadConfig('a.yaml', text, { read: readerOf({}), shell: () => Promise.reject(new Error('none')) });
    assert.deepEqual(config.findings.filter(({ severity }) => severity === 'error'), []); // prettier-ignore
  });
});
