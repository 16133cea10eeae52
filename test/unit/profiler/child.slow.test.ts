import assert from 'node:assert/strict';
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { openProfiler, type OpenProfiler } from '../../../src/profiler/client';
import { parseProfilerReply, type ProfilerJob, type ProfilerReply, type ProfilerRequest } from '../../../src/protocol/profiler';
import { bundleChild, profilerEntry, type BundledChild } from './bundle';
import { smallCell, smallJob } from './jobs';

type ProfilerOptions = Parameters<typeof openProfiler>[1];

/** A cell that runs for seconds. */
const longJob: ProfilerJob = {
  ...smallJob,
  shape: { ...smallJob.shape, hidden: 1024, heads: 16, kvHeads: 16, headDim: 64, ffn: 4096 },
  limits: { batch: 1, tokens: 4096, sequence: 4096 },
};
const longCell = { batch: 1, tokens: 4096, context: 0 };

describe('profiler child', () => {
  let child: BundledChild;
  const open: (OpenProfiler | ChildProcess)[] = [];

  before(async () => {
    child = await bundleChild(profilerEntry);
  });
  after(() => child.remove());
  afterEach(async () => {
    for (const one of open.splice(0)) {
      if ('close' in one) await one.close();
      else one.kill('SIGKILL');
    }
  });

  const openCpu = async (job: ProfilerJob, options: Partial<ProfilerOptions> = {}): Promise<OpenProfiler> => {
    const profiler = await openProfiler(job, { childFile: child.file, providers: ['cpu'], ...options });
    open.push(profiler);
    return profiler;
  };
  const ask = async (to: ChildProcess, request: ProfilerRequest): Promise<ProfilerReply> => {
    to.send(request);
    const [message] = (await once(to, 'message')) as [unknown];
    return parseProfilerReply(message);
  };

  it('measures every part forward and backward on the CPU', async () => {
    const profiler = await openCpu(smallJob);
    assert.equal(profiler.device.kind, 'cpu');
    assert.ok((profiler.device.memoryBytes ?? 0) > 2 ** 28);
    assert.equal(profiler.versions['onnxruntime'], '1.30.0');
    assert.deepEqual(profiler.warnings, []);
    for (const part of ['layer', 'layers2', 'embedding', 'head'] as const) {
      const context = part.startsWith('layer') ? 32 : 0;
      const answer = await profiler.measure(part, { ...smallCell, context });
      assert.ok(answer.type === 'measured', JSON.stringify(answer));
      const { forwardMs, backwardMs, forwardInputsMs, backwardInputsMs } = answer;
      for (const ms of [forwardMs, backwardMs, forwardInputsMs, backwardInputsMs]) assert.ok(ms > 0 && ms < Infinity);
      assert.ok(answer.rssBytes > 2 ** 25);
    }
  });

  it('names which operators ran where, and with which attention', async () => {
    const before = temporaryFolders();
    const profiler = await openCpu(smallJob);
    assert.equal(profiler.attention.forward, 'MultiHeadAttention');
    const { operators, warnings, launches } = await profiler.placement();
    assert.deepEqual(warnings, []);
    // A layer has 16 nodes forward and 104 backward, without the cuts of its operands.
    for (const us of [launches.perNodeUs, launches.perProductUs]) assert.ok(us > 0.05 && us < 500, String(us));
    assert.ok(launches.forwardMs > 0.01 * launches.perNodeUs && launches.forwardMs < launches.backwardMs);
    assert.equal(profiler.tf32, null);
    assert.deepEqual([...new Set(operators.map(({ provider }) => provider))], ['CPUExecutionProvider']);
    const heavy = operators.filter((placed) => placed.part === 'layer' && placed.direction === 'forward' && placed.heavy);
    const names = heavy.map(({ operator }) => operator);
    for (const name of ['Gemm', 'MultiHeadAttention', 'LayerNormalization']) assert.ok(names.includes(name), `${name} in ${names.join()}`);
    assert.ok(operators.some((placed) => placed.operator === 'Concat' && !placed.heavy));
    assert.deepEqual([...new Set(operators.map(({ part }) => part))], ['layer', 'embedding', 'head']);
    assert.deepEqual(temporaryFolders(), before);
  });

  it('runs plain attention when that is asked for', async () => {
    const profiler = await openCpu({ ...smallJob, attention: 'plain' });
    assert.deepEqual(profiler.attention, { forward: 'MatMul, Softmax, MatMul', backward: 'explicit, probabilities saved' });
    assert.equal((await profiler.measure('layer', smallCell)).type, 'measured');
  });

  it('skips a cell that does not fit into memory and measures the next', async () => {
    // Attention of this many heads over this many tokens would take half a terabyte, and all else little.
    const limits = { batch: 1, tokens: 60_000, sequence: 60_000 };
    const profiler = await openCpu({ ...smallJob, shape: { ...smallJob.shape, heads: 32, kvHeads: 32, headDim: 2, ffn: 64 }, limits });
    const answer = await profiler.measure('layer', { batch: 1, tokens: 60_000, context: 0 });
    assert.ok(answer.type === 'skipped' && answer.reason === 'out-of-memory', JSON.stringify(answer));
    assert.match(answer.detail, /needs about .* GiB, .* are free/);
    assert.equal((await profiler.measure('layer', smallCell)).type, 'measured');
  });

  it('cancels a long run, and the child is gone', async () => {
    const abort = new AbortController();
    const profiler = await openCpu(longJob, { signal: abort.signal });
    let done = profiler.measure('layer', longCell);
    done.catch(() => undefined);
    const [pid] = childrenOf(process.pid, child.file);
    // A run may be over before it is seen at work where this process hardly gets a turn: then the next one is cancelled.
    while (pid !== undefined && !(await isAtWork(pid, done))) {
      done = profiler.measure('layer', longCell);
      done.catch(() => undefined);
    }
    abort.abort();
    await assert.rejects(done, { name: 'CancelledError' });
    await profiler.close();
    assert.deepEqual(childrenOf(process.pid, child.file), []);
  });

  it('is an error when somebody kills it during a run, and earlier answers are', async function () {
    // Processes are found in /proc.
    if (process.platform !== 'linux') this.skip();
    const profiler = await openCpu(longJob);
    const first = await profiler.measure('layer', smallCell);
    const [pid] = childrenOf(process.pid, child.file);
    assert.ok(pid !== undefined);
    let done = profiler.measure('layer', longCell);
    // A run may be over before it is seen at work where this process hardly gets a turn: then the next one is killed.
    while (!(await isAtWork(pid, done))) done = profiler.measure('layer', longCell);
    process.kill(pid, 'SIGKILL');
    await assert.rejects(done, { code: 'profiler-died', message: /signal SIGKILL/ });
    assert.equal(first.type, 'measured');
  });

  it('ends after its parent was killed, even during a run', async function () {
    // Processes are found in /proc.
    if (process.platform !== 'linux') this.skip();
    const script = `
      const { fork } = require('node:child_process');
      const child = fork(process.argv[1], [], { serialization: 'advanced', stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
      const [open, measure] = JSON.parse(process.argv[2]);
      child.on('message', () => { child.send(measure, () => console.log(child.pid)); });
      child.send(open);
    `;
    const requests: ProfilerRequest[] = [
      { type: 'open', id: 1, provider: 'cpu', job: longJob },
      { type: 'measure', id: 2, part: 'layer', ...longCell },
    ];
    const parent = spawn(process.execPath, ['-e', script, child.file, JSON.stringify(requests)], { stdio: ['ignore', 'pipe', 'inherit'] });
    open.push(parent);
    const [text] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(text.toString());
    await works(pid);
    parent.kill('SIGKILL');
    while (isRunning(pid)) await setTimeout(50);
  });

  it('answers what it cannot do and stays', async () => {
    const direct = fork(child.file, [], { execArgv: [], serialization: 'advanced', stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    open.push(direct);
    const early = await ask(direct, { type: 'measure', id: 1, part: 'layer', ...smallCell });
    assert.deepEqual(early, { type: 'failed', id: 1, message: 'No job is open' });
    const refused = await ask(direct, { type: 'open', id: 2, provider: 'cuda', job: smallJob });
    assert.equal(refused.type, 'failed');
    assert.equal((await ask(direct, { type: 'open', id: 3, provider: 'cpu', job: smallJob })).type, 'opened');
  });

  it('gives the reasons when nothing loads', async function () {
    if (process.platform !== 'linux' || process.arch !== 'x64') this.skip();
    // A folder without drivers, whatever the machine has.
    const env = { VK_ICD_FILENAMES: '/nonexistent.json', VK_DRIVER_FILES: '/nonexistent.json' };
    const refused = openProfiler(smallJob, { childFile: child.file, providers: ['dml', 'coreml', 'webgpu'], env });
    await assert.rejects(refused, {
      code: 'profiler-no-provider',
      message: /DirectML: ONNX Runtime has no DirectML for linux\/x64; CoreML: .*; WebGPU: There is no Vulkan (loader|driver)/,
    });
  });
});

function temporaryFolders(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith('terapipe-placement-'));
}

/** Process ids of the children of `parent` that run `file`. */
function childrenOf(parent: number, file: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const ppid = /^\d+ \(.*\) \S (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))?.[1];
        return ppid === String(parent) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(file);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Whether a process is seen at work on a run before that is over. */
async function isAtWork(pid: number, run: Promise<unknown>): Promise<boolean> {
  const over = run.then(
    () => false,
    () => false,
  );
  return Promise.race([works(pid).then(() => true), over]);
}

/** Resolves when a process has worked for a fifth of a second from now: it runs what it was asked for. */
async function works(pid: number): Promise<void> {
  const ticks = (): number => {
    const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ').slice(11); // prettier-ignore
    return Number(user) + Number(system);
  };
  const before = ticks();
  while (isRunning(pid) && ticks() < before + 20) await setTimeout(20, undefined, { ref: false });
}

/** A zombie does not run. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
