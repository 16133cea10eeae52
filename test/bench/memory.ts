// Prints what memory the extension host, its processes and the page take in a real VS Code, over 2,000 edits, 400 openings of the panel,
// 200 searches that are cancelled and 50 profiles, and with the largest files: `npm run bench:memory`, or with `-- ROUNDS EDITS OPENINGS
// SEARCHES PROFILES` of each round, and behind them a word of the hosts to start.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as esbuild from 'esbuild';
import type { Page } from 'playwright-core';
import { startCodeServer, temporaryFolder } from '../harness/code-server.mjs';
import { ensureBuild, ensureChromium, root } from '../harness/setup.mjs';
import { ensureTools, type Tools } from '../harness/tools.mjs';
import { developmentHost, launchBrowser, openWorkbench } from '../vscode/workbench';
import type { MemoryBench } from './memory-suite';

/** Without an answer for this long the bench gives up. */
const patienceMs = 300_000;
const pollMs = 200;
const [rounds = 10, editsARound = 200, openingsARound = 40, searchesARound = 20, profilesARound = 5] = process.argv.slice(2, 7).map(Number);
const wanted = process.argv[7] ?? '';

type Counts = 'editsARound' | 'openingsARound' | 'searchesARound' | 'profilesARound';

/** What is done in one extension host, started for it by itself. */
interface BenchedHost extends Pick<MemoryBench, 'hasExtension' | 'rounds' | Counts> {
  readonly title: string;
  /** Text of the file that is opened; left out: the sample's config. */
  readonly text?: () => string;
  readonly name?: string;
}

const nothing = { editsARound: 0, openingsARound: 0, searchesARound: 0, profilesARound: 0 };
const once = { rounds: 1, ...nothing };

const hosts: readonly BenchedHost[] = [
  { title: 'edits without TeraPipe', hasExtension: false, rounds, ...nothing, editsARound },
  {
    title: 'edits, openings, searches and profiles',
    hasExtension: true,
    rounds,
    editsARound,
    openingsARound,
    searchesARound,
    profilesARound,
  },
  { title: '10,000 layers on 10,000 stages, 1,000 micro-batches', hasExtension: true, ...once, text: deepConfig },
  { title: 'a config of 5 MB', hasExtension: true, ...once, text: () => configWith(2.6e6) },
  { title: 'a config of 5 MB without TeraPipe', hasExtension: false, ...once, text: () => configWith(2.6e6) },
  { title: 'a config of 100,000 values', hasExtension: true, ...once, text: () => configWith(99_000) },
  { title: 'a timeline of a million operations', hasExtension: true, ...once, text: millionConfig },
  { title: 'a schedule of a million cells', hasExtension: true, ...once, text: largeSchedule, name: 'million.csv' },
  { title: 'a schedule of a million cells without TeraPipe', hasExtension: false, ...once, text: largeSchedule, name: 'million.csv' },
];

function deepConfig(): string {
  return JSON.stringify({
    model: { layers: 10_000, hidden: 1024, heads: 16, vocab: 50304 },
    cluster: { gpu: 'H100-80GB', nodes: 1250, gpusPerNode: 8 },
    training: { sequenceLength: 1024, globalBatch: 1000 },
    layout: { tensor: 1, pipeline: 10_000, data: 1 },
  });
}

/** Small enough for a CPU to measure a slice of in milliseconds. */
function profiledConfig(): string {
  return JSON.stringify({
    model: { layers: 4, hidden: 64, heads: 2, ffn: 256, vocab: 300, positions: 'learned', norm: 'layernorm' },
    cluster: { gpu: 'L40S', nodes: 1, gpusPerNode: 2 },
    training: { sequenceLength: 128, microBatch: 1, globalBatch: 4, precision: 'fp32' },
    layout: { tensor: 1, pipeline: 2, data: 1 },
  });
}

/** 64 stages, 7,812 micro-batches, forward and backward of each: 999,936 operations, nearly as many as are drawn. */
function millionConfig(): string {
  return JSON.stringify({
    model: { layers: 64, hidden: 4096, heads: 32, vocab: 50_257 },
    cluster: { gpu: 'H100-80GB', nodes: 32, gpusPerNode: 8 },
    training: { sequenceLength: 2048, globalBatch: 7812, microBatch: 1 },
    layout: { tensor: 4, pipeline: 64, data: 1 },
    schedule: '1F1B',
  });
}

/** Nearly all of it values, what a parser's tree takes most memory for: of 2.6 million it is just below the largest size that is read. */
function configWith(values: number): string {
  return JSON.stringify({
    model: { layers: 96, hidden: 12_288, heads: 96, vocab: 50_257 },
    cluster: { gpu: 'A100-80GB', nodes: 48, gpusPerNode: 8 },
    training: { sequenceLength: 2048, globalBatch: 192 },
    layout: { tensor: 8, pipeline: 48, data: 1 },
    notes: Array.from({ length: values }, () => 0),
  });
}

/** 1F1B of 64 ranks, each cell with an action: 999,936, nearly as many as are drawn. */
function largeSchedule(): string {
  const [ranks, microBatches] = [64, 7_812];
  const rows = Array.from({ length: ranks }, (_, rank) => {
    const warmUp = Math.min(ranks - rank, microBatches);
    const cells = Array.from({ length: warmUp }, (__, batch) => `${rank}F${batch}`);
    for (let batch = 0; batch < microBatches; batch += 1) {
      cells.push(`${rank}B${batch}`);
      if (warmUp + batch < microBatches) cells.push(`${rank}F${warmUp + batch}`);
    }
    return cells.join();
  });
  return `${rows.join('\n')}\n`;
}

