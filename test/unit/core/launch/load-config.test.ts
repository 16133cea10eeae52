import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { configError } from '../../../../src/core/config/errors';
import { startOf } from '../../../../src/core/config/json-document';
import { loadConfig, type ConfigWorld } from '../../../../src/core/launch/load-config';

/** Files in memory; nothing else can be read. */
function world(files: Readonly<Record<string, string>>): ConfigWorld & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    read: (_, path) => {
      asked.push(path);
      const text = files[path];
      if (text !== undefined) return Promise.resolve({ file: path, text });
      return Promise.reject(configError('config-not-found', 'There is no such file', 'mend the path', startOf(path)));
    },
    shell: () => Promise.reject(new Error('no shell here')),
  };
}

const nemo = `trainer: { num_nodes: 1, devices: 8 }
model:
  tensor_model_parallel_size: 2
  num_attention_heads: 16
  micro_batch_size: 1
  global_batch_size: 16
`;
const llama = JSON.stringify({ model_type: 'llama', num_hidden_layers: 8, hidden_size: 512, num_attention_heads: 8, vocab_size: 1000 });

describe('loading a launcher', () => {
  it('joins the config.json beside it and says where the two disagree', async () => {
    const { run, model, findings } = await loadConfig('train.yaml', nemo, world({ 'config.json': llama }));
    assert.equal(model?.file, 'config.json');
    assert.deepEqual([run?.model.layers.value, run?.model.heads.value], [8, 16]);
    assert.ok(findings.some(({ code }) => code === 'two-files-disagree'));
  });

  it('is no error when the sizes of the model are nowhere, and is not planned', async () => {
    const { run, noRun, findings } = await loadConfig('train.yaml', nemo, world({}));
    assert.equal(run, null);
    assert.equal(noRun?.code, 'model-not-planned');
    assert.ok(findings.every(({ severity }) => severity !== 'error'));
  });

  it('takes no other JSON for the model', async () => {
    const { model } = await loadConfig('train.yaml', nemo, world({ 'config.json': '{"name": "something"}' }));
    assert.equal(model, null);
  });

  it('refuses a YAML that is no launcher at its start', async () => {
    await assert.rejects(loadConfig('compose.yaml', 'services: {}\n', world({})), { code: 'config-unknown-format' });
  });

  it('reads model configs and terapipe.json as before', async () => {
    const { run, launcher } = await loadConfig('config.json', llama, world({}));
    assert.equal(launcher, null);
    assert.equal(run?.format, 'huggingface');
  });
});
