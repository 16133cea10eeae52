import assert from 'node:assert/strict';
import fc from 'fast-check';
import { tableCost, tableKinks } from '../../../../src/core/time-model/table';

const axis = (most: number): fc.Arbitrary<number[]> =>
  fc.uniqueArray(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: most }).map((points) => points.sort((a, b) => a - b));

const tables = fc.tuple(axis(4), axis(4)).chain(([tokens, contexts]) => {
  const times = fc.array(fc.array(fc.integer({ min: 0, max: 50 }), { minLength: contexts.length, maxLength: contexts.length }), {
    minLength: tokens.length,
    maxLength: tokens.length,
  });
  return fc.record({ tokens: fc.constant(tokens), contexts: fc.constant(contexts), forwardMs: times, backwardMs: times });
});

describe('kinks of a table', () => {
  it('leave every length affine in the context between them', () => {
    fc.assert(
      fc.property(tables, fc.integer({ min: 1, max: 2000 }), fc.double({ min: 0, max: 1, noNaN: true }), (table, length, share) => {
        const cost = tableCost(table);
        const ms = (context: number): number => cost(1, length, context).forwardMs + cost(1, length, context).backwardMs;
        const bounds = [0, ...tableKinks(table).filter((kink) => kink > 0), 1e5];
        bounds.slice(1).forEach((to, index) => {
          const from = bounds[index] ?? 0;
          const between = ms(from) + share * (ms(to) - ms(from));
          assert.ok(Math.abs(ms(from + share * (to - from)) - between) <= 1e-7 * (1 + between), `${from} to ${to}`);
        });
      }),
      { seed: 3, numRuns: 2000 },
    );
  });
});
