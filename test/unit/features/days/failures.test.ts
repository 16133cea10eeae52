import assert from 'node:assert/strict';
import { randomNumbers } from '../../../../src/core/numbers';
import { dalyInterval, goodput } from '../../../../src/features/days/core/failures';
import { wholeRunRows } from '../../../golden/whole-runs';

type Failures = Parameters<typeof goodput>[0];

/** Time of a run that fails at random, played segment by segment. */
function playedSeconds(work: number, { betweenSeconds, saveSeconds, restartSeconds }: Failures, interval: number): number {
  const random = randomNumbers(47);
  const untilFailure = (): number => -betweenSeconds * Math.log(1 - random());
  let seconds = 0;
  for (let done = 0; done < work; done += interval) {
    let left = untilFailure();
    while (left < interval + saveSeconds) {
      seconds += left;
      // a restart may fail too
      for (left = untilFailure(); left < restartSeconds; left = untilFailure()) seconds += left;
      seconds += restartSeconds;
      left = untilFailure();
    }
    seconds += interval + saveSeconds;
  }
  return seconds;
}

describe('failures of a run', () => {
  it('cost what a run takes that is played failure by failure', () => {
    for (const failures of [
      { betweenSeconds: 10_000, saveSeconds: 30, restartSeconds: 600 },
      { betweenSeconds: 2000, saveSeconds: 60, restartSeconds: 300 },
    ]) {
      const interval = dalyInterval(failures);
      const work = 20_000 * interval;
      const played = work / playedSeconds(work, failures, interval);
      assert.ok(Math.abs(goodput(failures, interval) - played) < 0.005, `${goodput(failures, interval)} and ${played}`);
    }
  });

  it('cost least at the interval, of all that are tried', () => {
    for (const saveSeconds of [1, 30, 300]) {
      const failures = { betweenSeconds: 20_000, saveSeconds, restartSeconds: 600 };
      const tried = Array.from({ length: 2000 }, (_, index) => goodput(failures, 10 * (index + 1)));
      assert.ok(goodput(failures, dalyInterval(failures)) > Math.max(...tried) - 1e-4);
    }
  });

  it('leave of the time of Llama 3 405B what was reported, within 5 points', () => {
    const [llama] = wholeRunRows();
    assert.ok(Math.abs(llama!.predicted - llama!.measured) < 0.05, `${llama!.predicted}`);
  });
});
