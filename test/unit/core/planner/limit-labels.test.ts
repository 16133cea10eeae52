import assert from 'node:assert/strict';
import type { Limiter } from '../../../../src/core/time-model/limiters';
import type { StageLimits } from '../../../../src/core/time-model/limits';
import { costsText, limitedBy, limiterShares, slowestStage, stepCosts } from '../../../../src/core/planner/limit-labels';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { llama3, request } from '../../../golden/requests';
import { said } from '../../said';

const none = { issue: 0, memory: 0, math: 0, exchange: 0, send: 0, offload: 0 };
const stage = (limiter: Limiter, ms: Partial<Record<Limiter, number>>): StageLimits => ({ limiter, ms: { ...none, ...ms } });

describe('what limits the stages, in words', () => {
  it('tells the shares of the slowest stage, and where another thing limits', () => {
    const limits = [
      stage('math', { math: 60, memory: 30 }),
      stage('send', { math: 40, send: 50 }),
      stage('send', { math: 40, send: 50 }),
      stage('math', { math: 90, exchange: 9.9, issue: 0.1 }),
    ];
    assert.equal(slowestStage(limits), 3);
    assert.equal(
      said(limitedBy(limits)),
      'compute 90 %, collectives inside layers 9.9 % on stage 3, the slowest; stages 1-2 P2P transfers',
    );
  });

  it('names no slowest stage where there is one alone', () => {
    assert.equal(said(limitedBy([stage('math', { math: 60, memory: 40 })])), 'compute 60 %, memory traffic 40 %');
  });

  it('says nothing of measured times', () => {
    assert.equal(limitedBy(null), null);
    assert.equal(slowestStage([]), null);
  });

  it('names a limiter for every stage of a plan, the first of its shares, and what the step goes to, the most first', () => {
    const plan = makePlan(
      request('A100-80GB', llama3('70b', 8), {
        training: { attention: 'flash', precision: 'bf16', sequenceParallel: true, globalBatch: 8 },
        layout: { tensor: 4, pipeline: 2 },
      }),
    );
    const { limits, candidates } = plan;
    assert.ok(limits !== null);
    assert.equal(limits.length, 2);
    for (const each of limits) assert.equal(limiterShares(each)[0]?.[0], each.limiter);
    for (const candidate of candidates) {
      const costs = stepCosts(plan, candidate);
      const shares = costs.map(([, share]) => share);
      assert.deepEqual(
        shares,
        shares.toSorted((a, b) => b - a),
      );
      assert.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 1) < 0.05, said(candidate.name));
      assert.equal(costs.some(([part]) => part === 'work'), candidate.id !== plan.chosen, said(candidate.name)); // prettier-ignore
    }
  });

  it('names the bubble first where it costs most', () => {
    const plan = makePlan(request('A100-80GB', llama3('70b', 8), { training: { globalBatch: 1 }, layout: { tensor: 1, pipeline: 8 } }));
    const costs = stepCosts(
      plan,
      plan.candidates.find(({ id }) => id === 'whole')!,
    );
    assert.equal(costs[0]?.[0], 'bubble');
    assert.match(said(costsText(costs)), /^bubble [\d.]+ % of the step, work [\d.]+ %/);
  });
});
