import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openCommandLine, type CommandLine } from './command-line';

const sound = '0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n';

describe('terapipe, given a schedule file', () => {
  let cli: CommandLine;
  before(() => {
    cli = openCommandLine();
    const files = { 'good.csv': sound, 'bad.csv': sound.replace('1B0', '1X0'), 'teams.csv': '1B,2B,3B,HR\n12,3,0,7\n' };
    for (const [name, text] of Object.entries(files)) writeFileSync(path.join(cli.folder, name), text);
  });
  after(() => {
    cli.dispose();
  });

  it('finds it in a folder, checks it at the cell, and passes over other tables', async () => {
    const { exitCode, out, err } = await cli.run(['check', '.', '--json']);
    const { findings, configs } = JSON.parse(out) as { findings: Record<string, unknown>[]; configs: string[] };
    assert.deepEqual([exitCode, err, configs], [1, '', ['bad.csv', 'good.csv']]);
    assert.deepEqual(
      findings.map(({ file, code, line, column, endColumn }) => [file, code, line, column, endColumn]),
      [['bad.csv', 'schedule-csv-action', 2, 5, 8]],
    );
  });

  it('inspects it, from a file and from standard input', async () => {
    const { exitCode, out } = await cli.run(['inspect', 'good.csv', '--json']);
    const { format, layout, schedule } = JSON.parse(out) as { format: string; layout: object; schedule: Record<string, unknown> };
    assert.deepEqual([exitCode, format, layout], [0, 'pytorch-schedule', { pipeline: 2, virtualStages: 1 }]);
    const { kind, ranks, stages, microBatches, steps } = schedule;
    assert.deepEqual([kind, ranks, stages, microBatches, steps], ['compute_only', 2, 2, 2, 9]);
    const words = await cli.run(['inspect', '-'], sound);
    assert.match(words.out, /2 ranks, 2 stages, 2 micro-batches: 9 steps, bubble 33\.3 %\neach pass takes 1 step, a full backward 2\n/);
  });

  it('names the slices of its micro-batches, where a file next to it lists them', async () => {
    const slice = (tokens: number, context: number) => ({ batch: 1, tokens, context });
    const units = [
      { unit: 0, microBatch: 0, slice: 0, ...slice(768, 0) },
      { unit: 1, microBatch: 0, slice: 1, ...slice(256, 768) },
    ];
    const write = (kept: readonly object[]): void => {
      const text = JSON.stringify({ kind: 'terapipe-slices', version: 1, schedule: 'Seq1F1B', units: kept });
      writeFileSync(path.join(cli.folder, 'sliced.csv.slices.json'), text);
    };
    writeFileSync(path.join(cli.folder, 'sliced.csv'), sound);
    write(units);
    const words = await cli.run(['inspect', 'sliced.csv']);
    assert.match(words.out, /\nthey are slices of 1 micro-batch: 768 \+ 256 tokens\n/);
    const { out } = await cli.run(['inspect', 'sliced.csv', '--json']);
    const { schedule } = JSON.parse(out) as { schedule: { slices: object[] } };
    assert.deepEqual(schedule.slices, [
      { microBatch: 0, slice: 0, ...slice(768, 0) },
      { microBatch: 0, slice: 1, ...slice(256, 768) },
    ]);
    write(units.slice(0, 1));
    const { exitCode, err } = await cli.run(['inspect', 'sliced.csv']);
    assert.equal(exitCode, 2);
    assert.match(err, /^sliced\.csv\.slices\.json:1:1: The file next to the schedule has 1 slices? for 2 micro-batches; /);
  });

  it('refuses to inspect one that cannot run, at the cell', async () => {
    const { exitCode, err } = await cli.run(['inspect', 'bad.csv']);
    assert.equal(exitCode, 2);
    assert.match(err, /^bad\.csv:2:5: "1X0" is not an action of a schedule; /);
  });
});
