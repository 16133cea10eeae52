import assert from 'node:assert/strict';
import { modelPath, nameForText } from '../../../src/web/recognise';

describe('texts that are pasted', () => {
  it('are named so that the config.json of a model can lie next to them', () => {
    assert.equal(nameForText('{ "train_micro_batch_size_per_gpu": 2, "zero_optimization": { "stage": 1 } }'), 'ds_config.json');
    assert.equal(nameForText('{ "model": "config.json", "training": { "globalBatch": 64 } }'), 'terapipe.json');
    assert.equal(nameForText('{ "hidden_size": 8, "num_hidden_layers": 2 }'), 'config.json');
    assert.equal(nameForText('lr 3e-4'), null);
  });

  it('have their model at the path that they name, else in a config.json', () => {
    assert.equal(modelPath('terapipe.json', '{ "model": "models/llama.json" }'), 'models/llama.json');
    assert.equal(modelPath('terapipe.json', '{ "model": "./llama" }'), null);
    assert.equal(modelPath('terapipe.json', '{ "model": { "from": "models/" , "layers": 4 } }'), null);
    assert.equal(modelPath('ds.json', '{ "train_micro_batch_size_per_gpu": 2, "zero_optimization": { "stage": 1 } }'), 'config.json');
  });

  it('name their model at the top: a comment or a key inside of another is none', () => {
    const text = `{
      // "model": "old.json"
      "training": { "model": "nested.json" },
      "model": "new.json", // of today
    }`;
    assert.equal(modelPath('terapipe.json', text), 'new.json');
  });

  it('have no model elsewhere where they are one, have its numbers, or cannot be read', () => {
    assert.equal(modelPath('my-bad.json', '{ "hidden_size": "a", "num_hidden_layers": 2 }'), null);
    assert.equal(modelPath('terapipe.json', '{ "model": { "layers": 4 }, "training": { "globalBatch": 64 } }'), null);
    assert.equal(modelPath('terapipe.json', '{ "model": "a.json"'), null);
  });
});
