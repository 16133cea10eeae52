import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fixtures } from '../../../core/config-files/files';
import { openCommandLine, type CommandLine } from '../../../cli/command-line';

type Json = Readonly<Record<string, unknown>>;

interface Times {
  readonly startMs: number;
  readonly ms: number;
}
interface TorchComparison {
  readonly chosen: boolean;
  readonly otherOrder: unknown;
  readonly steps: number;
  readonly step: number;
  readonly warmUp: number;
  readonly foreign: number;
  readonly exchange: { readonly measuredMs: number };
  readonly optimizer: { readonly measuredMs: number };
  readonly memory: readonly { readonly stage: number; readonly measuredBytes: number }[];
  readonly operations: readonly {
    readonly stage: number;
    readonly chunk: number;
    readonly kind: number;
    readonly microBatch: number;
    readonly slice: number;
    readonly measured: Times;
    readonly predicted: Times | null;
  }[];
}
interface RecordedTrace {
  readonly traceEvents: readonly {
    readonly name: string;
    readonly cat?: string;
    readonly pid: number;
    readonly dur?: number;
    readonly args: { readonly step?: number };
  }[];
  readonly otherData: { readonly memory: readonly { readonly pp: number; readonly peakBytes: number }[] };
}

describe('terapipe plan --compare', () => {
  let cli: CommandLine;
  const config = 'configs/pipeline/terapipe.json';
  const write = (name: string, text: string): void => {
    writeFileSync(path.join(cli.folder, name), text);
  };
  before(async () => {
    cli = openCommandLine();
    cpSync(fixtures, path.join(cli.folder, 'configs'), { recursive: true });
    const { out } = await cli.run(['export', config, '--to', 'chrome-trace']);
    write('run.trace.json', out);
    write('times.csv', 'step_ms\n900\n12\n13\n');
  });
  after(() => {
    cli.dispose();
  });

  it('sets two configs side by side, in the order they are written', async () => {
    const other = path.join('configs', 'pipeline', 'full.json');
    const { out: given } = await cli.run(['inspect', config, '--json']);
    assert.ok(given.length > 0);
    write(other, JSON.stringify({ model: { layers: 8, hidden: 1024, heads: 16, vocab: 32000 }, training: { recompute: 'full' } }));
    const { out, err, exitCode } = await cli.run(['plan', config, '--compare', other, '--json']);
    assert.equal(exitCode, 0, err);
    assert.match(out, /^\{"version":1,[^\n]*\n$/);
    const { plan, other: second, comparison } = JSON.parse(out) as { plan: Json; other: Json; comparison: Json };
    assert.equal((comparison['a'] as Json)['iterationMs'], plan['iterationMs']);
    assert.equal((comparison['b'] as Json)['iterationMs'], second['iterationMs']);
    for (const key of ['requestDiff', 'parts', 'stages', 'sentences'])
      assert.ok(((comparison[key] as readonly Json[] | undefined) ?? []).length > 0, key);
    const swapped = JSON.parse((await cli.run(['plan', '--compare', other, config, '--json'])).out) as { plan: Json; other: Json };
    assert.deepEqual([swapped.plan['iterationMs'], swapped.other['iterationMs']], [second['iterationMs'], plan['iterationMs']]);
    const { out: words } = await cli.run(['plan', config, '--compare', other]);
    for (const part of [/A +configs/, /Outcome/, /Parts of the step/, /training\.recompute +none +full/, /Stages/])
      assert.match(words, part);
    assert.ok(!/\d\.\d{4,}/.test(words), 'three significant digits');
  });

  it('compares a plan with a trace of its run, recognised by its content', async () => {
    const { out, err, exitCode } = await cli.run(['plan', config, '--compare', 'run.trace.json', '--json']);
    assert.equal(exitCode, 0, err);
    const { comparison } = JSON.parse(out) as { comparison: Json };
    assert.deepEqual([comparison['kind'], comparison['equal'], comparison['straggler']], ['trace', true, null]);
    assert.match((await cli.run(['plan', '--compare', config, 'run.trace.json'])).out, /equal, pass by pass/);
  });

  it('shows every pass of the PyTorch runtime as measured and as planned, with exchange, optimizer and memory', async () => {
    const run = path.join(fixtures, '../measured/torch');
    const args = ['plan', path.join(run, 'terapipe.json'), '--compare', path.join(run, 'trace.json')];
    const { comparison } = JSON.parse((await cli.run([...args, '--json'])).out) as { comparison: TorchComparison };
    assert.deepEqual(
      [comparison.chosen, comparison.otherOrder, comparison.steps, comparison.warmUp, comparison.foreign],
      [true, null, 3, 0, 0],
    );
    const { traceEvents, otherData } = JSON.parse(readFileSync(path.join(run, 'trace.json'), 'utf8')) as RecordedTrace;
    const first = Math.min(...traceEvents.flatMap(({ args: { step } }) => step ?? []));
    const recorded = traceEvents.filter(({ cat, args: { step } }) => cat === 'pass' && step === first + comparison.step);
    assert.equal(comparison.operations.length, 36);
    for (const [index, { stage, chunk, kind, microBatch, slice, measured, predicted }] of comparison.operations.entries()) {
      const event = recorded[index];
      assert.deepEqual([event?.pid, event?.name], [stage, `${chunk}${'FBIW'[kind]}${3 * microBatch + slice}`]);
      assert.ok(Math.abs(measured.ms - (event?.dur ?? 0) / 1e3) < 1e-6);
      assert.ok((predicted?.ms ?? 0) > 0);
    }
    const memory = comparison.memory.map(({ stage, measuredBytes }) => ({ pp: stage, peakBytes: measuredBytes }));
    assert.deepEqual(memory, otherData.memory.map(({ pp, peakBytes }) => ({ pp, peakBytes }))); // prettier-ignore
    assert.ok(comparison.exchange.measuredMs < comparison.optimizer.measuredMs);
    const { out } = await cli.run(args);
    for (const part of [/Every pass, .*\n +stage +pass/, /^ +1 +backward 2\.0 /m, /^ +optimizer +[\d.]+ µs +[\d.]+ ms$/m, /Peak memory/])
      assert.match(out, part);
  });

  it('prints no control characters of a trace, and ignores events that end before they begin', async () => {
    const run = path.join(fixtures, '../measured/torch');
    const text = readFileSync(path.join(run, 'trace.json'), 'utf8');
    const { traceEvents, otherData } = JSON.parse(text) as RecordedTrace;
    const backwards = traceEvents.filter(({ cat }) => cat === 'reduce').map((event) => ({ ...event, dur: -1e6 }));
    assert.ok(backwards.length > 0);
    const memoryCounted = 'by \u001b[2Jhand';
    write('hostile.json', JSON.stringify({ traceEvents: [...traceEvents, ...backwards], otherData: { ...otherData, memoryCounted } }));
    write('recorded.json', text);
    const compared = (file: string) => cli.run(['plan', path.join(run, 'terapipe.json'), '--compare', path.join(cli.folder, file)]);
    const { out } = await compared('hostile.json');
    assert.match(out, /Peak memory \(by \\u\{1b\}\[2Jhand\)/);
    const exchange = /^ +gradient exchange .*$/m;
    assert.equal(exchange.exec(out)?.[0], exchange.exec((await compared('recorded.json')).out)?.[0] ?? '');
  });

  it('plans with a GPU calibrated to a measured step, given as a time or as a file, and shows what it was before', async () => {
    interface Planned {
      iterationMs: number;
      cost: { errorPercent: number; calibration: { iterationMs: number; predictedMs: number } | null };
    }
    const wide = path.join('configs', 'pipeline', 'wide.json');
    const model = { layers: 8, hidden: 4096, heads: 32, vocab: 32000 };
    write(
      wide,
      JSON.stringify({
        model,
        training: { globalBatch: 16 },
        layout: { tensor: 1, pipeline: 4, data: 2 },
        slicing: { unit: 512 },
        schedule: '1F1B',
      }),
    );
    const planned = async (...args: string[]): Promise<Planned> =>
      (JSON.parse((await cli.run(['plan', wide, '--json', ...args])).out) as { plan: Planned }).plan;
    const before = await planned();
    const measured = Math.round(1.3 * before.iterationMs);
    assert.equal(before.cost.calibration, null);
    write('steps.log', `elapsed time per iteration (ms): ${measured} |\n`);
    for (const step of [`${measured}ms`, `${measured / 1000} s`, 'steps.log']) {
      const after = await planned('--measured', step);
      assert.equal(after.cost.errorPercent, 10);
      assert.ok(Math.abs((after.cost.calibration?.iterationMs ?? 0) / measured - 1) < 1e-9, step);
      assert.ok(Math.abs((after.cost.calibration?.predictedMs ?? 0) / before.iterationMs - 1) < 1e-9, step);
      assert.ok(Math.abs(after.iterationMs / measured - 1) < 1e-3, step);
    }
    const { out } = await cli.run(['plan', wide, '--measured', `${measured}ms`]);
    assert.match(out, /calibrated +to a measured step of .*, predicted .* before: GEMMs at .* of peak, not/);
    const { exitCode, err } = await cli.run(['plan', wide, '--measured', '0s']);
    assert.equal(exitCode, 2);
    assert.match(err, /0s/);
  });

  it('compares a plan with measured step times', async () => {
    const { comparison } = JSON.parse((await cli.run(['plan', config, '--compare', 'times.csv', '--json'])).out) as { comparison: Json };
    assert.deepEqual([comparison['kind'], (comparison['step'] as Json)['measuredMs']], ['times', 12]);
  });

  it('compares the layout of the files with the best one that a search finds, either way round', async () => {
    const launcher = 'nemo.yaml';
    // On one node: a search of what five have takes as many times as long.
    const oneNode = { num_nodes: 1, tensor_model_parallel_size: 2, pipeline_model_parallel_size: 2 };
    const text = readFileSync(path.join(fixtures, '../launchers', launcher), 'utf8');
    const smaller = Object.entries(oneNode).reduce(
      (so, [key, value]) => so.replace(new RegExp(`^( +${key}: )\\d+$`, 'm'), `$1${value}`),
      text,
    );
    write(launcher, smaller);
    const { out, err, exitCode } = await cli.run(['plan', launcher, '--compare', 'best', '--json']);
    assert.notEqual(exitCode, 2, err);
    const { plan, other, comparison } = JSON.parse(out) as { plan: Json; other: Json; comparison: Json };
    const { out: searched } = await cli.run(['plan', launcher, '--search', '--quick', '--free', 'all', '--json']);
    const found = JSON.parse(searched) as { plan: Json; search: { launched: Json } };
    assert.deepEqual([plan['iterationMs'], other['iterationMs']], [found.search.launched['iterationMs'], found.plan['iterationMs']]);
    for (const size of ['tensor', 'pipeline', 'data'])
      assert.equal((other['layout'] as Json)[size], (found.plan['layout'] as Json)[size], size);
    assert.ok((comparison['speedup'] as number) >= 1);
    const swapped = JSON.parse((await cli.run(['plan', launcher, '--compare', 'launched', '--json'])).out) as { plan: Json };
    assert.equal(swapped.plan['iterationMs'], other['iterationMs']);
    const words = await cli.run(['plan', config, '--compare', 'best', '--free', 'layout']);
    assert.match(words.out, /^ +A +as launched: TP\d.*\n +B +best layout: TP\d/);
  });

  it('reads a trace and a log that are too large for a config', async () => {
    const noise = JSON.stringify({
      ph: 'X',
      cat: 'cpu_op',
      name: 'aten::mm',
      pid: 1,
      tid: 1,
      ts: 1,
      dur: 1,
      args: { text: 'x'.repeat(200) },
    });
    const events = (await cli.run(['export', config, '--to', 'chrome-trace'])).out;
    write('large.json', events.replace('"traceEvents":[', `"traceEvents":[${`${noise},\n`.repeat(25_000)}`));
    const { comparison } = JSON.parse((await cli.run(['plan', config, '--compare', 'large.json', '--json'])).out) as { comparison: Json };
    assert.equal(comparison['equal'], true);
    const line = (iteration: number, ms: number): string =>
      ` iteration ${iteration}/ 9 | elapsed time per iteration (ms): ${ms} | lm loss: 1.0 |\n`;
    write('large.log', `${'loading ...\n'.repeat(500_000)}${line(1, 50)}${line(2, 20)}${line(3, 22)}`);
    const logged = JSON.parse((await cli.run(['plan', config, '--compare', 'large.log', '--json'])).out) as { comparison: Json };
    assert.equal((logged.comparison['step'] as Json)['measuredMs'], 20);
  });

  it('places what is wrong with the other file, and exits 2', async () => {
    write('cut.json', '{"traceEvents":[{"name":"PP:0F0"');
    write('bad.csv', 'step_ms\n12\nsoon\n');
    write('order.csv', '0F0,0F1,0B0,0B1\n');
    for (const [args, message] of [
      [['plan', config, '--compare', 'cut.json'], /^cut\.json:1:1: The trace ends in the middle/],
      [['plan', config, '--compare', 'bad.csv'], /^bad\.csv:3:1: Line 3 has "soon" for step; give a time above 0/],
      [['plan', config, '--compare', 'order.csv'], /^order\.csv:1:1: A schedule has no times to compare/],
      [['plan', config, '--compare', 'nothing.json'], /^nothing\.json:1:1: .* does not exist/],
      [['plan', config, '--compare', 'times.csv', '--free', 'all'], /--free is an option of plan --search/],
      [['plan', config, '--compare', 'times.csv', '--search'], /--search and --compare do different things/],
      [['memory', config, '--compare', 'times.csv'], /--compare is an option of plan or profile, not of memory/],
    ] as const) {
      const { err, exitCode } = await cli.run(args);
      assert.equal(exitCode, 2, args.join(' '));
      assert.match(err, message);
    }
  });
});
