import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { scheduleOn } from '../../../../../src/core/schedules/on-layout';
import { buildPipeline } from '../../../../../src/core/planner/predict/pipeline';
import { predict } from '../../../../../src/core/planner/predict/predict';
import { idleCauses } from '../../../../../src/core/schedules/simulate/gaps';
import { operationKind } from '../../../../../src/core/schedules/schedule';
import { operationAt, indexOperations, sumRange } from '../../../../../webview/base/operations';
import { operationFlows } from '../../../../../webview/charts/lanes/dependencies';
import { idleInRange } from '../../../../../webview/charts/lanes/range';
import { gpt, request } from '../../../../golden/requests';
import { timelineOf } from '../../timelines';

const timelines = [timelineOf('1F1B', [[2], [2], [2], [2]], 3), timelineOf('ZBVZeroBubble', [[2], [2], [2]], 2, 2)];

describe('arrows of an operation', () => {
  for (const timeline of timelines)
    it(`of ${timeline.stageOfChunk.length} chunks lead from what it waited for, and from there back to it`, () => {
      const operations = indexOperations(timeline);
      let arrows = 0;
      for (let row = 0; row < operations.count; row++) {
        const { before, after } = operationFlows(operations, operationAt(operations, row));
        for (const each of before) {
          arrows += 1;
          assert.ok(each.endMs <= operationAt(operations, row).startMs + 1e-9);
          assert.ok(operationFlows(operations, each).after.some((next) => next.row === row));
        }
        for (const each of after) assert.ok(operationFlows(operations, each).before.some((from) => from.row === row));
      }
      assert.ok(arrows > operations.count / 2);
    });

  it('of the last stage lead from a forward to its backward', () => {
    const operations = indexOperations(timelines[0]!);
    const forward = operationAt(operations, operations.findRow(2, operationKind.forward, 0));
    assert.ok(operationFlows(operations, forward).after.some(({ kind, stage }) => kind === operationKind.backward && stage === 2));
  });
});

describe('a dragged range', () => {
  it('has the idle time of its sums, by cause', () => {
    const operations = indexOperations(timelines[0]!);
    const { makespanMs } = operations.timeline;
    for (const [startMs, endMs] of [
      [0, makespanMs],
      [makespanMs / 3, makespanMs / 2],
    ] as const) {
      const byCause = idleInRange(operations, null, { startMs, endMs, firstStage: 0, lastStage: 1 });
      const sum = [...byCause.values()].reduce((total, ms) => total + ms, 0);
      assert.ok(Math.abs(sum - sumRange(operations, startMs, endMs, 0, 1).idleMs) < 1e-9 * makespanMs);
    }
    assert.deepEqual([...idleInRange(operations, null, { startMs: 0, endMs: 1e-9, firstStage: 1, lastStage: 2 }).keys()], ['warm-up']);
  });

  it('of the whole pipeline has the idle times of the step, with what links and unequal stages are to blame for', () => {
    const unequal = request('H100-80GB', gpt(30, 2048, 16, 128_000), {
      training: { globalBatch: 12 },
      layout: { pipeline: 4, data: 1, stageLayers: [6, 9, 8, 7] },
    });
    const { idle, timeline } = predict(buildPipeline(unequal), {
      ...({ id: '1f1b', name: '1F1B', kind: scheduleOn('1F1B', unequal.layout), certificate: null } as const),
      scheme: Array.from({ length: 12 }, () => ({ batch: 1, tokens: [2048] })),
    });
    const operations = indexOperations(timeline!);
    const { makespanMs } = timeline!;
    for (let stage = 0; stage < 4; stage++) {
      const range = { startMs: 0, endMs: makespanMs, firstStage: stage, lastStage: stage };
      const inRange = idleInRange(operations, idle, range);
      for (const cause of idleCauses)
        assert.ok(Math.abs((inRange.get(cause) ?? 0) - idle[cause][stage]!) < 1e-9 * makespanMs, `${cause} of stage ${stage}`);
      const halves = [0, 1].map((half) =>
        idleInRange(operations, idle, { ...range, startMs: (half * makespanMs) / 2, endMs: ((half + 1) * makespanMs) / 2 }),
      );
      for (const cause of idleCauses) {
        const sum = halves.reduce((total, each) => total + (each.get(cause) ?? 0), 0);
        assert.ok(Math.abs(sum - idle[cause][stage]!) < 1e-9 * makespanMs, `${cause} of halves of stage ${stage}`);
      }
    }
    assert.ok(idle.link.some((ms) => ms > 0) && idle.imbalance.some((ms) => ms > 0));
  });
});
