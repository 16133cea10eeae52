import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { exportNames } from '../../../src/cli/export-formats';
import { runCommand } from '../../../src/cli/run-command';
import { readScheduleCsv } from '../../../src/core/schedules/pytorch-csv/read';
import { otherSchedules } from '../../../src/core/domain/schedule-names';
import { say } from '../../../src/core/sentence';

const sample = path.join(import.meta.dirname, '../../../media/samples/llama3-8b/terapipe.json');
/** Coarse slices: those of the sample's 8,192 tokens would take most of the time. */
const small = ['layout.pipeline=4', 'training.globalBatch=32', 'slicing.unit=512'].flatMap((change) => ['--set', change]);

async function run(...args: readonly string[]): Promise<{ readonly out: string; readonly err: string; readonly exitCode: number }> {
  const [out, err]: [string[], string[]] = [[], []];
  const exitCode = await runCommand(['export', sample, ...small, ...args], {
    out: (text: string) => out.push(text),
    err: (text: string) => err.push(text),
    progress: () => undefined,
    status: () => undefined,
    clock: () => 0,
    now: () => '2026-01-01T00:00:00Z',
    signal: new AbortController().signal,
    profilerFile: '',
    torchFolder: '',
    shell: () => Promise.reject(new Error('no shell here')),
    debug: false,
  });
  return { out: out.join(''), err: err.join(''), exitCode };
}

describe('terapipe export of schedules', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-export-'));
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('writes every schedule as a CSV of PyTorch that our own reader takes back', async () => {
    for (const to of ['pytorch-csv', 'pytorch-csv-comms', 'pytorch-csv-comms-2.14'])
      for (const schedule of otherSchedules) {
        const { out, err } = await run('--to', to, '--schedule', schedule);
        const { schedule: read, problems } = readScheduleCsv(out, 'order.csv', {});
        assert.deepEqual(
          [problems.length, read?.stages],
          [0, 4],
          `${schedule}: ${err}${problems[0] === undefined ? '' : say(problems[0].message)}`,
        );
      }
  });

  it('writes a candidate of the plan, by its id in any case', async () => {
    const [chosen, named, asked] = [
      await run('--to', 'pytorch-csv'),
      await run('--to', 'pytorch-csv', '--candidate', 'zb-h1'),
      await run('--to', 'pytorch-csv', '--schedule', 'ZB-H1'),
    ];
    assert.equal(named.out, asked.out);
    assert.notEqual(named.out, chosen.out);
    const wrong = await run('--to', 'svg', '--candidate', 'ZB-H3');
    assert.equal(wrong.exitCode, 2);
    assert.match(wrong.err, /did you mean ZB-H[12]\?/);
  });

  it('writes a trace with the memory of every stage, and a picture', async () => {
    const trace = JSON.parse((await run('--to', 'chrome-trace', '--candidate', 'ZBVZeroBubble')).out) as {
      traceEvents: { ph: string; name: string }[];
    };
    const counters = new Set(trace.traceEvents.filter(({ ph }) => ph === 'C').map(({ name }) => name));
    assert.equal(counters.size, 4);
    assert.match((await run('--to', 'svg')).out, /^<svg .*<\/svg>\s*$/s);
  });

  it('draws the same without the plans that it is compared with', async () => {
    for (const to of ['svg', 'chrome-trace']) {
      const plain = await run('--to', to);
      const { candidate } = JSON.parse((await run('--to', to, '--json')).out) as { candidate: string };
      assert.deepEqual(await run('--to', to, '--candidate', candidate), plain);
    }
  });

  it('prints a trace in pieces as its reader takes them, in JSON too, and the same text into a file', async () => {
    const long = [
      'export',
      sample,
      '--set',
      'layout.pipeline=8',
      '--set',
      'training.globalBatch=512',
      '--set',
      'slicing.unit=1024',
      '--to',
      'chrome-trace',
    ];
    const pieces: string[] = [];
    let taken = Infinity;
    let stall: (how: 'waits') => void = () => undefined;
    const stalled = new Promise<'waits'>((resolve) => (stall = resolve));
    const never = new Promise<void>(() => undefined);
    const terminal = {
      out: (text: string) => void pieces.push(text),
      err: () => undefined,
      progress: () => undefined,
      status: () => undefined,
      drained: () => {
        if (pieces.length < taken) return Promise.resolve();
        stall('waits');
        return never;
      },
      clock: () => 0,
      now: () => '2026-01-01T00:00:00Z',
      signal: new AbortController().signal,
      profilerFile: '',
      torchFolder: '',
      shell: () => Promise.reject(new Error('no shell here')),
      debug: false,
    };
    const printed = async (...more: readonly string[]): Promise<string> => {
      pieces.length = 0;
      assert.equal(await runCommand([...long, ...more], terminal), 0);
      return pieces.join('');
    };
    const text = await printed();
    const largest = Math.max(...pieces.map((piece) => piece.length));
    assert.ok(largest < 300_000 && text.length > 10 * largest, `the largest piece of ${text.length} has ${largest} characters`);
    const json = await printed('--json');
    assert.ok(Math.max(...pieces.map((piece) => piece.length)) < 400_000);
    assert.equal((JSON.parse(json) as { text: string }).text, text);
    const file = path.join(folder, 'trace.json');
    await printed('--out', file);
    assert.equal(readFileSync(file, 'utf8'), text);
    // A reader that takes three pieces and no more: nothing is made that it does not take.
    pieces.length = 0;
    taken = 3;
    const ended = await Promise.race([runCommand(long, terminal), stalled]);
    assert.deepEqual([ended, pieces.length], ['waits', taken]);
  });

  it('writes a new file, never over one, and shows the same in JSON', async () => {
    const file = path.join(folder, 'order.csv');
    const { out } = await run('--to', 'pytorch-csv');
    assert.equal((await run('--to', 'pytorch-csv', '--out', file)).out, `Wrote ${file}\n`);
    assert.equal(readFileSync(file, 'utf8'), out);
    const again = await run('--to', 'svg', '--out', file);
    assert.deepEqual([again.exitCode, again.err.includes('exists already')], [2, true]);
    assert.equal(readFileSync(file, 'utf8'), out);
    const json = JSON.parse((await run('--to', 'pytorch-csv', '--json')).out) as Record<string, unknown>;
    assert.deepEqual([json['version'], json['to'], json['text'], json['written']], [1, 'pytorch-csv', out, null]);
  });

  it('asks for a format that there is', async () => {
    for (const [args, message] of [
      [[], `give --to ${exportNames[0]}`],
      [['--to', 'cvs'], 'is nothing to export to'],
      [['--to', 'svg', '--schedule', '1F2B'], 'schedule'],
    ] as const) {
      const { err, exitCode } = await run(...args);
      assert.equal(exitCode, 2);
      assert.ok(err.includes(message), err);
    }
  });
});
