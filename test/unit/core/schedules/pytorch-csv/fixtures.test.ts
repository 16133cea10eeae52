import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { readScheduleCsv } from '../../../../../src/core/schedules/pytorch-csv/read';
import { writeScheduleCsv } from '../../../../../src/core/schedules/pytorch-csv/write';
import { cellsOf, scheduleOf } from './schedules';

const folder = path.resolve(import.meta.dirname, '../../../../fixtures/schedules');

/** The schedule that a file of PyTorch 2.14.1 or 2.15.0 (`.2.15.comms.csv`), or one that it was seen to load, is named after. */
function scheduleNamed(file: string) {
  const generated = /^(\w+)_pp(\d)_v(\d)_m(\d+)/.exec(file);
  if (generated) {
    const [, name = '', stages, chunks, microBatches] = generated;
    return scheduleOf(name, Number(stages), Number(microBatches), Number(chunks));
  }
  const [, name = '', stages, microBatches, slices = '1'] = /^hand_(\w+)_pp(\d)_(?:m|seq)(\d)(?:_s(\d))?/.exec(file) ?? [];
  return scheduleOf(name, Number(stages), Number(microBatches), 1, Number(slices));
}

describe('schedules of PyTorch', () => {
  const files = readdirSync(folder).filter((file) => file.endsWith('.csv'));

  it('are complete', () => assert.equal(files.length, 32));

  for (const file of files.filter((name) => !name.startsWith('bad_'))) {
    const text = readFileSync(path.join(folder, file), 'utf8');
    const isComms = file.endsWith('.comms.csv');
    const version = file.includes('.2.15.') ? '2.15' : '2.14';

    it(`${file} is what we write, cell by cell`, () => {
      const ours = cellsOf(writeScheduleCsv(scheduleNamed(file), isComms ? 'compute_comms' : 'compute_only', version));
      // PyTorch ends its GPipe rows with an action that it refuses to read back.
      if (file.startsWith('GPipe')) ours.forEach((cells, stage) => cells.push(`${stage}REDUCE_GRAD`));
      assert.deepEqual(ours, cellsOf(text));
    });

    it(`${file} is read as the same schedule`, () => {
      const { format, version: found, problems, schedule } = readScheduleCsv(text, scheduleNamed(file).name);
      const expected = scheduleNamed(file);
      assert.deepEqual([format, found], isComms ? ['compute_comms', version] : ['compute_only', null]);
      assert.deepEqual(problems.map(({ code }) => code), file.startsWith('GPipe') ? ['reduce-grad'] : []); // prettier-ignore
      assert.deepEqual({ ...schedule, units: schedule?.units.length }, { ...expected, units: expected.units.length });
    });
  }

  it('those with the warm-up of plain 1F1B on slices are refused at the stuck cell of every rank', () => {
    const deadlockAt = (file: string) => {
      const text = readFileSync(path.join(folder, file), 'utf8');
      const { problems, schedule } = readScheduleCsv(text, file);
      assert.equal(schedule, null);
      return problems.map(({ code, row, column, range }) => `${code} ${row ?? ''} ${column ?? ''} ${text.slice(range.start, range.end)}`);
    };
    // PyTorch stops at rank 1, step 3 of the one, and at rank 3, step 1 of the other.
    assert.deepEqual(deadlockAt('bad_Seq1F1B_plainwarmup_pp4_seq2_s4.csv'), [
      'order 1 3 1B3',
      'order 2 2 2B3',
      'order 3 1 3B3',
      'deadlock 0 4 0B3',
    ]);
    assert.deepEqual(deadlockAt('bad_Seq1F1B_plainwarmup_pp4_seq4_s2.csv'), [
      'order 3 1 3B1',
      'deadlock 0 4 0B1',
      'deadlock 1 3 1B1',
      'deadlock 2 2 2B1',
    ]);
  });
});

/**
 * Steps of a schedule in which every pass, send and receive takes one, by the rule of PyTorch's `_simulate_comms_compute`: ranks try in
 * turn, those that could not try once more.
 */
function stepsOf(text: string): number {
  const rows = cellsOf(text).map((cells) => cells.filter((cell) => !/SHARD|REDUCE/.test(cell)));
  const done = new Set<string>();
  const last = Math.max(...rows.flat().map((cell) => Number.parseInt(cell, 10)));
  const needs = (cell: string): string | null => {
    const [, chunk = '', type = '', unit = ''] = /^(\d+)([A-Z_]+)(\d+)$/.exec(cell) ?? [];
    if (type === 'F') return chunk === '0' ? null : `${chunk}RECV_F${unit}`;
    if (type === 'B') return Number(chunk) === last ? null : `${chunk}RECV_B${unit}`;
    if (type.startsWith('SEND')) return `${chunk}${type.slice(-1)}${unit}`;
    return `${Number(chunk) + (type === 'RECV_F' ? -1 : 1)}SEND_${type.slice(-1)}${unit}`;
  };
  const next = rows.map(() => 0);
  const attempt = (rank: number) => {
    const cell = rows[rank]![next[rank]!]!;
    const needed = needs(cell);
    if (needed !== null && !done.has(needed)) return false;
    done.add(cell);
    next[rank]! += 1;
    return true;
  };
  const isLeft = (rank: number) => next[rank]! < rows[rank]!.length;
  for (let steps = 0; ; steps++) {
    const left = rows.map((_, rank) => rank).filter(isLeft);
    if (left.length === 0) return steps;
    const waiting = left.filter((rank) => !attempt(rank));
    assert.ok(waiting.length < left.length, 'stuck');
    for (const rank of waiting) attempt(rank);
  }
}

describe('transfers between ranks', () => {
  const counted: readonly (readonly [name: string, stages: number, microBatches: number, slices: number, steps: number])[] = [
    ['GPipe', 4, 4, 1, 32],
    ['GPipe', 4, 8, 1, 56],
    ['1F1B', 4, 4, 1, 33],
    ['1F1B', 4, 8, 1, 61],
    ['TeraPipe', 4, 2, 4, 56],
    ['TeraPipe', 4, 4, 2, 56],
    ['TeraPipe', 3, 6, 2, 76],
    ['Seq1F1B', 4, 2, 4, 58],
    ['Seq1F1B', 4, 4, 2, 60],
    ['Seq1F1B', 3, 6, 2, 84],
  ];
  for (const [name, stages, microBatches, slices, steps] of counted)
    it(`let ${name} with ${microBatches} micro-batches of ${slices} on ${stages} stages end in the ${steps} steps that PyTorch counts`, () => {
      assert.equal(stepsOf(writeScheduleCsv(scheduleOf(name, stages, microBatches, 1, slices), 'compute_comms', '2.14')), steps);
    });
});
