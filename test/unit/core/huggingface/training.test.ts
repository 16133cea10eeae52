import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { loadConfig } from '../../../../src/core/config-files/load-config';

const sizes = { num_hidden_layers: 4, hidden_size: 1024, num_attention_heads: 16, intermediate_size: 4096, vocab_size: 30522 };
const bert = { model_type: 'bert', ...sizes };
const llama = { model_type: 'llama', num_key_value_heads: 16, ...sizes };

async function trainingOf(config: object, own?: object) {
  const text = JSON.stringify(config);
  const host = { read: () => Promise.resolve({ file: 'config.json', text }), shell: () => Promise.reject(new Error('no script')) };
  const loaded =
    own === undefined
      ? await loadConfig('config.json', text, host)
      : await loadConfig('terapipe.json', JSON.stringify({ model: 'config.json', ...own }), host);
  assert.ok(loaded.run !== null);
  return loaded.run.training;
}

describe('dropout of a model config', () => {
  it('is on where the config sets a share above zero, by any of its names', async () => {
    assert.equal((await trainingOf({ ...bert, hidden_dropout_prob: 0.1 })).dropout?.value, true);
    assert.equal((await trainingOf({ ...llama, resid_pdrop: 0.05 })).dropout?.value, true);
  });

  it('is none where the config sets zero', async () => {
    const { dropout } = await trainingOf({ ...bert, hidden_dropout_prob: 0.0, attention_probs_dropout_prob: 0.0 });
    assert.equal(dropout?.value, false);
    assert.equal(dropout.source.kind, 'file');
    assert.equal((await trainingOf({ ...llama, attention_dropout: 0 })).dropout?.value, false);
  });

  it('is that of the class where the config sets only that of attention', async () => {
    assert.equal((await trainingOf({ ...bert, attention_probs_dropout_prob: 0 })).dropout?.value, true);
    assert.equal((await trainingOf({ ...llama, attention_dropout: 0.1 })).dropout?.value, false);
  });

  it('is open where the config leaves it open, and what terapipe.json sets where it does', async () => {
    assert.equal((await trainingOf(bert)).dropout, undefined);
    assert.equal((await trainingOf({ ...bert, hidden_dropout_prob: 0.1 }, {})).dropout?.value, true);
    assert.equal((await trainingOf({ ...bert, hidden_dropout_prob: 0.1 }, { training: { dropout: false } })).dropout?.value, false);
  });
});

describe('weights in FP8 of a model config', () => {
  const fp8 = { ...llama, quantization_config: { quant_method: 'fp8', fmt: 'e4m3', weight_block_size: [128, 128] } };

  it('are trained in FP8 with scales of blocks', async () => {
    const { gemmPrecision, fp8Recipe, fp8Format } = await trainingOf(fp8);
    assert.deepEqual([gemmPrecision?.value, fp8Recipe?.value, fp8Format?.value], ['fp8', 'blockwise', 'e4m3']);
  });

  it('are not where the file of the run names a precision', async () => {
    assert.equal((await trainingOf(fp8, { training: { precision: 'bf16' } })).gemmPrecision, undefined);
    assert.equal((await trainingOf(fp8, {})).gemmPrecision?.value, 'fp8');
  });

  it('are unknown where they are quantised otherwise', async () => {
    assert.deepEqual(await trainingOf({ ...llama, quantization_config: { quant_method: 'gptq', bits: 4 } }), {});
  });
});
