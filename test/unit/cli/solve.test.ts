import assert from 'node:assert/strict';
import { runSolve, type SolveAnswer } from '../../../src/cli/answers/solve';
import { ExpectedError } from '../../../src/core/errors';
import { bruteForce } from '../../property/brute-force';
import type { SlicingProblem } from '../../../src/core/slicing/problem';
import { golden } from '../../golden/data';
import { say } from '../../../src/core/sentence';

const problem = { batch: 2, tokens: 512, unit: 8, stages: 8, cost: { fixed: 0.5, perToken: 0.01, tile: 64, perTokenContext: 1e-6 } };

function solve(input: unknown): SolveAnswer {
  let now = 0;
  return runSolve(typeof input === 'string' ? input : JSON.stringify(input), 'problem.json', () => (now += 5));
}

/** The error for `input`, and the text it points at. */
function refusal(input: unknown): { readonly code: string; readonly message: string; readonly at: string } {
  const text = typeof input === 'string' ? input : JSON.stringify(input);
  try {
    solve(text);
  } catch (error) {
    assert.ok(error instanceof ExpectedError, String(error));
    assert.ok(say(error.remedy).length > 0);
    assert.equal(error.place?.file, 'problem.json');
    return { code: error.code, message: error.message, at: text.slice(error.place.range.start, error.place.range.end) };
  }
  return assert.fail('was accepted');
}

