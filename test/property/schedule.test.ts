import assert from 'node:assert/strict';
import fc from 'fast-check';
import { maximumUnitsInFlight } from '../../src/core/memory-model/curve';
import { idleGaps } from '../../src/core/schedules/simulate/gaps';
import { busyTimes } from '../../src/core/schedules/simulate/idle';
import { generateSchedule, toScheduleProblem } from '../../src/core/schedules/registry';
import { operationKind, type Timeline } from '../../src/core/schedules/schedule';
import { plannedSchedules } from '../../src/core/domain/schedule-names';
import { noTransfers, simulate, wholeBackward } from '../../src/core/schedules/simulate/simulate';
import type { Durations, Transfers } from '../../src/core/schedules/simulate/transfers';
import type { Scheme } from '../../src/core/domain/scheme';
import { cases } from './cases';

const seed = 20261121;
const ms = fc.double({ min: 0, max: 50, noNaN: true });
const schemes: fc.Arbitrary<Scheme> = fc.array(
  fc.record({ batch: fc.integer({ min: 1, max: 3 }), tokens: fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1, maxLength: 5 }) }),
  { minLength: 1, maxLength: 7 },
);
const wholeSchemes: fc.Arbitrary<Scheme> = fc
  .integer({ min: 1, max: 20 })
  .map((microBatches) => Array.from({ length: microBatches }, () => ({ batch: 1, tokens: [64] })));
const orders = [...plannedSchedules, 'Seq1F1B'];
const stageCounts = fc.integer({ min: 1, max: 9 });
const modes = fc.constantFrom('blocking' as const, 'edge' as const, 'fill-and-drain' as const);

function countUnits(scheme: Scheme): number {
  return scheme.reduce((sum, { tokens }) => sum + tokens.length, 0);
}

/** Columns of drawn length filled by cycling through a few values. */
function filled(length: number, values: readonly number[]): Float64Array {
  return Float64Array.from({ length }, (_, index) => values[index % values.length]!);
}

/** The same time of a unit on every stage. */
function onEveryStage(stages: number, perUnit: Float64Array): Float64Array {
  return Float64Array.from({ length: stages * perUnit.length }, (_, index) => perUnit[index % perUnit.length]!);
}

function close(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)), `${actual} against ${expected}`);
}

const values = fc.array(ms, { minLength: 1, maxLength: 11 });

