import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { isScheduleCsv } from '../../../../../src/core/schedules/pytorch-csv/cells';
import { readScheduleCsv } from '../../../../../src/core/schedules/pytorch-csv/read';
import { writeScheduleCsv } from '../../../../../src/core/schedules/pytorch-csv/write';
import { scheduleOf } from './schedules';
import { say } from '../../../../../src/core/sentence';

/** `code row.column "marked text": message`, one a problem. */
function problemsOf(text: string, wanted: Parameters<typeof readScheduleCsv>[2] = {}): string[] {
  return readScheduleCsv(text, 'mine.csv', wanted).problems.map(({ code, row, column, range, message }) => {
    const place = row === null ? '' : ` ${row}${column === null ? '' : `.${column}`}`;
    return `${code}${place} ${JSON.stringify(text.slice(range.start, range.end))}: ${say(message)}`;
  });
}
const remedyOf = (text: string) => say(readScheduleCsv(text, 'mine.csv').problems[0]!.remedy);
const sound = '0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n';

describe('a schedule file', () => {
  it('becomes a schedule with its chunks placed', () => {
    const { format, schedule } = readScheduleCsv(
      '0F0,3F0,3I0,3W0,0B0\r\n,1F0,2F0,,(2F1;2B0)OVERLAP_F_B,1B0'.replace('2F1;', '1F1;'),
      'mine.csv',
    );
    assert.deepEqual([format, schedule], ['compute_only', null]);
    const v = readScheduleCsv(' "0F0" ,3F0,3I0,3W0,0B0\r\n,1F0,2F0,,2B0,1B0\r\n', 'mine.csv').schedule;
    assert.deepEqual([v?.name, v?.stages, [...(v?.stageOfChunk ?? [])], v?.units.length], ['mine.csv', 2, [0, 1, 1, 0], 1]);
    assert.deepEqual([[...(v?.kind ?? [])], [...(v?.rowStart ?? [])]], [[0, 0, 2, 3, 1, 0, 0, 1, 1], [0, 5, 9]]); // prettier-ignore
  });

  it('is one of four chunks on two ranks with split backwards, as written by hand for TorchTitan', () => {
    const rank = (first: number): string => {
      const [late, early] = [first + 2, first];
      const forwards = [early, late].flatMap((chunk) => [0, 1, 2, 3].map((unit) => `${chunk}F${unit}`));
      const pair = (chunk: number, unit: number): string[] => [`${chunk}I${unit}`, `${chunk}W${unit}`];
      const backwards = [0, 2].flatMap((unit) => [late, early].flatMap((chunk) => [...pair(chunk, unit), ...pair(chunk, unit + 1)]));
      return [...forwards, ...backwards].join(',');
    };
    const text = `${rank(0)}\n${rank(1)}\n`;
    const { problems, schedule } = readScheduleCsv(text, 'mine.csv');
    assert.deepEqual(problems, []);
    assert.deepEqual([schedule?.stages, [...(schedule?.stageOfChunk ?? [])], schedule?.units.length], [2, [0, 1, 0, 1], 4]);
    const kinds = [...(schedule?.kind ?? [])];
    assert.deepEqual([kinds.length, [...new Set(kinds)].sort()], [48, [0, 2, 3]]);
  });

  it('puts the forward of an overlapped pair first', () => {
    const { schedule } = readScheduleCsv('0F0,(0B0;0F1)OVERLAP_F_B,0B1', 'mine.csv');
    assert.deepEqual([[...(schedule?.kind ?? [])], [...(schedule?.overlapsNext ?? [])]], [[0, 0, 1, 1], [0, 1, 0, 0]]); // prettier-ignore
  });

  it('is cut into slices when set', () => {
    const text = writeScheduleCsv(scheduleOf('Seq1F1B', 3, 2, 1, 4), 'compute_only');
    const { schedule, problems } = readScheduleCsv(text, 'mine.csv', { slices: 4, microBatches: 2 });
    assert.deepEqual(problems, []);
    assert.deepEqual(schedule?.units[6], { microBatch: 1, slice: 2, batch: 1, tokens: 1, context: 2 });
    assert.deepEqual(problemsOf(text, { slices: 3 }), [
      `micro-batches ${JSON.stringify(text.split('\n')[0])}: The schedule runs 8 micro-batches, not a whole number of sequences of 3 slices`,
    ]);
    assert.deepEqual(problemsOf('0F0,0F1,0B0,0B1', { slices: 2 }), [
      'order 0.2 "0B0": 0B0 comes before 0B1, which it needs, in the same row',
    ]);
    assert.deepEqual(problemsOf('0F1,0F0,0B1,0B0', { slices: 2 }), [
      'order 0.0 "0F1": 0F1 comes before 0F0, which it needs, in the same row',
    ]);
  });

  it('is recognised by its first cell', () => {
    for (const text of [sound, ',,1F0', '\uFEFF0F0', '"0F0",', '(0F1;1B0)OVERLAP_F_B', '0UNSHARD,0F0', '0BW1', '\n\n0F0x'])
      assert.ok(isScheduleCsv(text), text);
    for (const text of ['', 'tokens,forward_ms\n1,2', '1,2', 'F0', '0X0,0F0']) assert.ok(!isScheduleCsv(text), text);
  });
});

