import assert from 'node:assert/strict';
import { requireComplete } from '../../../../../src/core/schedules/simulate/complete';
import { scheduleDescriptions } from '../../../../../src/core/schedules/descriptions';
import { generateSchedule, toScheduleProblem, scheduleNames } from '../../../../../src/core/schedules/registry';
import type { Schedule } from '../../../../../src/core/schedules/schedule';
import { noTransfers, simulate } from '../../../../../src/core/schedules/simulate/simulate';
import type { ExpectedError } from '../../../../../src/core/errors';
import { say } from '../../../../../src/core/sentence';
import { toText } from '../../../sentence-text';

const whole = (microBatches: number): { batch: number; tokens: number[] }[] =>
  Array.from({ length: microBatches }, () => ({ batch: 1, tokens: [64] }));

/** What is wrong with a schedule, as its error names it. */
function textsOf(schedule: Schedule): string[] {
  try {
    requireComplete(schedule);
  } catch (error) {
    return (error as ExpectedError).message.replace(/^.*? once: /, '').split('; ');
  }
  return [];
}

describe('faults of a schedule', () => {
  const split = generateSchedule('ZBVZeroBubble', toScheduleProblem(whole(3), 2, 2));
  const changed = (row: number, kind: number, chunk: number, unit: number): Schedule => {
    const columns = { kind: split.kind.slice(), chunk: split.chunk.slice(), unit: split.unit.slice() };
    [columns.kind[row], columns.chunk[row], columns.unit[row]] = [kind, chunk, unit];
    return { ...split, ...columns };
  };

  it('are none in what is generated', () => {
    assert.deepEqual(textsOf(split), []);
    assert.deepEqual(textsOf(generateSchedule('DualPipeV', toScheduleProblem(whole(4), 2, 2))), []);
  });

  it('are a whole backward with its parts, a chunk on another stage, and what is missing', () => {
    const weight = split.kind.indexOf(3);
    const [chunk, unit] = [split.chunk[weight]!, split.unit[weight]!];
    assert.deepEqual(textsOf(changed(weight, 1, chunk, unit)), [`the backward of micro-batch ${unit} on chunk ${chunk} a second time`]);
    assert.deepEqual(textsOf(changed(0, 0, 1, 0)), [
      'the forward of micro-batch 0 on chunk 1 on another stage than 1',
      'no forward of micro-batch 0 on chunk 0',
    ]);
    assert.deepEqual(textsOf(changed(0, 0, 7, 0)), [
      'an operation on chunk 7, which does not exist',
      'no forward of micro-batch 0 on chunk 0',
    ]);
  });

  it('are overlapped forwards with no backward after them', () => {
    const schedule = generateSchedule('GPipe', toScheduleProblem(whole(2), 1));
    const overlapping = (row: number): Schedule => ({
      ...schedule,
      overlapsNext: Uint8Array.from(schedule.kind, (_, each) => Number(each === row)),
    });
    assert.deepEqual(textsOf(overlapping(0)), ['the forward of micro-batch 0 overlapped with no backward after it']);
    assert.deepEqual(textsOf(overlapping(3)), ['the backward of micro-batch 1 overlapped with no backward after it']);
    // The row after the last of a stage is another stage's.
    const turned = generateSchedule('GPipe', toScheduleProblem(whole(1), 2));
    const backwardFirst = { ...turned, kind: Uint8Array.from([1, 0, 1, 0]), overlapsNext: Uint8Array.from([0, 1, 0, 0]) };
    assert.deepEqual(textsOf(backwardFirst), ['the forward of micro-batch 0 overlapped with no backward after it']);
    const ms = new Float64Array(2).fill(1);
    const durations = { forwardMs: ms, backwardInputMs: ms, backwardWeightMs: ms };
    assert.throws(() => simulate(overlapping(0), durations, noTransfers(2)), { code: 'schedule-incomplete' });
    // The forward of micro-batch 1 can overlap with the backward of micro-batch 0: they take as long as both.
    assert.equal(simulate(overlapping(1), durations, noTransfers(2)).makespanMs, 6);
  });
});

describe('generating a schedule', () => {
  it('shows what to change when the schedule cannot run that', () => {
    const codeOf = (make: () => unknown): string => {
      try {
        make();
      } catch (error) {
        const { code, message, remedy } = error as ExpectedError;
        return `${code}: ${message}; ${say(remedy)}`;
      }
      return 'nothing';
    };
    assert.match(
      codeOf(() => generateSchedule('Nope', toScheduleProblem(whole(2), 2))),
      /^schedule-unknown: .*"Nope"; use one of GPipe, .*1F1B, /,
    );
    assert.match(
      codeOf(() => generateSchedule('1F1B', toScheduleProblem(whole(2), 2, 2))),
      /^schedule-unmet: 1F1B has 1 virtual/,
    );
    assert.match(
      codeOf(() => generateSchedule('LoopedBFS', toScheduleProblem(whole(2), 2))),
      /^schedule-unmet: LoopedBFS has two or more virtual/,
    );
    const sliced = [{ batch: 1, tokens: [8, 8] }];
    assert.match(
      codeOf(() => generateSchedule('LoopedBFS', toScheduleProblem(sliced, 2, 2))),
      /^schedule-unmet: LoopedBFS runs whole sequences/,
    );
    assert.match(
      codeOf(() => generateSchedule('DualPipeV', toScheduleProblem(whole(3), 2, 2))),
      /^schedule-unmet: DualPipeV needs at least 4 micro-batches/,
    );
    assert.match(
      codeOf(() => generateSchedule('GPipe', toScheduleProblem([], 2))),
      /^schedule-unmet: GPipe has no micro-batch to run/,
    );
  });
});

describe('sentences about schedules', () => {
  it('exist for every schedule, in the order of the registry', () => {
    assert.deepEqual(Object.keys(scheduleDescriptions), scheduleNames);
    for (const { text } of Object.values(scheduleDescriptions)) assert.match(toText(text), /^[A-Z0-9].*\.$/);
  });
});
