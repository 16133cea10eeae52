import assert from 'node:assert/strict';
import { cpSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fixtures } from '../core/config-files/files';
import { openCommandLine, type CommandLine } from './command-line';

type Json = Readonly<Record<string, unknown>>;

describe('terapipe plan --search', () => {
  let cli: CommandLine;
  const config = 'configs/pipeline/terapipe.json';
  before(() => {
    cli = openCommandLine();
    cpSync(fixtures, path.join(cli.folder, 'configs'), { recursive: true });
  });
  after(() => {
    cli.dispose();
  });

  it('prints one object: a plan with what cli.md promises, and the search', async () => {
    const { out, err, exitCode } = await cli.run(['plan', config, '--search', '--tokens', '1e12', '--json']);
    assert.equal(exitCode, 0, err);
    assert.match(out, /^\{"version":1,[^\n]*\n$/);
    const { plan, search } = JSON.parse(out) as { plan: Json; search: Json };
    for (const key of ['iterationMs', 'bubbleRate', 'tokensPerSecond', 'mfu', 'peakBytes']) assert.equal(typeof plan[key], 'number', key);
    for (const key of ['layout', 'schedule', 'scheme', 'memory', 'cost', 'comparisons', 'reasons']) assert.ok(plan[key], key);
    assert.equal((plan['layout'] as Json)['pipeline'], 4, 'fixed by the file');
    assert.ok((search['fixed'] as readonly string[]).includes('pipeline'));
    for (const key of ['paretoFront', 'perSchedule', 'improvements']) assert.ok((search[key] as readonly Json[]).length > 0, key);
    for (const key of ['runnersUp', 'notFitting']) assert.ok(Array.isArray(search[key]), key);
    assert.deepEqual([search['proved'], search['gap'], (plan['budget'] as Json)['tokens']], [true, 0, 1e12]);
    assert.deepEqual(['gpuHours' in plan, 'tokenBudget' in search], [false, false], 'tokens and GPU hours are in budget');
    assert.match(err, /searching with twice the nodes/);
  });

  it('prints it in words, and leaves out what would help when asked to be quick', async () => {
    const { out, exitCode } = await cli.run(['plan', config, '--search', '--quick', '--all']);
    assert.equal(exitCode, 0);
    for (const part of [/best +TP\d/, /Step time against memory/, /Best of each schedule/, /ms: proved/, /Fixed by the files/])
      assert.match(out, part);
    assert.doesNotMatch(out, /What would help/);
    assert.ok(!/\d\.\d{4,}/.test(out), 'three significant digits');
  });

  it('names the same best and proof in words, with all tables and as JSON, where finer slices win', async () => {
    const file = path.join(cli.folder, 'finer.json');
    const text = {
      model: { layers: 8, hidden: 512, heads: 8, vocab: 50304 },
      training: { sequenceLength: 1024, globalBatch: 13, microBatch: 1, zeroStage: 1, recompute: 'none' },
      layout: { tensor: 2, pipeline: 1, data: 1 },
      cluster: { gpu: 'V100-16GB', nodes: 2, gpusPerNode: 1, links: { nicGBps: 6 } },
    };
    writeFileSync(file, JSON.stringify(text));
    const among = ['--schedules', 'TeraPipe,1F1B,GPipe', '--free', 'tensor,pipeline,data,schedule', '--quick'];
    const printed = async (...more: string[]): Promise<string> => (await cli.run(['plan', file, '--search', ...among, ...more])).out;
    const [plain, all, json] = [await printed(), await printed('--all'), await printed('--json')];
    const { plan, search } = JSON.parse(json) as { plan: Json; search: Json };
    assert.equal(plan['name'], 'TeraPipe, solved slices');
    const bestLine = (words: string): unknown => /^ +best .*solved slices$/m.exec(words)?.[0];
    const proofLine = (words: string): unknown => /none of .*/.exec(words)?.[0];
    assert.ok(bestLine(plain) !== undefined && proofLine(plain) !== undefined, plain);
    assert.deepEqual([bestLine(plain), proofLine(plain)], [bestLine(all), proofLine(all)]);
    assert.equal(plain.includes(': proved'), search['proved']);
  });

  it('shows what layouts keep free of memory, which a file or --set chooses', async () => {
    const keptOf = async (...set: string[]): Promise<{ readonly kept: Json | null; readonly words: string }> => {
      const line = ['plan', config, '--search', '--quick', ...set];
      const { search } = JSON.parse((await cli.run([...line, '--json'])).out) as { search: Json };
      return { kept: search['keptFree'] as Json | null, words: (await cli.run([...line, '--all'])).out };
    };
    const usual = await keptOf();
    assert.ok(Number(usual.kept?.['share']) > 0 && usual.kept?.['best'] === 'keeps');
    assert.match(usual.words, /layouts keep [\d.]+ % of GPU memory free: \d+ of \d+ measured runs of Megatron-LM/);
    const asked = await keptOf('--set', 'keepFree=0.2');
    assert.equal(asked.kept?.['share'], 0.2);
    assert.match(asked.words, /layouts keep 20 % of GPU memory free: keepFree asks for it/);
    const none = await keptOf('--set', 'keepFree=0');
    assert.equal(none.kept, null);
    assert.doesNotMatch(none.words, /of GPU memory free/);
    assert.equal((await cli.run(['plan', config, '--search', '--set', 'keepFree=0.6'])).exitCode, 2);
  });

  it("chooses what the file sets where --free names it, and compares the file's own layout", async () => {
    const { out, err, exitCode } = await cli.run(['plan', config, '--search', '--quick', '--free', 'layout,recompute', '--json']);
    assert.equal(exitCode, 0, err);
    const { plan, search } = JSON.parse(out) as { plan: Json; search: Json };
    assert.deepEqual(search['fixed'], []);
    const { layout, speedup, says, iterationMs } = search['launched'] as Json;
    assert.deepEqual([(layout as Json)['tensor'], (layout as Json)['pipeline']], [2, 4]);
    assert.ok(Number(speedup) > 1 && Number(iterationMs) > Number(plan['iterationMs']) && typeof says === 'string');
    const words = await cli.run(['plan', config, '--search', '--quick', '--all', '--free', 'layout']);
    assert.match(
      words.out,
      /as launched +TP2 PP4 .*: [\d.]+ ms, best [\d.]+ ms, ([\d.]+x) as fast\n[\s\S]*\nAs launched\n {2}\1 the time: .*; compared with TP/,
    );
    for (const once of [/: [\d.]+ ms, best/g, /is faster than [\d.]+ ms/g]) assert.equal(words.out.match(once)?.length, 1, words.out);
  });

  it('keeps to the schedules that are named, and shows what each needs', async () => {
    const { out, exitCode } = await cli.run(['plan', config, '--search', '--quick', '--schedules', 'ZB-H1,1F1B', '--json']);
    assert.equal(exitCode, 0);
    const { search } = JSON.parse(out) as { search: { perSchedule: readonly Json[] } };
    const needs = new Map(search.perSchedule.map((plan) => [plan['schedule'], plan['needs']]));
    assert.ok(needs.has('ZB-H1') && [...needs.keys()].every((name) => name === 'ZB-H1' || name === '1F1B'));
    assert.equal(needs.get('ZB-H1'), "sail-sg's zero-bubble Megatron-LM");
    const words = await cli.run(['plan', config, '--search', '--quick', '--all', '--schedules', 'ZB-H1']);
    assert.match(words.out, /^ {2}needs +sail-sg's zero-bubble Megatron-LM$/m);
    assert.match(words.out, /Not run by Megatron-LM\n {2}ZB-H1 needs sail-sg's zero-bubble Megatron-LM/);
    const plan = await cli.run(['plan', config, '--schedules', 'LoopedBFS', '--json']);
    assert.equal((JSON.parse(plan.out) as { plan: Json }).plan['schedule'], 'LoopedBFS');
  });

  it('exits 1 when nothing fits', async () => {
    const { out, exitCode } = await cli.run(['plan', config, '--search', '--quick', '--set', 'cluster.gpu.memoryGB=0.5']);
    assert.equal(exitCode, 1);
    assert.match(out, /Nothing fits: this is the layout with the least memory/);
  });

  it('refuses options that mean nothing', async () => {
    for (const [args, message] of [
      [['plan', config, '--search', '--tokens', 'many'], /--tokens is "many"; give it a number from 1 to 1e18/],
      [['plan', config, '--free', 'all'], /--free is an option of plan --search; give --search too/],
      [['plan', config, '--search', '--free', 'tensr'], /"tensr" is nothing that a search chooses; did you mean tensor\?/],
      [['plan', config, '--schedules', 'ZB-H3'], /"ZB-H3" is not a schedule; did you mean ZB-H1\?/],
      [['memory', config, '--search'], /--search is an option of plan, max or export, not of memory/],
    ] as const) {
      const { err, exitCode } = await cli.run(args);
      assert.equal(exitCode, 2);
      assert.match(err, message);
    }
  });
});
