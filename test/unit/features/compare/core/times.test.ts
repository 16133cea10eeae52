import assert from 'node:assert/strict';
import { compareWithTimes, timesSentences } from '../../../../../src/features/compare/core/against-times';
import { readTimes, detectTimesFormat } from '../../../../../src/features/compare/core/times';
import { steadySteps } from '../../../../../src/features/compare/core/logs/steady';
import { ExpectedError } from '../../../../../src/core/errors';
import { chosenCandidate } from '../../../../../src/core/planner/plan';
import { planOf } from './plans';
import { toText } from '../../../sentence-text';

const log = `training ...
 [2025-08-01 07:19:37] iteration        1/    5000 | consumed samples:          128 | elapsed time per iteration (ms): 19138.8 | throughput per GPU (TFLOP/s/GPU): 80.2 | lm loss: 1.04E+01 |
[Rank 0] (after 1 iterations) memory (MB) | allocated: 10770.37 | max allocated: 15754.88
 [2025-08-01 07:19:40] iteration        2/    5000 | consumed samples:          256 | elapsed time per iteration (ms): 2513.5 | lm loss: 1.04E+01 |
 [2025-08-01 07:19:43] iteration        3/    5000 | consumed samples:          384 | elapsed time per iteration (ms): 2501.0 | lm loss: 1.04E+01 |
`;

describe('Measured times', () => {
  it('are read from a column, named columns, JSON and a log of Megatron-LM', () => {
    assert.deepEqual(readTimes('12.5\n13\n', 'a.csv').stepsMs, [12.5, 13]);
    assert.deepEqual(readTimes('step;step_ms\n0;12.5\n1;13\n', 'a.csv').stepsMs, [12.5, 13]);
    assert.deepEqual(readTimes('# run 3\r\niteration,elapsed_time_s\r\n0,1.5\r\n', 'a.csv').stepsMs, [1500]);
    assert.deepEqual(readTimes('[12.5, 13]', 'a.json').stepsMs, [12.5, 13]);
    assert.deepEqual(readTimes('{"stepsMs": [1], "stages": [{"stage": 2, "forwardMs": 3}]}', 'a.json').stages, [
      { stage: 2, forwardMs: 3, backwardMs: null },
    ]);
    assert.deepEqual(readTimes('stage,forward_ms,backward_ms\n0,1,2\n1,3,4\n', 'a.csv').stages, [
      { stage: 0, forwardMs: 1, backwardMs: 2 },
      { stage: 1, forwardMs: 3, backwardMs: 4 },
    ]);
    assert.deepEqual(readTimes(log, 'run.log').stepsMs, [19138.8, 2513.5, 2501]);
  });

  it('are distinguished from configs and schedules by their content', () => {
    const others = ['{"model": "config.json"}', '0F0,0F1\n1F0,1F1\n', '#!/bin/bash\npython train.py\n', '', 'model:\n  layers: 2\n'];
    assert.deepEqual(others.map(detectTimesFormat), [null, null, null, null, null]);
    assert.equal(detectTimesFormat(log), 'log');
  });

  it('refuse what is not a time at its line', () => {
    const refused = (text: string): ExpectedError => {
      try {
        readTimes(text, 'a.csv');
      } catch (error) {
        if (error instanceof ExpectedError) return error;
      }
      throw new Error('not refused');
    };
    const bad = 'step_ms\n12\n-3\n';
    const { code, place } = refused(bad);
    assert.deepEqual([code, bad.slice(place?.range.start, place?.range.end)], ['times-value', '-3']);
    assert.equal(refused('[1, "2"]').code, 'times-value');
    for (const text of ['step_ms\n1\u007f2\n', '["\u009b31m"]'])
      assert.doesNotMatch(refused(text).message, /\p{Cc}/u, 'characters that a terminal would obey');
    assert.equal(refused('[1, 2').code, 'times-syntax');
    assert.equal(refused('step_ms\n').code, 'times-empty');
  });

  it('leave out the warm-up and take the median', () => {
    assert.deepEqual(steadySteps([900, 10, 30, 20]), { medianMs: 20, lowMs: 20, highMs: 20, counted: 2, warmUp: 2 });
    assert.deepEqual(steadySteps([7]), { medianMs: 7, lowMs: 7, highMs: 7, counted: 1, warmUp: 0 });
    const many = steadySteps(Array.from({ length: 105 }, (_, step) => (step < 5 ? 9999 : 100 + step)));
    assert.deepEqual([many?.warmUp, many?.counted, many?.medianMs], [5, 100, 154]);
    assert.equal(steadySteps([]), null);
  });

  it('show whether the plan is within its error bar, what fixes it, and which stage lags', () => {
    const plan = planOf('1F1B');
    const { iterationMs } = chosenCandidate(plan);
    const near = compareWithTimes(plan, { stepsMs: [1.02 * iterationMs], stages: [] });
    assert.equal(near.within, true);
    assert.match(toText(timesSentences(near)[0]), /2 % longer than predicted .*within the error bar of \d+ %/);
    const far = compareWithTimes(plan, { stepsMs: [2 * iterationMs], stages: [] });
    assert.match(
      timesSentences(far)
        .map((one) => toText(one))
        .join('\n'),
      /beyond the error bar[^]*calibration\.iterationMs/,
    );
    const { stages } = compareWithTimes(plan, {
      stepsMs: [],
      stages: [0, 1, 2, 3].map((stage) => ({ stage, forwardMs: 1, backwardMs: 1 })),
    });
    const measured = stages.map(({ stage, forward, backward }) => ({
      stage,
      forwardMs: (forward?.predictedMs ?? 0) * (stage === 2 ? 1.2 : 1),
      backwardMs: backward?.predictedMs ?? 0,
    }));
    assert.equal(compareWithTimes(plan, { stepsMs: [], stages: measured }).straggler, 2);
  });
});
