import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { frequencyPattern } from '../../../../src/core/run/traits';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { errorOf, pointedAt, readerOf } from './files';
import { shellReader } from '../launchers/shell/shell-reader';

const sizes = '--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --micro-batch-size 1';
const script = `torchrun pretrain_gpt.py ${sizes}\n`;
const files: readonly (readonly [name: string, text: string, at: string])[] = [
  ['run.sh', script.replace('24', '100000000 --num-experts 8 --moe-layer-freq 1'), '100000000'],
  ['heads.sh', script.replace('16', '1000000'), '1000000'],
  [
    'nemo.yaml',
    'trainer: { num_nodes: 1, devices: 8 }\nmodel:\n  tensor_model_parallel_size: 1\n  num_layers: 20_000\n  micro_batch_size: 1\n',
    '20_000',
  ],
  // key/value heads follow from the heads, and are beyond their limit too
  ['t5.yaml', readFileSync('test/fixtures/launchers/nemo-t5.yaml', 'utf8').replace('heads: 9', 'heads: 1000000'), '1000000'],
  ['terapipe.json', '{"model": {"layers": 100000000, "hidden": 64, "heads": 4}}', '100000000'],
  ['config.json', '{"model_type": "llama", "num_hidden_layers": 100000000}', '100000000'],
];

describe('sizes that no run has', () => {
  it('are refused at the launch where they follow from several values', async () => {
    const text = '[parallelism]\ndata_parallel_replicate_degree = 1000000\ndata_parallel_shard_degree = 4\n';
    const error = await errorOf(loadConfig('train.toml', text, { read: readerOf({}), shell: shellReader }));
    assert.equal(error.code, 'config-out-of-range');
    assert.equal(error.place?.file, 'train.toml');
  });

  it('are refused where they are, before lists of that length are made', async () => {
    for (const [name, text, at] of files) {
      const error = await errorOf(loadConfig(name, text, { read: readerOf({}), shell: shellReader }));
      assert.equal(error.code, 'config-out-of-range', name);
      assert.equal(pointedAt(error, text), at);
    }
  });

  it('are refused in expressions of lists too, empty ones repeated among them', () => {
    for (const written of ['([0]*100000000+[1]*3)', '[]*100000000', '([]*9999)*9999*9999', '[1]*0*100000000'])
      assert.equal(frequencyPattern(written, 4), null, written);
  });
});
