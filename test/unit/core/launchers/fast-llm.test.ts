import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readFastLlm } from '../../../../src/core/launchers/fast-llm/fast-llm';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { countModelParameters } from '../../../../src/core/huggingface/count';
import { load } from '../config-files/files';

const text = readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers/fast-llm.yaml'), 'utf8');
const node = { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 } as const;

describe('a Fast-LLM YAML', () => {
  it('is planned with micro-batches of as many documents as their tokens hold', async () => {
    const run = await load({ 'train.yaml': text });
    const { layout, training, model } = resolveRun(run, node);
    assert.deepEqual([layout.tensor, layout.data, training.zeroStage, training.microBatch, training.globalBatch], [2, 4, 2, 4, 64]);
    assert.deepEqual([model.layers, model.hidden, model.kvHeads, model.ffn, training.sequenceLength], [24, 2048, 4, 5632, 4096]);
    // 2,048 x 32,000 once; of each layer attention of 2 x 2,048 x 2,048 + 2 x 2,048 x 512, 3 x 2,048 x 5,632 and two norms; the last norm
    const layer = 2 * 2048 * 2048 + 2 * 2048 * 512 + 3 * 2048 * 5632 + 2 * 2048;
    assert.equal(countModelParameters(run), 2048 * 32_000 + 24 * layer + 2048);
  });

  it('counts sequences under batch, as files of before do', () => {
    const before = text.replace(
      /data:[^]*?schedule:/,
      'batch:\n  sequence_length: 2048\n  micro_batch_size: 2\n  batch_size: 32\nschedule:',
    );
    const { sequenceLength, microBatch, globalBatch } = readFastLlm('a.yaml', before).facts;
    assert.deepEqual([sequenceLength?.value, microBatch?.value, globalBatch?.value], [2048, 2, 32]);
  });

  it('takes no sizes of blocks that take turns or whose mixer is not attention', () => {
    const turns = readFastLlm('a.yaml', text.replace('      num_blocks', '      type: pattern\n      num_blocks'));
    assert.deepEqual([turns.facts.layers, turns.leftOut], [undefined, ['model.base_model.decoder.type']]);
    const mamba = readFastLlm('a.yaml', text.replace('type: attention', 'type: mamba'));
    assert.deepEqual(mamba.leftOut, ['model.base_model.decoder.block.mixer.type']);
  });

  it('runs breadth-first micro-batches in addition to depth-first ones, whose order in a pipeline is left out', async () => {
    const broad = (lines: string): string => text.replace('depth_first_micro_batches: 4', lines);
    const both = broad('depth_first_micro_batches: 2\n  breadth_first_micro_batches: 8');
    // 4 documents x 16 micro-batches x 4 replicas
    assert.equal(resolveRun(await load({ 'train.yaml': both }), node).training.globalBatch, 256);
    assert.equal(readFastLlm('a.yaml', both).leftOut, undefined);
    const piped = readFastLlm('a.yaml', both.replace('tensor_parallel: 2', 'pipeline_parallel: 4'));
    assert.deepEqual([piped.facts.layers?.value, piped.leftOut], [24, ['schedule.breadth_first_micro_batches']]);
    assert.deepEqual(readFastLlm('a.yaml', broad('micro_batch_splits: 2')).leftOut, ['schedule.micro_batch_splits']);
    const before = text.replace(/schedule:\n.*/, 'batch:\n  depth_first_micro_batches: 2\n  breadth_first_micro_batches: 3');
    assert.equal(readFastLlm('a.yaml', before).facts.gradientAccumulation?.value, 6);
  });

  it('trains the adapters of queries and values where it has LoRA', async () => {
    const lora = (peft: string): string => text.replace('    tied_embedding_weight', `    peft: ${peft}\n    tied_embedding_weight`);
    const run = await load({ 'train.yaml': lora('{ type: lora, rank: 16 }') });
    assert.equal(resolveRun(run, node).training.adapter?.rank, 16);
    assert.equal(run.adapters?.unlike, undefined);
    assert.deepEqual(run.adapters?.defaults?.targets, ['q_proj', 'v_proj']);
    assert.equal(readFastLlm('a.yaml', lora('{ type: lora, freeze_others: false }')).adapters?.unlike, 'freeze_others: false');
    assert.equal(readFastLlm('a.yaml', lora('{ type: none }')).adapters, undefined);
  });

  it('takes no sizes of a model of which a part may be frozen', () => {
    const frozen = readFastLlm('a.yaml', text.replace('type: attention', 'type: attention\n          lr_scale: 0.0'));
    assert.deepEqual([frozen.facts.layers, frozen.leftOut], [undefined, ['model.base_model.decoder.block.mixer.lr_scale']]);
    const embedded = readFastLlm('a.yaml', text.replace('vocab_size: 32000', 'vocab_size: 32000, lr_scale: 0'));
    assert.deepEqual(embedded.leftOut, ['model.base_model.embeddings.lr_scale']);
  });

  it('has two experts, of which a token takes one, and biases of its feed-forward apart from those of attention', async () => {
    const moe = await load({ 'train.yaml': text.replace('intermediate_size', 'type: moe\n          intermediate_size') });
    const { experts } = resolveRun(moe, node).model;
    assert.deepEqual([experts?.count, experts?.active], [2, 1]);
    const plain = countModelParameters(await load({ 'train.yaml': text })) ?? 0;
    const biased = text.replace('gated: true\n          add_linear_biases: false', 'gated: true');
    // of each layer two of 5,632 and one of 2,048
    assert.equal(countModelParameters(await load({ 'train.yaml': biased })), plain + 24 * (2 * 5632 + 2048));
  });
});