async function main(): Promise<void> {
  const tools = await ensureTools();
  const chromiumPath = await ensureChromium();
  await ensureBuild({ production: true });
  const folder = temporaryFolder('terapipe-memory');
  const testsFile = path.join(folder, 'memory-suite.js');
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: ['test/bench/memory-suite.ts'],
    outfile: testsFile,
    bundle: true,
    platform: 'node',
    target: 'node22',
    format: 'cjs',
    external: ['vscode'],
    logLevel: 'warning',
  });
  for (const [index, host] of hosts.entries()) {
    if (!host.title.includes(wanted)) continue;
    console.log(`\n${host.title}`);
    const own = path.join(folder, String(index));
    mkdirSync(own);
    await benchHost(tools, chromiumPath, { host, folder: own, testsFile });
  }
}

async function benchHost(
  tools: Tools,
  chromiumPath: string,
  { host, folder, testsFile }: { readonly host: BenchedHost; readonly folder: string; readonly testsFile: string },
): Promise<void> {
  const workspace = path.join(folder, 'workspace');
  cpSync(path.join(root, 'media/samples/llama3-8b'), workspace, { recursive: true });
  const file = path.join(workspace, host.name ?? 'terapipe.json');
  if (host.text !== undefined) writeFileSync(file, host.text());
  const profiledFile = path.join(workspace, 'profiled/terapipe.json');
  mkdirSync(path.join(workspace, 'profiled/.terapipe'), { recursive: true });
  writeFileSync(profiledFile, profiledConfig());
  const [resultFile, openFile] = [path.join(folder, 'figures.txt'), path.join(folder, 'open')];
  const bench: MemoryBench = { ...host, file, profiledFile, resultFile, openFile };
  writeFileSync(resultFile, '');
  const server = await startCodeServer(tools, {
    env: { TERAPIPE_BENCH: JSON.stringify(bench) },
    settings: { 'terapipe.planDelay': 0 },
  });
  const browser = await launchBrowser(chromiumPath);
  try {
    const { page } = await openWorkbench(browser, server.url(workspace), async (fresh) => {
      fresh.setDefaultTimeout(patienceMs);
      await developmentHost(fresh, server.port, host.hasExtension ? root : nothingIn(folder), testsFile);
    });
    try {
      await follow(page, bench);
    } catch (error) {
      await page.screenshot({ path: path.join(root, 'out/bench-memory-failed.png') });
      throw new Error(`the extension host did not end: ${server.log().slice(-1000)}`, { cause: error });
    }
  } finally {
    await browser.close();
    await server.stop();
  }
  const left = ownProcesses();
  console.log(left.length === 0 ? 'no process left' : `processes left:\n${left.join('\n')}`);
}

/** Command lines of processes that run a bundle of this build. */
function ownProcesses(): readonly string[] {
  const lines = execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' }).split('\n');
  return lines.filter((line) => ['worker.js', 'profiler.js'].some((name) => line.includes(path.join(root, 'dist', name))));
}

/** What the page has kept, garbage collected: closing a panel gives back its documents. */
async function pageFigures(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  await session.send('Performance.enable');
  const { metrics } = await session.send('Performance.getMetrics');
  await session.detach();
  const value = (name: string): number => metrics.find((metric) => metric.name === name)?.value ?? NaN;
  const heap = (value('JSHeapUsedSize') / 1e6).toFixed(0);
  return `  page: heap ${heap} MB, ${value('Frames')} frames, ${value('Nodes')} nodes, ${value('JSEventListeners')} listeners`;
}

/** The folder of an extension that does nothing. */
function nothingIn(folder: string): string {
  const nothing = path.join(folder, 'nothing');
  mkdirSync(nothing);
  const manifest = { name: 'nothing', publisher: 'terapipe-test', version: '0.0.1', engines: { vscode: '^1.90.0' } };
  writeFileSync(path.join(nothing, 'package.json'), JSON.stringify(manifest));
  return nothing;
}

/** Prints what the host writes, and notifies it when its page has drawn, until it is done. */
async function follow(page: Page, { resultFile, openFile }: MemoryBench): Promise<void> {
  let printed = '';
  for (let silentMs = 0; !/^(done|failed)/m.test(printed); silentMs += pollMs) {
    if (silentMs > patienceMs) throw new Error(`nothing for ${patienceMs / 1000} s`);
    await page.waitForTimeout(pollMs);
    if (existsSync(openFile) && (await hasDrawn(page))) {
      rmSync(openFile);
      silentMs = 0;
    }
    const output = readFileSync(resultFile, 'utf8');
    if (output === printed) continue;
    process.stdout.write(output.slice(printed.length).replace(/^done\n/m, ''));
    console.log(await pageFigures(page));
    printed = output;
    silentMs = 0;
  }
  if (!/^done/m.test(printed)) throw new Error('it failed');
}

/** Whether the panel's page shows a plan, or why there is none. */
async function hasDrawn(page: Page): Promise<boolean> {
  for (const frame of page.frames()) {
    const counts = ['.glance-words:visible', '.notice-error:visible', 'progress.progress:visible'].map((selector) =>
      frame
        .locator(`body[data-page="tab"] ${selector}`)
        .count()
        .catch(() => 0),
    );
    const [words = 0, errors = 0, busy = 0] = await Promise.all(counts);
    if (words + errors > 0 && busy === 0) return true;
  }
  return false;
}

void main();
