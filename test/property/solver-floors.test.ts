import assert from 'node:assert/strict';
import fc from 'fast-check';
import { affineRows } from '../../src/core/slicing/affine-rows';
import type { SlicingProblem } from '../../src/core/slicing/problem';
import type { SliceRows } from '../../src/core/slicing/slice-rows';
import { tabulatedRows } from '../../src/core/slicing/tabulated-rows';
import { cheapestCut, tokenScratch } from '../../src/core/slicing/token-program';
import { cases } from './cases';

const seed = 20261121;
const relative = 1e-9;

/** Start-up, tiles, attention, a bend in the context and noise by length: lines that are steady and lines that are not. */
const drawn = fc.record({
  units: fc.integer({ min: 1, max: 24 }),
  missing: fc.nat({ max: 3 }),
  minimumTokens: fc.integer({ min: 1, max: 8 }),
  fixed: fc.constantFrom(0, 1, 7),
  tile: fc.constantFrom(1, 8, 24),
  perContext: fc.constantFrom(0, 0.02, 0.5),
  perTokenContext: fc.constantFrom(-0.01, 0, 0.01, 0.2),
  bend: fc.nat({ max: 90 }),
  noise: fc.constantFrom(0, 0, 3),
  salt: fc.nat(),
  limit: fc.double({ min: 0, max: 1, noNaN: true }),
  share: fc.double({ min: 0, max: 1.5, noNaN: true }),
});

function problemOf({ units, missing, minimumTokens, ...cost }: typeof drawn extends fc.Arbitrary<infer T> ? T : never): SlicingProblem {
  const tokens = 4 * units - missing;
  const { fixed, tile, perContext, perTokenContext, bend, noise, salt } = cost;
  return {
    batch: 1,
    tokens,
    unit: 4,
    stages: 4,
    minimumTokens: Math.min(minimumTokens, tokens),
    cost: (_, length, context) =>
      fixed +
      tile * Math.ceil(length / tile) +
      noise * (Math.imul(length ^ salt, 0x9e3779b1) >>> 30) +
      perContext * context +
      Math.max(0, perTokenContext) * length * Math.min(context, bend) +
      Math.min(0, perTokenContext) * (context - 100),
  };
}

/** Eq. 8 with nothing left out: the cheapest cut with no slice above the limit, and the fewest slices of any cut under it. */
function plainProgram(rows: SliceRows, limitMs: number): { readonly totalMs: number; readonly fewest: number } {
  const row = { ms: new Float64Array(0), peakMs: new Float64Array(0), to: null, offset: 0, length: 0 };
  const totals = new Float64Array(rows.units + 1).fill(Infinity);
  const fewest = new Float64Array(rows.units + 1).fill(Infinity);
  totals[rows.units] = fewest[rows.units] = 0;
  for (let start = rows.units - 1; start >= 0; start--) {
    rows.read(start, Infinity, row);
    for (let length = 1; length <= row.length; length++) {
      const ms = row.ms[row.offset + length - 1]!;
      if (ms > limitMs) continue;
      totals[start] = Math.min(totals[start]!, ms + totals[start + length]!);
      fewest[start] = Math.min(fewest[start]!, 1 + fewest[start + length]!);
    }
  }
  return { totalMs: totals[0]!, fewest: fewest[0]! };
}

describe('floors of cuts', () => {
  for (const [name, rowsOf] of [
    ['functions', (problem: SlicingProblem, bend: number) => affineRows(problem, 1, [bend])],
    ['a table', (problem: SlicingProblem) => tabulatedRows(problem, 1, undefined)],
  ] as const) {
    it(`never exceed the cheapest cut nor its slices, from ${name}`, () => {
      fc.assert(
        fc.property(drawn, (draw) => {
          const problem = problemOf(draw);
          const rows = rowsOf(problem, draw.bend);
          const limitMs = 1 + draw.limit * problem.cost(1, problem.tokens, 0);
          const { totalMs, fewest } = plainProgram(rows, limitMs);
          const floor = rows.lowerBound!(limitMs);
          assert.ok(totalMs === Infinity || floor.totalMs <= totalMs * (1 + relative), `${floor.totalMs} against ${totalMs}`);
          assert.ok(floor.slices <= fewest, `${floor.slices} against ${fewest}`);
          const enoughMs = draw.share * floor.totalMs;
          const about = rows.lowerBound!(limitMs, enoughMs);
          assert.ok(about.totalMs > enoughMs || about.totalMs === floor.totalMs, `${about.totalMs} is not above ${enoughMs}`);
          assert.ok(about.totalMs <= floor.totalMs + relative * Math.abs(floor.totalMs) && about.slices <= floor.slices);
        }),
        { seed, numRuns: cases(400, 6000) },
      );
    });

    it(`let the program find every cut that is wanted, from ${name}`, () => {
      fc.assert(
        fc.property(drawn, (draw) => {
          const problem = problemOf(draw);
          const rows = rowsOf(problem, draw.bend);
          const limitMs = 1 + draw.limit * problem.cost(1, problem.tokens, 0);
          const { totalMs } = plainProgram(rows, limitMs);
          const scratch = tokenScratch(rows.units);
          assert.equal(cheapestCut(rows, limitMs, scratch).totalMs, totalMs);
          fc.pre(totalMs < Infinity);
          assert.equal(cheapestCut(rows, limitMs, scratch, undefined, totalMs).totalMs, totalMs);
          const withinMs = draw.share * totalMs;
          assert.equal(cheapestCut(rows, limitMs, scratch, undefined, withinMs).totalMs, withinMs < totalMs ? Infinity : totalMs);
        }),
        { seed, numRuns: cases(400, 6000) },
      );
    });
  }
});
