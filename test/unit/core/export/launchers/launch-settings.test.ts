import assert from 'node:assert/strict';
import { toLaunchSettings } from '../../../../../src/core/export/launchers/launch-settings';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { gpt, request } from '../../../../golden/requests';

describe('what is handed over of a plan', () => {
  const wanted = request('A100-80GB', gpt(10, 1024, 16, 50304), {
    training: { globalBatch: 12, sequenceLength: 1024, attention: 'flash', dropout: false },
    layout: { tensor: 2, pipeline: 4 },
  });

  it('are the sizes of its layout, the layers of its stages, and its GPUs in whole nodes', () => {
    const plan = toLaunchSettings(makePlan({ ...wanted, schedule: '1F1B' }));
    assert.deepEqual([plan.tensor, plan.pipeline, plan.data, plan.nodes, plan.gpusPerNode], [2, 4, 1, 1, 8]);
    assert.deepEqual(plan.stageLayers, [2, 3, 3, 2]);
    assert.deepEqual([plan.schedule, plan.slices, plan.expertTensor], ['1F1B', 1, null]);
  });

  it('spreads GPUs that fill no whole nodes equally', () => {
    const plan = toLaunchSettings(makePlan({ ...wanted, layout: { ...wanted.layout, data: 3, pipeline: 2 }, cluster: { ...wanted.cluster, nodes: 2 }, schedule: '1F1B' })); // prettier-ignore
    assert.deepEqual([plan.nodes, plan.gpusPerNode], [2, 6]);
  });

  it('counts the token slices of a schedule that has them', () => {
    const scheme = Array.from({ length: 12 }, () => ({ batch: 1, tokens: [512, 256, 256] }));
    assert.equal(toLaunchSettings(makePlan({ ...wanted, slicing: { unit: 8, scheme } })).slices, 3);
  });
});
