import assert from 'node:assert/strict';
import { tableCost } from '../../../../src/core/time-model/table';
import type { SlicingProblem } from '../../../../src/core/slicing/problem';
import { schemeLatencyMs } from './latency';
import { solveSlicing } from '../../../../src/core/slicing/solve';
import { golden, goldenRows } from '../../../golden/data';

interface JointCase {
  readonly id: string;
  readonly batch: number;
  readonly tokens: number;
  readonly unit: number;
  readonly stages: number;
  readonly cost: Readonly<Record<'fixed' | 'perToken' | 'tile' | 'perTokenSquared' | 'perContext' | 'perTokenContext', number>>;
  readonly optimum: number;
}

interface ToyCase {
  readonly cost: string;
  readonly best: number;
  readonly uniform444: number;
  readonly single: number;
}

/** Named as the golden file names them: a slice of s tokens after c. */
const toyCosts: Readonly<Record<string, (tokens: number, context: number) => number>> = {
  'sum of positions (c+1..c+s)': (tokens, context) => tokens * context + (tokens * (tokens + 1)) / 2,
  'sum of positions + 2*len': (tokens, context) => tokens * context + (tokens * (tokens + 1)) / 2 + 2 * tokens,
  'sum of positions + 5': (tokens, context) => tokens * context + (tokens * (tokens + 1)) / 2 + 5,
};

function jointCost(cost: JointCase['cost']): SlicingProblem['cost'] {
  return (batch, tokens, context) =>
    cost.fixed +
    cost.perToken * cost.tile * Math.ceil((batch * tokens) / cost.tile) +
    cost.perTokenSquared * batch * tokens * tokens +
    cost.perContext * batch * context +
    cost.perTokenContext * batch * tokens * context;
}

function close(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) <= 1e-9 * expected, `${actual} against ${expected}`);
}

describe('solver on reference optima', () => {
  const joint = (golden('terapipe-joint-optima') as { readonly cases: readonly JointCase[] }).cases;
  const toys = goldenRows('terapipe-toy-optima') as readonly ToyCase[];

  it('returns the optimum of every joint case of the TeraPipe planner, proved', () => {
    assert.equal(joint.length, 16);
    for (const { optimum, cost, ...sizes } of joint) {
      const solution = solveSlicing({ ...sizes, cost: jointCost(cost) });
      close(solution.latencyMs, optimum);
      assert.equal(solution.lowerBoundMs, solution.latencyMs, sizes.id);
    }
  });

  it('returns the optimum of every toy case, and its baselines', () => {
    assert.equal(toys.length, 3);
    for (const { cost: name, best, uniform444, single } of toys) {
      const cost = toyCosts[name];
      assert.ok(cost !== undefined, `no formula for "${name}"`);
      const problem: SlicingProblem = { batch: 1, tokens: 12, unit: 1, stages: 3, cost: (_, tokens, context) => cost(tokens, context) };
      const solution = solveSlicing(problem);
      assert.equal(solution.latencyMs, best);
      assert.equal(solution.lowerBoundMs, best);
      assert.equal(solution.baselines.wholeMs, single);
      assert.equal(schemeLatencyMs([{ batch: 1, tokens: [4, 4, 4] }], 3, problem.cost), uniform444);
    }
  });

  it("plans GPT-3 175B (9) from its measured slice times to within 5 % of the paper's 1.481 s, no slower than the best equal slices", () => {
    const measuredMs = [9.27, 9.99, 10.02, 12.18, 17.05, 28.18, 102.99].map((ms) => [ms]);
    const table = tableCost({
      tokens: [16, 32, 64, 128, 256, 512, 2048],
      contexts: [0],
      forwardMs: measuredMs,
      backwardMs: measuredMs.map(() => [0]),
    });
    const cost: SlicingProblem['cost'] = (batch, tokens, context) => table(batch, tokens, context).forwardMs;
    const solution = solveSlicing({ batch: 2, tokens: 2048, unit: 8, stages: 96, cost, maximumBatchSlice: 1 });
    assert.ok(Math.abs(solution.latencyMs / 1481 - 1) < 0.05, `${solution.latencyMs}`);
    assert.ok(solution.latencyMs <= solution.baselines.uniform.latencyMs);
    close(solution.baselines.wholeMs, 102.99 * 97);
    assert.equal(solution.lowerBoundMs, solution.latencyMs);
  });
});
