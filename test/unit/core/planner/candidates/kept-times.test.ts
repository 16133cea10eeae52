import assert from 'node:assert/strict';
import { keptTimes } from '../../../../../src/core/planner/candidates/kept-times';
import type { SliceMs } from '../../../../../src/core/slicing/problem';
import { solveSlicing } from '../../../../../src/core/slicing/solve';

describe('times kept for a grid of slices', () => {
  const cost: SliceMs = (batch, tokens, context) => 0.3 + batch * tokens * (0.01 + 1e-5 * (context + tokens / 2));
  const solve = (of: SliceMs, batch: number, unit: number) => solveSlicing({ batch, tokens: 500, unit, stages: 8, cost: of });

  it('are asked for once, however many batches and units are solved for', () => {
    const asked = new Map<string, number>();
    const counting: SliceMs = (...slice) => {
      asked.set(slice.join(), (asked.get(slice.join()) ?? 0) + 1);
      return cost(...slice);
    };
    for (const unit of [16, 32, 64]) for (const batch of [3, 1, 2]) solve(keptTimes(counting, 500, unit), batch, unit);
    assert.ok(asked.size >= 3 * 32 * 16);
    assert.deepEqual(
      [...asked].filter(([, times]) => times > 1),
      [],
    );
  });

  it('change no solution, whichever unit comes first', () => {
    const copy: SliceMs = (...slice) => cost(...slice);
    for (const unit of [48, 32, 16]) assert.deepEqual(solve(keptTimes(copy, 500, unit), 4, unit), solve(cost, 4, unit));
  });

  it('are those of slices that are on no grid too', () => {
    assert.equal(keptTimes((...slice) => cost(...slice), 500, 16)(2, 7, 16), cost(2, 7, 16));
  });
});
