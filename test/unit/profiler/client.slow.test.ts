import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { openProfiler, type OpenProfiler } from '../../../src/profiler/client';
import { bundleChild, type BundledChild } from './bundle';
import { smallCell, smallJob } from './jobs';
import { say } from '../../../src/core/sentence';

type ProfilerOptions = Parameters<typeof openProfiler>[1];

describe('profiler client with a child that misbehaves', () => {
  let child: BundledChild;
  let profiler: OpenProfiler | null = null;

  before(async () => {
    child = await bundleChild(join(import.meta.dirname, 'scripted-child.ts'));
  });
  after(() => child.remove());
  afterEach(async () => {
    await profiler?.close();
    profiler = null;
  });

  const openScripted = async (script: string, options: Partial<ProfilerOptions> = {}): Promise<OpenProfiler> => {
    profiler = await openProfiler(smallJob, { childFile: child.file, providers: ['cpu'], env: { SCRIPT: script }, ...options });
    return profiler;
  };
  /** Measures cells one after the other; gives the id of the process that answered each. */
  const pids = async (tokens: readonly number[], asked: OpenProfiler): Promise<number[]> => {
    const found: number[] = [];
    for (const count of tokens) {
      const answer = await asked.measure('layer', { batch: 1, tokens: count, context: 0 });
      found.push(answer.type === 'measured' ? answer.forwardMs : 0);
    }
    return found;
  };

  it('shows how a crashed child ended and the last line that it wrote, and keeps earlier answers', async () => {
    const asked = await openScripted('crashes in the second run');
    const first = await asked.measure('layer', smallCell);
    await assert.rejects(asked.measure('layer', smallCell), (error: Error & { code: string }) => {
      assert.equal(error.code, 'profiler-died');
      assert.match(error.message, /\(signal SIGABRT\): terminate called after throwing$/);
      return true;
    });
    assert.equal(first.type, 'measured');
    await assert.rejects(asked.measure('layer', smallCell), { code: 'profiler-died' });
  });

  it('shows with which code a child exited', async () => {
    const asked = await openScripted('exits');
    await assert.rejects(asked.measure('layer', smallCell), { code: 'profiler-died', message: /exit code 7/ });
  });

  it('shows what an uncaught exception in the child was', async () => {
    const asked = await openScripted('throws');
    await assert.rejects(asked.measure('layer', smallCell), {
      code: 'profiler-died',
      message: /exit code 1\): TypeError: x is not a function$/,
    });
  });

  it('turns a reply that is none into an error', async () => {
    const asked = await openScripted('sends garbage');
    await assert.rejects(asked.measure('layer', smallCell), { code: 'profiler-died', message: /not a reply/ });
  });

  it('ends a child that gives no answer', async () => {
    const asked = await openScripted('hangs', { limits: { measureMs: 100 } });
    await assert.rejects(asked.measure('layer', smallCell), { code: 'profiler-timeout' });
  });

  it('continues to the next provider when one never finishes loading or crashes', async () => {
    const asked = await openScripted('crashes on webgpu', { providers: ['webgpu', 'cpu'] });
    assert.equal(asked.provider, 'cpu');
    assert.deepEqual(
      asked.refused.map(({ provider, reason }) => [provider, /SIGABRT.*no such chip/.test(say(reason))]),
      [['webgpu', true]],
    );
    await assert.rejects(openScripted('hangs while loading', { limits: { openMs: 100 } }), {
      code: 'profiler-no-provider',
      message: /CPU: The profiler gave no answer/,
    });
  });

  it('reports that the device is gone', async () => {
    const asked = await openScripted('loses the device');
    await assert.rejects(asked.measure('layer', smallCell), {
      code: 'profiler-provider-lost',
      message: /illegal memory access/,
    });
  });

  it('replaces a child that grew to more than twice its memory of the first round', async () => {
    const asked = await openScripted('grows');
    // 1, 2, 3 GiB in the first round, so 6 GiB are fine and 7 are not; then again 1 GiB, 2, ...
    const found = await pids([1, 2, 3, 1, 2, 3, 1, 1, 2], asked);
    const [first, second] = [found[0], found[7]];
    assert.notEqual(first, second);
    assert.deepEqual(found, [first, first, first, first, first, first, first, second, second]);
  });

  it('does not take the time of a run in which a GPU ran out of memory, nor that child again', async () => {
    const asked = await openScripted('logs out of memory', { providers: ['webgpu'] });
    const [first] = await pids([1], asked);
    assert.deepEqual(await asked.measure('layer', smallCell).then(({ type, ...rest }) => [type, 'reason' in rest && rest.reason]), [
      'skipped',
      'out-of-memory',
    ]);
    const [third] = await pids([1], asked);
    assert.notEqual(third, first);
    assert.notEqual(third, 0);
  });

  it('cancels a run and a load of a child that never answers', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'terapipe-sign-'));
    for (const script of ['hangs', 'hangs while loading']) {
      const abort = new AbortController();
      const sign = join(folder, script);
      const opened = openScripted(script, { signal: abort.signal, env: { SCRIPT: script, SIGN: sign } });
      const done = opened.then((asked) => asked.measure('layer', smallCell));
      done.catch(() => undefined);
      while (!existsSync(sign)) await setTimeout(10);
      abort.abort();
      await assert.rejects(done, { name: 'CancelledError' });
    }
    rmSync(folder, { recursive: true });
  });

  it('starts nothing when it is already cancelled', async () => {
    await assert.rejects(openScripted('', { signal: AbortSignal.abort() }), { name: 'CancelledError' });
  });

  it('reports that the file of the child is missing', async () => {
    await assert.rejects(openScripted('', { childFile: join(import.meta.dirname, 'no-such-child.js') }), { code: 'profiler-missing' });
  });
});