describe('cells that are not action', () => {
  const cases: readonly (readonly [cell: string, code: string, message: string, remedy: string])[] = [
    ['0F0xyz', 'action', '"0F0xyz" has trailing text after 0F0; PyTorch ignores it silently', 'write 0F0'],
    ['0BW1', 'old-letters', '"0BW1" uses the letters of an older PyTorch, where B was the backward for inputs and BW the full one', 'write I for B, and B for BW'],
    ['0f0', 'action', '"0f0" is not an action of a schedule', 'write its letters in upper case'],
    ['None', 'action', '"None" is not an action of a schedule', 'leave the cell empty where a rank idles'],
    ['0F', 'action', '"0F" names no micro-batch', 'write a stage, one of F, B, I and W, and a micro-batch: 2F0'],
    ['0SEND_F', 'action', '"0SEND_F" names no micro-batch', 'append it: 0SEND_F0'],
    ['0UNSHARD1', 'action', '"0UNSHARD1" names a micro-batch, but UNSHARD applies to a whole stage', 'write 0UNSHARD'],
    ['-1F0', 'action', '"-1F0" is not an action of a schedule', 'write a stage, one of F, B, I and W, and a micro-batch: 2F0'],
    ['0F0;0F1', 'action', '"0F0;0F1" has several actions', 'put commas between actions'],
    ['(0F7;7B3)', 'action', '"(0F7;7B3)" is not an overlapped pair', 'write a forward and a backward: (0F1;3B0)OVERLAP_F_B'],
    ['(0F7;7F3)OVERLAP_F_B', 'action', '"(0F7;7F3)OVERLAP_F_B" is not an overlapped pair', 'write a forward and a backward: (0F1;3B0)OVERLAP_F_B'],
    ['0F1234567', 'action', '"0F1234567" has a number of more than 6 digits', 'write a stage, one of F, B, I and W, and a micro-batch: 2F0'],
    ['\uFEFF0F0', 'action', '"\\u{feff}0F0" begins with a byte-order mark', 'save the file as UTF-8 without one'],
  ]; // prettier-ignore
  for (const [cell, code, message, remedy] of cases)
    it(JSON.stringify(cell), () => {
      const text = `0F0\n1F0, ${cell} ,1B0\n`;
      assert.deepEqual(problemsOf(text), [`${code} 1.1 ${JSON.stringify(cell)}: ${message}`]);
      assert.equal(remedyOf(text), remedy);
    });
});

