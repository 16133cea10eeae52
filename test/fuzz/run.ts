// Runs the fuzzer for long: `npm run fuzz -- --cases 1000000 --seed 7`, one case again: `npm run fuzz -- --seed 7 --first 1234 --cases
// 1`, or each number of our configs replaced by huge ones in turn: `npm run fuzz -- --huge`.
import esbuild from 'esbuild';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { caseOf, hugeCases, type Case } from './cases';
import { readCorpus } from './corpus';
import { describeFailure, type Failure, type SeriesResult } from './series';
import type { WorkerOptions } from './worker';

/** Milliseconds of processor time after which a case hangs, and of the clock for one that only waits. */
const hangMs = 20_000;
const waitMs = 300_000;
/** Most memory of a case's objects, MB: as much as the terminal has. */
const memoryLimitMb = 1024;
/** Cases between two lines of progress. */
const batch = 500;

const { values } = parseArgs({
  options: {
    cases: { type: 'string' },
    seed: { type: 'string', default: '1' },
    first: { type: 'string', default: '0' },
    huge: { type: 'boolean', default: false },
  },
});
const corpus = readCorpus();
const huge = values.huge ? hugeCases(corpus) : null;
const [seed, first] = [Number(values.seed), Number(values.first)];
const cases = Number(values.cases ?? (huge === null ? 100_000 : huge.length - first));
if (![cases, seed, first].every((value) => Number.isSafeInteger(value) && value >= 0))
  throw new Error('--cases, --seed and --first take whole numbers');
const series = huge === null ? `seed ${seed}` : 'the huge numbers';
const caseAt = (index: number): Case => huge?.[index] ?? caseOf(seed, index, corpus);

/** The thread's code in one file, since loaders of TypeScript do not reach `import()` on threads; each file keeps its own place. */
async function bundledWorker(): Promise<string> {
  const { resolve } = createRequire(import.meta.url);
  const outfile = path.join(mkdtempSync(path.join(tmpdir(), 'terapipe-fuzzer-')), 'worker.cjs');
  process.on('exit', () => rmSync(path.dirname(outfile), { recursive: true }));
  const places: esbuild.Plugin = {
    name: 'places',
    setup: (build) =>
      build.onLoad({ filter: /test[/\\].*\.ts$/ }, async ({ path: file }) => ({
        loader: 'ts',
        contents: (await readFile(file, 'utf8'))
          .replaceAll('import.meta.dirname', JSON.stringify(path.dirname(file)))
          .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file).href)),
      })),
  };
  await esbuild.build({
    entryPoints: [path.join(import.meta.dirname, 'worker.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    sourcemap: 'linked',
    external: ['onnxruntime-node'],
    mainFields: ['module', 'main'],
    alias: { 'web-tree-sitter': resolve('web-tree-sitter') },
    logLevel: 'error',
    plugins: [places],
  });
  return outfile;
}

/** A case that ended its thread, and why. */
interface Ended {
  readonly index: number;
  readonly problem: string;
}

/** One batch on a thread of its own. A case that hangs or takes all memory ends it. */
function runBatch(code: string, from: number, count: number, known: readonly string[]): Promise<SeriesResult | Ended> {
  const current = new Int32Array(new SharedArrayBuffer(4));
  Atomics.store(current, 0, -1);
  const workerData: WorkerOptions = { seed: huge === null ? seed : null, first: from, cases: count, current, known };
  const thread = new Worker(code, { workerData, resourceLimits: { maxOldGenerationSizeMb: memoryLimitMb } });
  return new Promise((resolve, reject) => {
    let [seen, since, used] = [-1, performance.now(), process.cpuUsage()];
    const watch = setInterval(() => {
      const index = Atomics.load(current, 0);
      if (index !== seen) [seen, since, used] = [index, performance.now(), process.cpuUsage()];
      const { user } = process.cpuUsage(used);
      const isHung = user / 1000 > hangMs;
      // A thread that has not begun is not hung.
      if (index < 0 || !(isHung || performance.now() - since > waitMs)) return;
      resolve({ index, problem: isHung ? `hangs: over ${hangMs} ms of processor time` : `waits: over ${waitMs} ms` });
      void thread.terminate();
    }, 500);
    thread.once('message', resolve);
    thread.once('error', (error: NodeJS.ErrnoException) => {
      const index = Atomics.load(current, 0);
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY' && index >= 0) resolve({ index, problem: `takes over ${memoryLimitMb} MB` });
      else reject(error);
    });
    thread.once('exit', () => clearInterval(watch));
  });
}

async function main(): Promise<void> {
  const code = await bundledWorker();
  const failures = new Map<string, Failure>();
  const began = performance.now();
  let [done, answered, fixed, slowestMs, slowest] = [0, 0, 0, 0, first];
  const note = (failure: Failure, kind: string): void => {
    if (!failures.has(kind)) console.log(describeFailure(failure, series));
    failures.set(kind, failures.get(kind) ?? failure);
  };
  let next = first;
  while (next < first + cases) {
    const count = Math.min(batch, first + cases - next);
    const result = await runBatch(code, next, count, [...failures.keys()]);
    if ('problem' in result) {
      const smallest = caseAt(result.index);
      note({ ...result, smallest }, `${smallest.main.file} ${smallest.command.join(' ')}: ${result.problem}`);
      done += result.index + 1 - next;
      next = result.index + 1;
    } else {
      for (const failure of result.failures) note(failure, failure.problem.split('\n')[0] ?? '');
      done += count;
      next += count;
      answered += result.answered;
      fixed += result.fixed;
      if (result.slowest.ms > slowestMs) [slowestMs, slowest] = [result.slowest.ms, result.slowest.index];
    }
    const perSecond = (done / (performance.now() - began)) * 1000;
    console.log(
      `${done} of ${cases} cases, ${perSecond.toFixed(0)}/s, ${answered} answered, ${fixed} fixes applied, slowest ${slowestMs.toFixed(0)} ms (case ${slowest}), ${failures.size} kinds of failure`,
    );
  }
  process.exitCode = failures.size === 0 ? 0 : 1;
}

void main();
