import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'mocha';
import { ExpectedError } from '../../../src/core/errors';
import { say } from '../../../src/core/sentence';
import { mayHaveGpu, processorName } from '../../../src/profiler/device';
import { profileRequest } from '../../../src/profiler/profile-run';
import { requestWith } from '../core/measured-profile/profiles';

type Options = Parameters<typeof profileRequest>[1];
type Precision = ReturnType<typeof requestWith>['training']['precision'];

/** What a profile of a config does without a child: whatever is refused with another code than `profiler-missing` started nothing. */
async function attempt(
  precision: Precision,
  changes: Partial<Options>,
  gpu?: string,
): Promise<{ code: string; text: string; notices: string[] }> {
  const notices: string[] = [];
  const options: Options = {
    childFile: join(tmpdir(), 'no-such-profiler.js'),
    provider: null,
    budgetMs: 1000,
    threads: 1,
    libraryPath: [],
    target: join(tmpdir(), 'terapipe-no-profile'),
    precisionFixed: false,
    gpuFixed: false,
    config: 'config.json',
    hasGpu: false,
    onNotice: (notice) => void notices.push(say(notice)),
    clock: () => 0,
    now: () => '2026-01-01T00:00:00.000Z',
    ...changes,
  };
  try {
    await profileRequest(requestWith({ training: { precision }, ...(gpu === undefined ? {} : { gpu }) }), options);
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    return { code: error.code, text: `${error.message}; ${say(error.remedy)}`, notices };
  }
  throw new Error('it measured without a child');
}

describe('a profile on a machine without GPU', () => {
  it('is refused before anything starts where a file sets another precision than fp32, with the command that works', async () => {
    for (const precision of ['bf16', 'fp16'] as const) {
      const { code, text, notices } = await attempt(precision, { precisionFixed: true });
      assert.equal(code, 'profile-no-gpu');
      assert.match(text, /^This machine has no GPU, and its CPU \(.+\) measures fp32, /);
      assert.match(text, new RegExp(`only plans with training\\.precision=fp32; this one is in ${precision}; `));
      assert.match(text, /run `terapipe profile config\.json --set training\.precision=fp32`/);
      assert.deepEqual(notices, []);
    }
  });

  it('is refused before anything starts where a file names a GPU, which times of the CPU cannot serve', async () => {
    const { code, text } = await attempt('fp32', { gpuFixed: true });
    assert.equal(code, 'profile-no-gpu');
    assert.match(text, /the plan is for A100-80GB: .*; run `terapipe profile config\.json` where the GPU is and copy the file here$/);
    assert.equal((await attempt('fp32', { gpuFixed: true }, processorName())).code, 'profiler-missing');
  });

  it('begins with what it measures where the files leave that open', async () => {
    const { code, notices } = await attempt('bf16', {});
    assert.equal(code, 'profiler-missing');
    assert.equal(notices.length, 1);
    assert.match(
      notices[0]!,
      /^This machine has no GPU, and its CPU \(.+\) measures fp32, which serves only plans with training\.precision=fp32$/,
    );
  });

  it('measures on the CPU whoever names it, except in bf16, which a CPU does not compute', async () => {
    assert.equal((await attempt('fp32', { provider: 'cpu', gpuFixed: true, precisionFixed: true })).code, 'profiler-missing');
    const { code, text } = await attempt('bf16', { provider: 'cpu', precisionFixed: true, hasGpu: true });
    assert.equal(code, 'profile-no-gpu');
    assert.match(text, /^The CPU \(.+\) measures fp32/);
  });

  it('looks for a provider where there may be a GPU, whatever the precision', async () => {
    for (const precision of ['bf16', 'fp32'] as const) {
      const { code, notices } = await attempt(precision, { hasGpu: true, precisionFixed: true, gpuFixed: true });
      assert.deepEqual([code, notices], ['profiler-missing', []]);
    }
  });
});

describe('a GPU, by the device files of a machine', () => {
  it('is any of NVIDIA, of the kernel, or of WSL, and is supposed on other systems', () => {
    for (const name of ['nvidia0', 'dri/renderD128', 'dxg']) assert.equal(mayHaveGpu('linux', ['null', name]), true, name);
    for (const name of ['nvidiactl', 'dri/card0', 'tty0']) assert.equal(mayHaveGpu('linux', [name]), false, name);
    assert.equal(mayHaveGpu('linux', []), false);
    assert.equal(mayHaveGpu('win32', []), true);
    assert.equal(mayHaveGpu('darwin', []), true);
  });
});
