import assert from 'node:assert/strict';
import fc from 'fast-check';
import { bruteForce } from './brute-force';
import { commonUnit, type SlicingProblem } from '../../src/core/slicing/problem';
import { schemeLatencyMs } from '../unit/core/slicing/latency';
import { solveSlicing } from '../../src/core/slicing/solve';
import { cases } from './cases';

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

/** What else a problem may ask for; one of the kinds at a time, as limits in rounds exclude the others. */
const options = fc.oneof(
  fc.record({ factors: fc.array(fc.constantFrom(1, 1.25, 2, 3), { minLength: 8, maxLength: 8 }) }),
  fc.record({ maximumInFlight: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ multiples: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 2 }), oneScheme: fc.boolean() }),
  fc.record({ forwardOnly: fc.constant(true), maximumInFlight: fc.constant(1) }),
  fc.record({ maximumInFlight: fc.integer({ min: 1, max: 5 }), oneScheme: fc.constant(true) }),
);

interface Options {
  readonly factors?: readonly number[];
  readonly maximumInFlight?: number;
  readonly multiples?: readonly number[];
  readonly oneScheme?: boolean;
  readonly forwardOnly?: boolean;
}

/** The problem with options, small enough for the many orders and groupings that the oracle tries. */
function withOptions(problem: SlicingProblem, { factors, ...chosen }: Options): SlicingProblem {
  const batch = Math.min(3, problem.batch);
  const stages = factors === undefined ? problem.stages : Math.min(5, problem.stages);
  return { ...problem, ...chosen, batch, stages, ...(factors === undefined ? {} : { stageFactors: factors.slice(0, stages) }) };
}

const pieces = fc.record({
  bends: fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 3 }),
  salt: fc.integer(),
  steep: fc.constantFrom(0, 0.05, 1),
});

