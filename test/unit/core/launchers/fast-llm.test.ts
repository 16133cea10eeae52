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
});
