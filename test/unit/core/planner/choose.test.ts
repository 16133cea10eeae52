import assert from 'node:assert/strict';
import fc from 'fast-check';
import { requestedSchedule, choose } from '../../../../src/core/planner/choose';
import { candidateIds, candidatePeakBytes, type Candidate, type CandidateId } from '../../../../src/core/planner/plan';
import { isRun, neededFor } from '../../../../src/core/schedules/runtimes';
import type { PlanRequest } from '../../../../src/core/domain/request';
import type { Runtime } from '../../../../src/core/domain/runtime';
import type { ScheduleName } from '../../../../src/core/domain/schedule-names';
import { say } from '../../../../src/core/sentence';
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
  ({ schedule: null, slicing: { unit: null, scheme: null }, layout: { virtualStages: 1 }, training: {}, ...over }) as PlanRequest;

const fastest = (of: readonly Candidate[]): number => Math.min(...of.map(({ iterationMs }) => iterationMs));
const smallest = (of: readonly Candidate[]): number => Math.min(...of.map(candidatePeakBytes));

describe('the choice among candidates', () => {
  it('is the best of all: fitting beats fast, ties by what the runtime runs, then by memory', () => {
    fc.assert(
      fc.property(candidates, (all) => {
        const chosen = choose(asking(), all);
        assert.ok(chosen);
        const fitting = all.filter(({ fits }) => fits);
        assert.equal(chosen.fits, fitting.length > 0);
        if (fitting.length === 0) {
          assert.ok(candidatePeakBytes(chosen) <= 1.02 * smallest(all));
          return;
        }
        assert.ok(chosen.iterationMs <= 1.05 * fastest(fitting), 'no slower than a tie with the fastest');
        for (const other of fitting) {
          const ties = other.iterationMs <= 1.05 * fastest(fitting) && other.schedule !== chosen.schedule;
          if (ties && isRun(other.schedule, asking())) assert.ok(isRun(chosen.schedule, asking()), `${other.id} is run and is a tie`);
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

  it('needs no other runtime for what the costed one runs, Megatron-LM unless files name another, or what a launcher names', () => {
    const needs = (name: ScheduleName, runtime?: Runtime, launches?: ScheduleName): string | null => {
      const training = { ...asking().training, ...(runtime === undefined ? {} : { runtime }) };
      const needed = neededFor(name, { training, ...(launches === undefined ? {} : { launches }) });
      return needed === null ? null : say(needed);
    };
    assert.deepEqual(
      [needs('1F1B'), needs('Interleaved1F1B'), needs('1F1B', 'deepspeed'), needs('TeraPipe', 'terapipe')],
      [null, null, null, null],
    );
    assert.deepEqual([needs('ZBVZeroBubble', 'torchtitan'), needs('Interleaved1F1B', 'torchtitan')], [null, null]);
    assert.equal(needs('ZBVZeroBubble'), "TorchTitan or sail-sg's zero-bubble Megatron-LM");
    assert.equal(needs('GPipe'), "TorchTitan, nanotron or TeraPipe's runtime");
    assert.equal(needs('Interleaved1F1B', 'deepspeed'), 'Megatron-LM or TorchTitan');
    assert.deepEqual([needs('ZB-H1') === null, needs('ZB-H1', 'megatron', 'ZB-H1')], [false, null]);
  });

  it('asks for TeraPipe where slices are given', () => {
    assert.equal(requestedSchedule(asking({ slicing: { unit: null, scheme: [] } })), 'TeraPipe');
  });
});
