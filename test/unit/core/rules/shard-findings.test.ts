import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { runFindings } from '../../../../src/core/rules/run-findings';
import { loadObject } from '../config-files/files';

async function found(training: object): Promise<boolean> {
  const run = await loadObject({
    model: { layers: 4, hidden: 1024, heads: 8, vocab: 1024 },
    layout: { tensor: 1, pipeline: 1 },
    training: { sequenceLength: 1024, globalBatch: 8, ...training },
  });
  const plan = makePlan(resolveRun(run, { gpu: 'A100-80GB', nodes: 1, gpusPerNode: 8 }));
  return runFindings(run, plan).some(({ code }) => code === 'optimizer-shards-unused');
}

describe('whole tensors as shards of the optimizer', () => {
  it('are reported where the plan shards evenly', async () => {
    const tensors = { optimizerShards: 'tensors' };
    assert.equal(await found({ ...tensors, zeroStage: 1 }), false);
    for (const other of [{ zeroStage: 0 }, { zeroStage: 2 }, { zeroStage: 3 }, { zeroStage: 3, runtime: 'torchtitan' }])
      assert.equal(await found({ ...tensors, ...other }), true, JSON.stringify(other));
    assert.equal(await found({ zeroStage: 2 }), false);
  });
});
