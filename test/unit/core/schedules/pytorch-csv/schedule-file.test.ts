import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { idleCauses } from '../../../../../src/core/schedules/simulate/gaps';
import { actionsAround, isScheduleCsv } from '../../../../../src/core/schedules/pytorch-csv/cells';
import { readScheduleFile } from '../../../../../src/core/schedules/pytorch-csv/schedule-file';
import { writeScheduleCsv } from '../../../../../src/core/schedules/pytorch-csv/write';
import { scheduleOf } from './schedules';

const file = 'file:///w/mine.csv';
const gpipe = writeScheduleCsv(scheduleOf('GPipe', 4, 8, 1), 'compute_only');

describe('a schedule file', () => {
  it('is drawn in steps: one for each pass, two for a full backward', () => {
    const { findings, drawn } = readScheduleFile(gpipe, file, 'mine.csv');
    assert.deepEqual(findings, []);
    // (m + p - 1)(F + B) with F = 1, B = 2.
    assert.equal(drawn?.timeline.makespanMs, 33);
    assert.equal(drawn.bubbleRate, 3 / 11);
    assert.equal(drawn.timeline.name, 'mine.csv');
    assert.deepEqual([...drawn.inFlight], [8, 8, 8, 8]);
  });

  it('shares out all idle steps by cause', () => {
    const text = writeScheduleCsv(scheduleOf('ZBVZeroBubble', 4, 8, 2), 'compute_only');
    const { drawn } = readScheduleFile(text, file, 'mine.csv');
    assert.ok(drawn);
    const { timeline, idle } = drawn;
    for (let rank = 0; rank < 4; rank++) {
      const waits = idleCauses.reduce((sum, cause) => sum + (idle[cause][rank] ?? 0), 0);
      // F, I and W of 2 stages and 8 micro-batches.
      assert.equal(waits, timeline.makespanMs - 48);
    }
  });

  it('holds as many micro-batches as run forward before their weights are done', () => {
    const text = '0F0,0F1,0I0,0F2,0W0,0I1,0W1,0I2,0W2';
    assert.deepEqual([...(readScheduleFile(text, file, 'x').drawn?.inFlight ?? [])], [3]);
  });

  it('has its problems as findings at the cells, and no drawing when it cannot run', () => {
    const text = '0F0,0X1,0B0';
    const { findings, drawn } = readScheduleFile(text, file, 'mine.csv');
    assert.equal(drawn, null);
    assert.deepEqual(
      findings.map(({ code, severity, place }) => [code, severity, place.file, text.slice(place.range.start, place.range.end)]),
      [['schedule-csv-action', 'error', file, '0X1']],
    );
  });

  it('names missing dependencies and ranks that wait for each other', () => {
    const codesOf = (text: string): string[] => readScheduleFile(text, file, 'x').findings.map(({ code }) => code);
    assert.deepEqual(codesOf('0F0,0B0\n1F0'), ['schedule-csv-missing']);
    assert.deepEqual(codesOf('0B0,0F0'), ['schedule-csv-order']);
    assert.deepEqual(codesOf('0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1'), ['schedule-csv-deadlock', 'schedule-csv-deadlock']);
  });

  it('warns of what its own program refuses, and draws it', () => {
    const { findings, drawn } = readScheduleFile('0F0,0B0,0REDUCE_GRAD', file, 'x');
    assert.deepEqual(findings.map(({ code, severity }) => [code, severity]), [['schedule-csv-reduce-grad', 'warning']]); // prettier-ignore
    assert.equal(drawn?.timeline.makespanMs, 3);
  });
});

describe('other tables of commas', () => {
  it('are not schedules, however their first cell begins', () => {
    for (const text of ['1B,2B,3B,HR\n12,3,0,7', '0F0,name,price\n1,2,3', 'id,2F1\n7,8', '1F3A,90C2,77B0,0012', '3D1,4D2', 'a;b;c\n1;2;3'])
      assert.ok(!isScheduleCsv(text), text);
  });

  it('are distinguished from schedules with a mistake at the start', () => {
    for (const text of ['hello,0F1,0B1', '0F0xyz,0F1,0B0', ',,1F0,1B0', '0FO,0F1,0B0', `${gpipe}\n`]) assert.ok(isScheduleCsv(text), text);
  });
});

describe('the cell at an offset', () => {
  const text = '0F0, 1SEND_F12,"0B0"\r\n,(0F1;1B0)OVERLAP_F_B,0X1';
  const at = (what: string, shift = 1): string | null => {
    const found = actionsAround(text, text.indexOf(what) + shift);
    return found === null ? null : `${found.actions.length} ${text.slice(found.range.start, found.range.end)}`;
  };

  it('is the action it lies in', () => {
    assert.equal(at('0F0', 0), '1 0F0');
    assert.equal(at('0F0', 3), '1 0F0');
    assert.equal(at('1SEND_F12'), '1 1SEND_F12');
    assert.equal(at('"0B0"'), '1 "0B0"');
    assert.equal(at('(0F1', 8), '2 (0F1;1B0)OVERLAP_F_B');
  });

  it('is nothing between cells and in what is not an action', () => {
    assert.equal(actionsAround(text, 4)?.range, undefined);
    assert.equal(at('\n,'), null);
    assert.equal(at('0X1'), null);
    assert.equal(actionsAround('', 0), null);
  });
});
