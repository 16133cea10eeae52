import assert from 'node:assert/strict';
import fc from 'fast-check';
import { criticalPath, linkKind } from '../../src/core/schedules/simulate/critical-path';
import { idleCauses } from '../../src/core/schedules/simulate/gaps';
import { busyTimes, idleTimes } from '../../src/core/schedules/simulate/idle';
import { simulate } from '../../src/core/schedules/simulate/simulate';
import { cases } from './cases';
import { anyCase } from './random-schedule';

const seed = 20261123;

describe('idle time by cause', () => {
  it('adds up to the idle time of every stage and is nowhere negative', () => {
    fc.assert(
      fc.property(anyCase, ({ schedule, durations, transfers }) => {
        const timeline = simulate(schedule, durations, transfers);
        const times = idleTimes(timeline, durations, transfers);
        const { busyMs } = busyTimes(timeline);
        for (let stage = 0; stage < schedule.stages; stage++) {
          const parts = idleCauses.map((cause) => times[cause][stage]!);
          assert.ok(Math.min(...parts) >= 0, parts.join());
          const sum = parts.reduce((total, ms) => total + ms, 0);
          assert.ok(Math.abs(sum + busyMs[stage]! - timeline.makespanMs) < 1e-9);
        }
      }),
      { seed, numRuns: cases(75, 1500) },
    );
  });

  it('blames links for nothing when sending takes no time, and imbalance for nothing when chunks are alike', () => {
    fc.assert(
      fc.property(anyCase, ({ schedule, durations, transfers }) => {
        const count = schedule.units.length;
        const none = new Float64Array(count);
        const free = { forwardMs: none, backwardMs: none, mode: 'edge' } as const;
        const unlinked = idleTimes(simulate(schedule, durations, free), durations, free);
        assert.equal(Math.max(...unlinked.link), 0);
        const alike = (column: Float64Array): Float64Array => column.map((_, cell) => column[cell % count]!);
        const even = {
          forwardMs: alike(durations.forwardMs),
          backwardInputMs: alike(durations.backwardInputMs),
          backwardWeightMs: alike(durations.backwardWeightMs),
        };
        const balanced = idleTimes(simulate(schedule, even, transfers), even, transfers);
        assert.equal(Math.max(...balanced.imbalance), 0);
      }),
      { seed, numRuns: cases(50, 1000) },
    );
  });
});

describe('the critical path', () => {
  it('adds up to the makespan, each row starting when the one before it ends and has been sent', () => {
    fc.assert(
      fc.property(anyCase, ({ schedule, durations, transfers }) => {
        const timeline = simulate(schedule, durations, transfers);
        const { rows, link, transferMs } = criticalPath(timeline);
        let ms = 0;
        rows.forEach((row, index) => {
          ms += transferMs[index]! + timeline.endMs[row]! - timeline.startMs[row]!;
          assert.equal(ms, timeline.endMs[row]);
          assert.equal(link[index] === linkKind.start, index === 0);
          if (link[index] === linkKind.order) assert.equal(rows[index - 1], row - 1);
          if (transferMs[index] !== 0) assert.ok(link[index] === linkKind.activation || link[index] === linkKind.gradient);
          if (transfers.mode === 'edge' || schedule.overlapsNext === null) assert.ok(transferMs[index]! >= 0);
        });
        assert.equal(ms, timeline.makespanMs);
      }),
      { seed, numRuns: cases(75, 1500) },
    );
  });
});
