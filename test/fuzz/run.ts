// Runs the fuzzer for long: `npm run fuzz -- --cases 1000000 --seed 7`, or one case again: `npm run fuzz -- --seed 7 --first 1234 --cases
// 1`.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { readCorpus } from './corpus';
import { caseOf } from './cases';
import { describeFailure, type Failure, type SeriesResult } from './series';
import type { WorkerOptions } from './worker';

/** A case that runs for longer hangs. */
const hangMs = 10_000;
/** Cases between two lines of progress. */
const batch = 5_000;

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    first: { type: 'string', default: '0' },
  },
});
const [cases, seed, first] = [Number(values.cases), Number(values.seed), Number(values.first)];
if (![cases, seed, first].every((value) => Number.isSafeInteger(value) && value >= 0))
  throw new Error('--cases, --seed and --first take whole numbers');

/** Node's own flag for loaders does not reach threads. */
const inTypeScript = `require('tsx/cjs/api').register(); require(${JSON.stringify(path.join(import.meta.dirname, 'worker.ts'))});`;

/** One batch on a thread of its own; a hanging case ends it, as a failure. */
function runBatch(from: number, count: number): Promise<SeriesResult | { readonly hung: number }> {
  const current = new Int32Array(new SharedArrayBuffer(4));
  Atomics.store(current, 0, -1);
  const workerData: WorkerOptions = { seed, first: from, cases: count, current };
  const worker = new Worker(inTypeScript, { workerData, eval: true });
  return new Promise((resolve, reject) => {
    let [seen, since] = [-1, performance.now()];
    const watch = setInterval(() => {
      const index = Atomics.load(current, 0);
      if (index !== seen) [seen, since] = [index, performance.now()];
      // A thread that has not begun is not hung.
      else if (index >= 0 && performance.now() - since > hangMs) {
        resolve({ hung: index });
        void worker.terminate();
      }
    }, 500);
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => clearInterval(watch));
  });
}

async function main(): Promise<void> {
  const failures = new Map<string, Failure>();
  const began = performance.now();
  let [done, answered, fixed, slowestMs, slowest] = [0, 0, 0, 0, first];
  let next = first;
  while (next < first + cases) {
    const count = Math.min(batch, first + cases - next);
    const result = await runBatch(next, count);
    if ('hung' in result) {
      const problem = `hangs: over ${hangMs} ms`;
      failures.set(`${problem} ${result.hung}`, { index: result.hung, problem, smallest: caseOf(seed, result.hung, readCorpus()) });
      done += result.hung + 1 - next;
      next = result.hung + 1;
    } else {
      for (const failure of result.failures) {
        const kind = failure.problem.split('\n')[0] ?? '';
        if (!failures.has(kind)) console.log(describeFailure(failure, seed));
        failures.set(kind, failures.get(kind) ?? failure);
      }
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
  for (const failure of failures.values()) if (failure.problem.startsWith('hangs')) console.log(describeFailure(failure, seed));
  process.exitCode = failures.size === 0 ? 0 : 1;
}

void main();
