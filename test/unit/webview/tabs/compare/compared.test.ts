import assert from 'node:assert/strict';
import fc from 'fast-check';
import { part, operationPart } from '../../../../../src/core/schedules/parts';
import { findCounterpart, passPairs } from '../../../../../webview/tabs/compare/counterpart';
import { signed } from '../../../../../webview/tabs/compare/labels';
import { indexOperations, operationAt, stageRows, type Operation } from '../../../../../webview/base/operations';
import { timelineOf } from '../../timelines';

const names = ['GPipe', '1F1B', 'TeraPipe', 'Seq1F1B'] as const;
const chunks = fc.array(fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 });
const side = fc.record({ name: fc.constantFrom(...names), chunks, stages: fc.integer({ min: 1, max: 4 }) });

/** What a pass is, spelled out: the oracle compares nothing else. */
function spelled({ chunk, kind, unit }: Operation): string {
  const { microBatch, slice, batch, tokens, context } = unit;
  return JSON.stringify([chunk, operationPart(kind), microBatch, slice, batch, tokens, context]);
}

describe('passes of two timelines', () => {
  it('are counterparts when they are the same work, and only then', () => {
    fc.assert(
      fc.property(side, side, (left, right) => {
        const [a, b] = [left, right].map((of) => indexOperations(timelineOf(of.name, of.chunks, of.stages)));
        const all = Array.from({ length: b!.count }, (_, row) => operationAt(b!, row));
        for (let row = 0; row < a!.count; row++) {
          const pass = operationAt(a!, row);
          const expected = left.stages === right.stages ? all.find((other) => spelled(other) === spelled(pass)) : undefined;
          assert.equal(findCounterpart(pass, a!, b!)?.row, expected?.row);
        }
      }),
      { numRuns: 60, seed: 7 },
    );
  });

  it('are listed once each, by stage', () => {
    fc.assert(
      fc.property(side, side, (left, right) => {
        const [a, b] = [left, right].map((of) => indexOperations(timelineOf(of.name, of.chunks, of.stages)));
        for (let stage = 0; stage < Math.max(a!.stages, b!.stages); stage++) {
          const pairs = passPairs(a!, b!, stage);
          for (const [operations, id] of [
            [a!, 'a'],
            [b!, 'b'],
          ] as const) {
            // prettier-ignore
            const { first, end } = stage < operations.stages ? stageRows(operations, stage) : { first: 0, end: 0 };
            const listed = pairs.flatMap((pair) => pair[id]?.row ?? []).sort((x, y) => x - y);
            assert.deepEqual(
              listed,
              Array.from({ length: end - first }, (_, index) => first + index),
            );
          }
          for (const pair of pairs) if (pair.a !== null && pair.b !== null) assert.equal(spelled(pair.a), spelled(pair.b));
        }
      }),
      { numRuns: 60, seed: 8 },
    );
  });

  it('are not mixed up where a backward is split', () => {
    const [whole, split] = ['1F1B', 'ZB-H1'].map((name) => indexOperations(timelineOf(name, [[2], [2], [2]], 2)));
    const weights = Array.from({ length: split!.count }, (_, row) => operationAt(split!, row)).filter(
      ({ kind }) => operationPart(kind) === part.weight,
    );
    assert.ok(weights.length > 0);
    for (const pass of weights) assert.equal(findCounterpart(pass, split!, whole!), null);
  });
});

describe('a signed difference', () => {
  it('has no sign where rounding leaves nothing', () => {
    const text = (value: number): string => value.toFixed(1);
    assert.deepEqual([1.25, -1.25, 0, 0.01, -0.01].map((by) => signed(by, text)), ['+1.3', '−1.3', '0.0', '0.0', '0.0']); // prettier-ignore
  });
});
