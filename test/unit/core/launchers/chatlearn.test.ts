import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readChatlearn } from '../../../../src/core/launchers/chatlearn/chatlearn';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { say } from '../../../../src/core/sentence';
import { load } from '../config-files/files';

const text = readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers/chatlearn.yaml'), 'utf8');
const open = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;

describe('a ChatLearn YAML', () => {
  it('is planned as the step of the policy on its GPUs', async () => {
    const { layout, training, model, cluster } = resolveRun(await load({ 'grpo.yaml': text }), open);
    assert.deepEqual([layout.tensor, layout.pipeline, layout.data, cluster.nodes * cluster.gpusPerNode], [2, 2, 4, 16]);
    assert.deepEqual([training.globalBatch, training.microBatch, training.sequenceLength, model.layers], [256, 2, 4096, 28]);
  });

  it('names rollout and reference with their GPUs', () => {
    const remarks = readChatlearn('grpo.yaml', text)
      .remarks.map(({ message }) => say(message))
      .join();
    assert.ok(remarks.includes('rollout (8 GPUs, 80 % of their memory), reference (16 GPUs)'), remarks);
  });

  it('under FSDP2 shards weights over fsdp_size, with Ulysses and checkpointing', () => {
    const fsdp = text
      .replace('train_backend: megatron', 'train_backend: fsdp')
      .replace('    packing: false', '    packing: false\n    ulysses_sequence_parallel_size: 2\n    gradient_checkpointing: True');
    const { facts, program } = readChatlearn('grpo.yaml', fsdp);
    assert.equal(program?.traits.runtime, 'fsdp1');
    const { zeroStage, context, contextCommunication, recomputeGranularity, recomputeMethod, tensor } = facts;
    const values = [zeroStage, context, contextCommunication, recomputeGranularity, recomputeMethod, tensor].map((fact) => fact?.value);
    assert.deepEqual(values, [3, 2, 'ulysses', 'full', 'uniform', undefined]);
  });

  it('packs as many samples in a micro-batch as its tokens hold, and counts the batch in samples', async () => {
    const packs = (tokens: string): string => text.replace('packing: false', `packing: true${tokens}`);
    // 64 samples of 4,096 tokens on each of 4 replicas: of 10 that fit 8 divide them
    const { training } = resolveRun(await load({ 'grpo.yaml': packs('\n    max_token_in_packing: 40960') }), open);
    assert.deepEqual([training.globalBatch, training.microBatch, training.sequenceLength], [256, 8, 4096]);
    const microBatch = (tokens: string): unknown => readChatlearn('grpo.yaml', packs(tokens)).facts.microBatch?.value;
    assert.deepEqual([microBatch(''), microBatch('\n    max_token_in_packing: 4096')], [8, 1]);
  });

  it('is a template where the model is left to the command line', () => {
    assert.equal(readChatlearn('grpo.yaml', text.replace('Qwen/Qwen2.5-7B-Instruct', 'your_hf_model_path')).isPart, true);
    assert.equal(readChatlearn('grpo.yaml', text).isPart, undefined);
  });
});
