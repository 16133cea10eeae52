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
    assert.equal(modelPath('{ "model": "models/llama.json" }'), 'models/llama.json');
    assert.equal(modelPath('{ "model": "meta-llama/Llama-3.1-8B" }'), 'config.json');
    assert.equal(modelPath('{ "train_batch_size": 64 }'), 'config.json');
  });
});
