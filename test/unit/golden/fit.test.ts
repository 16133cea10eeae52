import assert from 'node:assert/strict';
import { residual, solve, type Observation } from '../../golden/fit/solve';

const start = { gemm: 0, attention: 0 };
const loose = Object.keys(start).map((key) => ({ of: { [key]: 1 }, mean: 0, spread: 1 }));
const run = (family: string, gemm: number, log: number): Observation => ({
  project: family,
  family,
  spread: 0.03,
  log,
  slopes: { gemm: -gemm, attention: gemm - 1 },
});

describe('fit of constants', () => {
  it('finds the constants that runs were made with, whatever their mix of rates', () => {
    const made = { gemm: 0.1, attention: -0.2 };
    const runs = [0.1, 0.3, 0.5, 0.7, 0.9].map((gemm) => run(String(gemm), gemm, -gemm * made.gemm - (1 - gemm) * made.attention));
    const { logs } = solve(runs, loose, start);
    assert.ok(Math.abs((logs['gemm'] ?? NaN) - made.gemm) < 0.01 && Math.abs((logs['attention'] ?? NaN) - made.attention) < 0.01);
    for (const one of runs) assert.ok(Math.abs(residual(one, start, logs)) < 0.005);
  });

  it('counts runs of one model on one machine as hardly more than one', () => {
    const of = (repeated: number): number =>
      solve([...Array.from({ length: repeated }, () => run('many', 1, 0.06)), run('single', 1, 0)], loose, start).logs['gemm'] ?? NaN;
    assert.ok(of(1) < -0.02 && of(50) > 1.5 * of(1), `${of(1)} ${of(50)}`);
  });

  it('lets a family that lies far off move less than its distance', () => {
    const of = (log: number): number => {
      const near = ['a', 'b', 'c', 'd'].map((family) => run(family, 1, 0));
      return -(solve([...near, run('far', 1, log)], loose, start).logs['gemm'] ?? NaN);
    };
    assert.ok(of(0.6) < 5 * of(0.06), `${of(0.06)} ${of(0.6)}`);
  });

  it('stays at what is known before where there are no runs', () => {
    const { logs, spreads } = solve(
      [],
      [
        { of: { gemm: 1 }, mean: 0.3, spread: 0.1 },
        { of: { attention: 1, gemm: -1 }, mean: 0.5, spread: 0.1 },
      ],
      start,
    );
    assert.ok(Math.abs((logs['attention'] ?? NaN) - 0.8) < 1e-9);
    assert.ok(Math.abs((spreads['attention'] ?? NaN) - Math.hypot(0.1, 0.1)) < 1e-9);
  });
});
