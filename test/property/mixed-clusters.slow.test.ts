import assert from 'node:assert/strict';
import fc from 'fast-check';
import { gpusOfGroup } from '../../src/core/cluster/groups';
import { loadRun } from '../load-run';
import { ExpectedError } from '../../src/core/errors';
import { runFindings } from '../../src/core/rules/run-findings';
import { makePlan } from '../../src/core/planner/make-plan';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { cases } from './cases';

const group = fc.record({
  gpu: fc.constantFrom('V100-16GB', 'A100-40GB', 'H100-80GB', 'RTX4090'),
  nodes: fc.integer({ min: 1, max: 3 }),
  gpusPerNode: fc.constantFrom(1, 2, 4),
});
const configs = fc.record({
  model: fc.record({
    layers: fc.integer({ min: 6, max: 30 }),
    hidden: fc.constant(512),
    heads: fc.constant(8),
    vocab: fc.constantFrom(0, 50304),
    experts: fc.constantFrom(null, 4),
    activeExperts: fc.constant(2),
  }),
  cluster: fc.record({ groups: fc.array(group, { minLength: 2, maxLength: 4 }) }),
  training: fc.record({
    sequenceLength: fc.constantFrom(256, 512),
    globalBatch: fc.constantFrom(8, 12),
    recompute: fc.constantFrom('none', 'full'),
    zeroStage: fc.constantFrom(0, 1),
  }),
  layout: fc.record({ tensor: fc.constantFrom(1, 2), virtualStages: fc.constantFrom(1, 2) }, { requiredKeys: [] }),
  schedule: fc.constantFrom(null, '1F1B', 'GPipe', 'TeraPipe', 'ZBVZeroBubble', 'Seq1F1B', 'ZB-H1'),
});

describe('plans on random groups of nodes', () => {
  it('place every stage on GPUs that its group has, divide all layers and check each stage against its own GPU', async () => {
    let placed = 0;
    await fc.assert(
      fc.asyncProperty(configs, async ({ schedule, ...rest }) => {
        const config = { ...rest, slicing: { unit: 128 }, ...(schedule === null ? {} : { schedule }) };
        const run = await loadRun('terapipe.json', JSON.stringify(config), () => Promise.reject(new Error('no other file')));
        let plan;
        try {
          plan = makePlan(resolveRun(run, { gpu: 'A100-80GB', nodes: null, gpusPerNode: null }));
        } catch (error) {
          // Six plans are looked at, however many configs are refused before: some of six would be too few for any to be on groups.
          fc.pre(!(error instanceof ExpectedError));
          throw error;
        }
        runFindings(run, plan);
        const { cluster, layout, model } = plan.request;
        const kinds = cluster.groups ?? [cluster];
        const perStage = layout.tensor * layout.data * layout.context;
        if (cluster.groups !== undefined) {
          placed++;
          assert.equal(layout.stageNodeGroups?.length, layout.pipeline);
          kinds.forEach((kind, index) => {
            const stages = layout.stageNodeGroups!.filter((own) => own === index).length;
            assert.equal(stages * perStage, gpusOfGroup(kind));
          });
          assert.equal(
            layout.stageLayers!.reduce((sum, layers) => sum + layers, 0),
            model.layers,
          );
        }
        for (const { memory, fits, mfu, iterationMs } of plan.candidates) {
          memory.stages.forEach(({ capacityBytes, gpu }, stage) => {
            const kind = kinds[layout.stageNodeGroups?.[stage] ?? 0]!;
            assert.equal(capacityBytes, kind.gpu.memoryBytes);
            assert.equal(gpu, cluster.groups === undefined ? undefined : kind.gpu.name);
          });
          assert.equal(
            fits,
            memory.stages.every(({ inUseBytes, capacityBytes }) => inUseBytes <= capacityBytes),
          );
          assert.ok(mfu > 0 && mfu < 1 && iterationMs > 0 && iterationMs < Infinity);
        }
      }),
      { numRuns: cases(6, 100) },
    );
    assert.ok(placed > 0);
  });
});
