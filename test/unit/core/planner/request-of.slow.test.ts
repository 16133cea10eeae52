import assert from 'node:assert/strict';
import { toText } from '../../sentence-text';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate, candidatePeakBytes } from '../../../../src/core/planner/plan';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { searchLayouts } from '../../../../src/core/layout-search/assemble';
import { toPlanRequest } from '../../../../src/core/layout-search/request-of';
import type { FoundPlan, SearchResult } from '../../../../src/core/layout-search/result';
import { comparedSchedules } from '../../../../src/core/domain/schedule-names';
import { deepseek, gpt, request } from '../../../golden/requests';
import { sentence } from '../../../../src/core/sentence';

/** Everything an answer shows. */
function shownOf({ best, paretoFront, perSchedule, runnersUp }: SearchResult): FoundPlan[] {
  return [best, ...paretoFront, ...perSchedule, ...runnersUp.map(({ plan }) => plan)];
}

function assertSame(wanted: PlanRequest, found: FoundPlan): void {
  const chosen = chosenCandidate(makePlan(toPlanRequest(wanted, found)));
  assert.deepEqual(
    [chosen.iterationMs, candidatePeakBytes(chosen), chosen.fits, chosen.bubbleRate, chosen.mfu],
    [found.iterationMs, found.peakBytes, found.fits, found.bubbleRate, found.mfu],
    `${toText(found.name)}, ${JSON.stringify(found.point.layout)}, ${found.point.stageLayers.join()}`,
  );
}

