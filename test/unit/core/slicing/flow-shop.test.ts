import assert from 'node:assert/strict';
import fc from 'fast-check';
import { generateSchedule, toScheduleProblem } from '../../../../src/core/schedules/registry';
import { noTransfers, simulate, wholeBackward } from '../../../../src/core/schedules/simulate/simulate';
import { flowShopBounds, flowShopMs, formulaIsExact, flowShopObjective, stayingStages } from '../../../../src/core/slicing/flow-shop';

const shops = fc.record({
  factors: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 6 }),
  times: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 7 }),
});

/** The makespan of the forwards of a TeraPipe schedule whose backwards take no time. */
function simulatedMs(times: readonly number[], factors: readonly number[]): number {
  const schedule = generateSchedule('TeraPipe', toScheduleProblem([{ batch: 1, tokens: times.map(() => 1) }], factors.length));
  const forwardMs = Float64Array.from(factors.flatMap((factor) => times.map((ms) => factor * ms)));
  return simulate(schedule, wholeBackward(forwardMs, new Float64Array(forwardMs.length)), noTransfers(times.length)).makespanMs;
}

describe('stages that differ by factors', () => {
  it('take the time that the simulator shows', () => {
    fc.assert(
      fc.property(shops, ({ factors, times }) => assert.equal(flowShopMs(times, factors), simulatedMs(times, factors))),
      { seed: 7, numRuns: 500 },
    );
  });

  it('take no longer than the formula, just as long where it is exact, and no less than its bounds', () => {
    fc.assert(
      fc.property(shops, ({ factors, times }) => {
        const ms = flowShopMs(times, factors);
        const total = times.reduce((sum, each) => sum + each, 0);
        const value = ({ sum, slowest }: { readonly sum: number; readonly slowest: number }): number =>
          sum * total + slowest * Math.max(...times);
        assert.ok(value(flowShopObjective(factors)) >= ms);
        if (formulaIsExact(factors)) assert.equal(value(flowShopObjective(factors)), ms);
        for (const bound of flowShopBounds(factors)) assert.ok(value(bound) <= ms);
      }),
      { seed: 7, numRuns: 2000 },
    );
  });

  it('delay slices only at the ends and where no slower stage lies on both sides', () => {
    assert.deepEqual(stayingStages([1, 1, 1, 1.5]), [0, 3]);
    assert.deepEqual(stayingStages([2, 1, 3, 1, 2]), [0, 2, 4]);
    assert.deepEqual(stayingStages([1, 2, 2, 3, 2, 1]), [0, 1, 3, 4, 5]);
    assert.deepEqual(stayingStages([5]), [0]);
  });
});
