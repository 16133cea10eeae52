import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { type Values, launcherOf } from '../launcher';
import { scheduleCsvFindings } from '../../../../../src/core/rules/launchers/schedule-csv';
import { say } from '../../../../../src/core/sentence';

const check = (text: string | null, values: Values = {}) =>
  scheduleCsvFindings(
    launcherOf({ scheduleCsv: 'order.csv', ...values }, 'torchtitan'),
    text === null ? null : { file: 'order.csv', text },
  );
const cellOf = (text: string) => {
  const [found] = check(text);
  return found && `${text.slice(found.place.range.start, found.place.range.end)}: ${say(found.message)}`;
};

const oneForwardOneBackward = '0F0,0F1,,0B0,0F2,0B1,,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n';

describe('a custom schedule', () => {
  it('passes when every rank finishes', () => {
    assert.deepEqual(check(oneForwardOneBackward, { pipeline: 2 }), []);
    assert.deepEqual(check('0F0,2F0,2I0,2W0,0I0,0W0\n1F0,3F0,3I0,1I0,3W0,1W0\n', { pipeline: 2 }), []);
    assert.deepEqual(check('0F0,0F1,0B0,0B1\n1F0,(1F1;1B0)OVERLAP_F_B,1B1\n'), []);
  });

  it('is missed where it is missing', () => {
    assert.match(say(check(null)[0]!.message), /"order\.csv" does not exist/);
  });

  it('needs a row for each rank', () => {
    const [found] = check(oneForwardOneBackward, { pipeline: 4 });
    assert.equal(say(found!.message), 'The schedule has 2 rows, one for each rank, but there are 4 pipeline ranks');
    assert.equal(say(found!.remedy), 'set the pipeline size to 2, or write 4 rows');
    assert.equal(found!.place.file, 'launcher');
  });

  it('needs the micro-batches of the run', () => {
    const [found] = check(oneForwardOneBackward, { localBatch: 8, microBatch: 2 });
    assert.equal(say(found!.message), 'The schedule runs 3 micro-batches, but there are 4');
    assert.equal(found!.place.file, 'launcher');
  });

  it('is of passes only, on the stages that TorchTitan assigns to each rank', () => {
    assert.equal(
      cellOf('0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n'),
      '0SEND_F0: 0SEND_F0 is not a pass, and only passes are loaded here',
    );
    assert.equal(
      cellOf('0F0,3F0,3I0,3W0,0I0,0W0\n1F0,2F0,2I0,1I0,2W0,1W0\n'),
      '3F0: 3F0 of rank 0 belongs to a stage on rank 1: stages are assigned to ranks round-robin',
    );
  });

  it('is marked at a cell that is not an action', () => {
    assert.equal(cellOf('0F0, 0X0\n1F0,1B0\n'), '0X0: "0X0" is not an action of a schedule');
    assert.ok(cellOf('(0F0;oops)OVERLAP_F_B\n')?.startsWith('(0F0;oops)OVERLAP_F_B: '));
  });

  it('is marked at a cell whose input nobody computes', () => {
    assert.equal(cellOf('0F0,0B0\n1F0\n'), '1F0: No rank runs 1B0');
    assert.equal(cellOf('0F0,0I0,0W0\n1F0,1W0,1I0\n'), '1W0: 1W0 comes before 1I0, which it needs, in the same row');
  });

  it('is marked at every rank where ranks wait for each other', () => {
    const text = '0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n';
    assert.deepEqual(
      check(text).map(({ place: { range } }) => text.slice(range.start, range.end)),
      ['0B0', '1F1'],
    );
  });

  it('is checked in other formats and without a path not at all', () => {
    assert.deepEqual(scheduleCsvFindings(launcherOf({ scheduleCsv: 'order.csv' }, 'nemo'), null), []);
    assert.deepEqual(scheduleCsvFindings(launcherOf({}, 'torchtitan'), null), []);
  });

  it('ends for any text, with a finding inside it', () => {
    const piece = fc.constantFrom('0F0', '1F0', '0B0', '1B0', '1I0', '1W0', ',', '\n', '\r\n', '(', ';', '999999F999999', 'SEND', ' ');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = pieces.join('');
        for (const { place } of check(text))
          assert.ok((place.range.start < place.range.end || text === '') && place.range.end <= text.length);
      }),
      { seed: 4, numRuns: 500 },
    );
  });

  it('runs a long schedule in time', () => {
    const row = (rank: number) => ['F', 'B'].flatMap((type) => Array.from({ length: 20_000 }, (_, m) => `${rank}${type}${m}`)).join();
    assert.deepEqual(check([0, 1, 2, 3].map(row).join('\n')), []);
  });
});
