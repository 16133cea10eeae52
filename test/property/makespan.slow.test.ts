import assert from 'node:assert/strict';
import fc from 'fast-check';
import { shortestMakespan } from '../../src/core/slicing/makespan/search';
import { solveGame } from '../../src/core/slicing/makespan/matrix-game';
import type { ScheduleName } from '../../src/core/domain/schedule-names';
import { cases } from './cases';
import { smallProblem } from './small-makespans';

const kinds: readonly ScheduleName[] = ['TeraPipe', 'Seq1F1B', 'Seq1F1B-I', 'Seq1F1B-ZB', 'Seq1F1B-ZB-I'];
const seeds = fc.integer({ min: 1, max: 2 ** 31 - 1 });
const unlimited = { mostSteps: Infinity };

function nearly(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-9 * Math.max(a, b);
}

describe('slices for the shortest makespan', () => {
  for (const kind of kinds) {
    it(`${kind}: the proved optimum is that of trying every cut`, () => {
      fc.assert(
        fc.property(seeds, (seed) => {
          const { name, problem, cuts, simulatedMs } = smallProblem(kind, seed);
          const bestMs = Math.min(...cuts.map(simulatedMs));
          const found = shortestMakespan(problem, unlimited);
          assert.ok(found !== null, name);
          assert.ok(found.exact, `${name}: not proved`);
          assert.ok(nearly(found.makespanMs, bestMs), `${name}: ${found.makespanMs}, and ${bestMs} by trying all`);
          assert.ok(nearly(simulatedMs(found.lengths), found.makespanMs), `${name}: simulated otherwise`);
        }),
        { seed: 20, numRuns: cases(12, 1000) },
      );
    });

    it(`${kind}: wherever it stops the bound is below every cut`, () => {
      fc.assert(
        fc.property(seeds, fc.integer({ min: 1, max: 60_000 }), (seed, mostSteps) => {
          const { name, problem, cuts, simulatedMs } = smallProblem(kind, seed, 9);
          const found = shortestMakespan(problem, { mostSteps });
          assert.ok(found !== null, name);
          const bestMs = Math.min(...cuts.map(simulatedMs));
          assert.ok(found.lowerBoundMs <= bestMs * (1 + 1e-9), `${name}: bound ${found.lowerBoundMs}, best ${bestMs}`);
          assert.ok(found.makespanMs >= bestMs * (1 - 1e-9), name);
        }),
        { seed: 21, numRuns: cases(12, 1000) },
      );
    });
  }

  it('takes only cuts that fit, and the best of them where every cut is tried', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 4, max: 16 }), (seed, longest) => {
        const { name, problem, cuts, simulatedMs } = smallProblem('Seq1F1B', seed, 8);
        const fits = (lengths: readonly number[]): boolean => lengths.every((length) => length <= longest);
        const found = shortestMakespan({ ...problem, fits }, unlimited);
        const bestMs = Math.min(...cuts.filter(fits).map(simulatedMs));
        assert.ok(found !== null && fits(found.lengths), name);
        assert.ok(found.makespanMs >= bestMs * (1 - 1e-9) && found.lowerBoundMs <= bestMs * (1 + 1e-9), name);
      }),
      { seed: 22, numRuns: cases(15, 1000) },
    );
  });

  it('refuses times that are none', () => {
    const { problem } = smallProblem('TeraPipe', 7);
    assert.throws(() => shortestMakespan({ ...problem, writeTimes: (_, __, out) => out.fill(-1) }, unlimited), RangeError);
    assert.throws(() => shortestMakespan({ ...problem, writeTimes: (_, __, out) => out.fill(Infinity) }, unlimited), RangeError);
  });
});

describe('matrix games', () => {
  it('have a value that neither side can do better than', () => {
    const sizes = fc.integer({ min: 1, max: 9 });
    fc.assert(
      fc.property(
        sizes,
        sizes,
        fc.array(fc.double({ min: 0.01, max: 50, noNaN: true }), { minLength: 81, maxLength: 81 }),
        (m, n, values) => {
          const payoff = (row: number, column: number): number => values[row * 9 + column]!;
          const { value, rows, columns } = solveGame(m, n, payoff);
          const guaranteed = Math.min(
            ...Array.from({ length: n }, (_, c) => rows.reduce((sum, share, r) => sum + share * payoff(r, c), 0)),
          );
          const allowed = Math.max(
            ...Array.from({ length: m }, (_, r) => columns.reduce((sum, share, c) => sum + share * payoff(r, c), 0)),
          );
          assert.ok(Math.abs(guaranteed - value) <= 1e-6 * value && Math.abs(allowed - value) <= 1e-6 * value);
        },
      ),
      { seed: 23, numRuns: cases(100, 2000) },
    );
  });
});
