import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import esbuild from 'esbuild';
import * as nodeDisk from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CancelledError } from '../../../src/core/errors';
import { systemReason } from '../../../src/files/system-reason';
import { abandonWrites, tryWriting, writeWhole } from '../../../src/files/write-whole';
import { say } from '../../../src/core/sentence';

type Disk = NonNullable<Parameters<typeof tryWriting>[1]>;

const writeWholeFile = path.resolve(import.meta.dirname, '../../../src/files/write-whole.ts');

/** A disk on which one step fails with ENOSPC, writing after it took the first kilobyte. */
function failing(step: 'open' | 'writeFile' | 'sync' | 'rename' | 'link'): Disk {
  const full = (): Promise<never> => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' }));
  const open: Disk['open'] = async (...args) => {
    const handle = await nodeDisk.open(...args);
    if (args[1] === 'wx') handle.sync = full;
    return handle;
  };
  const writeFile: Disk['writeFile'] = async (file) => {
    await nodeDisk.writeFile(file, 'x'.repeat(1024));
    return full();
  };
  const broken = { open: full, writeFile, sync: open, rename: full, link: full };
  return { ...nodeDisk, [step === 'sync' ? 'open' : step]: broken[step] };
}

describe('writing a file whole', () => {
  let folder: string;
  const at = (name: string): string => path.join(folder, name);
  const read = (name: string): string => readFileSync(at(name), 'utf8');
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'terapipe-write-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('makes new files and replaces old ones, of texts, bytes and pieces', async () => {
    await writeWhole(at('a'), 'text', { replace: false });
    assert.equal(read('a'), 'text');
    await writeWhole(at('a'), Buffer.from('bytes'), { replace: true });
    assert.equal(read('a'), 'bytes');
    await writeWhole(at('a'), ['pie', 'ces'].values(), { replace: true });
    assert.equal(read('a'), 'pieces');
    assert.deepEqual(readdirSync(folder), ['a']);
  });

  it('leaves an existing file unchanged unless it is to be replaced', async () => {
    writeFileSync(at('a'), 'old');
    await assert.rejects(writeWhole(at('a'), 'new', { replace: false }), { code: 'EEXIST' });
    // Also one that appears while the text is written.
    const beforeReplacing = (): Promise<void> => nodeDisk.writeFile(at('b'), 'theirs');
    await assert.rejects(writeWhole(at('b'), 'new', { replace: false, beforeReplacing }), { code: 'EEXIST' });
    assert.deepEqual([read('a'), read('b'), readdirSync(folder)], ['old', 'theirs', ['a', 'b']]);
  });

  for (const step of ['open', 'writeFile', 'sync', 'rename'] as const)
    it(`keeps the old file, and leaves nothing, when the disk is full at ${step}`, async () => {
      writeFileSync(at('a'), 'old');
      await assert.rejects(writeWhole(at('a'), 'new'.repeat(9000), { replace: true, disk: failing(step) }), { code: 'ENOSPC' });
      assert.equal(read('a'), 'old');
      if (step !== 'rename') await assert.rejects(writeWhole(at('b'), 'new', { replace: false, disk: failing(step) }), { code: 'ENOSPC' });
      assert.deepEqual(readdirSync(folder), ['a']);
      await writeWhole(at('a'), 'again', { replace: true });
      assert.equal(read('a'), 'again');
    });

  it('leaves nothing when a piece of the text cannot be made', async () => {
    function* pieces(): Iterable<string> {
      yield 'first';
      throw new Error('no second');
    }
    await assert.rejects(writeWhole(at('a'), pieces(), { replace: true }), /no second/);
    assert.deepEqual(readdirSync(folder), []);
  });

  it('leaves nothing when the process ends in the middle', () => {
    const bundle = at('bundle.cjs');
    esbuild.buildSync({ entryPoints: [writeWholeFile], outfile: bundle, bundle: true, platform: 'node', format: 'cjs' });
    writeFileSync(at('a'), 'old');
    const script = `require(${JSON.stringify(bundle)}).writeWhole(${JSON.stringify(at('a'))}, 'new', { replace: true, beforeReplacing: () => process.exit(5) })`;
    assert.equal(spawnSync(process.execPath, ['-e', script]).status, 5);
    assert.deepEqual([read('a'), readdirSync(folder)], ['old', ['a', 'bundle.cjs']]);
  });

  it('is given up at once when the process is about to end', async () => {
    writeFileSync(at('a'), 'old');
    const beforeReplacing = (): Promise<void> => {
      abandonWrites();
      return Promise.resolve();
    };
    await assert.rejects(writeWhole(at('a'), 'new', { replace: true, beforeReplacing }), CancelledError);
    await assert.rejects(writeWhole(at('b'), 'new', { replace: false, beforeReplacing }), CancelledError);
    assert.deepEqual([read('a'), readdirSync(folder)], ['old', ['a']]);
  });

  it('makes new files on disks that know no links', async () => {
    await writeWhole(at('a'), 'new', { replace: false, disk: failing('link') });
    assert.equal(read('a'), 'new');
    await assert.rejects(writeWhole(at('a'), 'newer', { replace: false, disk: failing('link') }), { code: 'EEXIST' });
    assert.deepEqual(readdirSync(folder), ['a']);
  });

  it('keeps permissions, and follows links to what they lead to', async function () {
    if (process.platform === 'win32') this.skip();
    mkdirSync(at('real'));
    writeFileSync(at('real/a'), 'old');
    chmodSync(at('real/a'), 0o750);
    symlinkSync('real/a', at('link'));
    symlinkSync('link', at('twice'));
    symlinkSync('real/new', at('dangling'));
    await writeWhole(at('twice'), 'new', { replace: true });
    await writeWhole(at('dangling'), 'made', { replace: false });
    assert.deepEqual([read('real/a'), statSync(at('real/a')).mode & 0o7777, read('real/new')], ['new', 0o750, 'made']);
    assert.deepEqual([readlinkSync(at('link')), readlinkSync(at('twice')), readlinkSync(at('dangling'))], ['real/a', 'link', 'real/new']);
    symlinkSync('round', at('round'));
    await assert.rejects(writeWhole(at('round'), 'x', { replace: true }), { code: 'ELOOP' });
    assert.ok(lstatSync(at('round')).isSymbolicLink());
    assert.deepEqual(readdirSync(at('real')), ['a', 'new']);
  });

  it('writes straight through to devices and pipes', async function () {
    if (!existsSync('/dev/full')) this.skip();
    symlinkSync('/dev/null', at('null'));
    for (const replace of [true, false]) await writeWhole(at('null'), 'gone', { replace });
    assert.ok(statSync('/dev/null').isCharacterDevice());
    await assert.rejects(writeWhole('/dev/full', 'x', { replace: true }), { code: 'ENOSPC' });
    if (spawnSync('mkfifo', [at('pipe')]).status !== 0) return;
    const reader = await nodeDisk.open(at('pipe'), constants.O_RDONLY | constants.O_NONBLOCK);
    await writeWhole(at('pipe'), 'through', { replace: false });
    assert.deepEqual([await reader.readFile('utf8'), lstatSync(at('pipe')).isFIFO()], ['through', true]);
    await reader.close();
  });

  it('does not wait for somebody to read a pipe', async function () {
    if (spawnSync('mkfifo', [at('unread')]).status !== 0) this.skip();
    await assert.rejects(writeWhole(at('unread'), 'x', { replace: true }), { code: 'ENXIO' });
  });

  it('refuses folders, and places that are none', async () => {
    mkdirSync(at('folder'));
    writeFileSync(at('file'), '');
    const codeOf = async (name: string): Promise<unknown> =>
      writeWhole(name, 'x', { replace: true }).then(
        () => 'written',
        (error: unknown) => {
          const reason = systemReason(error);
          return reason && say(reason.why);
        },
      );
    assert.equal(await codeOf(at('folder')), 'it is a folder');
    assert.equal(await codeOf(at('missing/a')), 'its folder does not exist');
    assert.equal(await codeOf(at('file/a')), 'its folder is a file');
    assert.equal(await codeOf(at('nul\0a')), 'its name has a NUL character');
    assert.equal(await codeOf(at('n'.repeat(300))), 'its name is too long');
    await writeWhole(at('n'.repeat(255)), 'a name as long as they may be', { replace: false });
  });

  it('removes what processes that died left behind, and nothing else', async () => {
    const old = new Date(Date.now() - 3_600_000);
    const names = ['.terapipe-0123456789abcdef.tmp', '.terapipe-fedcba9876543210.tmp', 'a.tmp', '.terapipe-notes.tmp'];
    for (const name of names) writeFileSync(at(name), 'half');
    for (const name of names.filter((each) => !each.includes('fedc'))) utimesSync(at(name), old, old);
    await writeWhole(at('b'), 'new', { replace: false });
    assert.deepEqual(readdirSync(folder).sort(), ['.terapipe-fedcba9876543210.tmp', '.terapipe-notes.tmp', 'a.tmp', 'b']);
  });

  it('tries a folder without leaving anything', async () => {
    await tryWriting(folder);
    await assert.rejects(tryWriting(folder, failing('writeFile')), { code: 'ENOSPC' });
    await assert.rejects(tryWriting(at('missing')), { code: 'ENOENT' });
    assert.deepEqual(readdirSync(folder), []);
  });
});
