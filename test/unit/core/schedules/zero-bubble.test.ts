import assert from 'node:assert/strict';
import { busyTimes } from '../../../../src/core/schedules/simulate/idle';
import { generateSchedule, scheduleKind } from '../../../../src/core/schedules/registry';
import type { Schedule } from '../../../../src/core/schedules/schedule';
import { toPipeline } from '../../../../src/core/schedules/zero-bubble/pipeline';
import { greedyOrder } from '../../../../src/core/schedules/zero-bubble/greedy-order';
import { makeTimes, timeOrder } from '../../../../src/core/schedules/zero-bubble/order-times';
import { spanBoundMs } from '../../../../src/core/schedules/zero-bubble/span-bound';
import { equalTimes, longestSpanMs, peaks, rowMemory, timelineOf, wholeProblem } from '../../../property/planned';
import { say } from '../../../../src/core/sentence';

function orderOf({ rowStart, kind, unit }: Schedule, stage: number): string {
  const rows = Array.from({ length: rowStart[stage + 1]! - rowStart[stage]! }, (_, index) => index + rowStart[stage]!);
  return rows.map((row) => `${'FBIW'[kind[row]!]!}${unit[row]!}`).join(' ');
}

const made = (name: string, stages: number, microBatches: number): Schedule =>
  generateSchedule(name, wholeProblem(name, microBatches, equalTimes(stages, 1, 1, 1, 0)));

describe('hand-made zero-bubble orders', () => {
  it('put off the weight gradients of the last micro-batches in ZB-H1', () => {
    const schedule = made('ZB-H1', 3, 5);
    assert.equal(orderOf(schedule, 0), 'F0 F1 F2 I0 W0 F3 I1 W1 F4 I2 W2 I3 W3 I4 W4');
    assert.equal(orderOf(schedule, 2), 'F0 I0 W0 F1 I1 W1 F2 I2 F3 I3 F4 I4 W2 W3 W4');
  });

  it('run twice as far ahead in ZB-H2', () => {
    const schedule = made('ZB-H2', 3, 6);
    assert.equal(orderOf(schedule, 0), 'F0 F1 F2 F3 F4 I0 W0 F5 I1 W1 I2 W2 I3 W3 I4 W4 I5 W5');
    assert.equal(orderOf(schedule, 2), 'F0 I0 W0 F1 I1 F2 I2 F3 I3 F4 I4 F5 I5 W1 W2 W3 W4 W5');
  });

  it('run with fewer micro-batches than stages', () => {
    for (const name of ['ZB-H1', 'ZB-H2', 'ZeroBubble', 'ZeroBubbleV'])
      for (const microBatches of [1, 2, 3]) timelineOf(name, wholeProblem(name, microBatches, equalTimes(5, 1, 1, 1, 0.1)));
  });
});

describe('the lower bound of zero-bubble orders', () => {
  it('is what ZB-H1 takes in the memory of 1F1B, so that the planner ends with it', () => {
    for (const [stages, microBatches, forward, input, weight, send] of [
      [4, 9, 10, 12, 7, 0],
      [8, 16, 10, 16, 8, 0],
      [32, 64, 10, 12, 7, 0],
      [5, 40, 3, 3, 3, 0],
      [6, 7, 12, 10, 9, 0],
    ] as const) {
      const problem = wholeProblem('ZeroBubble', microBatches, equalTimes(stages, forward, input, weight, send), rowMemory(stages));
      const expected = microBatches * (forward + input + weight) + (stages - 1) * (forward + input - weight);
      assert.equal(spanBoundMs(toPipeline(problem, 1)), expected);
      assert.equal(longestSpanMs(timelineOf('ZeroBubble', problem)), expected);
    }
  });
});

describe('greedy zero-bubble orders', () => {
  it('are given up only where their span is above what was asked for', () => {
    const rules = { ahead: 9, firstForward: 0, firstInput: 0, weightWaitsForInput: 0.5, weightWaitsForForward: 0 } as const;
    let givenUp = 0;
    for (const name of ['ZeroBubble', 'ZeroBubbleV'] as const)
      for (const [fewer, forwardsFirst, forwardWaits, send] of [
        [0, 0, 0, 0],
        [2, 1, 0.5, 2],
        [1, 0, 1, 0.5],
      ] as const) {
        const pipeline = toPipeline(wholeProblem(name, 14, equalTimes(5, 7, 9, 11, send), rowMemory(6)), name === 'ZeroBubble' ? 1 : 2);
        const greedy = (mostMs?: number) => greedyOrder(pipeline, { ...rules, fewer, forwardsFirst, forwardWaits }, mostMs);
        const order = greedy();
        assert.ok(order instanceof Uint8Array);
        const spanMs = timeOrder(pipeline, order, makeTimes(pipeline));
        for (const share of [0.7, 0.9, 0.95, 0.99, 1 + 1e-10, 1.1]) {
          const again = greedy(share * spanMs);
          if (again === 'too long') givenUp++;
          if (share > 1 || again !== 'too long') assert.deepEqual(again, order);
        }
      }
    assert.ok(givenUp >= 6, `${givenUp} given up`);
  });
});

describe('zero-bubble planners', () => {
  for (const name of ['ZeroBubble', 'ZeroBubbleV']) {
    it(`${name} refuses a limit below what one micro-batch holds, with a sentence`, () => {
      const problem = wholeProblem(name, 4, equalTimes(2, 1, 1, 1, 0), rowMemory(0.9));
      const { message, remedy } = scheduleKind(name).unmet(problem)!;
      assert.equal(say(message), 'One micro-batch holds 34 on a stage, more than the memory limit of 30.6');
      assert.equal(say(remedy), 'raise the memory limit, or make micro-batches smaller');
      assert.throws(() => generateSchedule(name, problem), { code: 'schedule-unmet' });
    });

    it(`${name} refuses memory that is never given back`, () => {
      const memory = { forward: 3, backwardInput: -1, backwardWeight: -1, limit: 100 };
      assert.match(say(scheduleKind(name).unmet(wholeProblem(name, 4, equalTimes(2, 1, 1, 1, 0), memory))!.message), /leaks 1 of its 3/);
    });

    it(`${name} runs one micro-batch at a time when the limit holds no more`, () => {
      const problem = wholeProblem(name, 3, equalTimes(3, 1, 1, 1, 0), rowMemory(1));
      assert.deepEqual(peaks(generateSchedule(name, problem), problem.memory), [34, 34, 34]);
    });

    it(`${name} makes the same order every time`, () => {
      const problem = wholeProblem(name, 9, equalTimes(4, 7, 9, 11, 2), rowMemory(4));
      assert.deepEqual(generateSchedule(name, problem), generateSchedule(name, problem));
    });
  }

  it('have no bubble where forward, input and weight gradient take the same time and memory allows', () => {
    const limits = { ZeroBubble: 15, ZeroBubbleV: 8 };
    for (const [name, limit] of Object.entries(limits))
      assert.equal(busyTimes(timelineOf(name, wholeProblem(name, 32, equalTimes(8, 1, 1, 1, 0), rowMemory(limit)))).bubbleRate, 0, name);
  });

  it('keep their steady state when micro-batches get many', () => {
    const idleMs = [32, 512].map((microBatches) => {
      const problem = wholeProblem('ZeroBubbleV', microBatches, equalTimes(4, 10, 12, 6, 0.5), rowMemory(4));
      return longestSpanMs(timelineOf('ZeroBubbleV', problem)) - 28 * microBatches;
    });
    assert.ok(idleMs[1]! <= idleMs[0]! + 1e-6, `${idleMs.join(' ms, then ')} ms idle`);
  });
});
