import assert from 'node:assert/strict';
import { largestLoss } from '../../../../../src/core/planner/explain/losses';
import type { Candidate } from '../../../../../src/core/planner/plan';
import { stepParts, type StepPart } from '../../../../../src/core/planner/explain/step-part-names';

const parts = (ms: Partial<Record<StepPart, number>>): Record<StepPart, number> =>
  ({ ...Object.fromEntries(stepParts.map((part) => [part, 0])), ...ms }) as Record<StepPart, number>;
const idle = (ms: Partial<Record<keyof Candidate['idle'], readonly number[]>>): Candidate['idle'] => {
  const zero = [0, 0];
  const all = { 'warm-up': zero, turn: zero, drain: zero, activation: zero, gradient: zero, link: zero, imbalance: zero, ...ms };
  return Object.fromEntries(Object.entries(all).map(([cause, each]) => [cause, Float64Array.from(each)])) as Candidate['idle'];
};

/** A step of 100 ms on two stages, of which the second is the busiest. */
function step(times: Candidate['idle'], rest: Partial<Candidate> = {}): Candidate {
  const busyMs = Float64Array.from([40, 60]);
  return {
    id: '1f1b',
    busyMs,
    idle: times,
    pipelineMs: 60,
    iterationMs: 100,
    gradientExchangeMs: 40,
    optimizerMs: 0,
    ...rest,
  } as Candidate;
}

describe('largestLoss', () => {
  const of = (...byStage: Partial<Record<StepPart, number>>[]) => ({ chosen: '1f1b', partsByStage: byStage.map(parts) }) as const;

  it('names the bubble with its share of the step and what most of it is', () => {
    const bubble = of({ math: 60, bubble: 40 }, { math: 80, bubble: 20 });
    const filling = step(idle({ 'warm-up': [0, 10], drain: [10, 0], turn: [10, 10], imbalance: [20, 0] }));
    assert.deepEqual(largestLoss(bubble, filling), { to: 'bubble', share: 0.3, cause: 'fill', stage: 1 });
    assert.equal(largestLoss(bubble, step(idle({ imbalance: [24, 0], link: [5, 5] })))?.cause, 'slowest');
  });

  it('names what is not compute, mean of the stages', () => {
    assert.deepEqual(largestLoss(of({ math: 50, memory: 50 }, { math: 100 }), step(idle({}))), {
      to: 'memory',
      share: 0.25,
      cause: null,
      stage: 1,
    });
    assert.equal(largestLoss(of({ math: 80, optimizer: 20 }), step(idle({})))?.to, 'optimizer');
  });

  it('names compute where nothing else is a tenth of the step, and only idle time and what follows where the work is not known', () => {
    assert.deepEqual(largestLoss(of({ math: 91, bubble: 9 }), step(idle({}))), { to: 'math', share: 0.91, cause: null, stage: 1 });
    const unknown = { chosen: '1f1b', partsByStage: null } as const;
    assert.equal(largestLoss(unknown, step(idle({})))?.to, 'gradientExchange');
    assert.equal(
      largestLoss(unknown, step(idle({}), { pipelineMs: 100, busyMs: Float64Array.from([95, 95]), gradientExchangeMs: 0 })),
      null,
    );
  });
});
