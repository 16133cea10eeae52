import assert from 'node:assert/strict';
import { busyTimes } from '../../src/core/schedules/simulate/idle';
import { equalTimes, peaks, rowMemory, timelineOf, wholeProblem } from '../property/planned';
import { goldenRows } from './data';

/** A row of the reference schedulers: stages, micro-batches, times (ms) and what memory holds, in forward passes. */
export interface ZeroBubbleRow {
  readonly id: string;
  readonly planner: string;
  readonly p: number;
  readonly m: number;
  readonly F: number;
  readonly B: number;
  readonly W: number;
  readonly comm: number;
  readonly mem_limit_in_F: number;
  readonly bubble_rate: number;
}

export function zeroBubbleRows(): readonly ZeroBubbleRow[] {
  return (goldenRows('zero-bubble-schedules') as readonly ZeroBubbleRow[]).filter(({ planner }) => planner.startsWith('zb'));
}

/** Asserts that our orders keep each row's memory limit and have no larger bubble than the authors' planner. */
export function assertNoLargerBubble(rows: readonly ZeroBubbleRow[]): void {
  const larger = rows.flatMap((row) => {
    const name = row.planner === 'zbv' ? 'ZeroBubbleV' : 'ZeroBubble';
    const problem = wholeProblem(name, row.m, equalTimes(row.p, row.F, row.B, row.W, row.comm), rowMemory(row.mem_limit_in_F));
    const timeline = timelineOf(name, problem);
    assert.ok(Math.max(...peaks(timeline, problem.memory)) <= problem.memory.limit, `${row.id} holds more than its limit`);
    const { bubbleRate } = busyTimes(timeline);
    return bubbleRate <= row.bubble_rate + 1e-9 ? [] : [`${row.id}: ${bubbleRate} against ${row.bubble_rate}`];
  });
  assert.deepEqual(larger, []);
}
