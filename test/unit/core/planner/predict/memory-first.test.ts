import assert from 'node:assert/strict';
import { namedSchedules, type ScheduleName } from '../../../../../src/core/domain/schedule-names';
import { ExpectedError } from '../../../../../src/core/errors';
import { candidatePeakBytes } from '../../../../../src/core/planner/plan';
import { buildPipeline, type Pipeline } from '../../../../../src/core/planner/predict/pipeline';
import { measure, measureWanted, type CandidateSpec, type Prediction } from '../../../../../src/core/planner/predict/predict';
import { gpt, request } from '../../../../golden/requests';

const pipeline = buildPipeline(
  request('A100-80GB', gpt(16, 2048, 16, 51200), {
    training: { sequenceLength: 2048, globalBatch: 16 },
    layout: { pipeline: 4 },
  }),
);

function specOf(schedule: ScheduleName): CandidateSpec {
  const scheme = Array.from({ length: 16 }, () => ({ batch: 1, tokens: [2048] }));
  return { id: '1f1b', name: schedule, kind: pipeline.schedules[schedule], scheme, certificate: null };
}

/** Null: the schedule does not run here. */
function unlessRefused(on: Pipeline, spec: CandidateSpec): Prediction | null {
  try {
    return measure(on, spec);
  } catch (error) {
    if (error instanceof ExpectedError) return null;
    throw error;
  }
}

describe('memory counted before a step is simulated', () => {
  it('is that of the simulated step, for every order that does not depend on times', () => {
    const run = namedSchedules.filter((schedule) => {
      const spec = specOf(schedule);
      const whole = spec.kind.planned ? null : unlessRefused(pipeline, spec);
      if (whole === null) return false;
      const asked: unknown[] = [];
      assert.equal(
        measureWanted(pipeline, spec, (memory) => asked.push(memory) < 0),
        null,
        schedule,
      );
      assert.deepEqual(asked, [{ peakBytes: candidatePeakBytes(whole), fits: whole.fits }], schedule);
      const wanted = measureWanted(pipeline, spec, () => true);
      assert.deepEqual([wanted?.iterationMs, wanted?.memory], [whole.iterationMs, whole.memory], schedule);
      return true;
    });
    assert.ok(run.length >= 8, run.join());
  });
});
