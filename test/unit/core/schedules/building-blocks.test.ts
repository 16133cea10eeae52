import assert from 'node:assert/strict';
import { equalTimes, peaks, timelineOf, wholeProblem } from '../../../property/planned';

/** Activations of one micro-batch on one whole stage, until the weight gradient. */
const memory = { forward: 1, backwardInput: 0, backwardWeight: -1, limit: Infinity };

function simulated(name: 'V-Half' | 'V-Min', stages: number, microBatches: number) {
  const problem = wholeProblem(name, microBatches, equalTimes(stages, 1, 1, 1, 0), memory);
  const timeline = timelineOf(name, problem);
  return { makespanMs: timeline.makespanMs, peak: Math.max(...peaks(timeline, memory)) };
}

describe('schedules of a V with controllable memory', () => {
  for (const [name, share, more] of [
    ['V-Min', 1 / 3, 4 / 3],
    ['V-Half', 1 / 2, 1],
  ] as const)
    // prettier-ignore
    it(`${name} holds ${share === 0.5 ? 'half' : 'a third'} of the p micro-batches of 1F1B, and at most ${more === 1 ? 'one' : 'four thirds'} more`, () => {
      for (let stages = 1; stages <= 33; stages++)
        for (const microBatches of [1, stages, 3 * stages + 1]) {
          const { peak } = simulated(name, stages, microBatches);
          assert.ok(peak <= Math.min(microBatches, share * stages + more) + 1e-9, `${stages} stages, ${microBatches}: ${peak}`);
        }
    });

  it('have no bubble between filling and draining where all passes take the same time', () => {
    for (const name of ['V-Min', 'V-Half'] as const)
      for (const stages of [2, 3, 4, 6, 7, 8, 12]) {
        const [some, more] = [4 * stages, 9 * stages];
        const grown = simulated(name, stages, more).makespanMs - simulated(name, stages, some).makespanMs;
        assert.equal(grown, 3 * (more - some), `${name} on ${stages} stages`);
      }
  });
});
