import assert from 'node:assert/strict';
import { CancelledError } from '../../../../src/core/errors';
import { uniformLengths } from '../../../../src/core/slicing/baselines';
import { bruteForce } from '../../../property/brute-force';
import type { SlicingProblem } from '../../../../src/core/slicing/problem';
import { schemeLatencyMs } from './latency';
import { solveSlicing, type Incumbent } from '../../../../src/core/slicing/solve';

/** Flat up to 256 tokens, then linear, with a little attention: the shape of TeraPipe's Fig. 3. */
const kneeCost: SlicingProblem['cost'] = (batch, tokens, context) =>
  1.45 + 0.0016 * Math.max(0, batch * tokens - 256) + 1e-7 * batch * tokens * context;

/** Optima found by trying every scheme (brute-force.ts); the latencies are whole numbers, so they are exact. */
const enumerated: readonly (Omit<SlicingProblem, 'cost'> & { name: string; cost: SlicingProblem['cost']; latencyMs: number })[] = [
  { name: 'triangular cost', batch: 1, tokens: 12, unit: 1, stages: 3, cost: (_, l, c) => l * c + (l * (l + 1)) / 2, latencyMs: 102 },
  {
    name: 'triangular cost and a start-up',
    batch: 1,
    tokens: 12,
    unit: 1,
    stages: 3,
    cost: (_, l, c) => l * c + (l * (l + 1)) / 2 + 5,
    latencyMs: 152,
  },
  { name: 'start-up shared by a larger batch', batch: 4, tokens: 3, unit: 1, stages: 4, cost: (b, l) => 10 + b * l, latencyMs: 80 },
  { name: 'cost that falls with length', batch: 2, tokens: 6, unit: 1, stages: 5, cost: (b, l) => (l === 3 ? 1 : 7) + b, latencyMs: 16 },
];

/** The least sum of slices of at most `limitMs` (eq. 8, plainly) with `weight` times the slowest of them. */
function plainLatencyMs({ tokens, cost }: SlicingProblem, limitMs: number, weight: number): number {
  const [totals, slowest] = [new Float64Array(tokens + 1).fill(Infinity), new Float64Array(tokens + 1)];
  totals[tokens] = 0;
  for (let start = tokens - 1; start >= 0; start--)
    for (let end = start + 1; end <= tokens; end++) {
      const ms = cost(1, end - start, start);
      if (ms > limitMs || ms + totals[end]! >= totals[start]!) continue;
      totals[start] = ms + totals[end]!;
      slowest[start] = Math.max(ms, slowest[end]!);
    }
  return totals[0]! + weight * slowest[0]!;
}

