import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ExpectedError } from '../../../../src/core/errors';
import { findTorch, type InstalledTorch } from '../../../../src/extension/commands/find-torch';

describe('PyTorch of an interpreter', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-python-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** A program that is started as an interpreter would be. */
  function interpreter(name: string, body: string): string {
    const file = path.join(folder, name);
    writeFileSync(file, `#!/bin/sh\n${body}\n`);
    chmodSync(file, 0o755);
    return file;
  }
  const found = (python: string, signal = new AbortController().signal) => findTorch(python, folder, signal);
  const prints = (name: string, answer: object): string =>
    interpreter(name, `echo "a warning of some package"; echo '${JSON.stringify(answer)}'`);

  it('is reported with the GPUs that it can use, whatever else the interpreter prints', async () => {
    assert.deepEqual(await found(prints('new', { version: '2.15.0+cu132', gpus: 2 })), { version: '2.15.0+cu132', gpus: 2 });
    assert.deepEqual(await found(prints('least', { version: '2.6.0', gpus: 0 })), { version: '2.6.0', gpus: 0 });
    assert.deepEqual(await found(prints('next', { version: '3.0.0a0', gpus: 0 })), { version: '3.0.0a0', gpus: 0 });
  });

  it('is refused where it is missing or too old', async () => {
    const torch = { code: 'run-torch' };
    await assert.rejects(found(prints('missing', { error: 'No module named torch' })), {
      ...torch,
      message: /has no PyTorch \(No module named torch\)/,
    });
    await assert.rejects(found(prints('old', { version: '2.5.1', gpus: 0 })), {
      ...torch,
      message: /has PyTorch 2\.5\.1, which is too old/,
    });
    await assert.rejects(found(prints('older', { version: '1.13.1', gpus: 0 })), torch);
    await assert.rejects(found(interpreter('chatty', 'echo hello')), { ...torch, message: /hello/ });
  });

  it('is asked of an interpreter that starts', async () => {
    await assert.rejects(found(path.join(folder, 'none')), { code: 'run-python', message: /there is no such program/ });
    await assert.rejects(found(interpreter('broken', 'echo "bad magic" >&2; exit 3')), { code: 'run-python', message: /bad magic/ });
  });

  it('is not waited for when the person cancels', async () => {
    const cancel = new AbortController();
    const asked = found(interpreter('slow', 'exec sleep 60'), cancel.signal);
    cancel.abort();
    await assert.rejects(asked, { name: 'CancelledError' });
  });

  it('is looked for by a script that Python runs', async function () {
    if (spawnSync('python3', ['--version']).error !== undefined) this.skip();
    const answer = await found('python3').catch((error: unknown) => error);
    if (answer instanceof ExpectedError) assert.match(answer.message, /No module named 'torch'|is too old/);
    else assert.match((answer as InstalledTorch).version, /^\d+\.\d+/);
  });
});
