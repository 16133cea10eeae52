import assert from 'node:assert/strict';
import { runSolve } from '../../src/cli/answers/solve';
import { readSolveProblem } from '../../src/cli/problems/solve';
import { bruteForce } from './brute-force';
import { cases } from './cases';
import { drawn } from './random-makespans';

/** Problems of `terapipe solve` whose stages differ and whose slices in flight are limited. */
function problemText(seed: number, mostUnits: number, mostBatch: number): string {
  const next = drawn(seed);
  for (let index = 0; index < 3; index++) next();
  const int = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  const [batch, units, stages] = [int(1, mostBatch), int(2, mostUnits), int(2, 12)];
  const unit = 64;
  const tokens = units * unit - int(0, unit - 1);
  const lengths = [...new Set([unit, 2 * unit, Math.max(3 * unit, tokens)])];
  const contexts = [0, Math.max(1, tokens >> 1)];
  const table = {
    tokens: lengths,
    contexts,
    ms: lengths.map((_, row) => contexts.map((__, column) => (row + 1 + column) * (0.2 + next()))),
  };
  const formula = {
    fixed: 2 * next(),
    perToken: 0.02 * next(),
    perTokenSquared: 2e-5 * next(),
    perContext: int(0, 1) * 1e-3 * next(),
    perTokenContext: 4e-5 * next(),
  };
  return JSON.stringify({
    batch,
    tokens,
    unit,
    stages,
    stageFactors: Array.from({ length: stages }, () => 0.5 + 1.5 * next()),
    maximumInFlight: int(1, 2 * batch),
    cost: next() < 0.3 ? { table } : formula,
  });
}

describe('`terapipe solve` of stages that differ, with few slices in flight', () => {
  for (const [name, units, batch, numbers] of [
    ['small problems, which are all tried', 6, 2, [cases(36, 100), 10]],
    ['those of 24 units and 6 sequences', 24, 6, [cases(4, 36), 10]],
  ] as const)
    it(`proves ${name}`, () => {
      let [solved, proved] = [0, 0];
      for (let set = 0; set < numbers[0]; set++)
        for (let index = 0; index < numbers[1]; index++) {
          const text = problemText(1000 * set + index, units, batch);
          const { latencyMs, lowerBoundMs, exact } = runSolve(text, 'problem.json', () => 0);
          solved++;
          if (exact) proved++;
          assert.ok(latencyMs <= 1.01 * lowerBoundMs, `${latencyMs} above ${lowerBoundMs}: ${text}`);
          if (units > 6) continue;
          const oracleMs = bruteForce(readSolveProblem(text, 'problem.json'))?.latencyMs ?? NaN;
          assert.ok(Math.abs(latencyMs - oracleMs) <= 1e-9 * oracleMs, `${latencyMs} for ${oracleMs}: ${text}`);
        }
      assert.ok(proved >= 0.95 * solved, `${proved} of ${solved} proved`);
    });
});
