import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { planAnswer } from '../../../src/cli/answers/plan';
import { searchAnswer } from '../../../src/cli/answers/search';
import type { PrintedFinding } from '../../../src/cli/answer';
import { understand } from '../../../src/cli/arguments';
import { planRun } from '../../../src/core/export/planned-config';
import { nextCommand } from '../../../src/cli/next-command';
import { sentence } from '../../../src/core/sentence';
import { applyOverrides } from '../../../src/core/terapipe/overrides';
import { openCommandLine } from './command-line';
import { loadedOf, numberedRuns, plannedOf } from './numbered-runs';

const line = { path: 'my config.json', options: [{ name: 'gpus', value: '64' }, { name: 'json' }, { name: 'price', value: '2' }] };
const words = (command: string): string[] => [...command.matchAll(/'([^']*)'|(\S+)/gu)].map(([, quoted, plain]) => quoted ?? plain ?? '');
/** Llama 3.1 8B, whose micro-batches GPipe all holds at once. */
const gpipe = JSON.stringify({
  model: { layers: 32, hidden: 4096, heads: 32, kvHeads: 8, ffn: 14_336, gatedMlp: true, vocab: 128_256 },
  cluster: { gpu: 'H100-80GB', nodes: 2, gpusPerNode: 8 },
  training: { sequenceLength: 8192, globalBatch: 256, microBatch: 1 },
  layout: { tensor: 2, pipeline: 4, data: 2 },
  schedule: 'GPipe',
});
/** What `--json` of plan, memory and check have in common. */
interface JsonAnswer {
  readonly remedies: readonly { readonly change: string; readonly set: Readonly<Record<string, unknown>> }[];
  readonly findings: readonly PrintedFinding[];
}
const rows = (text: string): string[] => text.split('\n').filter((row) => row !== '');

