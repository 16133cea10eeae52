import assert from 'node:assert/strict';
import { runFindings } from '../../../../src/core/rules/run-findings';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate } from '../../../../src/core/planner/plan';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { loadObject } from '../config-files/files';
import { toText } from '../../sentence-text';

/** Llama-3 70B, sequences of 131,072 tokens, 128 H100. */
const longSequences = {
  model: { layers: 80, hidden: 8192, heads: 64, kvHeads: 8, ffn: 28672, gatedMlp: true, vocab: 128_256 },
  cluster: { gpu: 'H100-80GB', nodes: 16, gpusPerNode: 8 },
  training: { sequenceLength: 131_072, globalBatch: 4 },
  layout: { tensor: 8, pipeline: 16, data: 1 },
};

describe('a plan of long sequences', () => {
  it('keeps to the schedules of the assumed runtime, and names the runtime whose token slices fit', async () => {
    const run = await loadObject(longSequences);
    const plan = makePlan(resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null }));
    assert.deepEqual([chosenCandidate(plan).schedule, chosenCandidate(plan).fits], ['1F1B', false]);
    assert.ok(plan.request.assumptions.some(({ key, value }) => key === 'training.runtime' && value === 'megatron'));
    const reasons = plan.reasons.map((reason) => toText(reason));
    assert.ok(
      reasons.some((reason) => /^Seq1F1B, which the runtime of its authors runs: 1[456].* s in .* GiB, which fits$/.test(reason)),
      reasons.join('\n'),
    );
    assert.ok(runFindings(run, plan).some(({ code }) => code === 'memory-over-capacity'));
  });

  it('takes the schedule that fits where all are asked for, and shows what runs it', async () => {
    const run = await loadObject({ ...longSequences, schedules: 'all' });
    const plan = makePlan(resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null }));
    assert.deepEqual([chosenCandidate(plan).schedule, chosenCandidate(plan).fits], ['Seq1F1B', true]);
    const reasons = plan.reasons.map((reason) => toText(reason));
    assert.ok(reasons.includes('Megatron-LM, for which times are predicted, does not run Seq1F1B; the runtime of its authors does'));
  });
});
