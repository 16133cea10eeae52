import assert from 'node:assert/strict';
import { ExpectedError } from '../../../../src/core/errors';
import { importTimes } from '../../../../src/core/measured-profile/csv';
import { parseProfile, profileText } from '../../../../src/core/measured-profile/file';
import { fitMs } from './fitted-time';
import type { Profile } from '../../../../src/core/domain/profile';
import { profileWith } from './profiles';
import { say } from '../../../../src/core/sentence';

const { title, measuredAt, device, tensor, shape, precision, attention } = profileWith();
const description: Parameters<typeof importTimes>[2] = { title, measuredAt, device, tensor, shape, precision, attention };

function read(text: string): Profile {
  return importTimes(text, 'times.csv', description);
}

/** The error of a text: its code, its remedy, and the text at its place. */
function refusal(text: string): readonly [code: string, at: string, message: string, remedy: string] {
  try {
    read(text);
  } catch (error) {
    assert.ok(error instanceof ExpectedError, String(error));
    const { range } = error.place ?? assert.fail('no place');
    return [error.code, text.slice(range.start, range.end), error.message, say(error.remedy)];
  }
  throw new Error('no error');
}

const lengths = [128, 256, 384, 512, 768, 1024];
/** 10 us a token, backward 2.5 times that, 1 us more per 100 tokens of context. */
const rows = lengths.flatMap((tokens) =>
  [0, 512].map((context) => [tokens, context, 0.01 * tokens + 1e-5 * context, 0.025 * tokens] as const),
);
const table = ['tokens,context,forward_ms,backward_ms', ...rows.map((row) => row.join(','))].join('\n');

describe('import of slice times', () => {
  it('makes a profile with what it was given, and fits it', () => {
    const profile = read(table);
    assert.equal(profile.source, 'imported');
    assert.equal(profile.samples.layer.length, rows.length);
    assert.deepEqual([profile.sequenceLength, profile.largestBatch, profile.provider], [1536, 1, null]);
    assert.deepEqual([profile.device, profile.shape, profile.warnings], [device, shape, []]);
    assert.equal(profile.errors?.forward.method, 'leave-one-out');
    assert.ok(profile.errors.forward.meanPercent < 0.1);
    const cell = { batch: 1, tokens: 640, context: 512 };
    assert.ok(Math.abs(fitMs(profile.fit!.layer.forward, cell) - 6.40512) < 1e-6);
    assert.ok(Math.abs(fitMs(profile.fit!.layer.backward, cell) - 16) < 1e-6);
  });

  it('can be stored and read again', () => {
    const text = profileText(read(table));
    assert.equal(profileText(parseProfile(text, 'p.json')), text);
  });

  it('knows headers in any case and order, other separators, quotes, comments and empty lines', () => {
    const same = read(table).samples.layer;
    const dressed = [
      '# torch 2.5, H100',
      'Backward_MS;ForwardMs;note;"Tokens";CONTEXT',
      ...rows.map(([tokens, context, forward, backward]) => `${backward};"${forward}"; run 1;${tokens} ;${context}`),
      '# end',
      ';;;;',
      '',
    ].join('\r\n');
    assert.deepEqual(read(dressed).samples.layer, same);
    assert.deepEqual(read(`\uFEFF${table.replaceAll(',', '\t')}`).samples.layer, same);
  });

  it('keeps the least of repeated rows and counts them as rounds', () => {
    const again = `${table}\n128,0,1.5,3.0\n128,0,1.1,3.5`;
    const sample = read(again).samples.layer.find(({ tokens, context }) => tokens === 128 && context === 0);
    assert.deepEqual(sample, { batch: 1, tokens: 128, context: 0, forwardMs: 1.1, backwardMs: 3, rounds: 3, holdOut: false });
  });

  it('takes the backward as twice the forward when there is none, and reports it', () => {
    const profile = read('tokens,forward_ms\n64,1\n128,2\n256,4');
    assert.deepEqual(
      profile.samples.layer.map(({ backwardMs }) => backwardMs),
      [2, 4, 8],
    );
    assert.deepEqual(profile.warnings, ['The backward times are not measured: they are taken as 2 times the forward']);
  });

  it('points at the cell that is not a number', () => {
    const broken = (cell: string): string => `# a comment\r\ntokens,forward_ms\r\n64,1\r\n# another\r\n\r\n128,${cell}\r\n256,4\r\n`;
    assert.deepEqual(refusal(broken('fast')).slice(0, 3), ['csv-number', 'fast', '"fast" is not valid for forward_ms']);
    assert.deepEqual(refusal(broken('"0"')).slice(0, 2), ['csv-number', '"0"']);
    assert.deepEqual(refusal(broken('-2')).slice(0, 2), ['csv-number', '-2']);
    for (const cell of ['NaN', 'Infinity', '1e999', '0x10', '=1+1']) assert.equal(refusal(broken(cell))[0], 'csv-number', cell);
    assert.deepEqual(refusal(broken('')).slice(0, 3), ['csv-number', '', 'forward_ms is missing in this row']);
    assert.deepEqual(refusal(table.replace('384,512', '384,-1')).slice(0, 2), ['csv-number', '-1']);
    assert.deepEqual(refusal(table.replace('384,512', '384.5,512')).slice(0, 2), ['csv-number', '384.5']);
    assert.equal(refusal('tokens;forward_ms\n64;1,5')[3], 'write a time in ms above 0, with a decimal point');
  });

  it('finds the place after a byte order mark', () => {
    assert.equal(refusal(`\uFEFF${table.replace('384,512', '384,x')}`)[1], 'x');
  });

  it('names a column that is missing or there twice', () => {
    assert.deepEqual(refusal('# torch\ntokens,time\n1,2').slice(0, 3), [
      'csv-column',
      'tokens,time',
      'The header has no column forward_ms',
    ]);
    assert.deepEqual(refusal('tokens,forward_ms,ForwardMs\n1,2,3').slice(0, 2), ['csv-column', 'ForwardMs']);
  });

  it('refuses too few lengths, broken quotes, and nothing at all', () => {
    assert.equal(refusal('tokens,forward_ms\n64,1\n128,2')[0], 'csv-too-few');
    assert.equal(
      refusal('tokens,context,forward_ms\n64,8,1\n128,8,2\n256,8,3')[2],
      'The file has 0 slice lengths of batch 1 with context 0; a fit needs at least 3',
    );
    assert.equal(refusal('tokens,forward_ms\n64,"1\n128,2')[0], 'csv-syntax');
    for (const nothing of ['', '\n\n', '# only a comment']) assert.equal(refusal(nothing)[0], 'csv-syntax');
  });

  it('reads a hundred thousand rows, not more', () => {
    const large = (count: number): string =>
      `tokens,forward_ms\n${Array.from({ length: count }, (_, i) => `${(i % 500) + 1},${1 + (i % 500)}`).join('\n')}`;
    assert.equal(read(large(100_000)).samples.layer.length, 500);
    assert.equal(refusal(large(100_001))[0], 'csv-too-large');
    const distinct = `tokens,forward_ms\n${Array.from({ length: 10_001 }, (_, i) => `${i + 1},1`).join('\n')}`;
    assert.deepEqual(refusal(distinct).slice(0, 2), ['csv-too-large', '10001']);
  });
});
