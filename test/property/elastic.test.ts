import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decideCaches, type Span } from '../../src/features/elastic/core/auto-cache';
import { exactBalance, greedyBalance, stageSums } from '../../src/features/elastic/core/balance';
import { requestOf } from '../unit/features/elastic/core/models';
import { cases } from './cases';

/** All cuts of `units` into `stages` stages with at least one unit each. */
function cutsOf(units: number, stages: number): number[][] {
  if (stages === 1) return [[units]];
  return Array.from({ length: units - stages + 1 }, (_, index) => index + 1).flatMap((first) =>
    cutsOf(units - first, stages - 1).map((rest) => [first, ...rest]),
  );
}

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

describe('exact balance', () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 9 });

  it('is the best of all cuts: least maximum, then least squares', () => {
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 6 }), (costs, wanted) => {
        const stages = Math.min(wanted, costs.length);
        const all = cutsOf(costs.length, stages).map((cut) => stageSums(costs, cut));
        const maximum = Math.min(...all.map((sums) => Math.max(...sums)));
        const squares = Math.min(...all.filter((sums) => Math.max(...sums) === maximum).map((sums) => sumOf(sums.map((sum) => sum ** 2))));
        const cut = exactBalance(costs.length, wanted, (from, to) => sumOf(costs.slice(from, to)));
        assert.ok(cut !== null);
        assert.equal(cut.length, wanted);
        const sums = stageSums(costs, cut);
        assert.equal(Math.max(...sums), maximum);
        assert.equal(sumOf(sums.map((sum) => sum ** 2)), squares);
      }),
      { seed: 20261121, numRuns: cases(300, 3000) },
    );
  });

  it('keeps within a limit of another size, or reports that nothing does', () => {
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 5 }), (costs, wanted, most) => {
        const stages = Math.min(wanted, costs.length);
        const feasible = cutsOf(costs.length, stages).filter((cut) => cut.every((count) => count <= most));
        const cut = exactBalance(costs.length, stages, (from, to) => (to - from > most ? Infinity : sumOf(costs.slice(from, to))));
        assert.equal(cut === null, feasible.length === 0);
        if (cut === null) return;
        const best = Math.min(...feasible.map((other) => Math.max(...stageSums(costs, other))));
        assert.equal(Math.max(...stageSums(costs, cut)), best);
      }),
      { seed: 20261121, numRuns: cases(300, 3000) },
    );
  });

  it('is never worse than the greedy rule, which loses no unit', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 9_000_000 }), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 12 }),
        (parameters, stages) => {
          const greedy = greedyBalance(parameters, stages);
          assert.equal(greedy.length, stages);
          assert.equal(sumOf(greedy), parameters.length);
          const exact = exactBalance(parameters.length, stages, (from, to) => sumOf(parameters.slice(from, to))) ?? [];
          assert.ok(Math.max(...stageSums(parameters, exact)) <= Math.max(...stageSums(parameters, greedy)));
        },
      ),
      { seed: 20261121, numRuns: cases(200, 2000) },
    );
  });
});

describe('caching over a run', () => {
  const span = fc.record<Span>({
    epochs: fc.integer({ min: 1, max: 4 }),
    steps: fc.integer({ min: 1, max: 50 }),
    forwardMs: fc.integer({ min: 0, max: 60 }),
    advanceMs: fc.integer({ min: 0, max: 60 }),
    follows: fc.boolean(),
    batch: fc.constantFrom(160, 320, 640),
    replicasPerNode: fc.integer({ min: 1, max: 8 }),
  });

  it('takes the least time of all ways to switch it on and off', () => {
    const request = requestOf({});
    fc.assert(
      fc.property(fc.array(span, { minLength: 1, maxLength: 6 }), (drawn) => {
        const spans = drawn.map((one) => ({ ...one, advanceMs: Math.min(one.advanceMs, one.forwardMs) }));
        const caches = decideCaches(request, spans, true);
        const timeOf = (used: readonly boolean[]) =>
          sumOf(
            spans.map((one, index) => {
              const movedMs = caches[index]?.movedMs ?? NaN;
              if (used[index] !== true) return one.epochs * one.steps * one.forwardMs;
              const fillMs = (used[index - 1] === true && one.follows ? movedMs + one.advanceMs : one.forwardMs) + movedMs;
              return one.steps * (fillMs + (one.epochs - 1) * movedMs);
            }),
          );
        const ways = Array.from({ length: 2 ** spans.length }, (_, way) => spans.map((_span, index) => ((way >> index) & 1) === 1));
        const possible = ways.filter((used) => used.every((on, index) => !on || (spans[index]?.forwardMs ?? 0) > 0));
        const best = Math.min(...possible.map(timeOf));
        const chosen = timeOf(caches.map(({ used }) => used));
        assert.ok(Math.abs(chosen - best) <= 1e-9 * Math.max(1, best), `${chosen} against ${best}`);
      }),
      { seed: 20261121, numRuns: cases(300, 3000) },
    );
  });
});
