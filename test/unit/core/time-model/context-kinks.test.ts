import assert from 'node:assert/strict';
import { analyticKinks, profileKinks } from '../../../../src/core/time-model/context-kinks';
import { stageCost } from '../../../../src/core/time-model/stage-cost';
import { buildPipeline } from '../../../../src/core/planner/predict/pipeline';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { timeFunction, timeKinks } from '../../../../src/core/measured-profile/fit';
import type { TimeFit } from '../../../../src/core/domain/profile';
import { gpt, llama3, request } from '../../../golden/requests';

type Time = (context: number) => number;

/** Integer contexts at which a time is off the line through its integer neighbours. */
function bends(time: Time, from: number, to: number): number[] {
  const contexts = Array.from({ length: to - from - 1 }, (_, index) => from + 1 + index);
  return contexts.filter((context) => {
    const [before, here, after] = [time(context - 1), time(context), time(context + 1)];
    return Math.abs(here - (before + after) / 2) > 1e-10 * here;
  });
}

/** Every bend lies next to a kink, and every kink inside has a bend: no kink is declared without a bend. */
function assertKinks(time: Time, kinks: readonly number[], to: number): void {
  const found = bends(time, 0, to);
  assert.ok(
    found.every((context) => kinks.some((kink) => Math.abs(kink - context) <= 1)),
    `${found.join()} but ${kinks.join()}`,
  );
  for (const kink of kinks.filter((each) => each > 2 && each < to - 2)) assert.ok(found.some((context) => Math.abs(kink - context) <= 1));
}

describe('contexts between which a cost is affine', () => {
  const fused = (change: Partial<PlanRequest['training']> = {}): PlanRequest =>
    request(
      'A100-80GB',
      { ...llama3('70b', 8), layers: 8 },
      {
        training: { globalBatch: 2, sequenceLength: 4096, attention: 'flash', ...change },
        layout: { tensor: 2, pipeline: 2 },
      },
    );

  it('of fused attention are where it leaves the issue floor, forward and backward', () => {
    for (const recompute of ['none', 'selective', 'full'] as const) {
      const { inputs } = buildPipeline(fused({ recompute }));
      const cost = stageCost(inputs, 4, { first: true, last: false });
      for (const [batch, tokens] of [
        [1, 64],
        [1, 256],
        [2, 128],
        [3, 512],
      ] as const) {
        const kinks = analyticKinks(inputs, batch, [tokens]);
        assert.ok(kinks !== null);
        const time = (context: number): number => {
          const { forwardMs, backwardMs } = cost(batch, tokens, context);
          return forwardMs + backwardMs;
        };
        assertKinks(time, kinks, 3000);
      }
      assert.ok(analyticKinks(inputs, 1, [256])?.some((kink) => kink > 2 && kink < 2998));
    }
  });

  it('of unfused attention are unknown', () => {
    assert.equal(analyticKinks(buildPipeline(fused({ attention: 'unfused' })).inputs, 1, [64]), null);
  });

  const fit = (context: Partial<TimeFit['context']>): TimeFit => ({
    rows: { tokens: [16, 256], ms: [1, 5] },
    square: 1e-6,
    context: { constant: 0.2, perRow: 1e-4, perContext: 1e-4, perRowContext: 1e-6, perContextSquare: 0, ...context },
  });

  it('of a fit are where its context begins and where the least time of a slice holds', () => {
    for (const context of [{}, { perContext: -2e-3 }, { constant: -3, perContext: 4e-3 }, { perContext: 0, perRowContext: 0 }]) {
      const time = timeFunction(fit(context));
      for (const [batch, tokens] of [
        [1, 16],
        [2, 100],
      ] as const) {
        const kinks = timeKinks(fit(context))?.(batch, tokens);
        assertKinks((at) => time(batch, tokens, at), kinks ?? [], 1500);
      }
    }
    assert.equal(timeKinks(fit({ perContextSquare: 1e-9 })), null);
  });

  it('of a profile are unknown where a recompute follows the analytic model', () => {
    const layer = { forward: fit({}), backward: fit({}) };
    const profile = { launches: null, fit: { layer, embedding: null, head: null } } as unknown as Parameters<typeof profileKinks>[1];
    const { inputs } = buildPipeline(request('V100-16GB', gpt(4, 1024, 16, 0), { training: {}, layout: {} }));
    const unfused = { ...inputs, training: { ...inputs.training, attention: 'unfused' as const, recompute: 'selective' as const } };
    assert.equal(profileKinks(unfused, profile, 1, [64]), null);
    assert.ok(profileKinks({ ...unfused, training: { ...unfused.training, recompute: 'full' } }, profile, 1, [64])?.includes(1));
  });
});