describe('simulated schedules', () => {
  it('take the time of eq. 5 under TeraPipe on equal stages, blocking transfers included', () => {
    fc.assert(
      fc.property(schemes, stageCounts, values, values, values, (scheme, stages, forward, backward, transfer) => {
        const units = countUnits(scheme);
        const [forwardMs, backwardMs, transferMs] = [filled(units, forward), filled(units, backward), filled(units, transfer)];
        const timeline = simulate(
          generateSchedule('TeraPipe', toScheduleProblem(scheme, stages)),
          wholeBackward(onEveryStage(stages, forwardMs), onEveryStage(stages, backwardMs)),
          { forwardMs: transferMs, backwardMs: transferMs, mode: 'blocking' },
        );
        const f = forwardMs.map((time, unit) => time + transferMs[unit]!);
        const b = backwardMs.map((time, unit) => time + transferMs[unit]!);
        const sum = [...f, ...b].reduce((total, time) => total + time, 0);
        close(timeline.makespanMs, sum + (stages - 1) * (Math.max(...f) + Math.max(...b)));
      }),
      { seed, numRuns: cases(150, 3000) },
    );
  });

  it('take (m + p - 1)(F + B) and the exposed hops under 1F1B and GPipe on equal stages', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('1F1B' as const, 'GPipe' as const),
        wholeSchemes,
        stageCounts,
        ms,
        ms,
        ms,
        ms,
        (name, scheme, stages, f, b, xf, xb) => {
          const m = scheme.length;
          const timeline = simulate(
            generateSchedule(name, toScheduleProblem(scheme, stages)),
            wholeBackward(filled(stages * m, [f]), filled(stages * m, [b])),
            { forwardMs: filled(m, [xf]), backwardMs: filled(m, [xb]), mode: 'fill-and-drain' },
          );
          close(timeline.makespanMs, (m + stages - 1) * (f + b) + (stages - 1) * (xf + xb));
        },
      ),
      { seed, numRuns: cases(150, 3000) },
    );
  });

  it('never overlap operations of a stage and keep every dependency, whatever the times', () => {
    fc.assert(
      fc.property(fc.constantFrom(...orders), schemes, stageCounts, modes, values, values, (name, scheme, stages, mode, some, other) => {
        const units = countUnits(scheme);
        const durations = wholeBackward(filled(stages * units, some), filled(stages * units, other));
        const transfers: Transfers = { forwardMs: filled(units, other), backwardMs: filled(units, some), mode };
        const timeline = simulate(generateSchedule(name, toScheduleProblem(scheme, stages)), durations, transfers);
        checkTimeline(timeline, durations, transfers);
        const { busyMs, bubbleRate } = busyTimes(timeline);
        assert.ok(bubbleRate <= 1 && bubbleRate >= -1e-12);
        for (let stage = 0; stage < stages; stage++) {
          const idle = idleGaps(timeline, stage).reduce((sum, gap) => sum + gap.endMs - gap.startMs, 0);
          close(idle + busyMs[stage]!, timeline.makespanMs);
        }
      }),
      { seed, numRuns: cases(150, 3000) },
    );
  });

  it('lose the bubble of one slice and hold s + p - 1 - r slices at most under Seq1F1B, whatever the numbers of slices', () => {
    fc.assert(
      fc.property(schemes, stageCounts, ms, ms, (scheme, stages, f, b) => {
        const units = countUnits(scheme);
        const schedule = generateSchedule('Seq1F1B', toScheduleProblem(scheme, stages));
        const durations = wholeBackward(filled(stages * units, [f]), filled(stages * units, [b]));
        close(simulate(schedule, durations, noTransfers(units)).makespanMs, (units + stages - 1) * (f + b));
        const slices = Math.max(...scheme.map(({ tokens }) => tokens.length));
        for (let stage = 0; stage < stages; stage++)
          assert.equal(maximumUnitsInFlight(schedule, stage), Math.min(units, slices + stages - 1 - stage));
      }),
      { seed, numRuns: cases(150, 3000) },
    );
  });

  it('run each unit forward and backward once on every stage, slices in attention order', () => {
    fc.assert(
      fc.property(fc.constantFrom(...orders), schemes, stageCounts, (name, scheme, stages) => {
        const { rowStart, kind, unit, units } = generateSchedule(name, toScheduleProblem(scheme, stages));
        for (let stage = 0; stage < stages; stage++) {
          const rows = Array.from({ length: rowStart[stage + 1]! - rowStart[stage]! }, (_, index) => index + rowStart[stage]!);
          for (const wanted of [operationKind.forward, operationKind.backward]) {
            const order = rows.filter((row) => kind[row] === wanted).map((row) => unit[row]!);
            assert.deepEqual(
              [...order].sort((a, b) => a - b),
              units.map((_, index) => index),
            );
            for (let index = 1; index < order.length; index++) {
              const [before, after] = [units[order[index - 1]!]!, units[order[index]!]!];
              if (before.microBatch === after.microBatch)
                assert.equal(after.slice - before.slice, wanted === operationKind.forward ? 1 : -1);
            }
          }
        }
      }),
      { seed, numRuns: cases(100, 2000) },
    );
  });
});

function checkTimeline(timeline: Timeline, durations: Durations, transfers: Transfers): void {
  const { stages, units, rowStart, kind, unit, startMs, endMs, makespanMs } = timeline;
  const row = new Map<string, number>();
  for (let stage = 0; stage < stages; stage++)
    for (let index = rowStart[stage]!; index < rowStart[stage + 1]!; index++) row.set(`${stage},${kind[index]!},${unit[index]!}`, index);
  const endOf = (stage: number, wanted: number, index: number): number => endMs[row.get(`${stage},${wanted},${index}`)!]!;
  let latest = 0;
  for (let stage = 0; stage < stages; stage++) {
    for (let index = rowStart[stage]!; index < rowStart[stage + 1]!; index++) {
      const start = startMs[index]!;
      const u = unit[index]!;
      const forward = kind[index] === operationKind.forward;
      const needed = [0];
      if (index > rowStart[stage]!) needed.push(endMs[index - 1]!);
      const hop = transfers.mode === 'edge' ? (forward ? transfers.forwardMs : transfers.backwardMs)[u]! : 0;
      if (forward) {
        if (stage > 0) needed.push(endOf(stage - 1, operationKind.forward, u) + hop);
        if (units[u]!.slice > 0) needed.push(endOf(stage, operationKind.forward, u - 1));
      } else {
        needed.push(endOf(stage, operationKind.forward, u));
        if (stage + 1 < stages) needed.push(endOf(stage + 1, operationKind.backward, u) + hop);
        if (units[u + 1]?.microBatch === units[u]!.microBatch) needed.push(endOf(stage, operationKind.backward, u + 1));
      }
      const ready = Math.max(...needed);
      if (transfers.mode === 'fill-and-drain') assert.ok(start >= ready);
      else assert.equal(start, ready);
      const blocked = transfers.mode === 'blocking' ? (forward ? transfers.forwardMs : transfers.backwardMs)[u]! : 0;
      close(endMs[index]! - start, (forward ? durations.forwardMs : durations.backwardInputMs)[stage * units.length + u]! + blocked);
      latest = Math.max(latest, endMs[index]!);
    }
  }
  assert.equal(makespanMs, latest);
}