describe('terapipe solve', () => {
  it('answers with the fields it promises, version first', () => {
    const answer = solve(problem);
    assert.deepEqual(Object.keys(answer), [
      'version',
      'latencyMs',
      'lowerBoundMs',
      'totalMs',
      'slowestMs',
      'exact',
      'judgedBy',
      'scheme',
      'rounds',
      'baselines',
      'evaluations',
      'elapsedMs',
    ]);
    assert.equal(answer.lowerBoundMs, answer.latencyMs);
    assert.equal(answer.elapsedMs, 5);
    assert.ok(answer.latencyMs <= answer.baselines.uniform.latencyMs && answer.baselines.uniform.latencyMs <= answer.baselines.whole);
  });

  it('solves every joint case of the reference numbers to 1e-9', () => {
    const { cases } = golden('terapipe-joint-optima') as { cases: ({ id: string; optimum: number } & Record<string, unknown>)[] };
    assert.ok(cases.length > 0);
    for (const { id, optimum, batch, tokens, unit, stages, cost } of cases) {
      const { latencyMs, lowerBoundMs } = solve({ batch, tokens, unit, stages, cost });
      assert.ok(Math.abs(latencyMs - optimum) <= 1e-9 * optimum, id);
      assert.equal(lowerBoundMs, latencyMs, id);
    }
  });

  it('interpolates a table, one sequence at a time', () => {
    const table = {
      tokens: [64, 256],
      contexts: [0, 256],
      ms: [
        [10, 12],
        [30, 38],
      ],
    };
    const { scheme, baselines } = solve({ batch: 3, tokens: 512, unit: 64, stages: 4, cost: { table } });
    assert.ok(scheme.every(({ batch }) => batch === 1));
    assert.ok(Math.abs(baselines.whole - (30 + ((38 - 30) / 256) * 0 + ((30 - 10) / 192) * 256) * (3 + 3)) < 1e-9);
  });

  const batched = {
    batches: [1, 3],
    tokens: [64, 256],
    contexts: [0, 256],
    ms: [
      [
        [10, 12],
        [30, 38],
      ],
      [
        [12, 15],
        [50, 66],
      ],
    ],
  };

  it('takes a table of micro-batch size, length and context, and joins sequences where that is faster', () => {
    const wanted = { batch: 4, tokens: 512, unit: 64, stages: 4 };
    const answer = solve({ ...wanted, cost: { table: batched } });
    const at = (rows: readonly (readonly number[])[], length: number, context: number): number => {
      const [low, high] = rows.map((row) => row[0]! + (Math.max(0, context) / 256) * (row[1]! - row[0]!)) as [number, number];
      return length <= 64 ? low : low + ((length - 64) / 192) * (high - low);
    };
    const cost: SlicingProblem['cost'] = (batch, tokens, context) => {
      const [one, three] = batched.ms.map((rows) => at(rows, tokens, context)) as [number, number];
      return one + ((batch - 1) / 2) * (three - one);
    };
    const oracle = bruteForce({ ...wanted, batch: 2, cost });
    const pair = solve({ ...wanted, batch: 2, cost: { table: batched } });
    assert.ok(oracle !== null && Math.abs(pair.latencyMs - oracle.latencyMs) <= 1e-9 * oracle.latencyMs);
    assert.ok(answer.exact && answer.scheme.some(({ batch }) => batch > 1));
    assert.ok(
      answer.scheme.every(({ batch }) => batch <= 3),
      'no more sequences than were measured',
    );
    const { tokens, contexts, ms } = batched;
    const single = solve({ ...wanted, cost: { table: { tokens, contexts, ms: ms[0] } } });
    assert.ok(answer.latencyMs < single.latencyMs);
  });

  it('points at what is wrong in such a table', () => {
    const wrong = (changed: object) => refusal({ ...problem, cost: { table: { ...batched, ...changed } } });
    assert.equal(wrong({ batches: [2, 3] }).at, '[2,3]');
    assert.equal(wrong({ batches: [1, 1] }).at, '[1,1]');
    assert.equal(wrong({ contexts: [256, 0] }).at, '[256,0]');
    assert.equal(wrong({ batches: [1, 2, 3] }).code, 'config-inconsistent');
    assert.equal(wrong({ backwardMs: [] }).code, 'unknown-key');
    assert.equal(wrong({ ms: [[[-1]]] }).at, '[[[-1]]]');
  });

  it('takes comments, minimumTokens, forwardOnly, equal stage factors and room for the whole batch', () => {
    const extended = {
      ...problem,
      minimumTokens: 128,
      forwardOnly: true,
      stageFactors: Array.from({ length: 8 }, () => 2),
      maximumInFlight: 2,
    };
    const answer = solve(`// twice as slow\n${JSON.stringify(extended)}`);
    assert.ok(answer.scheme.every(({ tokens }) => tokens.every((length) => length >= 128)));
    assert.equal(answer.latencyMs, 2 * solve({ ...problem, minimumTokens: 128 }).latencyMs);
  });

  const sizes: readonly (readonly [name: string, json: string])[] = [
    ['zero', '0'],
    ['negative', '-4'],
    ['broken', '1.5'],
    ['huge', '1e308'],
    ['2^63', '9223372036854775808'],
    ['text', '"4"'],
    ['null', 'null'],
    ['a list', '[4]'],
    ['an object', '{"a":1}'],
  ];
  for (const key of ['batch', 'tokens', 'unit', 'stages', 'minimumTokens'])
    for (const [name, json] of sizes)
      it(`points at a ${key} that is ${name}`, () => {
        const text = JSON.stringify({ ...problem, [key]: '@' }).replace('"@"', json);
        const { code, at } = refusal(text);
        assert.ok(code === 'config-out-of-range' || code === 'config-wrong-type', code);
        assert.equal(at, json);
      });

  for (const json of ['-1', '1e10', '1e999', '"1"', 'true'])
    it(`points at a coefficient that is ${json}`, () => {
      assert.equal(refusal(JSON.stringify({ ...problem, cost: { fixed: 1, perToken: '@' } }).replace('"@"', json)).at, json);
    });

  it('points at the end of a file that breaks off', () => {
    assert.equal(refusal('{"batch": 1, "tokens": 51').code, 'config-json-syntax');
    assert.equal(refusal('').code, 'config-empty');
    assert.equal(refusal('[]').code, 'config-wrong-type');
    assert.equal(refusal('\u0000\u0001').code, 'config-binary');
  });

  it('names what is missing', () => {
    for (const key of ['batch', 'tokens', 'unit', 'stages', 'cost'])
      assert.match(
        refusal(Object.fromEntries(Object.entries(problem).filter(([name]) => name !== key))).message,
        new RegExp(`"${key}" is missing`),
      );
    assert.match(refusal({ ...problem, cost: { fixed: 1 } }).message, /"cost.perToken" is missing/);
  });

  it('takes a case of a larger file with its id and expected answer', () => {
    assert.equal(runSolve(JSON.stringify({ id: 'joint-00', ...problem, optimum: 1, note: '' }), 'case.json', () => 0).exact, true);
  });

  it('points at keys that look misspelt instead of ignoring them', () => {
    assert.deepEqual(refusal({ ...problem, stage: 4 }), {
      code: 'unknown-key',
      message: '"stage" is not a key of the problem',
      at: '"stage"',
    });
    assert.equal(refusal({ ...problem, cost: { ...problem.cost, perTokens: 1 } }).at, '"perTokens"');
    assert.equal(refusal({ ...problem, cost: { fixed: 1, table: {} } }).at, '"fixed"');
  });

  it('refuses tables whose rows do not match their axes', () => {
    const table = { tokens: [64, 256], contexts: [0], ms: [[10]] };
    assert.equal(refusal({ ...problem, cost: { table } }).at, '[[10]]');
    assert.equal(refusal({ ...problem, cost: { table: { ...table, tokens: [256, 64] } } }).at, '[256,64]');
    assert.equal(refusal({ ...problem, cost: { table: { ...table, ms: [[10], [-1]] } } }).at, '[[10],[-1]]');
  });

  it('shows short lists of numbers as they are written, and of others that they are lists', () => {
    const message = (stageFactors: unknown): string => refusal({ ...problem, stageFactors }).message;
    assert.equal(message([1, 0]), 'stageFactors is [1,0]');
    assert.equal(message([]), 'stageFactors is an empty list');
    assert.equal(message(['<b>']), 'stageFactors is a list');
    assert.equal(message(Array.from({ length: 40 }, () => 0)), 'stageFactors is a list');
  });

  it('refuses slices longer than the sequence and problems beyond its memory', () => {
    assert.equal(refusal({ ...problem, minimumTokens: 513 }).at, '513');
    assert.equal(refusal({ ...problem, tokens: 1_000_000, unit: 1 }).code, 'solve-too-large');
    assert.equal(refusal({ ...problem, batch: 100_000_000, tokens: 8 }).code, 'solve-too-large');
  });

  const slow = { batch: 3, tokens: 32, unit: 8, stages: 3, cost: { fixed: 1, perToken: 0.1, perTokenContext: 0.002 } };
  const slowCost: SlicingProblem['cost'] = (batch, tokens, context) => 1 + 0.1 * batch * tokens + 0.002 * batch * tokens * context;
  const options: readonly Partial<SlicingProblem>[] = [
    { stageFactors: [1, 1, 2] },
    { stageFactors: [3, 1, 2] },
    { stageFactors: [1.5, 1, 1.5] },
    { maximumInFlight: 1 },
    { maximumInFlight: 2 },
    { maximumInFlight: 2, stageFactors: [2, 1, 2] },
    { multiples: [16] },
    { multiples: [3, 2] },
    { oneScheme: true },
    { oneScheme: true, maximumInFlight: 3 },
    { forwardOnly: true, maximumInFlight: 1 },
    { minimumTokens: 16, stageFactors: [1, 2, 1] },
  ];
  for (const option of options)
    it(`finds the enumerated optimum with ${JSON.stringify(option)}`, () => {
      const answer = solve({ ...slow, ...option });
      const optimumMs = bruteForce({ ...slow, cost: slowCost, ...option })?.latencyMs ?? NaN;
      assert.ok(Math.abs(answer.latencyMs - optimumMs) <= 1e-9 * optimumMs, `${answer.latencyMs} against ${optimumMs}`);
      assert.equal(answer.lowerBoundMs, answer.latencyMs);
    });

  it('shows whether a formula or the simulation judges stages that differ', () => {
    assert.equal(solve({ ...slow, stageFactors: [2, 1, 2] }).judgedBy, 'formula');
    assert.equal(solve({ ...slow, stageFactors: [1, 1, 2] }).judgedBy, 'simulation');
  });

  it('stops at a gap within the tolerance and shows how far it may be', () => {
    const fine = { ...problem, tokens: 4096, stages: 64 };
    const exact = solve(fine);
    const { latencyMs, lowerBoundMs } = solve({ ...fine, tolerance: 0.05 });
    assert.ok(lowerBoundMs <= exact.latencyMs && exact.latencyMs <= latencyMs && latencyMs <= lowerBoundMs / 0.95);
  });

  it('compares a prefill with chunks of serving engines', () => {
    const { baselines, latencyMs } = solve({ ...problem, batch: 1, tokens: 4096, forwardOnly: true });
    assert.ok(baselines.dynamicChunks !== null && latencyMs <= baselines.dynamicChunks.latencyMs);
    assert.equal(solve(problem).baselines.dynamicChunks, null);
  });

  it('points at options that do not fit', () => {
    assert.equal(refusal({ ...problem, stageFactors: [1] }).code, 'config-inconsistent');
    for (const [key, json] of [
      ['stageFactors', '[0,1]'],
      ['maximumInFlight', '0'],
      ['multiples', '[]'],
      ['oneScheme', '1'],
      ['tolerance', '1'],
    ] as const)
      // prettier-ignore
      assert.equal(refusal(JSON.stringify({ ...problem, [key]: '@' }).replace('"@"', json)).at, json, key);
  });

  it('solves a million tokens in units of 64 without a table', () => {
    const long = {
      batch: 1,
      tokens: 2 ** 20,
      unit: 64,
      stages: 64,
      cost: { fixed: 0.95, perToken: 0.01, perTokenSquared: 1e-7, perTokenContext: 2e-7 },
    };
    const { exact, latencyMs, baselines } = solve(long);
    assert.equal(exact, true);
    assert.ok(latencyMs < baselines.equalTime.latencyMs && latencyMs < baselines.uniform.latencyMs);
  });
});
