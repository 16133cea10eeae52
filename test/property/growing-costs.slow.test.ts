import assert from 'node:assert/strict';
import fc from 'fast-check';
import { bruteForce } from './brute-force';
import { buildPipeline } from '../../src/core/planner/predict/pipeline';
import { slicingCost } from '../../src/core/planner/candidates/terapipe-cost';
import type { SlicingProblem } from '../../src/core/slicing/problem';
import { solveSlicing } from '../../src/core/slicing/solve';
import { cases } from './cases';
import { drawnRuns, requestOfDrawn } from './random-runs';

const seed = 20261123;

/** Start-up, tiles, attention and a noise that adds up along each size, so that nothing ever falls. */
const growing = fc
  .record({
    fixed: fc.constantFrom(0, 1, 20),
    perToken: fc.constantFrom(0.1, 1, 5),
    tile: fc.constantFrom(1, 4, 16),
    perContext: fc.constantFrom(0, 0.05),
    perTokenContext: fc.constantFrom(0, 0.02),
    jump: fc.constantFrom(0, 30),
    from: fc.integer({ min: 2, max: 40 }),
  })
  .map(
    ({ fixed, perToken, tile, perContext, perTokenContext, jump, from }): SlicingProblem['cost'] =>
      (batch, tokens, context) =>
        fixed +
        perToken * tile * Math.ceil((batch * tokens) / tile) +
        (batch * tokens >= from ? jump : 0) +
        perContext * batch * context +
        perTokenContext * batch * tokens * context,
  );

const problems = fc
  .record({
    shape: fc.oneof(
      fc.record({ batch: fc.integer({ min: 2, max: 3 }), units: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ batch: fc.integer({ min: 4, max: 6 }), units: fc.integer({ min: 1, max: 2 }) }),
    ),
    unit: fc.integer({ min: 1, max: 8 }),
    missing: fc.nat({ max: 7 }),
    stages: fc.constantFrom(1, 2, 3, 8, 96),
    cost: growing,
    minimumTokens: fc.constantFrom(1, 1, 3),
    limit: fc.constantFrom(
      {},
      {},
      { maximumInFlight: 3 },
      { oneScheme: true },
      { stageFactors: 'ends' as const },
      { stageFactors: 'middle' as const },
    ),
  })
  .map(({ shape, unit, missing, stages, cost, minimumTokens, limit }): SlicingProblem => {
    const tokens = shape.units * unit - (missing % unit);
    const { stageFactors, ...chosen } = { stageFactors: undefined, ...limit };
    const heavy = (stage: number): number => ((stage === 0 || stage === stages - 1) === (stageFactors === 'ends') ? 2 : 1);
    return {
      ...shape,
      ...chosen,
      tokens,
      unit,
      stages: stageFactors === undefined ? stages : Math.min(5, stages),
      cost,
      minimumTokens: Math.min(minimumTokens, tokens),
      ...(stageFactors === undefined ? {} : { stageFactors: Array.from({ length: Math.min(5, stages) }, (_, stage) => heavy(stage)) }),
    };
  });

describe('costs that grow', () => {
  it('lose no optimum of a small problem for the slices that are not asked for', () => {
    fc.assert(
      fc.property(problems, (problem) => {
        const oracle = bruteForce(problem);
        if (oracle === null) {
          assert.throws(() => solveSlicing({ ...problem, grows: true }), { code: 'slicing-infeasible' });
          return;
        }
        for (const known of [problem, { ...problem, contextKinks: [] }]) {
          const { latencyMs, lowerBoundMs, exact } = solveSlicing({ ...known, grows: true });
          const slack = 1e-9 * Math.max(1, oracle.latencyMs);
          assert.ok(Math.abs(latencyMs - oracle.latencyMs) <= slack, `${latencyMs} against ${oracle.latencyMs}`);
          assert.equal(exact, true);
          assert.equal(lowerBoundMs, latencyMs);
        }
      }),
      { seed, numRuns: cases(400, 6000) },
    );
  });

  it('give the same plan as where nothing is known of them, for far fewer slice times', () => {
    const counts = { known: 0, all: 0 };
    for (const contextKinks of [undefined, []] as const)
      fc.assert(
        fc.property(growing, fc.integer({ min: 2, max: 12 }), fc.constantFrom(2, 8, 24), (cost, batch, stages) => {
          let asked = 0;
          const counted: SlicingProblem['cost'] = (sequences, tokens, context) => {
            if (sequences > 1) asked++;
            return cost(sequences, tokens, context);
          };
          const problem = { batch, tokens: 192, unit: 4, stages, cost: counted, ...(contextKinks === undefined ? {} : { contextKinks }) };
          const all = solveSlicing(problem);
          const askedForAll = asked;
          asked = 0;
          const known = solveSlicing({ ...problem, grows: true });
          assert.deepEqual(known.baselines, all.baselines);
          assert.ok(Math.abs(known.latencyMs - all.latencyMs) <= 1e-12 * all.latencyMs, `${known.latencyMs} against ${all.latencyMs}`);
          assert.equal(known.exact, true);
          if (stages < 8 || contextKinks !== undefined) return;
          counts.known += asked;
          counts.all += askedForAll;
        }),
        { seed, numRuns: cases(40, 600) },
      );
    assert.ok(counts.known < 0.25 * counts.all, `${counts.known} of ${counts.all}`);
  });

  it('are refused where they fall after all', () => {
    const falls: SlicingProblem['cost'] = (batch, tokens) => (tokens === 3 ? 1 : batch + tokens);
    const problem = { batch: 2, tokens: 8, unit: 1, stages: 4, cost: falls, grows: true };
    for (const known of [problem, { ...problem, contextKinks: [] }])
      assert.throws(() => solveSlicing(known), /slice times fall at 3 tokens after 0/);
    assert.doesNotThrow(() => solveSlicing({ ...problem, grows: false }));
  });

  it('are those of the time model: no run takes less for more sequences, tokens or context', () => {
    fc.assert(
      fc.property(drawnRuns, fc.integer({ min: 1, max: 8 }), (drawn, batch) => {
        const request = requestOfDrawn(drawn);
        const cost = slicingCost(buildPipeline(request));
        const { units } = drawn;
        const unit = request.training.sequenceLength / units;
        const ms = (sequences: number, length: number, start: number): number => cost(sequences, length * unit, start * unit);
        for (let length = 1; length <= units; length++)
          for (let start = 0; start + length <= units; start += 1 + Math.floor(units / 6)) {
            const least = ms(batch, length, start) * (1 - 1e-9);
            assert.ok(ms(batch + 1, length, start) >= least, `one sequence more than ${batch} of ${length} units from ${start}`);
            if (start + length === units) continue;
            assert.ok(ms(batch, length + 1, start) >= least, `one unit more than ${length} from ${start}, ${batch} sequences`);
            assert.ok(ms(batch, length, start + 1) >= least, `one unit later than ${start}, ${length} units, ${batch} sequences`);
          }
      }),
      { seed, numRuns: cases(150, 4000) },
    );
  });
});
