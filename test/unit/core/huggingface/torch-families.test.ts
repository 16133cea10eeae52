import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readHuggingFace } from '../../../../src/core/huggingface/reader';
import { toModelSpec } from '../../../../src/core/run/written-model';

interface Family {
  readonly config: object;
  readonly model: object;
}

const path = join(import.meta.dirname, '../../../torch/families.json');
const families = JSON.parse(readFileSync(path, 'utf8')) as Readonly<Record<string, Family>>;

/*
 * The tests of the PyTorch runtime build Transformers' model of each config and the runtime's of each model, and hold the weights, logits
 * and gradients of the one to the other.
 */
describe('models that the PyTorch runtime is tested with', () => {
  for (const [name, { config, model }] of Object.entries(families))
    it(`${name} is what its config is read as`, () => {
      const read = readHuggingFace('config.json', JSON.stringify(config));
      assert.deepEqual(toModelSpec(read.model, read.traits), model);
    });
});
