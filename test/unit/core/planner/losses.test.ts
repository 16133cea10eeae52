import assert from 'node:assert/strict';
import { largestLoss } from '../../../../src/core/planner/losses';
import type { Candidate } from '../../../../src/core/planner/plan';
import type { StageLimits } from '../../../../src/core/time-model/limits';

const none = { issue: 0, memory: 0, math: 0, exchange: 0, send: 0, offload: 0 };
const limits = (ms: Partial<StageLimits['ms']>): StageLimits => ({ ms: { ...none, ...ms }, limiter: 'math' });
const idle = (ms: Partial<Record<keyof Candidate['idle'], readonly number[]>>): Candidate['idle'] => {
  const zero = [0, 0];
  const all = { 'warm-up': zero, turn: zero, drain: zero, activation: zero, gradient: zero, link: zero, imbalance: zero, ...ms };
  return Object.fromEntries(Object.entries(all).map(([cause, each]) => [cause, Float64Array.from(each)])) as Candidate['idle'];
};

/** A step of 100 ms on two stages, of which the second is the busiest. */
function step(times: Candidate['idle'], rest: Partial<Candidate> = {}): Candidate {
  const busyMs = Float64Array.from([40, 60]);
  return { id: '1f1b', busyMs, idle: times, iterationMs: 100, gradientExchangeMs: 0, optimizerMs: 0, ...rest } as Candidate;
}

describe('largestLoss', () => {
  const plan = { chosen: '1f1b', limits: [limits({ math: 9, memory: 1 }), limits({ math: 9, memory: 1 })] } as const;

  it('adds up what one can do the same about, as the mean of all stages', () => {
    const of = step(idle({ 'warm-up': [0, 10], drain: [10, 0], turn: [10, 10], imbalance: [30, 0] }));
    assert.deepEqual(largestLoss(plan, of), { to: 'fill', share: 0.2, stage: 1 });
  });

  it('names the busiest stage that others wait for', () => {
    assert.deepEqual(largestLoss(plan, step(idle({ imbalance: [24, 0] }))), { to: 'slowest', share: 0.12, stage: 1 });
  });

  it('names what comes after the pipeline, and work that is not compute', () => {
    assert.equal(largestLoss(plan, step(idle({}), { gradientExchangeMs: 20 }))?.to, 'gradientExchange');
    assert.equal(largestLoss(plan, step(idle({}), { optimizerMs: 20 }))?.to, 'optimizer');
    const bound = { chosen: '1f1b', limits: [limits({ math: 5, memory: 5 }), limits({ math: 5, memory: 5 })] } as const;
    assert.deepEqual(largestLoss(bound, step(idle({}))), { to: 'memory', share: 0.25, stage: 1 });
  });

  it('names compute where nothing else is a tenth of the step, and nothing where the work is not known', () => {
    assert.deepEqual(largestLoss(plan, step(idle({ drain: [9, 9] }))), { to: 'math', share: 0.45, stage: 1 });
    assert.equal(largestLoss({ ...plan, limits: null }, step(idle({ drain: [9, 9] }))), null);
    assert.equal(largestLoss({ ...plan, chosen: 'gpipe' }, step(idle({ drain: [12, 12] })))?.to, 'fill');
  });
});
