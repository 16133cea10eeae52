import assert from 'node:assert/strict';
import { namedSchedules } from '../../../../../src/core/domain/schedule-names';
import type { Scheme } from '../../../../../src/core/domain/scheme';
import { unlessUnmet } from '../../../../../src/core/schedules/on-layout';
import { buildPipeline } from '../../../../../src/core/planner/predict/pipeline';
import { busiestStageMs, measure, stepMs } from '../../../../../src/core/planner/predict/predict';
import { gpt, request } from '../../../../golden/requests';

const schemes: readonly Scheme[] = [
  Array.from({ length: 8 }, () => ({ batch: 1, tokens: [2048] })),
  Array.from({ length: 4 }, () => ({ batch: 2, tokens: [1024, 640, 384] })),
  [{ batch: 1, tokens: [2048], documents: [1024, 1024] }, ...Array.from({ length: 7 }, () => ({ batch: 1, tokens: [1024, 1024] }))],
];

describe('what the busiest stage computes', () => {
  it('is a bound on every step, above a fifth of it, and times by themselves are those of the whole step', () => {
    const run = new Set<string>();
    for (const stageLayers of [undefined, [3, 7, 4, 2]]) {
      const asked = request('A100-80GB', gpt(16, 2048, 16, 51200), {
        training: { sequenceLength: 2048, globalBatch: 8 },
        layout: { pipeline: 4, ...(stageLayers === undefined ? {} : { stageLayers }) },
      });
      const pipeline = buildPipeline(asked);
      for (const schedule of namedSchedules)
        for (const scheme of schemes) {
          const kind = pipeline.schedules[schedule];
          if (!kind.sliced && scheme.some(({ tokens }) => tokens.length > 1)) continue;
          const spec = { id: '1f1b', name: schedule, kind, scheme, certificate: null } as const;
          const step = unlessUnmet(() => measure(pipeline, spec));
          if (step === null) continue;
          const busiestMs = busiestStageMs(pipeline, spec);
          assert.ok(busiestMs <= step.iterationMs * (1 + 1e-12), `${schedule}: ${busiestMs} ${step.iterationMs}`);
          assert.ok(
            kind.exchangesAttention === true || busiestMs > 0.2 * step.iterationMs,
            `${schedule}: ${busiestMs} ${step.iterationMs}`,
          );
          if (!kind.planned) assert.equal(stepMs(pipeline, spec), step.iterationMs, schedule);
          run.add(schedule);
        }
    }
    assert.ok(run.size >= 12, [...run].join());
  });
});
