import assert from 'node:assert/strict';
import { findingsOf } from '../../../../src/core/rules/run-findings';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenOf } from '../../../../src/core/planner/plan';
import { resolveRun } from '../../../../src/core/resolve/resolve';
import { loadObject } from '../formats/files';
import { said } from '../../said';

/** Llama-3 70B, sequences of 131,072 tokens, 128 H100. */
const longSequences = {
  model: { layers: 80, hidden: 8192, heads: 64, kvHeads: 8, ffn: 28672, gatedMlp: true, vocab: 128_256 },
  cluster: { gpu: 'H100-80GB', nodes: 16, gpusPerNode: 8 },
  training: { sequenceLength: 131_072, globalBatch: 4 },
  layout: { tensor: 8, pipeline: 16, data: 1 },
};

describe('a plan of long sequences', () => {
  it('takes the schedule that fits, and says what runs it', async () => {
    const run = await loadObject(longSequences);
    const plan = makePlan(resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null }));
    const chosen = chosenOf(plan);
    assert.deepEqual([chosen.schedule, chosen.fits], ['Seq1F1B', true]);
    assert.equal(plan.candidates.find(({ id }) => id === '1f1b')?.fits, false);
    assert.match(
      said(plan.reasons[0]),
      /^Seq1F1B needs a runtime .*; of what usual launchers run TeraPipe, 2 rounds takes 1[67].* in 6\d.* GiB$/,
    );
    assert.ok(!findingsOf(run, plan).some(({ code }) => code === 'memory-over-capacity'));
  });
});
