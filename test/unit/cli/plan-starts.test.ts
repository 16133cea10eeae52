import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { comparedPlansAnswer } from '../../../src/features/compare/cli/answer';
import { planAnswer } from '../../../src/cli/answers/plan';
import { planRun } from '../../../src/core/export/planned-config';
import { loadConfig } from '../../../src/core/config-files/load-config';

const defaults = { gpu: 'A100-80GB', nodes: null, gpusPerNode: null } as const;

async function plannedOf(file: string, text: string) {
  const nothing = () => Promise.reject(new Error('no other file'));
  const config = await loadConfig(file, text, { read: nothing, shell: nothing });
  return planRun(config, defaults);
}

async function planned(file: string, text: string) {
  return planAnswer(await plannedOf(file, text), new Map([[file, text]]));
}

const config = (virtualStages: number) =>
  JSON.stringify({
    model: { layers: 24, hidden: 256, heads: 4, vocab: 0 },
    cluster: { gpu: 'A100-80GB', nodes: 1, gpusPerNode: 8 },
    training: { sequenceLength: 256, globalBatch: 16 },
    layout: { tensor: 1, pipeline: 4, data: 2, virtualStages },
    schedule: '1F1B',
  });

describe('terapipe plan of what a launcher refuses', () => {
  it('shows before its times that it does not start as written', async () => {
    const refused = await planned('terapipe.json', config(4));
    assert.match(refused.text, /\n {2}starts +not as written: 1 error, below; times are of this layout once it runs\n {2}runs /);
    assert.match(refused.text, /\[vpp-layers-lost\]$/);
    assert.equal(refused.exitCode, 1);
    assert.equal((refused.json as { readonly starts: boolean }).starts, false);
    const runs = await planned('terapipe.json', config(3));
    assert.ok(!runs.text.includes('starts'), runs.text);
    assert.equal(runs.exitCode, 0);
    assert.equal((runs.json as { readonly starts: boolean }).starts, true);
  });

  it('reports it of either side of a comparison', async () => {
    const [refused, runs] = await Promise.all([plannedOf('a.json', config(4)), plannedOf('b.json', config(3))]);
    const { json } = comparedPlansAnswer(refused, runs, new Map());
    const { starts, otherStarts } = json as { readonly starts: boolean; readonly otherStarts: boolean };
    assert.deepEqual([starts, otherStarts], [false, true]);
  });
});
