import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { runCommand } from '../../../../../src/cli/run-command';
import { CancelledError } from '../../../../../src/core/errors';
import { comparedStep } from '../../../../../src/features/rehearsal/core/comparison';
import { rehearsalJson } from '../../../../../src/features/rehearsal/json';
import { rowHandling } from '../../../../../src/features/rehearsal/core/handling';
import { comparedRehearsal, type Rehearsal } from '../../../../../src/features/rehearsal/core/result';
import { prepareRehearsal, rehearse, rehearseSchemes } from '../../../../../src/features/rehearsal/profiler/run';
import { toText } from '../../../sentence-text';
import { runStages } from '../../../../../src/features/rehearsal/profiler/running';
import { forwardOnlySchedule } from '../../../../../src/core/schedules/schedule';
import { bundleChild, profilerEntry, type BundledChild } from '../../../profiler/bundle';
import { asPlanned, tinyConfig, tinyPlan } from './tiny-plan';

type RehearsalOptions = Parameters<typeof rehearse>[1];

const machine = { freeBytes: 8 * 2 ** 30, cores: 2 };

describe('a rehearsal in processes', () => {
  let child: BundledChild;
  let dying: BundledChild;
  before(async () => {
    child = await bundleChild(profilerEntry);
    dying = await bundleChild(new URL('dying-child.ts', import.meta.url).pathname);
  });
  after(async () => {
    await child.remove();
    await dying.remove();
  });

  async function run(changes: Readonly<Record<string, unknown>>, options: Partial<RehearsalOptions> = {}): Promise<Rehearsal> {
    const plan = await tinyPlan(changes);
    const asked = { steps: 2, clock: null, ...options };
    const { design } = prepareRehearsal(plan, asPlanned, asked, machine);
    return rehearse(design, {
      childFile: child.file,
      provider: 'cpu',
      libraryPath: [],
      now: () => 0,
      onProgress: () => undefined,
      machine,
      ...asked,
    });
  }

  it('runs stages in parallel, each pass after what it needs, with the gradients of the unsliced step', async () => {
    const rehearsal = await run({});
    assert.equal(rehearsal.clock, 'real');
    assert.equal(rehearsal.processes, 2);
    assert.equal(rehearsal.status, 'complete');
    assertRight(rehearsal);
    assertOrdered(rehearsal);
    assert.ok((rehearsal.transferMs ?? 0) > 0);
    assert.ok(rehearsal.memory.every(({ peakRssBytes }) => (peakRssBytes ?? 0) > 2 ** 20));
    const { sentences } = comparedStep(rehearsal, await tinyPlan({}), 'here') ?? assert.fail('nothing is compared');
    assert.match(
      sentences.map((each) => toText(each)).join(' '),
      /^Gradients are those .* The process of stage [01] took most memory: .* estimated /,
    );
    assertNothingRuns();
  });

  it('runs backward in its two parts on chunks in a V', async () => {
    const rehearsal = await run({
      schedule: 'ZBVZeroBubble',
      slicing: { scheme: Array.from({ length: 4 }, () => [1, [64]]) },
      training: { globalBatch: 4 },
    });
    assertRight(rehearsal);
    assertOrdered(rehearsal);
    assert.deepEqual(new Set(comparedRehearsal(rehearsal)?.operations.map(({ kind }) => kind)), new Set([0, 2, 3]));
    assertNothingRuns();
  });

  it('puts more stages than cores on a virtual clock', async () => {
    const rehearsal = await run({ model: { layers: 8 }, layout: { pipeline: 8 }, cluster: { gpusPerNode: 8 } }, { steps: 1 });
    assert.deepEqual([rehearsal.clock, rehearsal.processes], ['virtual', 1]);
    assertRight(rehearsal);
    assertOrdered(rehearsal);
    assert.equal(comparedRehearsal(rehearsal)?.errors.schedule, null);
  });

  it('keeps what was measured when a stage dies, and names which and why', async () => {
    const rehearsal = await run({}, { childFile: dying.file });
    assert.equal(rehearsal.status, 'partial');
    assert.match(rehearsal.error ?? '', /^The process of stage 1 ended \(exit code 7\): Error: out of luck; rehearse again/);
    assert.equal(rehearsal.steps.length, 1);
    assertRight(rehearsal);
    assertNothingRuns();
  });

  it('ends at once when cancelled, and leaves nothing running', async () => {
    const abort = new AbortController();
    const cancelled = run(
      {},
      {
        signal: abort.signal,
        onProgress: ({ doing }) => {
          if (doing === 'step 1 of 2') abort.abort();
        },
      },
    );
    await assert.rejects(cancelled, CancelledError);
    assertNothingRuns();
  });

  it('prints what it found as JSON, and writes a trace that plans are compared with', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'terapipe-rehearse-'));
    const [file, trace] = [join(folder, 'terapipe.json'), join(folder, 'trace.json')];
    await writeFile(file, tinyConfig());
    const printed = await terapipe(child.file, ['rehearse', file, '--clock', 'virtual', '--steps', '1', '--out', trace, '--json']);
    assert.equal(printed.exitCode, 0, printed.err);
    const { rehearsal } = JSON.parse(printed.out) as { readonly rehearsal: Readonly<Record<string, unknown>> };
    const promised = [
      'schedule',
      'stages',
      'processes',
      'clock',
      'provider',
      'stepMs',
      'predictedMs',
      'gradientError',
      'lossError',
      'operations',
      'memory',
    ];
    for (const key of promised) assert.ok((rehearsal[key] ?? null) !== null, key);
    const [operation] = rehearsal['operations'] as readonly object[];
    for (const key of ['stage', 'kind', 'microBatch', 'slice', 'startMs', 'endMs', 'predictedStartMs', 'predictedEndMs'])
      assert.ok(key in operation!, key);
    const compared = await terapipe(child.file, ['plan', file, '--compare', trace, '--json']);
    assert.equal(compared.exitCode, 0, compared.err);
    const refused = await terapipe(child.file, ['rehearse', file, '--set', 'layout.context=2', '--set', 'layout.pipeline=1']);
    assert.equal(refused.exitCode, 2);
    assert.match(refused.err, /Context parallelism|layout/);
    await rm(folder, { recursive: true });
  });

  it('ranks cuts of the sequence by what they take', async () => {
    const plan = await tinyPlan();
    const asked = { steps: 1, clock: 'virtual' as const };
    const { design } = prepareRehearsal(plan, asPlanned, asked, machine);
    const doing: string[] = [];
    const { schemes, rankCorrelation } = await rehearseSchemes(design, {
      childFile: child.file,
      provider: 'cpu',
      libraryPath: [],
      now: () => 0,
      onProgress: (progress) => void doing.push(progress.doing),
      machine,
      ...asked,
    });
    assert.ok(schemes.length >= 3);
    assert.ok(
      schemes.every(({ gradients, tokens }) => (gradients?.error ?? 1) < 1e-4 && tokens.reduce((sum, length) => sum + length, 0) === 64),
    );
    assert.ok(schemes.some(({ name }) => name.includes('dynamic program')));
    assert.deepEqual(
      schemes.map(({ predictedMs }) => predictedMs),
      schemes.map(({ predictedMs }) => predictedMs).sort((a, b) => a - b),
    );
    assert.ok(Math.abs(rankCorrelation) <= 1);
    assert.ok(doing.some((line) => line.includes('whole sequences')));
  });

  it('runs chunks of a prompt forward only, without head and gradients', async () => {
    const { design } = prepareRehearsal(await tinyPlan(), asPlanned, { steps: 1, clock: 'virtual' }, machine);
    const running = await runStages(design, [[0, 1]], 1, {
      childFile: child.file,
      provider: 'cpu',
      libraryPath: [],
      onPassed: () => undefined,
      forwardOnly: true,
    });
    try {
      for (const chunks of [[64], [40, 16, 8]]) {
        const { workMs, endMs, makespanMs, gradients, loss } = await running.forward(forwardOnlySchedule(chunks, 2));
        assert.equal(workMs.length, 2 * chunks.length);
        assert.ok(workMs.every((ms) => ms > 0));
        assert.equal(makespanMs, Math.max(...endMs));
        assert.deepEqual([gradients, loss], [null, 0]);
      }
    } finally {
      await running.close();
    }
    assertNothingRuns();
  });

  it('starts nothing where memory or cores do not suffice', async () => {
    const { design } = prepareRehearsal(await tinyPlan(), asPlanned, { steps: 1, clock: null }, machine);
    const refused = (options: Partial<RehearsalOptions>) =>
      rehearse(design, {
        childFile: 'no such file',
        provider: 'cpu',
        libraryPath: [],
        clock: null,
        steps: 1,
        now: () => 0,
        onProgress: () => undefined,
        ...options,
      });
    await assert.rejects(refused({ machine: { ...machine, freeBytes: 2 ** 27 } }), { code: 'rehearsal-memory' });
    await assert.rejects(refused({ machine: { ...machine, cores: 1 }, clock: 'real' }), { code: 'rehearsal-cores' });
    await assert.rejects(refused({ machine }), { code: 'profiler-missing' });
    assertNothingRuns();
  });
});

