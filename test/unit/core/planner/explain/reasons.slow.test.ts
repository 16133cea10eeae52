import assert from 'node:assert/strict';
import { planJson } from '../../../../../src/core/export/plan-json';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { chosenCandidate } from '../../../../../src/core/planner/plan';
import { isTie } from '../../../../../src/core/planner/explain/reasons';
import { gpt, request } from '../../../../golden/requests';
import { sentence } from '../../../../../src/core/sentence';
import { toText } from '../../../sentence-text';

const plan = makePlan({
  ...request('A100-80GB', gpt(24, 2048, 16, 50304), { training: { globalBatch: 16, precision: 'bf16' }, layout: { pipeline: 8 } }),
  schedule: '1F1B',
});

describe('ties between the schedules of a plan', () => {
  it('are those closer than the error bar, never the chosen one itself', () => {
    const chosen = chosenCandidate(plan);
    const share = 1 + plan.cost.errorPercent / 100;
    for (const candidate of plan.candidates) {
      const ratio = Math.max(candidate.iterationMs / chosen.iterationMs, chosen.iterationMs / candidate.iterationMs);
      assert.equal(isTie(plan, candidate), candidate.id !== chosen.id && ratio <= share, toText(candidate.name));
    }
    const ties = plan.candidates.filter((candidate) => isTie(plan, candidate));
    assert.ok(ties.length > 0 && ties.length < plan.candidates.length - 1, 'the fixture has both');
  });

  it('are reported in every reason that compares, and in JSON', () => {
    const sliced = makePlan({ ...plan.request, schedule: 'TeraPipe' });
    for (const [id, words] of [
      ['whole', / whole sequences/],
      ['1f1b', /(?<!interleaved) 1F1B/],
    ] as const) {
      const candidate = sliced.candidates.find((other) => other.id === id)!;
      const line = sliced.reasons.find((reason) => words.test(toText(reason)))!;
      assert.equal(toText(line).includes('within error of'), isTie(sliced, candidate), toText(line));
    }
    const { comparisons } = planJson(plan).plan as { comparisons: readonly { id: string; tie: boolean }[] };
    for (const { id, tie } of comparisons)
      assert.equal(
        tie,
        isTie(
          plan,
          plan.candidates.find((candidate) => candidate.id === id)!,
        ),
        id,
      );
  });

  it('have their reasons in JSON, each once', () => {
    const request = { ...plan.request, assumptions: [{ key: 'layout.tensor', value: '1', reason: sentence`it fits` }] };
    assert.deepEqual(planJson({ ...plan, request }).plan, {
      ...planJson(plan).plan,
      assumptions: [{ key: 'layout.tensor', value: '1', reason: 'it fits', moves: [] }],
    });
  });
});
