import assert from 'node:assert/strict';
import { CancelledError } from '../../src/core/errors';
import { shortestMakespan } from '../../src/core/slicing/makespan/search';
import { cases } from './cases';
import { fastestRule, randomProblems } from './random-makespans';

describe('slices for the shortest makespan of real sizes', () => {
  it('are never slower than a rule on problems of real size, and the same each time', () => {
    for (const { name, problem } of randomProblems(cases(2, 50))) {
      const limits = { mostSteps: 3e6, tolerance: 0.05 };
      const found = shortestMakespan(problem, limits);
      assert.ok(found !== null, name);
      assert.ok(found.lowerBoundMs <= found.makespanMs, name);
      const rule = fastestRule(problem);
      assert.ok(found.makespanMs <= rule.makespanMs * (1 + 1e-9), `${name}: slower than ${rule.name}`);
      assert.deepEqual(shortestMakespan(problem, limits), found, `${name}: not the same again`);
    }
  });

  it('stop at a deadline from outside with a bound, and throw when cancelled', () => {
    const [{ problem } = { problem: undefined }] = randomProblems(4).slice(3);
    assert.ok(problem !== undefined);
    let asked = 0;
    const found = shortestMakespan(problem, { mostSteps: Infinity, isOver: () => ++asked > 5 });
    assert.ok(found !== null && !found.exact && found.lowerBoundMs > 0 && found.lowerBoundMs < found.makespanMs);
    assert.equal(asked, 6);
    assert.throws(() => shortestMakespan(problem, { mostSteps: Infinity, signal: { aborted: true } }), CancelledError);
  });
});
