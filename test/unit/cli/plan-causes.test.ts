import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { errorJson, errorLine } from '../../../src/cli/answer';
import { defaults } from '../../../src/cli/common-options';
import { planRun } from '../../../src/core/export/planned-config';
import { ExpectedError } from '../../../src/core/errors';
import { readConfig } from '../../../src/cli/read-config';

const text = JSON.stringify({ model_type: 'llama', hidden_size: 8192, num_hidden_layers: 80, num_attention_heads: 64 });

const refusalOf = async (sets: readonly string[]): Promise<ExpectedError | null> => {
  const reading = { sets, shell: () => Promise.reject(new Error('no shell here')) };
  const config = await readConfig({ file: 'config.json', text }, reading, new Map());
  try {
    planRun(config, defaults);
    return null;
  } catch (error) {
    if (error instanceof ExpectedError) return error;
    throw error;
  }
};

describe('sizes that a model cannot be divided by', () => {
  it('are named, not the GPUs that are left over', async () => {
    const codeOf = async (set: string) => (await refusalOf([set]))?.code;
    assert.equal(await codeOf('layout.tensor=3'), 'heads-tp');
    assert.equal(await codeOf('layout.pipeline=81'), 'pp-layers-not-divisible');
  });

  it('are named all, a line each', async () => {
    const refusal = await refusalOf(['layout.tensor=3', 'layout.pipeline=81']);
    assert.ok(refusal !== null);
    assert.deepEqual([refusal, ...refusal.further].map(({ code }) => code).toSorted(), ['heads-tp', 'pp-layers-not-divisible']);
    const lines = errorLine(refusal, new Map([['config.json', text]])).split('\n');
    assert.equal(lines.length, 2);
    for (const line of lines) assert.match(line, /^(config\.json:\d+:\d+|terapipe): (64 attention heads|81 stages) .+; .+$/);
    const { error } = errorJson(refusal, new Map()) as { readonly error: { readonly further?: readonly object[] } };
    assert.equal(error.further?.length, 1);
  });

  it('are one line where there is one', async () => {
    const refusal = await refusalOf(['layout.tensor=3']);
    assert.ok(refusal !== null && !('further' in (errorJson(refusal, new Map()) as { readonly error: object }).error));
    assert.ok(!errorLine(refusal, new Map()).includes('\n'));
  });
});
