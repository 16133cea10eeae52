import assert from 'node:assert/strict';
import fc from 'fast-check';
import { joinNodeGroups } from '../../../../src/core/cluster/groups';
import { listDivisors } from '../../../../src/core/numbers';
import { fittingLayout, mixedLayout } from '../../../../src/core/partition/mixed-layout';
import { isBetter, placeStages, type Placement } from '../../../../src/core/partition/place-stages';
import { cases } from '../../../property/cases';
import { gpt, request } from '../../../golden/requests';
import { group } from '../planner/mixed';
import { sentence } from '../../../../src/core/sentence';

type MixedProblem = Parameters<typeof mixedLayout>[0];

/** What a layout is looked for with: a GPT of this many layers on two groups of nodes, nothing fixed. */
function problemOf(layers: number, nodes: readonly [number, number], { hidden = 4096, globalBatch = 64 } = {}): MixedProblem {
  const { model, training, constants } = request('H100-80GB', gpt(layers, hidden, hidden / 128, 50304, 2048), {
    training: { globalBatch },
    layout: {},
  });
  return {
    given: {},
    model,
    constants,
    schedule: null,
    cluster: joinNodeGroups([group('H100-80GB', nodes[0]), group('A100-40GB', nodes[1])]),
    trainingOn: ({ tensor }) => ({ ...training, sequenceParallel: tensor > 1 }),
  };
}

/** The best of all sizes, each placed whole: what `mixedLayout` finds by looking at few. */
function bestOfAll({ model, cluster, constants, schedule, trainingOn }: MixedProblem): Placement {
  const gpus = cluster.groups!.map((own) => own.nodes * own.gpusPerNode);
  const all = listDivisors(8).flatMap((tensor) =>
    listDivisors(gpus[0]!)
      .filter((data) => gpus.every((count) => count % (tensor * data) === 0))
      .map((data) => ({ tensor, data, pipeline: (gpus[0]! + gpus[1]!) / (tensor * data) }))
      .filter(({ pipeline }) => pipeline <= Math.min(128, model.layers)),
  );
  return all
    .map((size) => ({ ...size, context: 1, expert: 1, virtualStages: 1 }))
    .map((layout) => ({ model, training: trainingOn(layout), layout, cluster, constants }))
    .filter(({ training, layout }) => training.globalBatch % (layout.data * training.microBatch) === 0)
    .map((inputs) => placeStages({ inputs, schedule }))
    .sort((a, b) => a.layout.tensor * a.layout.pipeline - b.layout.tensor * b.layout.pipeline || b.layout.pipeline - a.layout.pipeline)
    .reduce((best, other) => (isBetter(other, best) ? other : best));
}

describe('a layout on groups of nodes', () => {
  it('is the best of all sizes, and only what fits is looked for where no more is asked', () => {
    let [fit, unfit] = [0, 0];
    const problems = fc
      .record({
        layers: fc.integer({ min: 8, max: 90 }),
        nodes: fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 })),
        hidden: fc.constantFrom(1024, 8192, 16384),
        globalBatch: fc.constantFrom(8, 64, 96),
      })
      .map(({ layers, nodes, ...sizes }) => problemOf(layers, nodes, sizes));
    fc.assert(
      fc.property(problems, (problem) => {
        const best = bestOfAll(problem);
        const found = mixedLayout(problem);
        assert.deepEqual(found, { ...best, stepMs: best.stepMs / problem.trainingOn(best.layout).globalBatch });
        assert.deepEqual(fittingLayout(problem), best.fits ? found : null);
        if (best.fits) fit++;
        else unfit++;
      }),
      { numRuns: cases(12, 300), seed: 3 },
    );
    assert.ok(fit > 1 && unfit > 1, `${fit} fit, ${unfit} do not`);
  });

  it('takes few looks at stages, however many layers there are', () => {
    const looks = (layers: number, hidden: number): number => {
      const counter = { count: 0 };
      const problem = problemOf(layers, [64, 64], { hidden, globalBatch: 1024 });
      mixedLayout({ ...problem, counter });
      fittingLayout({ ...problem, counter, cluster: { ...problem.cluster, groups: problem.cluster.groups!.slice(0, 1) } });
      return counter.count;
    };
    const counts = [
      [128, 4096],
      [1024, 4096],
      [4096, 4096],
      [1024, 16384],
      [4096, 16384],
    ].map(([layers, hidden]) => looks(layers!, hidden!));
    assert.ok(Math.max(...counts) <= 4000, counts.join());
  });

  it('refuses more stages than layers', () => {
    const stageNodeGroups = { value: [0, 0, 1, 1], source: { kind: 'default', reason: sentence`the test` } } as const;
    const problem = problemOf(3, [1, 1]);
    const model = { ...problem.model, vocab: 0 };
    assert.throws(() => mixedLayout({ ...problem, model, given: { stageNodeGroups } }), { code: 'plan-more-stages-than-layers' });
  });
});