async function terapipe(profilerFile: string, args: readonly string[]): Promise<{ exitCode: number; out: string; err: string }> {
  let [out, err] = ['', ''];
  const exitCode = await runCommand(args, {
    out: (text) => (out += text),
    err: (text) => (err += text),
    clock: () => 0,
    now: () => '2026-01-01T00:00:00Z',
    progress: () => undefined,
    status: () => undefined,
    signal: new AbortController().signal,
    profilerFile,
    torchFolder: '',
    shell: () => Promise.reject(new Error('no shell scripts here')),
    debug: true,
  });
  return { exitCode, out, err };
}

function assertRight(rehearsal: Rehearsal): void {
  assert.ok((rehearsal.gradients?.error ?? 1) < 1e-4, `gradients are off by ${rehearsal.gradients?.error ?? NaN}`);
  assert.ok((rehearsal.lossError ?? 1) < 1e-6);
  const printed = JSON.parse(JSON.stringify(rehearsalJson(rehearsal))) as { readonly operations: readonly object[] };
  assert.equal(printed.operations.length, rehearsal.design.schedule.kind.length);
}

/** Every pass starts after those whose results it needs have ended, and stages run one pass at a time. */
function assertOrdered({ measured }: Rehearsal): void {
  assert.ok(measured !== null);
  const madeMs = new Map<string, number>();
  for (const row of measured.kind.keys())
    for (const { what, chunk, unit } of rowHandling(measured, row).makes) madeMs.set(`${what} ${chunk} ${unit}`, measured.endMs[row]!);
  for (const row of measured.kind.keys())
    for (const { what, chunk, unit } of rowHandling(measured, row).needs) {
      const there = madeMs.get(`${what} ${chunk} ${unit}`);
      assert.ok(there !== undefined && there <= measured.startMs[row]! + 1e-6, `row ${row} starts before its ${what}`);
    }
  for (let stage = 0; stage < measured.stages; stage++)
    for (let row = measured.rowStart[stage]! + 1; row < measured.rowStart[stage + 1]!; row++)
      assert.ok(measured.startMs[row]! >= measured.endMs[row - 1]! - 1e-6);
}

function assertNothingRuns(): void {
  assert.deepEqual(
    process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap'),
    [],
  );
}
