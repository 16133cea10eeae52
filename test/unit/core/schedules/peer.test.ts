import assert from 'node:assert/strict';
import { busyTimes } from '../../../../src/core/schedules/simulate/idle';
import { generateSchedule, toScheduleProblem } from '../../../../src/core/schedules/registry';
import { simulate } from '../../../../src/core/schedules/simulate/simulate';
import type { Durations } from '../../../../src/core/schedules/simulate/transfers';
import { goldenRows } from '../../../golden/data';

interface PeerRow {
  readonly planner: string;
  readonly id: string;
  readonly p: number;
  readonly m: number;
  readonly F: number;
  readonly B: number;
  readonly W: number;
  readonly comm: number;
  readonly bubble_rate: number;
  readonly stage_time: number;
}

/** Rows of 1F1B among those of sail-sg's zero-bubble planners; their `comm` is latency, and the sender is free. */
const rows = (goldenRows('zero-bubble-schedules') as readonly PeerRow[]).filter(({ planner }) => planner.startsWith('1f1b'));

describe('1F1B with the zero-bubble planners', () => {
  it('has rows to be held against', () => assert.equal(rows.length, 28));

  for (const { id, p, m, F, B, W, comm, bubble_rate: bubbleRate, stage_time: stageTime } of rows)
    it(`has their span and bubble rate with ${p} stages and ${m} micro-batches (${id})`, () => {
      const schedule = generateSchedule(
        '1F1B',
        toScheduleProblem(
          Array.from({ length: m }, () => ({ batch: 1, tokens: [1] })),
          p,
        ),
      );
      const on = (ms: number): Float64Array => new Float64Array(p * m).fill(ms);
      const durations: Durations = { forwardMs: on(F), backwardInputMs: on(B), backwardWeightMs: on(W) };
      const hop = new Float64Array(m).fill(comm);
      const { spanMs, bubbleRate: ours } = busyTimes(simulate(schedule, durations, { forwardMs: hop, backwardMs: hop, mode: 'edge' }));
      const span = Math.max(...spanMs);
      assert.ok(Math.abs(span / stageTime - 1) < 1e-9, `${span} against ${stageTime}`);
      assert.ok(Math.abs(ours - bubbleRate) < 1e-9, `${ours} against ${bubbleRate}`);
      assert.ok(Math.abs((span - m * (F + B + W)) / span - ours) < 1e-9);
    });
});
