import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
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
});
