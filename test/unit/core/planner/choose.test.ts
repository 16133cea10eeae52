import assert from 'node:assert/strict';
import fc from 'fast-check';
import { requestedSchedule, choose } from '../../../../src/core/planner/choose';
import { candidateIds, peakBytesOf, type Candidate, type CandidateId } from '../../../../src/core/planner/plan';
import { isUsual, otherRuntime } from '../../../../src/core/planner/reasons';
import { neededFor } from '../../../../src/core/schedules/needs';
import type { PlanRequest } from '../../../../src/core/spec/request';
import type { Runtime } from '../../../../src/core/spec/runtime';
import type { ScheduleName } from '../../../../src/core/spec/schedule-names';
import { cases } from '../../../property/cases';

const usable = 100;

const scheduleOf: Readonly<Partial<Record<CandidateId, ScheduleName>>> = {
  terapipe: 'TeraPipe',
  rounds: 'TeraPipe',
  uniform: 'TeraPipe',
  whole: 'TeraPipe',
  '1f1b': '1F1B',
  gpipe: 'GPipe',
  'equal-work': 'Seq1F1B',
  'best-split': 'Seq1F1B',
  solved: 'Seq1F1B',
};

function candidate(id: CandidateId, iterationMs: number, peakBytes: number): Candidate {
  const schedule = scheduleOf[id] ?? (id as ScheduleName);
  const memory = { stages: [{ stage: 0, peakBytes, inUseBytes: peakBytes, capacityBytes: usable }] };
  return { id, name: id, schedule, iterationMs, memory, fits: peakBytes <= usable } as unknown as Candidate;
}

const candidates = fc
  .uniqueArray(
    fc.record({
      id: fc.constantFrom(...candidateIds.filter((id) => id !== 'given')),
      iterationMs: fc.integer({ min: 900, max: 1200 }),
      bytes: fc.integer({ min: 40, max: 120 }),
    }),
    { selector: ({ id }) => id, minLength: 1 },
  )
  .map((all) => all.map(({ id, iterationMs, bytes }) => candidate(id, iterationMs, bytes)));

const asking = (over: Partial<PlanRequest> = {}): PlanRequest =>
  ({ schedule: null, slicing: { unit: null, scheme: null }, layout: { virtualStages: 1 }, ...over }) as PlanRequest;

const fastest = (of: readonly Candidate[]): number => Math.min(...of.map(({ iterationMs }) => iterationMs));
const smallest = (of: readonly Candidate[]): number => Math.min(...of.map(peakBytesOf));

describe('the choice among candidates', () => {
  it('is the best of all: fitting beats running with usual launchers beats fast, ties by memory', () => {
    fc.assert(
      fc.property(candidates, (all) => {
        const chosen = choose(asking(), all);
        assert.ok(chosen);
        const fitting = all.filter(({ fits }) => fits);
        assert.equal(chosen.fits, fitting.length > 0);
        if (fitting.length === 0) {
          assert.ok(peakBytesOf(chosen) <= 1.02 * smallest(all));
          return;
        }
        assert.ok(chosen.iterationMs <= 1.05 * fastest(fitting), 'no slower than a tie with the fastest');
        for (const other of fitting) {
          const ties = other.iterationMs <= 1.05 * fastest(fitting) && other.schedule !== chosen.schedule;
          if (ties && isUsual(other)) assert.ok(isUsual(chosen), `${other.id} runs everywhere and is a tie`);
          if (other.schedule === chosen.schedule) assert.ok(other.iterationMs >= chosen.iterationMs, other.id);
        }
      }),
      { numRuns: cases(500, 20_000) },
    );
  });

  it('is of what the launcher runs, whatever else is faster or fits', () => {
    fc.assert(
      fc.property(candidates, fc.constantFrom<readonly ScheduleName[]>(['1F1B'], ['1F1B', 'GPipe', 'ZBVZeroBubble']), (all, runs) => {
        const own = all.filter(({ schedule }) => runs.includes(schedule));
        const chosen = choose(asking({ runs }), all);
        assert.equal(chosen === undefined, own.length === 0);
        if (chosen === undefined) return;
        assert.ok(runs.includes(chosen.schedule));
        assert.equal(
          chosen.fits,
          own.some(({ fits }) => fits),
        );
      }),
      { numRuns: cases(300, 10_000) },
    );
  });

  it('is the fastest variant that fits of the schedule that is asked for', () => {
    fc.assert(
      fc.property(candidates, fc.constantFrom<ScheduleName>('TeraPipe', 'Seq1F1B', '1F1B'), (all, schedule) => {
        const own = all.filter((other) => other.schedule === schedule);
        const chosen = choose(asking({ schedule }), all);
        assert.equal(chosen?.schedule, own.length === 0 ? undefined : schedule);
        const fitting = own.filter(({ fits }) => fits);
        if (chosen !== undefined && fitting.length > 0) assert.deepEqual([chosen.fits, chosen.iterationMs], [true, fastest(fitting)]);
      }),
      { numRuns: cases(300, 10_000) },
    );
  });

  it('needs no other runtime for what that of the files runs under the name that it is asked for by', () => {
    const needs = (name: ScheduleName, runtime?: Runtime, schedule: ScheduleName | null = null): boolean => {
      const { training, ...request } = asking({ schedule });
      return neededFor(name, { ...request, training: { ...training, ...(runtime === undefined ? {} : { runtime }) } }) !== null;
    };
    assert.deepEqual(
      [needs('ZBVZeroBubble'), needs('ZBVZeroBubble', 'megatron'), needs('ZBVZeroBubble', 'torchtitan')],
      [true, true, false],
    );
    assert.deepEqual([needs('ZeroBubbleV', 'torchtitan'), needs('1F1B', 'deepspeed')], [true, false]);
    assert.deepEqual([needs('Interleaved1F1B', 'megatron'), needs('Interleaved1F1B', 'torchtitan', 'Interleaved1F1B')], [true, false]);
    assert.equal(needs('ZB-H1', 'torchtitan', 'ZB-H1'), true, 'asked for, but TorchTitan has it under no name');
  });

  it('knows the runtime of every variant', () => {
    assert.equal(otherRuntime(candidate('equal-work', 1, 1)), otherRuntime(candidate('Seq1F1B', 1, 1)));
    assert.notEqual(otherRuntime(candidate('equal-work', 1, 1)), null);
    assert.equal(requestedSchedule(asking({ slicing: { unit: null, scheme: [] } })), 'TeraPipe');
  });
});
