import assert from 'node:assert/strict';
import { comparePlans } from '../../../../../src/features/compare/core/plans';
import { planSentences } from '../../../../../src/features/compare/core/plan-labels';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import type { PlanRequest } from '../../../../../src/core/domain/request';
import { fourStages } from './plans';
import { toText } from '../../../sentence-text';

const names = { a: 'A', b: 'B' };

function changed(
  request: PlanRequest,
  training: Partial<PlanRequest['training']>,
  layout: Partial<PlanRequest['layout']> = {},
): PlanRequest {
  return { ...request, training: { ...request.training, ...training }, layout: { ...request.layout, ...layout } };
}

describe('Two plans side by side', () => {
  const base = fourStages('1F1B');
  const plan = makePlan(base);

  it('are the same plan when nothing differs', () => {
    const comparison = comparePlans(plan, makePlan(base), names);
    assert.deepEqual([comparison.requestDiff, comparison.speedup, comparison.tie], [[], 1, true]);
    assert.match(
      planSentences(comparison)
        .map((one) => toText(one))
        .join('\n'),
      /^A and B are the same plan: .* a step\.$/,
    );
  });

  it('ask for the same when one spells out what the other leaves to be', () => {
    const asked = (layout: Partial<PlanRequest['layout']>) => comparePlans(plan, makePlan(changed(base, {}, layout)), names).requestDiff;
    assert.deepEqual(asked({ stageLayers: [2, 2, 2, 2], expertTensor: 2 }), []);
    assert.deepEqual(asked({ stageLayers: [1, 2, 3, 2] }), [{ key: 'layout.stageLayers', a: '–', b: '1, 2, 3, 2' }]);
  });

  it('have parts that add up to their steps', () => {
    for (const request of [fourStages('TeraPipe'), fourStages('ZBVZeroBubble'), changed(base, { recompute: 'full' })]) {
      const { a, b, parts } = comparePlans(plan, makePlan(request), names);
      const sum = (key: 'aMs' | 'bMs'): number => parts.reduce((ms, each) => ms + each[key], 0);
      assert.ok(Math.abs(sum('aMs') - a.iterationMs) < 1e-6 * a.iterationMs);
      assert.ok(Math.abs(sum('bMs') - b.iterationMs) < 1e-6 * b.iterationMs);
    }
  });

  it('name recompute as the reason, and the memory it saves', () => {
    const comparison = comparePlans(plan, makePlan(changed(base, { recompute: 'full' })), names);
    assert.deepEqual(comparison.requestDiff, [{ key: 'training.recompute', a: 'none', b: 'full' }]);
    const [speed, memory] = planSentences(comparison);
    assert.match(toText(speed), /^B is 1\.\d+x slower \(.*\): .* more recompute, since training\.recompute is full, not none/);
    assert.match(toText(memory), /^B needs [\d.]+ GiB less memory: [\d.]+ GiB on stage \d, A [\d.]+ GiB on stage \d\.$/);
  });

  it('call what is within the error bar a tie, in either direction', () => {
    const close = makePlan(changed(base, { fusedCrossEntropy: true, sequenceParallel: true }));
    assert.ok(Math.abs(comparePlans(plan, close, names).speedup - 1) > 0.001, 'not the same plan');
    assert.equal(comparePlans(plan, close, names).tie, true);
    assert.match(toText(planSentences(comparePlans(plan, close, names))[0]), /^Within error: /);
    const [there, back] = [comparePlans(plan, close, names).speedup, comparePlans(close, plan, names).speedup];
    assert.ok(Math.abs(there * back - 1) < 1e-12);
  });

  it('name the slices that fill the pipeline when the bubble shrinks', () => {
    const few = { ...base, training: { ...base.training, globalBatch: 2 } };
    const comparison = comparePlans(makePlan(few), makePlan({ ...few, schedule: 'TeraPipe' }), names);
    assert.match(toText(planSentences(comparison)[0]), /less bubble, since it has \d+ slices a sequence, not 1/);
    const back = comparePlans(makePlan({ ...few, schedule: 'TeraPipe' }), makePlan(few), names);
    assert.match(toText(planSentences(back)[0]), /more bubble, since it has 1 slice a sequence, not \d+/);
  });

  it('give no cause that would have made the bubble longer', () => {
    const short = changed(base, { microBatch: 1, globalBatch: 8 });
    const comparison = comparePlans(makePlan(short), makePlan(changed(short, {}, { pipeline: 2, data: 2, virtualStages: 2 })), names);
    assert.deepEqual(comparison.requestDiff.find(({ key }) => key === 'microBatches'), { key: 'microBatches', a: '8', b: '4' }); // prettier-ignore
    assert.match(toText(planSentences(comparison)[0]), /less bubble, since it has 2 (chunks of layers per stage, not 1|stages, not 4)/);
  });

  it('end a cause before the next part, so that its count is not read with the next time', () => {
    const comparison = comparePlans(plan, makePlan(changed(base, {}, { data: 4 })), names);
    const [, main = ''] = planSentences(comparison).map(toText);
    assert.match(main, /since it has 4 replicas, not \d+(; [\d.]+ m?s |\.$)/);
  });

  it('compare tokens, not steps, when a step has other work, and count GPUs', () => {
    const comparison = comparePlans(plan, makePlan(changed(base, { globalBatch: 32 }, { data: 2 })), names);
    assert.equal(comparison.b.gpus, 2 * comparison.a.gpus);
    assert.ok(comparison.speedup > 1.5, 'twice the GPUs on twice the work');
    assert.match(
      planSentences(comparison)
        .map((one) => toText(one))
        .join('\n'),
      /^B gives [\d.]+x the tokens\/s per GPU, on 16 GPUs instead of 8\.[^]*A step of B has[^]*tokens\/s/,
    );
  });

  it('have stages of either plan, empty where one has fewer', () => {
    const { stages } = comparePlans(plan, makePlan(changed(base, {}, { pipeline: 8 })), names);
    assert.deepEqual(
      stages.map(({ a, b }) => [a === null, b === null]),
      [...Array.from({ length: 4 }, () => [false, false]), ...Array.from({ length: 4 }, () => [true, false])],
    );
  });
});