describe('solveSlicing', () => {
  for (const [name, perTokenSquared, most] of [
    ['whose slices add up the same wherever it is cut', 5e-4, 20],
    ['in which longer slices cost less', 4e-4, 60],
  ] as const)
    it(`finds no slower scheme of a long sequence ${name} than any threshold gives, in few thresholds`, () => {
      const cost: SlicingProblem['cost'] = (_, l, c) => 0.9 + 0.1 * l + perTokenSquared * l * l + 1e-3 * l * c;
      const problem = { batch: 1, tokens: 1500, unit: 1, stages: 24, cost, contextKinks: [] };
      const { latencyMs, slowestMs, exact, evaluations } = solveSlicing(problem);
      assert.ok(exact && evaluations < most, `${evaluations} thresholds`);
      for (let share = 0.7; share < 1.4; share += 0.05) {
        const plainMs = plainLatencyMs(problem, share * slowestMs, 23);
        assert.ok(latencyMs <= plainMs * (1 + 1e-12), `${latencyMs} against ${plainMs} at ${share}`);
      }
    });

  for (const { name, latencyMs, ...problem } of enumerated)
    it(`finds the enumerated optimum: ${name}`, () => {
      assert.equal(bruteForce(problem)?.latencyMs, latencyMs);
      const solution = solveSlicing(problem);
      assert.equal(solution.latencyMs, latencyMs);
      assert.equal(solution.lowerBoundMs, latencyMs);
    });

  it('gives the rest that is not a whole unit to the last slice', () => {
    const { scheme } = solveSlicing({ batch: 1, tokens: 1000, unit: 128, stages: 24, cost: kneeCost });
    const lengths = scheme[0]!.tokens;
    assert.equal(
      lengths.reduce((sum, length) => sum + length, 0),
      1000,
    );
    assert.ok(lengths.slice(0, -1).every((length) => length % 128 === 0));
  });

  it('cuts a sequence shorter than one unit not at all', () => {
    assert.deepEqual(solveSlicing({ batch: 3, tokens: 5, unit: 8, stages: 4, cost: () => 1, maximumBatchSlice: 1 }).scheme, [
      { batch: 1, tokens: [5] },
      { batch: 1, tokens: [5] },
      { batch: 1, tokens: [5] },
    ]);
  });

  it('does not pipeline on one stage: the cheapest sum wins', () => {
    const { scheme, latencyMs } = solveSlicing({ batch: 4, tokens: 64, unit: 8, stages: 1, cost: (batch, tokens) => 3 + batch * tokens });
    assert.deepEqual(scheme, [{ batch: 4, tokens: [64] }]);
    assert.equal(latencyMs, 259);
  });

  it('takes the fewest slices among equally fast schemes', () => {
    const { scheme } = solveSlicing({ batch: 1, tokens: 64, unit: 8, stages: 1, cost: (_, tokens) => tokens });
    assert.deepEqual(scheme, [{ batch: 1, tokens: [64] }]);
  });

  it('puts long slices first where the order makes no difference', () => {
    const { scheme } = solveSlicing({ batch: 1, tokens: 88, unit: 8, stages: 8, cost: (_, tokens) => 1 + 0.01 * tokens });
    const lengths = scheme[0]!.tokens;
    assert.ok(lengths.length > 1 && new Set(lengths).size > 1, String(lengths));
    assert.deepEqual(
      lengths,
      [...lengths].sort((a, b) => b - a),
    );
  });

  it('keeps to the largest chunk and the shortest slice it may use', () => {
    const { scheme } = solveSlicing({
      batch: 6,
      tokens: 512,
      unit: 8,
      stages: 48,
      cost: kneeCost,
      maximumBatchSlice: 2,
      minimumTokens: 200,
    });
    assert.ok(scheme.every(({ batch, tokens }) => batch <= 2 && tokens.every((length) => length >= 200)));
  });

  it('answers alike every time', () => {
    const problem: SlicingProblem = { batch: 4, tokens: 1024, unit: 8, stages: 24, cost: kneeCost };
    assert.deepEqual(solveSlicing(problem), solveSlicing(problem));
  });

  it('shows how far it is from proof when its evaluations run out', () => {
    const problem: SlicingProblem = { batch: 2, tokens: 1024, unit: 8, stages: 48, cost: kneeCost };
    const exact = solveSlicing(problem);
    const early = solveSlicing({ ...problem, maximumEvaluations: 1 });
    assert.equal(early.exact, false);
    assert.ok(early.lowerBoundMs <= exact.latencyMs && exact.latencyMs <= early.latencyMs);
  });

  it('reports growing progress that ends at 1', () => {
    const fractions: number[] = [];
    solveSlicing({ batch: 4, tokens: 1024, unit: 8, stages: 24, cost: kneeCost }, { onProgress: (fraction) => fractions.push(fraction) });
    assert.ok(fractions.length > 3);
    assert.deepEqual(
      fractions,
      fractions.toSorted((a, b) => a - b),
    );
    assert.equal(fractions.at(-1), 1);
  });

  it('stops soon after it is cancelled', () => {
    let calls = 0;
    const signal = {
      get aborted() {
        return calls > 5000;
      },
    };
    const cost: SlicingProblem['cost'] = (...slice) => {
      calls++;
      return kneeCost(...slice);
    };
    assert.throws(() => solveSlicing({ batch: 8, tokens: 2048, unit: 8, stages: 24, cost }, { signal }), CancelledError);
    assert.ok(calls < 6000);
  });

  it('looks at the signal again and again while it solves a million tokens', () => {
    const cost: SlicingProblem['cost'] = (_, tokens, context) => 1 + 0.01 * tokens + 2e-7 * tokens * context;
    const problem: SlicingProblem = { batch: 1, tokens: 2 ** 20, unit: 64, stages: 64, cost, contextKinks: [] };
    for (const most of [10, 300, 1000]) {
      let looks = 0;
      const signal = {
        get aborted() {
          return ++looks > most;
        },
      };
      assert.throws(() => solveSlicing(problem, { signal }), CancelledError);
      assert.equal(looks, most + 1);
    }
  });

  it('streams the best so far with a bound that closes', () => {
    const incumbents: Incumbent[] = [];
    const problem: SlicingProblem = { batch: 2, tokens: 2048, unit: 8, stages: 48, cost: kneeCost };
    const { latencyMs } = solveSlicing(problem, { onIncumbent: (incumbent) => incumbents.push(incumbent) });
    assert.ok(incumbents.length > 3);
    for (const incumbent of incumbents) {
      assert.ok(incumbent.lowerBoundMs <= latencyMs * (1 + 1e-9) && latencyMs <= incumbent.latencyMs * (1 + 1e-9));
      const simulatedMs = schemeLatencyMs(incumbent.scheme, problem.stages, kneeCost);
      assert.ok(Math.abs(incumbent.latencyMs - simulatedMs) <= 1e-9 * simulatedMs);
    }
    const gaps = incumbents.map((incumbent) => incumbent.latencyMs - incumbent.lowerBoundMs);
    assert.ok((gaps.at(-1) ?? NaN) <= 1e-9 * latencyMs && (gaps[0] ?? NaN) > 0);
  });

  it('holds a declared structure to its word', () => {
    const bent: SlicingProblem['cost'] = (_, tokens, context) => tokens + Math.max(0, context - 32);
    const problem: SlicingProblem = { batch: 1, tokens: 64, unit: 1, stages: 4, cost: bent };
    assert.throws(() => solveSlicing({ ...problem, contextKinks: [] }), RangeError);
    assert.equal(solveSlicing({ ...problem, contextKinks: [32] }).latencyMs, solveSlicing(problem).latencyMs);
  });

  it('refuses sizes that are not positive integers and costs that are not times', () => {
    const problem: SlicingProblem = { batch: 1, tokens: 8, unit: 1, stages: 2, cost: () => 1 };
    for (const wrong of [
      { batch: 0 },
      { tokens: 1.5 },
      { unit: -8 },
      { stages: NaN },
      { minimumTokens: 9 },
      { multiples: [0] },
      { maximumInFlight: 0 },
      { stageFactors: [1] },
      { stageFactors: [1, -1] },
      { tolerance: 1 },
    ])
      assert.throws(() => solveSlicing({ ...problem, ...wrong }), RangeError);
    assert.throws(() => solveSlicing({ ...problem, cost: () => NaN }), RangeError);
    assert.throws(() => solveSlicing({ ...problem, cost: () => -1 }), RangeError);
  });

  it('reports it when every scheme holds a forbidden slice', () => {
    assert.throws(() => solveSlicing({ batch: 1, tokens: 8, unit: 1, stages: 2, cost: () => Infinity }), { code: 'slicing-infeasible' });
  });
});

describe('uniform slices', () => {
  it('are equal up to one unit, longer first', () => {
    assert.deepEqual(uniformLengths(2048, 8, 3), [688, 680, 680]);
    assert.deepEqual(
      uniformLengths(2048, 8, 16),
      Array.from({ length: 16 }, () => 128),
    );
  });

  it('leave the rest of a broken unit missing from the last slice', () => {
    assert.deepEqual(uniformLengths(100, 16, 3), [48, 32, 20]);
  });

  it('are compared with the optimum sequence by sequence', () => {
    const { baselines, latencyMs } = solveSlicing({ batch: 2, tokens: 2048, unit: 8, stages: 40, cost: kneeCost });
    assert.equal(
      baselines.wholeMs,
      schemeLatencyMs(
        [
          { batch: 1, tokens: [2048] },
          { batch: 1, tokens: [2048] },
        ],
        40,
        kneeCost,
      ),
    );
    assert.ok(latencyMs <= baselines.uniform.latencyMs && baselines.uniform.latencyMs < baselines.wholeMs);
  });
});
