import assert from 'node:assert/strict';
import { applyOverrides } from '../../../../../src/core/terapipe/overrides';
import type { Run } from '../../../../../src/core/run/run';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { chosenCandidate, type Plan } from '../../../../../src/core/planner/plan';
import { resolveRun } from '../../../../../src/core/plan-request/resolve';
import { findRemedies } from '../../../../../src/core/rules/plan/remedies';
import { loadRun } from '../../../../load-run';
import { say } from '../../../../../src/core/sentence';
import { chunksPerRound } from '../../../../../src/core/domain/scheme';

/** Five layers of Llama 3 70B on each of four stages, as on 16 in published runs of long sequences; slices coarse enough to be quick. */
const config = {
  model: {
    layers: 20,
    hidden: 8192,
    heads: 64,
    kvHeads: 8,
    headDim: 128,
    ffn: 28672,
    gatedMlp: true,
    vocab: 128256,
    tiedEmbeddings: false,
  },
  cluster: { gpu: 'H100-80GB', nodes: 4, gpusPerNode: 8 },
  training: { sequenceLength: 131072, globalBatch: 4, sequenceParallel: true, gradAccumulationFp32: true },
  layout: { tensor: 8, pipeline: 4 },
  slicing: { unit: 4096 },
};

const load = (changed: object): Promise<Run> =>
  loadRun('terapipe.json', JSON.stringify({ ...config, ...changed }), () => Promise.reject(new Error('no other file')));
const planOf = (run: Run): Plan => makePlan(resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null }));

describe('a long batch that does not fit at once', () => {
  it('runs in rounds, which a file may give as they were planned', async () => {
    const plan = planOf(await load({ schedule: 'TeraPipe' }));
    const atOnce = plan.candidates.find(({ id }) => id === 'terapipe');
    const chosen = chosenCandidate(plan);
    assert.deepEqual([atOnce?.fits, chosen.id, chosen.fits, say(chosen.name)], [false, 'rounds', true, 'TeraPipe, 2 rounds']);
    assert.deepEqual(chunksPerRound(chosen.scheme).length, 2);
    const others = plan.candidates.filter(({ schedule, fits }) => schedule === 'TeraPipe' && fits);
    assert.equal(Math.min(...others.map(({ iterationMs }) => iterationMs)), chosen.iterationMs);
    const scheme = chosen.scheme.map(({ batch, tokens, endsRound }) => [batch, tokens, ...(endsRound === true ? ['drain'] : [])]);
    const given = chosenCandidate(planOf(await load({ schedule: 'TeraPipe', slicing: { scheme } })));
    assert.deepEqual([given.id, given.iterationMs, given.memory.stages], ['given', chosen.iterationMs, chosen.memory.stages]);
  });

  it('is offered rounds, and recompute of all layers: its runtime recomputes no share of them', async () => {
    const run = await load({ schedule: 'GPipe', training: { ...config.training, runtime: 'terapipe' } });
    const remedies = findRemedies(run, planOf(run), planOf);
    const labels = remedies.map(({ label }) => say(label));
    assert.match(labels[0] ?? '', /^Run TeraPipe, 2 rounds( under its own runtime)?$/);
    assert.ok(labels.includes('Recompute all layers'), labels.join());
    assert.ok(!remedies.some(({ sets }) => sets.some(([key]) => key === 'training.recomputeLayers')));
  });

  it('is offered recompute of as few layers as fit where the runtime recomputes a share of them', async () => {
    const run = await load({ schedule: 'GPipe' });
    const fewest = findRemedies(run, planOf(run), planOf).find(({ sets }) => sets.some(([key]) => key === 'training.recomputeLayers'));
    const layers = Number(fewest?.sets[1]?.[1]);
    assert.equal(say(fewest?.label ?? ''), `Recompute ${layers} of up to 5 layers of each stage`);
    const fewer = applyOverrides(run, ['training.recompute=full', `training.recomputeLayers=${layers - 1}`]);
    assert.deepEqual([layers > 1, chosenCandidate(planOf(fewer)).fits], [true, false]);
  });
});