describe('a layout that a search found, opened as a plan', () => {
  it('takes the time and the memory that the search predicted, on its front and for every schedule', () => {
    const base = request('A100-40GB', gpt(14, 3072, 24, 50304), {
      training: { globalBatch: 8, sequenceLength: 2048, attention: 'flash', dropout: false, zeroStage: 1 },
      layout: { tensor: 2, pipeline: 4, data: 1 },
    });
    const wanted = { ...base, slicing: { unit: 128, scheme: null } };
    const plans = shownOf(searchLayouts({ request: wanted, fixed: new Set(['tensor', 'microBatch', 'zeroStage', 'offloadOptimizer']) }));
    for (const found of plans) assertSame(wanted, found);
    assert.deepEqual(
      new Set(plans.map(({ point }) => point.schedule)),
      new Set(comparedSchedules.filter((name) => name !== 'Interleaved1F1B')),
    );
    assert.ok(
      plans.some(({ point }) => new Set(point.stageLayers).size > 1),
      'an uneven cut',
    );
    assert.ok(
      plans.some(({ point }) => point.layout.virtualStages > 1),
      'virtual stages',
    );
    assert.ok(
      plans.some(({ point }) => point.schedule === 'TeraPipe'),
      'token slices',
    );
  });

  it('does so where layers differ and experts are spread', () => {
    const base = request('B200', deepseek(2, 6), {
      training: { globalBatch: 16, sequenceLength: 2048, attention: 'flash', dropout: false, zeroStage: 1 },
      layout: { tensor: 1, pipeline: 2, data: 4, expert: 4 },
    });
    const wanted = { ...base, slicing: { unit: 256, scheme: null } };
    const found = searchLayouts({ request: wanted, fixed: new Set(['data', 'recompute', 'zeroStage', 'context']) });
    for (const plan of shownOf(found)) assertSame(wanted, plan);
  });

  it('does so where every pass gathers sharded weights, over any number of replicas', () => {
    const wanted = request('H100-80GB', gpt(3, 4096, 32, 128256), {
      training: { globalBatch: 16, sequenceLength: 1024, zeroStage: 3, runtime: 'torchtitan' },
      layout: { data: 8 },
    });
    const fixed = new Set(['zeroStage', 'recompute', 'microBatch', 'context', 'virtualStages', 'sequenceParallel'] as const);
    const { best, runnersUp } = searchLayouts({ request: wanted, fixed, schedules: ['1F1B'] });
    const plans = [best, ...runnersUp.map(({ plan }) => plan)];
    for (const found of plans) assertSame(wanted, found);
    const stages = plans.map(({ point }) => point.layout.pipeline);
    assert.ok(stages.includes(2) && stages.filter((pipeline) => pipeline === 1).length > 1, 'with a pipeline and without');
  });

  it('lists nothing that the search decided as an assumption', () => {
    const wanted = {
      ...request('A100-40GB', gpt(8, 1024, 16, 50304), {
        training: { globalBatch: 8, sequenceLength: 1024 },
        layout: { pipeline: 2, data: 4 },
      }),
      assumptions: ['layout.tensor', 'training.microBatch', 'training.precision'].map((key) => ({
        key,
        value: '1',
        reason: sentence`usual`,
      })),
    };
    const { best } = searchLayouts({ request: wanted, fixed: new Set(['tensor', 'recompute', 'zeroStage', 'context']) });
    assert.deepEqual(toPlanRequest(wanted, best).assumptions.map(({ key }) => key), ['training.precision']); // prettier-ignore
  });

  it('keeps a cut that is fixed', () => {
    const base = request('A100-40GB', gpt(8, 1024, 16, 50304), {
      training: { globalBatch: 8, sequenceLength: 1024 },
      layout: { pipeline: 4, data: 2 },
    });
    const wanted = { ...base, layout: { ...base.layout, stageLayers: [1, 3, 2, 2] } };
    const { best } = searchLayouts({ request: wanted, fixed: new Set(['pipeline', 'virtualStages', 'tensor', 'context']) });
    assert.deepEqual(best.point.stageLayers, [1, 3, 2, 2]);
    assertSame(wanted, best);
  });

  it('drops the slices of the config where its schedule has none', () => {
    const base = request('A100-40GB', gpt(8, 1024, 16, 50304), {
      training: { globalBatch: 8, sequenceLength: 1024 },
      layout: { pipeline: 2, data: 4 },
    });
    const halves = Array.from({ length: 2 }, () => ({ batch: 1, tokens: [512, 512] }));
    const wanted = { ...base, slicing: { unit: 128, scheme: halves } };
    const { perSchedule } = searchLayouts({ request: wanted, fixed: new Set(['tensor', 'recompute', 'zeroStage', 'context']) });
    const whole = perSchedule.find(({ point }) => point.schedule === '1F1B' && point.layout.data !== base.layout.data);
    assert.ok(whole !== undefined, '1F1B on other replicas');
    assertSame(wanted, whole);
  });

  it('runs the slices that were found for it on other replicas, those of the config divided again or solved for', () => {
    const base = request('A100-40GB', gpt(8, 1024, 16, 50304), {
      training: { globalBatch: 8, sequenceLength: 1024 },
      layout: { pipeline: 2, data: 4 },
    });
    const lengths = [640, 384];
    const alike = Array.from({ length: 2 }, () => ({ batch: 1, tokens: lengths }));
    const unlike = [alike[0] ?? { batch: 1, tokens: lengths }, { batch: 1, tokens: [512, 512] }];
    const split = { runtime: 'seq1f1b', slices: 2, rule: 'list', lengths } as const;
    const fixed = new Set(['tensor', 'recompute', 'zeroStage', 'context', 'schedule', 'microBatch'] as const);
    for (const [slicing, isKept] of [
      [{ scheme: alike }, true],
      [{ scheme: alike, split }, true],
      [{ scheme: unlike }, false],
    ] as const) {
      const wanted: PlanRequest = { ...base, schedule: 'Seq1F1B', slicing: { unit: 128, ...slicing } };
      const found = searchLayouts({ request: wanted, fixed });
      const others = shownOf(found).filter(({ point }) => point.layout.data !== 4 && point.layout.pipeline > 1);
      assert.ok(others.length > 0, 'other replicas');
      for (const plan of others) {
        const batch = 8 / plan.point.layout.data;
        assert.equal(
          plan.scheme.reduce((sum, chunk) => sum + chunk.batch, 0),
          batch,
        );
        if (isKept) assert.deepEqual(plan.scheme.map(({ tokens }) => tokens), Array.from({ length: batch }, () => lengths)); // prettier-ignore
        assert.equal(toPlanRequest(wanted, plan).slicing.split !== undefined, 'split' in slicing);
        assertSame(wanted, plan);
      }
    }
  });
});
