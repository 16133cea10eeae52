import assert from 'node:assert/strict';
import { defaults } from '../../../src/cli/common-options';
import { planRun } from '../../../src/core/export/planned-config';
import { readConfig } from '../../../src/cli/read-config';

const text = JSON.stringify({ model_type: 'llama', hidden_size: 8192, num_hidden_layers: 80, num_attention_heads: 64 });

describe('sizes that a model cannot be divided by', () => {
  it('are named, not the GPUs that are left over', async () => {
    const codeOf = async (set: string): Promise<unknown> => {
      const reading = { sets: [set], shell: () => Promise.reject(new Error('no shell here')) };
      const config = await readConfig({ file: 'config.json', text }, reading, new Map());
      try {
        return planRun(config, defaults).plan.chosen;
      } catch (error) {
        return (error as { readonly code: string }).code;
      }
    };
    assert.equal(await codeOf('layout.tensor=3'), 'heads-tp');
    assert.equal(await codeOf('layout.pipeline=81'), 'pp-layers-not-divisible');
  });
});
