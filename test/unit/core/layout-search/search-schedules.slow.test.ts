import { scheduleKind } from '../../../../src/core/schedules/registry';
import assert from 'node:assert/strict';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate, candidatePeakBytes } from '../../../../src/core/planner/plan';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { scheduleOn } from '../../../../src/core/schedules/on-layout';
import { searchLayouts } from '../../../../src/core/layout-search/assemble';
import { stageCuts } from '../../../../src/core/layout-search/cuts';
import { toPlanRequest } from '../../../../src/core/layout-search/request-of';
import { sameTime } from '../../../../src/core/layout-search/search-problem';
import { runtimesNeeded } from '../../../../src/core/layout-search/runtimes-needed';
import { cannotSplit } from '../../../../src/core/layout-search/space';
import { say } from '../../../../src/core/sentence';
import { searchKeys, type SearchKey } from '../../../../src/core/domain/layout-choices';
import { namedSchedules, type ScheduleName } from '../../../../src/core/domain/schedule-names';
import { gpt, request } from '../../../golden/requests';

/** Sixteen A100 in nodes of eight; slices coarse enough that plans are quick. */
const base = (layers: number, layout: Partial<PlanRequest['layout']> = {}): PlanRequest => ({
  ...request('A100-80GB', gpt(layers, 3072, 24, 50304), {
    training: { globalBatch: 32, sequenceLength: 2048, attention: 'flash', dropout: false, zeroStage: 1 },
    layout: { tensor: 2, pipeline: 4, data: 2, ...layout },
  }),
  slicing: { unit: 128, scheme: null },
});

const allBut = (...free: readonly SearchKey[]): Set<SearchKey> => new Set(searchKeys.filter((key) => !free.includes(key)));

/** The best of a search with one schedule, which opens as the same plan. */
function bestOf(wanted: PlanRequest, fixed: ReadonlySet<SearchKey>) {
  const { best, perSchedule } = searchLayouts({ request: wanted, fixed });
  assert.equal(best.point.schedule, wanted.schedule);
  assert.equal(perSchedule.length, 1);
  const opened = chosenCandidate(makePlan(toPlanRequest(wanted, best)));
  assert.deepEqual(
    [opened.iterationMs, candidatePeakBytes(opened), opened.fits],
    [best.iterationMs, best.peakBytes, best.fits],
    wanted.schedule ?? '',
  );
  return best;
}

/** Those of PipeOffload, whose chunks follow each other from stage to stage. */
const needsTwoStages = new Set<ScheduleName>(['GIS', 'PO-H', 'PO-F']);

describe('a search with its schedule fixed', () => {
  for (const schedule of namedSchedules.filter((name) => scheduleKind(name).exchangesAttention !== true))
    it(`has a layout for ${schedule} wherever a plan has, no slower than that except for a tie`, () => {
      // 14 layers: no chunks alike on four stages
      for (const layers of [16, 14]) {
        const wanted = { ...base(layers), schedule };
        const best = bestOf(wanted, allBut());
        const plan = chosenCandidate(makePlan(wanted));
        // a plan solves its slices more finely
        if (!scheduleKind(schedule).sliced) assert.ok(best.iterationMs <= plan.iterationMs * sameTime, `${layers} layers`);
      }
      const onOneStage = { ...base(16, { pipeline: 1, data: 8 }), schedule };
      if (!needsTwoStages.has(schedule)) bestOf(onOneStage, allBut());
      else {
        assert.throws(() => makePlan(onOneStage), { code: 'schedule-unmet' });
        assert.throws(() => searchLayouts({ request: onOneStage, fixed: allBut() }), { code: 'search-no-layout' });
      }
    });

  it('keeps virtual stages that are fixed too, though chunks come out unlike', () => {
    for (const [schedule, virtualStages] of [
      ['1F1B', 3],
      ['Interleaved1F1B', 3],
      ['LoopedBFS', 3],
      ['InterleavedZeroBubble', 2],
      ['ZBVZeroBubble', 2],
      ['DualPipeV', 2],
      ['ZeroBubbleV', 2],
    ] as const)
      for (const layers of [24, 14]) {
        const best = bestOf({ ...base(layers, { virtualStages }), schedule }, allBut());
        assert.equal(best.point.layout.virtualStages, virtualStages);
      }
  });

  it('chooses virtual stages, sizes and micro-batches where they are free', () => {
    const free = ['tensor', 'pipeline', 'data', 'virtualStages', 'microBatch'] as const;
    const chosen = (schedule: ScheduleName): number => bestOf({ ...base(16), schedule }, allBut(...free)).point.layout.virtualStages;
    assert.ok(chosen('Interleaved1F1B') > 1 && chosen('InterleavedZeroBubble') > 1);
    assert.equal(chosen('ZBVZeroBubble'), 2);
    assert.equal(chosen('ZB-H1'), 1);
  });
});

describe('cuts of a V', () => {
  it('take layers from the first stage, which has embedding and head', () => {
    const { placement } = scheduleOn('ZBVZeroBubble', { virtualStages: 2 });
    assert.deepEqual(stageCuts(16, 4, 2, placement), [[4, 4, 4, 4]]);
    assert.deepEqual(stageCuts(15, 4, 2, placement), [[3, 4, 4, 4]]);
    assert.deepEqual(stageCuts(14, 4, 2, placement), [[2, 4, 4, 4]]);
    assert.deepEqual(stageCuts(13, 4, 2, placement), []);
  });
});

describe('a search whose plan chose a schedule that no runtime runs with these settings', () => {
  it('compares it with all that the plan did, and lists none of them as not tried', () => {
    const wanted = request('A100-80GB', gpt(8, 512, 8, 0), {
      training: { globalBatch: 1, sequenceLength: 512, recompute: 'full', overlapParamGather: true, offloadOptimizer: true },
      layout: { tensor: 1, pipeline: 4, data: 1, context: 2, virtualStages: 2 },
    });
    const plan = makePlan(wanted);
    const fixed = allBut('data', 'schedule');
    const isLeftOut = (schedule: ScheduleName): boolean => cannotSplit({ request: wanted, fixed }, schedule, wanted.training);
    assert.ok(isLeftOut(chosenCandidate(plan).schedule));
    const result = searchLayouts({ request: wanted, fixed, withoutPlanned: true });
    const fastest = Math.min(...plan.candidates.filter(({ fits }) => fits).map(({ iterationMs }) => iterationMs));
    assert.ok(result.lowerBoundMs <= fastest * (1 + 1e-9), `${result.lowerBoundMs} ms, the plan has ${fastest}`);
    const listed = runtimesNeeded(result)
      .map((line) => say(line))
      .filter((line) => line.includes('not tried'))
      .join();
    for (const { point } of result.perSchedule)
      assert.ok(!new RegExp(`\\b${point.schedule}[,:]`).test(listed), `${point.schedule}: ${listed}`);
  });
});