describe('a short answer', () => {
  for (const [what, file] of Object.entries(numberedRuns))
    it(`of plan takes ten lines where it fits, 16 with its fixes, and 200 words at most: ${what}`, async () => {
      const { text } = planAnswer(await plannedOf(file), new Map([file]), { line: { ...commandLine(file[0]) } });
      assert.ok(rows(text).length <= (text.includes('does not fit') ? 16 : 10), text);
      assert.ok(text.split(/\s+/u).length <= 200, text);
      assert.ok(!/^(Compared|Why|Times|Assumed)$/mu.test(text));
    });

  for (const [what, file] of Object.entries(numberedRuns))
    it(`of plan is the same whether other schedules are predicted or not: ${what}`, async () => {
      const [texts, config] = [new Map([file]), await loadedOf(file)];
      const single = planAnswer(planRun(config, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null }, { isCompared: false }), texts);
      const { text, exitCode } = planAnswer(await plannedOf(file), texts);
      assert.deepEqual([single.text, single.exitCode], [text, exitCode]);
    });

  it('of plan, memory and check has the remedies and findings of the whole plan where the chosen schedule does not fit', async () => {
    const { folder, run, dispose } = openCommandLine();
    writeFileSync(path.join(folder, 'gpipe.json'), gpipe);
    const readJson = async (command: string) => JSON.parse((await run([command, 'gpipe.json', '--json'])).out) as JsonAnswer;
    const whole = await readJson('plan');
    assert.ok(
      whole.remedies.some(({ set }) => 'schedule' in set),
      JSON.stringify(whole.remedies),
    );
    const [memory, check] = [await readJson('memory'), await readJson('check')];
    const { out } = await run(['plan', 'gpipe.json']);
    dispose();
    assert.deepEqual(memory.findings, whole.findings);
    assert.deepEqual(check.findings, whole.findings);
    for (const { change } of whole.remedies.slice(0, 3)) assert.ok(out.includes(change), `${change} is missing in\n${out}`);
  });

  for (const what of ['a dense model', 'a script that does not fit'] as const)
    it(`of a search takes 16 lines and 250 words at most, and the next command is understood: ${what}`, async () => {
      const [file] = numberedRuns[what];
      const config = await loadedOf(numberedRuns[what]);
      const watcher = { progress: () => undefined, clock: () => 0, signal: new AbortController().signal };
      const after = { line: commandLine(file), readChanged: (text: string) => loadedOf([file, text]) };
      const asked = { improvements: false, free: null, after };
      const { text } = await searchAnswer(config, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null }, asked, watcher);
      assert.ok(rows(text).length <= 16, text);
      assert.ok(text.split(/\s+/u).length <= 250, text);
      const [, next = ''] = /^ {2}next +terapipe (.*)$/mu.exec(text) ?? [];
      assert.deepEqual([...words(next).slice(0, 2), words(next).at(-1)], ['export', file, 'best/']);
      assert.ok('run' in understand(words(next)), next);
    });

  it('ends with a command that takes over what the plan is for, and a file name as a shell takes it', () => {
    const next = nextCommand(line, 'plan', { words: ['--search'] });
    assert.equal(next, "terapipe plan 'my config.json' --gpus 64 --price 2 --search");
    assert.equal(nextCommand(line, 'export', {}), "terapipe export 'my config.json' --gpus 64");
    assert.equal(nextCommand({ path: "it's.json", options: [] }, 'plan', {}), String.raw`terapipe plan 'it'\''s.json'`);
    for (const path of ['-', '-p.json', 'two\nlines.json', 'right\u202eleft.json'])
      assert.equal(nextCommand({ ...line, path }, 'plan', {}), null, JSON.stringify(path));
  });

  it('leaves out of the next command what its settings replace, and lengths where it searches', () => {
    const set = (value: string) => ({ name: 'set', value });
    const options = [
      set('tp=2'),
      { name: 'schedule', value: 'GPipe' },
      set('schedule = GPipe'),
      set('pp=2'),
      { name: 'lengths', value: 'l' },
    ];
    const sets = [
      ['schedule', '1F1B'],
      ['layout.tensor', 4],
    ] as const;
    assert.equal(
      nextCommand({ path: 'a.json', options }, 'plan', { sets }),
      'terapipe plan a.json --set pp=2 --lengths l --set schedule=1F1B --set layout.tensor=4',
    );
    const searched = nextCommand({ path: 'a.json', options: options.slice(3) }, 'plan', { words: ['--search'] });
    assert.equal(searched, 'terapipe plan a.json --set pp=2 --search');
  });

  it('ends with a command that a shell runs as it is, and that makes the plan fit', async () => {
    const { folder, run, dispose } = openCommandLine();
    writeFileSync(path.join(folder, "it's.json"), gpipe);
    const written = ["it's.json", '--schedule', 'GPipe', '--set', 'mbs=2', '--tokens', '1T', '--price', '2'];
    const before = await run(['plan', ...written]);
    const [, next = ''] = /^ {2}next +(terapipe .*)$/mu.exec(before.out) ?? [];
    const shell = spawnSync('sh', ['-c', `terapipe() { printf '%s\\n' "$@"; }\n${next}`], { encoding: 'utf8' });
    const after = await run(shell.stdout.trimEnd().split('\n'));
    dispose();
    assert.deepEqual([before.exitCode, after.exitCode], [1, 0], `${next}\n${after.out}${after.err}`);
    assert.match(after.out, /^ {2}training +1T tokens in .*, cost /mu);
  });

  it('shows a remedy that no setting makes in its words', async () => {
    const [file, text] = numberedRuns['a script that does not fit'];
    const planned = await plannedOf([file, text]);
    const [first] = planned.remedies ?? [];
    assert.ok(first !== undefined);
    const remedies = [{ ...first, sets: [], label: sentence`Set A=b in the environment` }];
    const answer = planAnswer({ ...planned, remedies }, new Map([[file, text]]), { line: commandLine(file) });
    assert.match(answer.text, /^ {2}next +Set A=b in the environment$/mu);
  });

  it('names the command that makes a plan fit, and shows what the whole run takes', async () => {
    const [file, text] = numberedRuns['a script that does not fit'];
    const planned = await plannedOf([file, text]);
    const answer = planAnswer(planned, new Map([[file, text]]), { line: commandLine(file) });
    const [, next = ''] = /^ {2}next +terapipe (.*)$/mu.exec(answer.text) ?? [];
    const sets = (understand(words(next)), words(next).filter((_, at, all) => all[at - 1] === '--set'));
    assert.ok(sets.length > 0, next);
    assert.deepEqual(
      sets,
      (planned.remedies?.[0]?.sets ?? []).map(([key, value]) => `${key}=${String(value)}`),
    );

    const withPrice = applyOverrides(planned.run, ['training.tokens=1e12', 'cluster.pricePerGpuHour=2']);
    const { json, text: priced } = planAnswer(await plannedOf([file, text], withPrice), new Map());
    const { budget, tokensPerSecond } = (json as { plan: { budget: Record<string, number>; tokensPerSecond: number } }).plan;
    const gpuHours = (1e12 / tokensPerSecond / 3600) * 32;
    assert.ok(Math.abs(budget['gpuHours']! / gpuHours - 1) < 1e-12 && Math.abs(budget['cost']! / (2 * gpuHours) - 1) < 1e-12);
    assert.match(priced, /^ {2}training +1T tokens in [\d,]+ days, [\d.]+[KM] GPU hours, cost [\d.]+[KM]$/mu);
  });
});

function commandLine(path: string) {
  return { ...understood, path };
}

/** A command line without options. */
const understood = {
  paths: [],
  sets: [],
  machine: { gpu: null, gpus: null, nodes: null, gpusPerNode: null, nicGBps: null },
  defaults: { gpu: 'H100-80GB', nodes: null, gpusPerNode: null },
  profile: null,
  json: false,
  options: [],
  beforePath: new Set<string>(),
} as const;
