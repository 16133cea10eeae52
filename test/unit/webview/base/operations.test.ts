import assert from 'node:assert/strict';
import fc from 'fast-check';
import { criticalPath, alongMicroBatch, operationWait } from '../../../../webview/charts/lanes/dependencies';
import { hit, hitNear, idleShares, indexOperations, operationAt, stageRows, sumRange } from '../../../../webview/base/operations';
import { anyTimeline, timelineOf } from '../timelines';

describe('operations', () => {
  it('find every row again by chunk, kind and unit', () => {
    fc.assert(
      fc.property(anyTimeline, (timeline) => {
        const operations = indexOperations(timeline);
        for (let row = 0; row < operations.count; row++) {
          const { chunk, kind, unitIndex } = operationAt(operations, row);
          assert.equal(operations.findRow(chunk, kind, unitIndex), row);
        }
      }),
      { seed: 4 },
    );
  });

  it('hit what a plain search hits, and nothing in gaps', () => {
    fc.assert(
      fc.property(anyTimeline, fc.double({ min: 0, max: 1, noNaN: true }), (timeline, share) => {
        const operations = indexOperations(timeline);
        const ms = share * timeline.makespanMs;
        for (let stage = 0; stage < timeline.stages; stage++) {
          const { first, end } = stageRows(operations, stage);
          const rows = Array.from({ length: end - first }, (_, index) => first + index);
          const plain = rows.find((row) => timeline.startMs[row]! <= ms && timeline.endMs[row]! > ms);
          assert.equal(hit(operations, stage, ms)?.row, plain);
        }
      }),
      { seed: 5 },
    );
  });

  it('take the nearest operation within the slack', () => {
    const operations = indexOperations(timelineOf('GPipe', [[4]], 2));
    assert.equal(hit(operations, 1, 3.5), null);
    assert.equal(hitNear(operations, 1, 3.5, 1)!.startMs, 4);
    assert.equal(hitNear(operations, 1, 2, 1), null);
  });

  it('sum a range like adding up by hand', () => {
    const edge = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(anyTimeline, edge, edge, (timeline, a, b) => {
        const operations = indexOperations(timeline);
        const [from, to] = [Math.min(a, b) * timeline.makespanMs, Math.max(a, b) * timeline.makespanMs];
        const sums = sumRange(operations, from, to, 0, timeline.stages - 1);
        const busy = [0, 0, 0, 0];
        for (let row = 0; row < operations.count; row++) {
          const inside = Math.max(0, Math.min(timeline.endMs[row]!, to) - Math.max(timeline.startMs[row]!, from));
          busy[timeline.kind[row]!]! += inside;
        }
        const [forward, whole, input, weight] = busy as [number, number, number, number];
        assert.ok(Math.abs(sums.forwardMs - forward) < 1e-6 && Math.abs(sums.backwardMs - whole - input) < 1e-6);
        assert.ok(Math.abs(sums.weightMs - weight) < 1e-6);
        assert.ok(Math.abs(sums.idleMs - ((to - from) * timeline.stages - forward - whole - input - weight)) < 1e-6);
      }),
      { seed: 6 },
    );
  });

  it('know the idle share of each stage', () => {
    const shares = idleShares(indexOperations(timelineOf('GPipe', [[2], [2]], 2)));
    assert.ok(Math.abs(shares[0]! - 1 / 3) < 1e-12 && Math.abs(shares[1]! - 1 / 3) < 1e-12);
  });
});

describe('dependencies', () => {
  it('never claim to wait for something that ends later', () => {
    fc.assert(
      fc.property(anyTimeline, (timeline) => {
        const operations = indexOperations(timeline);
        for (let row = 0; row < operations.count; row++) {
          const operation = operationAt(operations, row);
          const { on, idleMs } = operationWait(operations, operation);
          assert.ok(idleMs >= 0);
          assert.ok(on === null ? operation.startMs === 0 : on.endMs <= operation.startMs + 1e-9);
        }
      }),
      { seed: 7 },
    );
  });

  it('make a critical path without holes from 0 to the end', () => {
    fc.assert(
      fc.property(anyTimeline, (timeline) => {
        const operations = indexOperations(timeline);
        const path = Array.from(criticalPath(operations), (row) => operationAt(operations, row));
        assert.equal(path[0]!.startMs, 0);
        assert.equal(path.at(-1)!.endMs, timeline.makespanMs);
        path.slice(1).forEach((operation, index) => assert.ok(Math.abs(operation.startMs - path[index]!.endMs) < 1e-9));
      }),
      { seed: 8 },
    );
  });

  it('lead a micro-batch forward down the stages, backward up, and on to its next slice', () => {
    const operations = indexOperations(timelineOf('TeraPipe', [[3, 2], [4]], 3));
    let operation = operationAt(operations, operations.findRow(0, 0, 0));
    const way: string[] = [];
    for (let next = alongMicroBatch(operations, operation, 1); next !== null; next = alongMicroBatch(operations, operation, 1)) {
      operation = next;
      way.push(`${operation.kind === 0 ? 'F' : 'B'}${operation.stage}.${operation.unit.slice}`);
    }
    assert.deepEqual(way, ['F1.0', 'F2.0', 'B2.0', 'B1.0', 'B0.0', 'F0.1', 'F1.1', 'F2.1', 'B2.1', 'B1.1', 'B0.1']);
    const back = alongMicroBatch(operations, operationAt(operations, operations.findRow(0, 0, 1)), -1);
    assert.deepEqual([back!.kind, back!.stage, back!.unit.slice], [1, 0, 0]);
  });

  it('lead down and up a V of chunks, and from a weight gradient back to the input gradient it depends on', () => {
    const operations = indexOperations(timelineOf('ZBVZeroBubble', [[2], [2], [2]], 2, 2));
    let operation = operationAt(operations, operations.findRow(0, 0, 1));
    const way: string[] = [];
    for (let next = alongMicroBatch(operations, operation, 1); next !== null; next = alongMicroBatch(operations, operation, 1)) {
      operation = next;
      way.push(`${'FBIW'.charAt(operation.kind)}${operation.chunk}@${operation.stage}`);
    }
    assert.deepEqual(way, ['F1@1', 'F2@1', 'F3@0', 'I3@0', 'I2@1', 'I1@1', 'I0@0']);
    const weight = operationAt(operations, operations.findRow(2, 3, 1));
    const input = alongMicroBatch(operations, weight, -1);
    assert.deepEqual([input!.kind, input!.chunk, input!.unitIndex], [2, 2, 1]);
  });
});
