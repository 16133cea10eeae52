import assert from 'node:assert/strict';
import childProcess from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Plan } from '../../../src/core/planner/plan';
import type { PlanRequest } from '../../../src/core/domain/request';
import type { SearchUpdate } from '../../../src/core/layout-search/answer';
import { createPlannerClient, type PlannerClient } from '../../../src/host/planner/client';
import { plannerProcess } from '../../../src/worker/process';
import { pong } from '../../../src/worker/process';
import { until } from '../../vscode/until';
import { bundleWorker, type BundledWorker } from './bundle';
import type { ExpectedError } from '../../../src/core/errors';
import { say } from '../../../src/core/sentence';

/** The scripted worker reads only the title. */
function titled(title: string): PlanRequest {
  return { title, model: {}, training: {}, layout: {} } as unknown as PlanRequest;
}

/** The longest that a timer takes: what is cancelled ends only when the thread itself gives it up, however busy the machine is. */
const endless = { patienceMs: 2 ** 31 - 1 };

function isGone(pid: number): boolean {
  try {
    return !process.kill(pid, 0);
  } catch {
    return true;
  }
}

describe('planner client', () => {
  let worker: BundledWorker;
  let client: PlannerClient;

  before(async () => {
    worker = await bundleWorker(join(__dirname, 'scripted-worker.ts'));
    client = createPlannerClient(plannerProcess(worker.file));
  });
  after(async () => {
    await client.dispose();
    await worker.remove();
  });

  const threadOf = async (asked: PlannerClient): Promise<string> => (await asked.plan(titled('names its thread'))).request.title;
  const processOf = async (asked: PlannerClient): Promise<{ readonly pid: number }> => ({
    pid: Number((await threadOf(asked)).split(' ')[0]),
  });

  /** Resolves once the request is running. */
  function running(
    title: string,
    signal?: AbortSignal,
    asked = client,
  ): { readonly started: Promise<void>; readonly done: Promise<unknown> } {
    let done: Promise<unknown> = Promise.resolve();
    const started = new Promise<void>((resolve) => {
      done = asked.plan(titled(title), { signal, onProgress: () => resolve() });
      done.catch(() => undefined);
    });
    return { started, done };
  }

  it('brings back the plan, its typed arrays and its progress', async () => {
    const fractions: number[] = [];
    const plan = await client.plan(titled('small'), { onProgress: (fraction) => fractions.push(fraction) });
    assert.deepEqual(plan.candidates[0]!.busyMs, Float64Array.from([1, 2, 3]));
    assert.deepEqual(fractions, [0.5]);
  });

  it('answers requests in order', async () => {
    const order: string[] = [];
    await Promise.all(['a', 'b', 'c'].map((title) => client.plan(titled(title)).then((plan) => order.push(plan.request.title))));
    assert.deepEqual(order, ['a', 'b', 'c']);
  });

  it('keeps code and remedy of an expected error', async () => {
    await assert.rejects(client.plan(titled('refuses')), (error: ExpectedError) => {
      assert.deepEqual([error.name, error.code, say(error.remedy)], ['ExpectedError', 'plan-too-large', 'Make it smaller']);
      return true;
    });
  });

  it('keeps message and stack of a bug', async () => {
    await assert.rejects(client.plan(titled('has a bug')), (error: Error) => {
      assert.equal(error.message, 'x is not a function');
      assert.match(error.stack ?? '', /scripted-worker/);
      return true;
    });
  });

  it('reports the best so far together with the progress', async () => {
    const reported: unknown[] = [];
    await client.plan(titled('streams'), {
      onProgress: (fraction) => reported.push(fraction),
      onIncumbent: (update) => reported.push(update),
    });
    assert.deepEqual(reported, [0.25, { latencyMs: 3, lowerBoundMs: 2 }, 0.5]);
  });

  it('reports the first that improves at once, and not all that follow', async () => {
    const reported: number[] = [];
    await client.plan(titled('improves all the time'), { onIncumbent: ({ latencyMs }) => reported.push(latencyMs) });
    assert.equal(reported[0], 20_000);
    assert.ok(reported.length < 2000, String(reported.length));
  });

  it('brings the plan of the schedule that is asked for before the whole, to who wants it', async () => {
    const first: Plan[] = [];
    const plan = await client.plan(titled('answers twice'), { onFirst: (early) => first.push(early) });
    assert.deepEqual([first.length, first[0]?.notCompared, plan.notCompared], [1, undefined, ['1F1B']]);
    assert.deepEqual(first[0]?.candidates[0]!.busyMs, Float64Array.from([1, 2, 3]));
    assert.deepEqual((await client.plan(titled('answers twice'))).notCompared, ['1F1B']);
  });

  it('brings back what a search found, and how far it was', async () => {
    const problem = { request: titled('small'), fixed: new Set(['tensor' as const]) };
    const reported: SearchUpdate[] = [];
    const asked = { improvements: true };
    const result = await client.search(problem, { ...asked, onUpdate: (update) => reported.push(update) });
    assert.deepEqual([result.request.title, result.improvements], ['small', true]);
    assert.deepEqual(
      reported.map((update) => update.kind === 'searching' && update.lowerBoundMs),
      [2],
    );
  });

  it('cancels a running request and keeps the thread', async () => {
    const patient = createPlannerClient(plannerProcess(worker.file), endless);
    try {
      const thread = await threadOf(patient);
      const abort = new AbortController();
      const { started, done } = running('stops when cancelled', abort.signal, patient);
      await started;
      abort.abort();
      await assert.rejects(done, { name: 'CancelledError' });
      assert.equal(await threadOf(patient), thread);
    } finally {
      await patient.dispose();
    }
  });

  it('cancels a thread that does not listen and continues with a fresh one', async () => {
    const thread = await threadOf(client);
    const abort = new AbortController();
    const { started, done } = running('deaf', abort.signal);
    await started;
    const next = threadOf(client);
    abort.abort();
    await assert.rejects(done, { name: 'CancelledError' });
    assert.notEqual(await next, thread);
  });

  it('gives no plan to whoever gave it up, though it was finished at that moment', async () => {
    const abort = new AbortController();
    const { started, done } = running('finishes when cancelled', abort.signal);
    await started;
    abort.abort();
    await assert.rejects(done, { name: 'CancelledError' });
    await client.plan(titled('small'));
  });

  it('drops a waiting request at once and leaves only the running one', async () => {
    const first = new AbortController();
    const { started, done } = running('stops when cancelled', first.signal);
    const second = new AbortController();
    const queued = client.plan(titled('small'), { signal: second.signal });
    await started;
    second.abort();
    await assert.rejects(queued, { name: 'CancelledError' });
    first.abort();
    await assert.rejects(done, { name: 'CancelledError' });
  });

  it('refuses a request whose signal is already aborted', async () => {
    await assert.rejects(client.plan(titled('small'), { signal: AbortSignal.abort() }), { name: 'CancelledError' });
  });

  it('turns a dead thread into an error and gives the next request a fresh one', async () => {
    await assert.rejects(client.plan(titled('dies')), { name: 'ExpectedError', code: 'worker-crashed' });
    await client.plan(titled('small'));
  });

  it('turns a missing worker file into an error', async () => {
    const lost = createPlannerClient(plannerProcess(join(__dirname, 'no-such-worker.js')));
    await assert.rejects(lost.plan(titled('small')), { code: 'worker-crashed' });
    await lost.dispose();
  });

  it('cancels what is left when it is disposed, and leaves no process behind', async () => {
    const disposed = createPlannerClient(plannerProcess(worker.file));
    const { pid } = await processOf(disposed);
    const { started, done } = running('stops when cancelled', undefined, disposed);
    const queued = disposed.plan(titled('small'));
    queued.catch(() => undefined);
    await started;
    await disposed.dispose();
    await assert.rejects(done, { name: 'CancelledError' });
    await assert.rejects(queued, { name: 'CancelledError' });
    await assert.rejects(disposed.plan(titled('small')), { name: 'CancelledError' });
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  });

  it('plans in a process of its own, which it gives back when it rests', async () => {
    const resting = createPlannerClient(plannerProcess(worker.file), { restMs: 0 });
    const { pid } = await processOf(resting);
    assert.notEqual(pid, process.pid);
    await until('end of the process', () => isGone(pid) || undefined);
    assert.notEqual((await processOf(resting)).pid, pid);
    await resting.dispose();
  });

  /** A request that runs until it is cancelled: the processes that took it on, one after the other. */
  function longRequest(asked: PlannerClient) {
    const abort = new AbortController();
    const pids: number[] = [];
    const title = 'names its process and stops when cancelled';
    const done = asked.plan(titled(title), { signal: abort.signal, onIncumbent: ({ latencyMs }) => pids.push(latencyMs) });
    done.catch(() => undefined);
    const runs = (count: number): Promise<number> => until(`process ${count}`, () => pids[count - 1]);
    return { abort, pids, done, runs };
  }

  it('gives what a killed process was asked to another, and fails where that is killed too', async () => {
    const lost: string[] = [];
    const watched = createPlannerClient(plannerProcess(worker.file), { onLost: (why) => lost.push(why) });
    try {
      const { done, runs } = longRequest(watched);
      process.kill(await runs(1), 'SIGKILL');
      process.kill(await runs(2), 'SIGTERM');
      await assert.rejects(done, { code: 'worker-crashed', message: /SIGTERM/ });
      assert.deepEqual(lost, ['signal SIGKILL', 'signal SIGTERM']);
      await watched.plan(titled('small'));
    } finally {
      await watched.dispose();
    }
  });

  it('does not repeat what was given up', async () => {
    const patient = createPlannerClient(plannerProcess(worker.file), endless);
    try {
      const { abort, pids, done, runs } = longRequest(patient);
      const pid = await runs(1);
      process.kill(pid, 'SIGSTOP');
      abort.abort();
      await assert.rejects(done, { name: 'CancelledError' });
      process.kill(pid, 'SIGKILL');
      await patient.plan(titled('small'));
      assert.deepEqual(pids, [pid]);
    } finally {
      await patient.dispose();
    }
  });

  it('replaces a process that is stopped and answers nothing', async () => {
    const lost: string[] = [];
    const watched = createPlannerClient(plannerProcess(worker.file), { pingMs: 500, onLost: (why) => lost.push(why) });
    try {
      const { pid } = await processOf(watched);
      process.kill(pid, 'SIGSTOP');
      assert.notEqual((await processOf(watched)).pid, pid);
      assert.deepEqual(lost, ['it no longer answered']);
      await until('end of the stopped process', () => isGone(pid) || undefined);
    } finally {
      await watched.dispose();
    }
  });

  it('waits for a process that takes longer to start than one at work may be silent', async () => {
    const late = join(dirname(worker.file), 'late.js');
    const wait = 'if (isMainThread) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);';
    writeFileSync(late, `const { isMainThread } = require('node:worker_threads');\n${wait}\nrequire(${JSON.stringify(worker.file)});\n`);
    const lost: string[] = [];
    const watched = createPlannerClient(plannerProcess(late), { pingMs: 100, onLost: (why) => lost.push(why) });
    try {
      await watched.plan(titled('small'));
      assert.deepEqual(lost, []);
    } finally {
      await watched.dispose();
    }
  });

  it('leaves a process at work however long it takes, since it answers meanwhile', async () => {
    const watched = createPlannerClient(plannerProcess(worker.file), { ...endless, pingMs: 200 });
    const { fork } = childProcess;
    let answers = 0;
    const counted = (...args: Parameters<typeof fork>) => fork(...args).on('message', (message) => (answers += Number(message === pong)));
    Object.assign(childProcess, { fork: counted });
    try {
      const { abort, pids, done, runs } = longRequest(watched);
      await runs(1);
      await until('answers to twice as many questions as may be unanswered', () => answers > 30 || undefined);
      assert.equal(pids.length, 1);
      abort.abort();
      await assert.rejects(done, { name: 'CancelledError' });
    } finally {
      Object.assign(childProcess, { fork });
      await watched.dispose();
    }
  });
});
