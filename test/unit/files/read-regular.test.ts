import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'mocha';
import { readRegular } from '../../../src/files/read-regular';

/** Where a descriptor of this process leads; nothing for one that is closed by now, as that of the listing. */
function linkOfDescriptor(name: string): string[] {
  try {
    return [readlinkSync(`/proc/self/fd/${name}`)];
  } catch {
    return [];
  }
}

describe('reading a regular file', () => {
  let folder = '';
  const at = (name: string): string => path.join(folder, name);
  before(() => (folder = mkdtempSync(path.join(tmpdir(), 'terapipe-read-'))));
  after(() => rmSync(folder, { recursive: true }));

  it('brings its bytes, empty or up to the limit, and through a link', async () => {
    for (const size of [0, 1, 5000, 20_000]) {
      const bytes = Buffer.alloc(size, 'x');
      writeFileSync(at('config.json'), bytes);
      const found = await readRegular(at('config.json'), 20_000);
      assert.ok(found.kind === 'file');
      assert.ok(Buffer.from(found.bytes).equals(bytes), String(size));
    }
    symlinkSync(at('config.json'), at('link.json'));
    assert.equal((await readRegular(at('link.json'), 20_000)).kind, 'file');
  });

  it('brings none of a larger one, of a folder or of a device', async () => {
    writeFileSync(at('large.json'), Buffer.alloc(20_001));
    assert.equal((await readRegular(at('large.json'), 20_000)).kind, 'too large');
    assert.equal((await readRegular(folder, 20_000)).kind, 'folder');
    assert.equal((await readRegular('/dev/zero', 20_000)).kind, 'device');
  });

  it('reads to the limit what has no size', async () => {
    const found = await readRegular('/proc/self/maps', 2000);
    assert.equal(found.kind, 'too large');
    const whole = await readRegular('/proc/self/status', 100_000);
    assert.ok(whole.kind === 'file' && Buffer.from(whole.bytes).toString().includes('VmRSS'));
  });

  it('does not wait for a named pipe', async () => {
    assert.equal(spawnSync('mkfifo', [at('pipe')]).status, 0);
    assert.equal((await readRegular(at('pipe'), 20_000)).kind, 'device');
  });

  it('opens no socket', async () => {
    const server = createServer().listen(at('socket'));
    await once(server, 'listening');
    assert.equal((await readRegular(at('socket'), 20_000)).kind, 'device');
    server.close();
  });

  it('closes what it opened where the system does not describe it', async () => {
    writeFileSync(at('config.json'), '{}');
    const first = await open(at('config.json'));
    const handles = Object.getPrototypeOf(first) as FileHandle;
    await first.close();
    const { stat } = Object.getOwnPropertyDescriptors(handles);
    const failing = () => Promise.reject(Object.assign(new Error('stale'), { code: 'ESTALE' }));
    Object.assign(handles, { stat: failing });
    try {
      await assert.rejects(readRegular(at('config.json'), 20_000), { code: 'ESTALE' });
      const opened = readdirSync('/proc/self/fd').flatMap(linkOfDescriptor);
      assert.ok(!opened.includes(at('config.json')), opened.join());
    } finally {
      Object.defineProperty(handles, 'stat', stat);
    }
  });

  it("fails with the system's code", async () => {
    await assert.rejects(readRegular(at('none.json'), 20_000), { code: 'ENOENT' });
    await assert.rejects(readRegular(at('config.json/none.json'), 20_000), { code: 'ENOTDIR' });
  });
});
