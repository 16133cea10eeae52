import assert from 'node:assert/strict';
import { steadyOfLog, steadySteps } from '../../../../../../src/features/compare/core/logs/steady';
import { iterationLine, logOf } from './logs';

function steadyOf(...lines: readonly string[]) {
  const { iterations, counted, warmUp, medianMs } = steadyOfLog(logOf(lines.join('')))!;
  return { iterations, counted, warmUp, medianMs };
}

const from = (first: number, last: number, ms: (iteration: number) => number, every = 1): string[] =>
  Array.from({ length: Math.floor((last - first) / every) + 1 }, (_, at) => iterationLine(first + at * every, ms(first + at * every)));

describe('the steady steps of a log', () => {
  it('are all of an excerpt from the middle of a run', () => {
    assert.deepEqual(steadyOf(...from(85, 88, (at) => at)), { iterations: [85, 88], counted: 4, warmUp: 0, medianMs: 86 });
  });

  it('begin after five iterations of a run that starts in the log, and after half of a short one', () => {
    assert.deepEqual(steadyOf(...from(1, 20, (at) => at)).iterations, [6, 20]);
    assert.deepEqual(steadyOf(...from(1, 4, (at) => at)).iterations, [3, 4]);
    assert.deepEqual(steadyOf(iterationLine(1, 9)), { iterations: [1, 1], counted: 1, warmUp: 0, medianMs: 9 });
  });

  it('leave out a line that is a mean over the first iterations, but no other', () => {
    assert.deepEqual(steadyOf(...from(50, 350, (at) => at, 50)).iterations, [100, 350]);
    assert.deepEqual(steadyOf(iterationLine(1, 9000), ...from(10, 50, (at) => at, 10)).iterations, [20, 50]);
  });

  it('begin after five iterations of a run that continues a checkpoint', () => {
    const loaded = '  successfully loaded checkpoint from /checkpoints [ t 1/1, p 1/1 ] at iteration 84\n';
    assert.deepEqual(steadyOf(loaded, ...from(85, 99, (at) => at)).iterations, [90, 99]);
  });

  it('are those of the last batch size while it grows, and of steps that the optimizer took', () => {
    assert.deepEqual(steadyOf(iterationLine(20, 10, 32), iterationLine(21, 20, 64), iterationLine(22, 22, 64)).iterations, [21, 22]);
    const skipped = iterationLine(20, 5, 32, ' number of skipped iterations:   1 |');
    assert.equal(steadyOf(skipped, iterationLine(21, 10, 32)).medianMs, 10);
  });

  it('of times without numbers begin after five, or half', () => {
    assert.deepEqual(steadySteps([900, 10, 30, 20]), { medianMs: 20, lowMs: 20, highMs: 20, counted: 2, warmUp: 2 });
    assert.deepEqual(steadySteps([7]), { medianMs: 7, lowMs: 7, highMs: 7, counted: 1, warmUp: 0 });
    const many = steadySteps(Array.from({ length: 105 }, (_, step) => (step < 5 ? 9999 : 100 + step)));
    assert.deepEqual([many?.warmUp, many?.counted, many?.medianMs], [5, 100, 154]);
    assert.equal(steadySteps([]), null);
  });

  it('are a median that a slow step does not move', () => {
    assert.equal(steadyOf(...from(85, 99, (at) => (at === 90 ? 60_000 : 1000 + at))).medianMs, 1093);
  });
});