describe('a schedule that is not whole', () => {
  it('has the ranks and micro-batches that are wanted', () => {
    assert.deepEqual(problemsOf(sound, { ranks: 2, microBatches: 2 }), []);
    assert.deepEqual(problemsOf(sound, { ranks: 3 }), [
      'ranks "0F0,0F1,0B0,0B1": The schedule has 2 rows, one for each rank, but there are 3 pipeline ranks',
    ]);
    assert.deepEqual(problemsOf(sound, { microBatches: 4 }), [
      'micro-batches "0F0,0F1,0B0,0B1": The schedule runs 2 micro-batches, but there are 4',
    ]);
  });

  it('has no empty row, and some action', () => {
    assert.deepEqual(problemsOf('0F0,0B0\n\n1F0,1B0\n'), ['empty-row 1 "\\n": An empty row counts as a rank that runs nothing']);
    assert.deepEqual(problemsOf('0F0,0B0\n , ,\n'), ['empty-row 1 " , ,": An empty row counts as a rank that runs nothing']);
    assert.deepEqual(problemsOf(''), ['empty "": The file has no action']);
  });

  it('has every stage on one rank', () => {
    assert.deepEqual(problemsOf('0F0,0B0\n2F0,2B0\n'), [
      'stage 1.0 "2F0": 2F0 is of stage 2, and no rank runs stage 1',
      'stage 1.1 "2B0": 2B0 is of stage 2, and no rank runs stage 1',
    ]);
    assert.deepEqual(problemsOf('0F0,0B0\n1F0,1B0,0F1,0B1\n'), [
      'stage 1.2 "0F1": 0F1 of rank 1 is on another rank than stage 0, which begins on rank 0',
      'stage 1.3 "0B1": 0B1 of rank 1 is on another rank than stage 0, which begins on rank 0',
    ]);
  });

  it('runs each pass of each micro-batch once', () => {
    assert.deepEqual(problemsOf('0F0,0F0,0B0'), ['duplicate 0.1 "0F0": 0F0 appears twice']);
    assert.deepEqual(problemsOf('0F0,0B0,0I0,0W0,0F1,0I1,0W1'), ['duplicate 0.3 "0W0": 0W0 runs again what 0B0 does']);
    assert.deepEqual(problemsOf('0F0,0B0\n1F0,1F1,1B0,1B1'), [
      'missing 0.0 "0F0": No rank runs 0F1',
      'missing 0.0 "0F0": No rank runs 0B1',
    ]);
    assert.deepEqual(problemsOf('0F0,0F1,0F2,0B0'), ['missing 0.1 "0F1": No rank runs 0B1 and 1 more B of stage 0']);
    assert.deepEqual(problemsOf('0F0,0I0'), ['missing 0.0 "0F0": No rank runs 0W0']);
    assert.deepEqual(problemsOf('0F0,0W0'), ['missing 0.0 "0F0": No rank runs 0I0']);
    assert.deepEqual(problemsOf('0F0,0B0,0F7,0B7').slice(0, 1), [
      'micro-batch 0.2 "0F7": 0F7 is of micro-batch 7, and the schedule runs 2 micro-batches, counted from 0',
    ]);
    assert.deepEqual(problemsOf('0F0,1F0,2F0,3F0,4F1,5F2,6F3'), [
      'missing 0.0 "0F0": The schedule has 7 forwards, too few for 4 micro-batches on 7 stages',
    ]);
  });

  it('is distinguished from one in the letters of an older PyTorch', () => {
    const [found] = problemsOf('0F0,0F1,0B0,0W0,0B1,0W1');
    assert.ok(found?.startsWith('old-letters 0.2 "0B0": "0B0" uses the letters of an older PyTorch'), found);
  });

  it('reports REDUCE_GRAD, which PyTorch refuses, and keeps the schedule', () => {
    const { problems, schedule } = readScheduleCsv('0F0,0B0,0REDUCE_GRAD', 'mine.csv');
    assert.deepEqual([problems.map(({ code }) => code), schedule?.kind.length], [['reduce-grad'], 2]);
  });

  it('is refused when it is too large', () => {
    assert.deepEqual(problemsOf('\n'.repeat(5_000)).map((problem) => problem.split(' ')[0]), ['too-large']); // prettier-ignore
    assert.deepEqual(problemsOf(','.repeat(4_000_001)).map((problem) => problem.split(' ')[0]), ['too-large']); // prettier-ignore
  });
});

