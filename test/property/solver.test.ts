import assert from 'node:assert/strict';
import fc from 'fast-check';
import { bruteForce } from '../../src/core/solver/brute-force';
import { latencyOf, type SlicingProblem } from '../../src/core/solver/problem';
import { solveSlicing } from '../../src/core/solver/solve';

const seed = 20261121;

/** A cost with no structure at all: every slice has its own drawn time, some are forbidden. */
function arbitraryCost(salt: number, forbidden: number): SlicingProblem['cost'] {
  return (batch, tokens, context) => {
    let hash = (salt ^ (batch * 0x9e3779b1) ^ (tokens * 0x85ebca6b) ^ (context * 0xc2b2ae35)) >>> 0;
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
    hash = (hash ^ (hash >>> 12)) >>> 0;
    return hash % 100 < forbidden ? Infinity : (hash % 997) / 10;
  };
}

function formulaCost(fixed: number, perToken: number, tile: number, perContext: number): SlicingProblem['cost'] {
  return (batch, tokens, context) => fixed + perToken * tile * Math.ceil((batch * tokens) / tile) + perContext * batch * tokens * context;
}

const costs = fc.oneof(
  fc.tuple(fc.integer(), fc.constantFrom(0, 20)).map(([salt, forbidden]) => arbitraryCost(salt, forbidden)),
  fc
    .tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 9 }), fc.integer({ min: 1, max: 16 }), fc.constantFrom(0, 0.01, 0.3))
    .map(([fixed, perToken, tile, perContext]) => formulaCost(fixed, perToken, tile, perContext)),
);

const problems = fc
  .record({
    shape: fc.oneof(
      fc.record({ batch: fc.constant(1), units: fc.integer({ min: 1, max: 10 }) }),
      fc.record({ batch: fc.integer({ min: 2, max: 3 }), units: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ batch: fc.integer({ min: 4, max: 6 }), units: fc.integer({ min: 1, max: 2 }) }),
    ),
    unit: fc.integer({ min: 1, max: 8 }),
    missing: fc.nat({ max: 7 }),
    stages: fc.constantFrom(1, 2, 3, 8, 96),
    cost: costs,
    maximumBatchSlice: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
    minimumTokens: fc.integer({ min: 1, max: 9 }),
  })
  .map(({ shape, unit, missing, stages, cost, maximumBatchSlice, minimumTokens }): SlicingProblem => {
    const tokens = shape.units * unit - (missing % unit);
    return {
      batch: shape.batch,
      tokens,
      unit,
      stages,
      cost,
      minimumTokens: Math.min(minimumTokens, tokens),
      ...(maximumBatchSlice === undefined ? {} : { maximumBatchSlice }),
    };
  });

describe('solver against brute force', () => {
  it('finds and proves the optimum of any small problem, monotone or not', () => {
    fc.assert(
      fc.property(problems, (problem) => {
        const oracle = bruteForce(problem);
        if (oracle === null) {
          assert.throws(() => solveSlicing(problem), { code: 'slicing-infeasible' });
          return;
        }
        const solution = solveSlicing(problem);
        const tolerance = 1e-9 * Math.max(1, oracle.latencyMs);
        assert.ok(Math.abs(solution.latencyMs - oracle.latencyMs) <= tolerance, `${solution.latencyMs} against ${oracle.latencyMs}`);
        assert.equal(solution.lowerBoundMs, solution.latencyMs);
        assert.equal(solution.exact, true);
        assert.deepEqual(latencyOf(solution.scheme, problem.stages, problem.cost).latencyMs, solution.latencyMs);
        for (const { batch, tokens } of solution.scheme) {
          assert.ok(batch <= (problem.maximumBatchSlice ?? problem.batch));
          assert.equal(
            tokens.reduce((sum, length) => sum + length, 0),
            problem.tokens,
          );
          assert.ok(tokens.every((length) => length >= (problem.minimumTokens ?? 1)));
        }
        assert.equal(
          solution.scheme.reduce((sum, { batch }) => sum + batch, 0),
          problem.batch,
        );
      }),
      { seed, numRuns: 1500 },
    );
  });

  it('keeps its lower bound below the optimum when evaluations run out', () => {
    fc.assert(
      fc.property(problems, fc.integer({ min: 1, max: 6 }), (problem, maximumEvaluations) => {
        const optimumMs = bruteForce(problem)?.latencyMs;
        fc.pre(optimumMs !== undefined);
        const solution = solveSlicing({ ...problem, maximumEvaluations });
        const slack = 1e-9 * Math.max(1, optimumMs);
        assert.ok(solution.lowerBoundMs <= optimumMs + slack);
        assert.ok(solution.latencyMs >= optimumMs - slack);
        if (solution.exact) assert.ok(Math.abs(solution.latencyMs - optimumMs) <= slack);
      }),
      { seed, numRuns: 500 },
    );
  });

  it('agrees with solving every threshold on problems too large to enumerate', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 2, max: 4 }), fc.constantFrom(2, 5, 24), (salt, batch, stages) => {
        const problem: SlicingProblem = { batch, tokens: 24, unit: 1, stages, cost: arbitraryCost(salt, 0) };
        assert.ok(Math.abs(solveSlicing(problem).latencyMs - everyThreshold(problem)) <= 1e-9 * everyThreshold(problem));
      }),
      { seed, numRuns: 15 },
    );
  });
});

/** TeraPipe's own way, unpruned: for every slice time as threshold the token program per batch size and the knapsack. */
function everyThreshold({ batch, tokens, stages, cost }: SlicingProblem): number {
  const thresholds = new Set<number>();
  for (let size = 1; size <= batch; size++)
    for (let end = 1; end <= tokens; end++) for (let start = 0; start < end; start++) thresholds.add(cost(size, end - start, start));
  let best = Infinity;
  for (const threshold of thresholds) {
    const chunk = Array.from({ length: batch }, (_, index) => {
      const sums = [0];
      for (let end = 1; end <= tokens; end++) {
        const ways = sums.map((sum, start) => [sum, cost(index + 1, end - start, start)] as const).filter(([, ms]) => ms <= threshold);
        sums.push(Math.min(Infinity, ...ways.map(([sum, ms]) => sum + ms)));
      }
      return sums[tokens]!;
    });
    const whole = [0];
    for (let sequences = 1; sequences <= batch; sequences++)
      whole.push(Math.min(...chunk.slice(0, sequences).map((ms, index) => whole[sequences - index - 1]! + ms)));
    best = Math.min(best, whole[batch]! + (stages - 1) * threshold);
  }
  return best;
}
