import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openCommandLine, type CommandLine } from '../../cli/command-line';

const run = {
  model: { layers: 8, hidden: 1024, heads: 16, vocab: 32000 },
  training: { globalBatch: 16, sequenceLength: 1024 },
  cluster: { gpu: 'A100-80GB', nodes: 2 },
  layout: { tensor: 1, pipeline: 4, data: 4 },
  slicing: { unit: 256 },
  schedule: '1F1B',
};

interface Recovery {
  readonly loss: { readonly kind: string; readonly node?: number; readonly stage?: number; readonly factor?: number };
  readonly stages: readonly number[];
  readonly wholeStepMs: number;
  readonly ways: readonly { readonly id: string; readonly stepMs: number | null; readonly says: string }[];
  readonly cheapest: string | null;
}

interface TraceEvent {
  readonly ph: string;
  readonly tid?: number;
  readonly ts?: number;
  readonly dur?: number;
}

describe('terapipe plan --without and --slow', () => {
  let cli: CommandLine;
  before(() => {
    cli = openCommandLine();
    writeFileSync(path.join(cli.folder, 'run.json'), JSON.stringify(run));
  });
  after(() => {
    cli.dispose();
  });

  async function recovery(...args: string[]): Promise<Recovery> {
    const { out, err } = await cli.run(['plan', 'run.json', ...args, '--json']);
    assert.equal(err, '');
    return JSON.parse(out) as Recovery;
  }

  it('price every way to go on without a node, none faster than the whole run', async () => {
    const { loss, wholeStepMs, ways, cheapest } = await recovery('--without', 'node1');
    assert.deepEqual(loss, { kind: 'without', node: 1 });
    assert.ok(ways.length >= 3 && ways.every(({ stepMs }) => stepMs === null || stepMs >= wholeStepMs * (1 - 1e-9)));
    assert.ok(ways.some(({ id }) => id === cheapest));
    const { out } = await cli.run(['plan', 'run.json', '--without', '1']);
    assert.match(out, /without node 1: .* lost;/);
    assert.match(out, /Cheapest: /);
  });

  it('take the slow stage and how slow it is from a trace of the run', async () => {
    const { out } = await cli.run(['export', 'run.json', '--to', 'chrome-trace']);
    const trace = JSON.parse(out) as { traceEvents: readonly TraceEvent[] };
    const stretched = trace.traceEvents.map((event) =>
      event.ph === 'X' && event.tid === 2 && event.dur !== undefined
        ? { ...event, ts: 1.3 * (event.ts ?? 0), dur: 1.3 * event.dur }
        : event,
    );
    writeFileSync(path.join(cli.folder, 'slow.trace.json'), JSON.stringify({ ...trace, traceEvents: stretched }));
    const { loss, stages, ways } = await recovery('--slow', 'slow.trace.json');
    assert.equal(loss.stage, 2);
    assert.ok(Math.abs((loss.factor ?? 0) - 1.3) < 1e-3, `factor ${loss.factor}`);
    assert.deepEqual(stages, [2]);
    assert.deepEqual(
      ways.map(({ id, stepMs }) => [id, stepMs === null]),
      (await recovery('--slow', `stage2=${loss.factor}`)).ways.map(({ id, stepMs }) => [id, stepMs === null]),
    );
  });

  it('report that a run without a straggler shows none, and what to write instead', async () => {
    const { out } = await cli.run(['export', 'run.json', '--to', 'chrome-trace']);
    writeFileSync(path.join(cli.folder, 'even.trace.json'), out);
    const { err, exitCode } = await cli.run(['plan', 'run.json', '--slow', 'even.trace.json']);
    assert.equal(exitCode, 2);
    assert.match(err, /shows no straggler[^]*--slow stage5=1\.2/);
    assert.match(
      (await cli.run(['plan', 'run.json', '--slow', 'run.json'])).err,
      /^run\.json:1:1: This is neither a trace nor measured times; give stage5=1\.2, a trace or step times/,
    );
  });

  it('report why a file that is named for the straggler was not read, and where', async () => {
    mkdirSync(path.join(cli.folder, 'folder'));
    const neither = 'This is neither a trace nor measured times; give stage5=1.2, a trace or step times';
    for (const [file, content, reason] of [
      ['missing.json', null, '1:1: missing.json does not exist; fix the path'],
      ['folder', null, '1:1: folder is a folder; name the config file in it'],
      ['words.txt', 'stage 2 is slow', `1:1: ${neither}`],
      ['empty.json', '', `1:1: ${neither}`],
      [
        'cut-trace.json',
        '{"traceEvents": [{"ph": "X"',
        '1:1: The trace ends in the middle (after 27 bytes); record the trace again, and stop the profiler before the run ends',
      ],
      ['cut.json', '{"stepsMs": [1, 2', '1:1: The file is not JSON; fix its brackets and commas'],
      ['entry.json', '{"stepsMs": [2, "three"]}', '1:1: "three" is not a time; give milliseconds above 0'],
      ['stage.json', '{"stages": [{"forwardMs": 3}]}', '1:1: A stage has no number; give "stage": 0, 1, ...'],
      ['entry.csv', 'stage,forward_ms\n0,3\n1,fast\n', '3:1: Line 3 has "fast" for forward; give a time above 0'],
    ] as const) {
      if (content !== null) writeFileSync(path.join(cli.folder, file), content);
      const { err, exitCode } = await cli.run(['plan', 'run.json', '--slow', file]);
      assert.deepEqual([exitCode, err], [2, `${file}:${reason}\n`]);
    }
  });
});