describe('a schedule that cannot run', () => {
  it('is stuck where a row runs something too early', () => {
    assert.deepEqual(problemsOf('0F0,0B0\n1B0,1F0\n'), [
      'order 1.0 "1B0": 1B0 comes before 1F0, which it needs, in the same row',
      'deadlock 0.1 "0B0": 0B0 waits for 1B0 of rank 1, which cannot run either',
    ]);
    assert.deepEqual(problemsOf('0F0,0W0,0I0'), ['order 0.1 "0W0": 0W0 comes before 0I0, which it needs, in the same row']);
    assert.deepEqual(problemsOf('(0F0;0B0)OVERLAP_F_B'), [
      'order 0.0 "0F0;0B0": (0F0;0B0)OVERLAP_F_B overlaps a backward with the forward that it depends on',
    ]);
  });

  it('is stuck where ranks wait for each other', () => {
    assert.deepEqual(problemsOf('0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n'), [
      'deadlock 0.1 "0B0": 0B0 waits for 1B0 of rank 1, where 1F1 comes first and cannot run',
      'deadlock 1.0 "1F1": 1F1 waits for 0F1 of rank 0, where 0B0 comes first and cannot run',
    ]);
  });
});

describe('a schedule with sends and receives', () => {
  const comms =
    '0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD,0RESHARD\n1UNSHARD,1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1,1REDUCE_GRAD,1RESHARD\n';
  const without = (cell: string) => comms.replace(`${cell},`, '');
  const swapped = (first: string, second: string) => comms.replace(first, '?').replace(second, first).replace('?', second);

  it('passes when all fits', () => {
    assert.deepEqual(problemsOf(comms), []);
    assert.equal(readScheduleCsv(comms, 'mine.csv').format, 'compute_comms');
  });

  it('has no blank cells, but is read with them', () => {
    const blank = comms.replace('1F0', ',1F0');
    const { problems, schedule } = readScheduleCsv(blank, 'mine.csv');
    assert.deepEqual(problems.map(({ code, row, column }) => [code, row, column]), [['blank', 1, 3]]); // prettier-ignore
    assert.notEqual(schedule, null);
  });

  it('has both ends of each transfer', () => {
    assert.deepEqual(problemsOf(without('0SEND_F1')), ['transfer 0.3 "0F1": 1F1 of rank 1 needs 0SEND_F1, which no rank runs']);
    assert.deepEqual(problemsOf(without('1RECV_F1')), ['transfer 1.5 "1F1": 1F1 of rank 1 needs 1RECV_F1, which no rank runs']);
    assert.deepEqual(problemsOf(without('0RECV_B0')), ['transfer 0.5 "0B0": 0B0 of rank 0 needs 0RECV_B0, which no rank runs']);
    assert.deepEqual(problemsOf(comms.replace('1F0', '1F0,1SEND_F0')), [
      'transfer 1.4 "1SEND_F0": 1SEND_F0 has no other end: stage 1 is the last',
    ]);
    assert.deepEqual(problemsOf(comms.replace('0F0', '0RECV_F0,0F0')), [
      'transfer 0.1 "0RECV_F0": 0RECV_F0 has no other end: stage 0 is the first',
    ]);
  });

  it('waits for each send and reduction once, behind it, where it waits for any', () => {
    const waiting = comms
      .replace('0B0,', '0B0,0WAIT_SEND_F0,')
      .replace('0B1,', '0B1,0WAIT_SEND_F1,')
      .replace('1REDUCE_GRAD,', '1REDUCE_GRAD,1WAIT_REDUCE_GRAD,1WAIT_SEND_B0,1WAIT_SEND_B1,')
      .replace('0REDUCE_GRAD,', '0REDUCE_GRAD,0WAIT_REDUCE_GRAD,');
    assert.deepEqual(problemsOf(waiting), []);
    assert.deepEqual([readScheduleCsv(comms, '').version, readScheduleCsv(waiting, '').version], ['2.14', '2.15']);
    assert.deepEqual(problemsOf(waiting.replace('0WAIT_SEND_F1,', '')), ['wait 0.4 "0SEND_F1": Nothing waits for 0SEND_F1']);
    assert.deepEqual(problemsOf(waiting.replace('0WAIT_REDUCE_GRAD,', '')), ['wait 0.11 "0REDUCE_GRAD": Nothing waits for 0REDUCE_GRAD']);
    assert.deepEqual(problemsOf(waiting.replace('0SEND_F0,', '0WAIT_SEND_F0,0SEND_F0,').replace('0B0,0WAIT_SEND_F0,', '0B0,')), [
      'wait 0.2 "0WAIT_SEND_F0": 0WAIT_SEND_F0 waits for 0SEND_F0, which does not come before it',
      'wait 0.3 "0SEND_F0": Nothing waits for 0SEND_F0',
    ]);
    // the other rank takes what is waited only for when it has what comes behind the wait
    const stuck = waiting
      .replace('0WAIT_SEND_F0,', '')
      .replace('0F1,', '0WAIT_SEND_F0,0F1,')
      .replace('1RECV_F0,1RECV_F1', '1RECV_F1,1RECV_F0');
    assert.deepEqual(problemsOf(stuck), [
      'deadlock 0.3 "0WAIT_SEND_F0": 0WAIT_SEND_F0 waits for 1RECV_F0 of rank 1, where 1RECV_F1 comes first and cannot run',
      'deadlock 1.1 "1RECV_F1": 1RECV_F1 waits for 0SEND_F1 of rank 0, where 0WAIT_SEND_F0 comes first and cannot run',
      'transfer-order 1.2 "1RECV_F0": 1RECV_F0 comes behind 1RECV_F1, and rank 0 sends 0SEND_F0 before 0SEND_F1',
    ]);
  });

  it('receives before it computes, in the order of the sends, and sends after', () => {
    assert.ok(problemsOf(swapped('0F1', '0SEND_F1'))[0]?.startsWith('order 0.3 "0SEND_F1": 0SEND_F1 comes before 0F1'));
    assert.ok(problemsOf(swapped('1RECV_F0', '1F0'))[0]?.startsWith('order 1.1 "1F0": 1F0 comes before 1RECV_F0'));
    assert.deepEqual(problemsOf(swapped('1RECV_F0', '1RECV_F1')), [
      'transfer-order 1.2 "1RECV_F0": 1RECV_F0 comes behind 1RECV_F1, and rank 0 sends 0SEND_F0 before 0SEND_F1',
    ]);
    const crossed = '0F0,0RECV_B0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n';
    assert.deepEqual(problemsOf(crossed), [
      'deadlock 0.1 "0RECV_B0": 0RECV_B0 waits for 1SEND_B0 of rank 1, where 1RECV_F0 comes first and cannot run',
      'deadlock 1.0 "1RECV_F0": 1RECV_F0 waits for 0SEND_F0 of rank 0, where 0RECV_B0 comes first and cannot run',
    ]);
  });

  it('computes on gathered weights and reduces gradients when all exist', () => {
    assert.deepEqual(problemsOf(without('0UNSHARD')).slice(0, 1), [
      'sharding 0.0 "0F0": 0F0 runs while the weights of stage 0 are sharded',
    ]);
    assert.deepEqual(problemsOf(comms.replace('0F1', '0UNSHARD,0F1')), [
      'sharding 0.3 "0UNSHARD": 0UNSHARD comes while the weights of stage 0 are gathered already',
    ]);
    assert.deepEqual(problemsOf(swapped('0B1', '0REDUCE_GRAD')), [
      'sharding 0.9 "0B1": 0B1 comes behind 0REDUCE_GRAD, which leaves its gradient out',
    ]);
    assert.deepEqual(problemsOf(without('1REDUCE_GRAD')), [
      'sharding 1.9 "1RESHARD": No rank runs 1REDUCE_GRAD, and other stages reduce their gradients',
    ]);
    assert.notEqual(readScheduleCsv(without('1REDUCE_GRAD'), 'mine.csv').schedule, null);
  });
});
