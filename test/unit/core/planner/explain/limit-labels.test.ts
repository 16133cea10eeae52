import assert from 'node:assert/strict';
import type { Limiter, StageLimits } from '../../../../../src/core/time-model/limits';
import { costsText, limitedBy, stepCosts } from '../../../../../src/core/planner/explain/limit-labels';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { chosenCandidate } from '../../../../../src/core/planner/plan';
import { llama3, request } from '../../../../golden/requests';
import { toText } from '../../../sentence-text';

const none = { issue: 0, memory: 0, math: 0, exchange: 0, send: 0, offload: 0 };
const stage = (limiter: Limiter): StageLimits => ({ limiter, ms: none });

describe('what limits the stages, in words', () => {
  it('names the stages where not the same limits all', () => {
    assert.equal(
      toText(limitedBy([stage('math'), stage('send'), stage('send'), stage('math')])),
      'stage 0 compute; stages 1-2 P2P transfers; stage 3 compute',
    );
  });

  it('is silent where one thing limits all stages, and for measured times', () => {
    assert.equal(limitedBy([stage('math'), stage('math')]), null);
    assert.equal(limitedBy(null), null);
  });
});

describe('what the step goes to', () => {
  const plan = makePlan(
    request('A100-80GB', llama3('70b', 8), {
      training: { attention: 'flash', precision: 'bf16', sequenceParallel: true, globalBatch: 8, recompute: 'full' },
      layout: { tensor: 4, pipeline: 2 },
    }),
  );

  it('adds up to the step, the most first, and names the work only of the chosen way', () => {
    for (const candidate of plan.candidates) {
      const costs = stepCosts(plan, candidate);
      const shares = costs.map(([, share]) => share);
      assert.deepEqual(
        shares,
        shares.toSorted((a, b) => b - a),
      );
      assert.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 1) < 0.002, toText(candidate.name));
      assert.equal(costs.some(([part]) => part === 'work'), candidate.id !== plan.chosen, toText(candidate.name)); // prettier-ignore
    }
  });

  it('has the bubble of the figures, and is the mean of what it is on each stage', () => {
    const chosen = chosenCandidate(plan);
    const [costs, first, last] = [null, 0, 1].map((of) => new Map(stepCosts(plan, chosen, of)));
    assert.ok(Math.abs((costs?.get('bubble') ?? 0) - chosen.bubbleRate) < 1e-9);
    for (const part of ['math', 'recompute'] as const)
      assert.ok(Math.abs((costs?.get(part) ?? 0) - ((first?.get(part) ?? 0) + (last?.get(part) ?? 0)) / 2) < 1e-9, part);
  });

  it('names the bubble first where it costs most', () => {
    const few = makePlan(request('A100-80GB', llama3('70b', 8), { training: { globalBatch: 1 }, layout: { tensor: 1, pipeline: 8 } }));
    const costs = stepCosts(
      few,
      few.candidates.find(({ id }) => id === 'whole')!,
    );
    assert.equal(costs[0]?.[0], 'bubble');
    assert.match(toText(costsText(costs)), /^bubble [\d.]+ % of the step, work [\d.]+ %/);
  });
});
