import assert from 'node:assert/strict';
import { chromeTrace } from '../../../../src/core/export/chrome-trace';
import { generateSchedule, toScheduleProblem } from '../../../../src/core/schedules/registry';
import type { Timeline } from '../../../../src/core/schedules/schedule';
import { noTransfers, simulate, wholeBackward } from '../../../../src/core/schedules/simulate/simulate';

interface TraceEvent {
  readonly ph: string;
  readonly pid: number;
  readonly tid?: number;
  readonly name: string;
  readonly ts: number;
  readonly dur: number;
  readonly id?: number;
  readonly args: Readonly<Record<string, number | string>>;
}

function timelineOf(name: string, slices: number, stages = 3, microBatches = 4): Timeline {
  const scheme = Array.from({ length: microBatches }, () => ({ batch: 2, tokens: Array.from({ length: slices }, () => 64) }));
  const schedule = generateSchedule(name, toScheduleProblem(scheme, stages));
  const ms = new Float64Array(stages * microBatches * slices).fill(1.5);
  return simulate(schedule, wholeBackward(ms, ms), noTransfers(microBatches * slices));
}

function eventsOf(timeline: Timeline, memory?: Parameters<typeof chromeTrace>[1]['memory']): readonly TraceEvent[] {
  const text = [...chromeTrace(timeline, { title: 'a "title"', ...(memory === undefined ? {} : { memory }) })].join('');
  return (JSON.parse(text) as { traceEvents: TraceEvent[] }).traceEvents;
}

describe('Chrome trace', () => {
  it('has an event for each operation, in microseconds, on the thread of its stage', () => {
    const timeline = timelineOf('1F1B', 1);
    const operations = eventsOf(timeline).filter(({ ph }) => ph === 'X');
    assert.equal(operations.length, timeline.kind.length);
    operations.forEach(({ tid, ts, dur }, row) => {
      assert.ok(row >= timeline.rowStart[tid ?? 0]! && row < timeline.rowStart[(tid ?? 0) + 1]!);
      assert.ok(Math.abs(ts - 1000 * timeline.startMs[row]!) < 1e-3);
      assert.equal(dur, 1500);
    });
  });

  it('names stages, and slices only where there are any', () => {
    const names = (slices: number): Set<string> => new Set(eventsOf(timelineOf('TeraPipe', slices)).map(({ name }) => name));
    assert.ok(names(1).has('forward 3') && !names(1).has('forward 3.0'));
    assert.ok(names(2).has('forward 3.0') && names(2).has('backward 3.1'));
    const threads = eventsOf(timelineOf('1F1B', 1)).filter(({ name }) => name === 'thread_name');
    assert.deepEqual(threads.map(({ args }) => args['name']), ['stage 0', 'stage 1', 'stage 2']); // prettier-ignore
  });

  it('has the copies of activations in a process of their own', () => {
    const timeline = timelineOf('BPipe', 1, 4, 8);
    const copies = eventsOf(timeline).filter(({ ph, pid }) => ph === 'X' && pid === 2);
    assert.equal(copies.length, timeline.copies!.before.length);
    assert.deepEqual(
      copies.slice(0, 2).map(({ tid, name, ts }) => [tid, name, ts]),
      [0, 1].map((copy) => {
        const way = timeline.copies!.back[copy] === 1 ? 'from' : 'to';
        return [0, `${timeline.copies!.unit[copy]} ${way} stage 3`, 1000 * timeline.copyTimes!.startMs[copy]!];
      }),
    );
    assert.ok(eventsOf(timelineOf('1F1B', 1)).every(({ pid }) => pid === 1));
  });

  it('joins every transfer between stages by a flow that ends where the receiver starts', () => {
    const events = eventsOf(timelineOf('1F1B', 1));
    const starts = events.filter(({ ph }) => ph === 's');
    const ends = new Map(events.filter(({ ph }) => ph === 'f').map((event) => [event.id, event]));
    assert.equal(starts.length, 2 * 2 * 4);
    const begins = new Set(events.filter(({ ph }) => ph === 'X').map(({ tid, ts }) => `${tid} ${ts}`));
    for (const { id, tid, ts, name } of starts) {
      const end = ends.get(id)!;
      assert.equal((end.tid ?? 0) - (tid ?? 0), name === 'activations' ? 1 : -1);
      assert.ok(end.ts >= ts);
      assert.ok(begins.has(`${end.tid} ${end.ts}`));
    }
  });

  it('counts memory of each stage', () => {
    const memory = [0, 1, 2].map(() => ({ timeMs: Float64Array.of(0, 2), bytes: Float64Array.of(5, 7) }));
    const counters = eventsOf(timelineOf('GPipe', 1), memory).filter(({ ph }) => ph === 'C');
    assert.deepEqual(counters.map(({ ts, args }) => [ts, args['bytes']]).slice(0, 2), [[0, 5], [2000, 7]]); // prettier-ignore
    assert.equal(counters.length, 6);
  });

  it('comes in pieces', () => {
    const pieces = [...chromeTrace(timelineOf('TeraPipe', 8, 8, 32), { title: 'large' })];
    assert.ok(pieces.length > 5);
    assert.ok(Math.max(...pieces.map(({ length }) => length)) < 500_000);
    assert.doesNotThrow(() => JSON.parse(pieces.join('')));
  });
});