/** A drawn time for every batch and length, and between bends a drawn slope, so that it is continuous and may fall. */
function affinePieces(
  bends: readonly number[],
  { salt, steep }: { readonly salt: number; readonly steep: number },
): SlicingProblem['cost'] {
  const drawn = arbitraryCost(salt, 0);
  const sorted = bends.toSorted((a, b) => a - b);
  return (batch, tokens, context) => {
    let ms = 60 * steep + drawn(batch, tokens, 0);
    let from = 0;
    for (const [index, to] of [...sorted, Infinity].entries()) {
      ms += (drawn(batch, tokens, index + 1) / 100 - 0.5) * steep * (Math.min(to, context) - from);
      from = to;
      if (context <= to) break;
    }
    return ms;
  };
}

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
        assert.deepEqual(schemeLatencyMs(solution.scheme, problem.stages, problem.cost), solution.latencyMs);
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
      { seed, numRuns: cases(400, 6000) },
    );
  });

  it('finds and proves the best rounds on stages that differ, and keeps to the slices in flight', () => {
    const factors = fc.array(fc.double({ min: 0.5, max: 2, noNaN: true }), { minLength: 5, maxLength: 5 });
    let limited = 0;
    fc.assert(
      fc.property(problems, factors, fc.integer({ min: 1, max: 3 }), (given, drawn, maximumInFlight) => {
        const problem = { ...withOptions(given, { factors: drawn }), maximumInFlight };
        const oracle = bruteForce(problem);
        if (oracle === null) {
          assert.throws(() => solveSlicing(problem), { code: 'slicing-infeasible' });
          return;
        }
        const { scheme, rounds, latencyMs, exact } = solveSlicing(problem);
        assert.ok(Math.abs(latencyMs - oracle.latencyMs) <= 1e-9 * Math.max(1, oracle.latencyMs), `${latencyMs} for ${oracle.latencyMs}`);
        assert.equal(exact, true);
        let first = 0;
        for (const chunks of rounds)
          assert.ok(scheme.slice(first, (first += chunks)).flatMap(({ tokens }) => tokens).length <= maximumInFlight, 'slices in flight');
        if (rounds.length > 1) limited++;
      }),
      { seed, numRuns: cases(360, 2000) },
    );
    assert.ok(limited > 20, `${limited} in several rounds`);
  });

  it('cuts all chunks alike on stages that differ, within the slices in flight', () => {
    const factors = fc.array(fc.double({ min: 0.5, max: 2, noNaN: true }), { minLength: 5, maxLength: 5 });
    fc.assert(
      fc.property(problems, factors, fc.integer({ min: 1, max: 4 }), (given, drawn, maximumInFlight) => {
        const problem = { ...withOptions(given, { factors: drawn }), maximumInFlight, oneScheme: true };
        const oracle = bruteForce(problem);
        if (oracle === null) {
          assert.throws(() => solveSlicing(problem), { code: 'slicing-infeasible' });
          return;
        }
        const { scheme, rounds, latencyMs, lowerBoundMs, exact } = solveSlicing(problem);
        const slack = 1e-9 * Math.max(1, oracle.latencyMs);
        assert.equal(new Set(scheme.map(({ tokens }) => String(tokens))).size, 1);
        let first = 0;
        for (const chunks of rounds)
          assert.ok(scheme.slice(first, (first += chunks)).flatMap(({ tokens }) => tokens).length <= maximumInFlight, 'slices in flight');
        assert.ok(Math.abs(latencyMs - oracle.latencyMs) <= slack, `${latencyMs} for ${oracle.latencyMs}`);
        assert.ok(exact && lowerBoundMs === latencyMs);
      }),
      { seed, numRuns: cases(200, 2000) },
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
      { seed, numRuns: cases(150, 2000) },
    );
  });

  it('takes the fewest slices among equally fast schemes', () => {
    const whole = fc.tuple(
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 1, max: 4 }),
      fc.nat({ max: 1 }),
    );
    const tied = fc.record({
      batch: fc.integer({ min: 1, max: 2 }),
      tokens: fc.integer({ min: 1, max: 6 }),
      unit: fc.constantFrom(1, 2),
      stages: fc.constantFrom(1, 2, 5),
      cost: whole.map(([fixed, perToken, tile, perContext]) => formulaCost(fixed, perToken, tile, perContext)),
    });
    fc.assert(
      fc.property(tied, (problem) => {
        const { scheme, latencyMs } = solveSlicing(problem);
        const oracle = bruteForce(problem);
        assert.ok(oracle !== null);
        assert.ok(Math.abs(latencyMs - oracle.latencyMs) <= 1e-9 * Math.max(1, latencyMs));
        assert.equal(
          scheme.reduce((sum, { tokens }) => sum + tokens.length, 0),
          oracle.slices,
        );
      }),
      { seed, numRuns: cases(150, 2400) },
    );
  });

  it('finds the optimum of any small problem under limits, on stages that differ, with one scheme for all chunks', () => {
    fc.assert(
      fc.property(problems, options, (plain, chosen) => {
        const problem = withOptions(plain, chosen);
        const oracle = bruteForce(problem);
        if (oracle === null) {
          assert.throws(() => solveSlicing(problem), { code: 'slicing-infeasible' });
          return;
        }
        const { scheme, latencyMs, lowerBoundMs, exact, rounds } = solveSlicing(problem);
        const slack = 1e-9 * Math.max(1, oracle.latencyMs);
        assert.equal(exact, true);
        assert.equal(lowerBoundMs, latencyMs);
        assert.ok(Math.abs(latencyMs - oracle.latencyMs) <= slack, `${latencyMs} against ${oracle.latencyMs}`);
        const unit = commonUnit(problem);
        for (const { tokens } of scheme) assert.ok(tokens.slice(0, -1).every((length) => length % unit === 0));
        if (problem.oneScheme === true) assert.equal(new Set(scheme.map(({ tokens }) => String(tokens))).size, 1);
        let from = 0;
        for (const chunks of rounds) {
          const slices = scheme.slice(from, (from += chunks)).reduce((sum, { tokens }) => sum + tokens.length, 0);
          assert.ok(rounds.length === 1 || slices <= (problem.maximumInFlight ?? Infinity));
        }
        assert.equal(from, scheme.length);
      }),
      { seed, numRuns: cases(400, 6000) },
    );
  });

  it('needs no table of a cost that declares where it is affine in the context', () => {
    fc.assert(
      fc.property(problems, pieces, (plain, { bends, ...drawn }) => {
        const cost = affinePieces(bends, drawn);
        const problem = { ...plain, cost };
        const known = solveSlicing({ ...problem, contextKinks: bends });
        const slack = 1e-9 * Math.max(1, known.latencyMs);
        assert.equal(known.exact, true);
        assert.ok(Math.abs(known.latencyMs - solveSlicing(problem).latencyMs) <= slack);
        assert.ok(Math.abs(known.latencyMs - (bruteForce(problem)?.latencyMs ?? NaN)) <= slack);
      }),
      { seed, numRuns: cases(250, 4000) },
    );
  });

  it('agrees with solving every threshold on problems too large to enumerate', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 2, max: 4 }), fc.constantFrom(2, 5, 24), (salt, batch, stages) => {
        const problem: SlicingProblem = { batch, tokens: 24, unit: 1, stages, cost: arbitraryCost(salt, 0) };
        assert.ok(Math.abs(solveSlicing(problem).latencyMs - everyThreshold(problem)) <= 1e-9 * everyThreshold(problem));
      }),
      { seed, numRuns: cases(5, 60) },
    );
  });

  it('does so too where the cost declares that it is affine in the context, and slices are dropped on the way', () => {
    const coefficients = fc.record({
      fixed: fc.double({ min: 0, max: 3, noNaN: true }),
      perToken: fc.double({ min: 0, max: 1, noNaN: true }),
      tile: fc.integer({ min: 1, max: 8 }),
      perContext: fc.double({ min: 0, max: 0.01, noNaN: true }),
    });
    fc.assert(
      fc.property(
        coefficients,
        fc.integer(),
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 2, max: 60 }),
        (drawn, salt, batch, stages) => {
          const noise = arbitraryCost(salt, 0);
          const smooth = formulaCost(drawn.fixed, drawn.perToken, drawn.tile, drawn.perContext);
          const cost: SlicingProblem['cost'] = (size, tokens, context) => smooth(size, tokens, context) + noise(size, tokens, 0) / 1000;
          const problem: SlicingProblem = { batch, tokens: 48, unit: 1, stages, cost };
          const optimumMs = everyThreshold(problem);
          for (const known of [problem, { ...problem, contextKinks: [] }]) {
            const { latencyMs, lowerBoundMs } = solveSlicing(known);
            assert.ok(Math.abs(latencyMs - optimumMs) <= 1e-9 * optimumMs, `${latencyMs} against ${optimumMs}`);
            assert.equal(lowerBoundMs, latencyMs);
          }
        },
      ),
      { seed, numRuns: cases(4, 48) },
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
