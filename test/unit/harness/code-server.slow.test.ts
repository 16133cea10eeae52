import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { activityOf } from '../../harness/activity.mjs';
import { untilReady } from '../../harness/code-server.mjs';
import { run, start } from '../../harness/processes.mjs';

describe('the wait for a server to start', () => {
  const lines: string[] = [];
  beforeEach(() => lines.splice(0));
  const print = (_label: string, text: string): void => void lines.push(text);
  /** A server that never answers, and how long it is waited for when it works, or not. */
  const lasting = { child: { pid: 1 } as never, ended: new Promise<number>(() => undefined) };

  it('shows the exit code and the last words of one that ends', async () => {
    const running = start(process.execPath, ['-e', 'process.exit(3)']);
    const wait = (log: string) =>
      untilReady(
        () => Promise.resolve(false),
        running,
        () => log,
        { pauseMs: 1, print },
      );
    await assert.rejects(wait('listen EADDRINUSE\n'), { message: 'it ended with code 3: listen EADDRINUSE' });
    await assert.rejects(wait(''), { message: 'it ended with code 3: it printed nothing' });
  });

  it('has no limit while the processor or the disk is at work, and reports it every few seconds', async () => {
    let readBytes = 0;
    let asked = 0;
    const tenMinutesOfPauses = 6000;
    const isReady = () => Promise.resolve((asked += 1) > tenMinutesOfPauses);
    const activity = () => ({ processorS: 1, readBytes: (readBytes += 4e6) });
    await untilReady(isReady, lasting, () => '', { pauseMs: 0, print, activity });
    assert.equal(lines.length, tenMinutesOfPauses / 50 - 1);
    assert.equal(lines[1], 'still starting: 1.0 s of processor time, 8 MB read');
  });

  it('gives the two processes of code-server as long as they need to find each other, and no other timer more than it asks for', async () => {
    const folder = path.join(mkdtempSync(path.join(tmpdir(), 'terapipe-patience-test-')), 'code-server/out/node');
    mkdirSync(folder, { recursive: true });
    const timers =
      'for (const ms of [10000, 9000]) { const timer = setTimeout(() => 0, ms); console.log(timer._idleTimeout); clearTimeout(timer); }';
    writeFileSync(path.join(folder, 'wrapper.js'), timers);
    writeFileSync(path.join(folder, 'other.js'), timers);
    const preload = new URL('../../harness/patient-code-server.mjs', import.meta.url).href;
    const printed = async (name: string) =>
      (await run(process.execPath, ['--import', preload, path.join(folder, name)], { limitMs: 300_000 })).output;
    assert.equal(await printed('wrapper.js'), '1800000\n9000\n');
    assert.equal(await printed('other.js'), '10000\n9000\n');
    rmSync(folder, { recursive: true });
  });

  it('gives up on one that does nothing for minutes, and not before', async () => {
    const activity = () => ({ processorS: 1, readBytes: 0 });
    const wait = untilReady(
      () => Promise.resolve(false),
      lasting,
      () => 'waiting for a lock',
      { pauseMs: 0, print, activity },
    );
    await assert.rejects(wait, { message: 'it has done nothing for 180 s: waiting for a lock' });
    assert.match(lines.at(-1)!, /idle for 180 s$/);
  });
});

describe('the activity of a process', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-activity-test-'));
  after(() => rmSync(folder, { recursive: true }));
  const process = (pid: number, name: string, parent: number, ticks: readonly number[], readBytes?: number): void => {
    mkdirSync(path.join(folder, String(pid)));
    writeFileSync(
      path.join(folder, String(pid), 'stat'),
      `${pid} (${name}) S ${parent} 1 1 0 -1 4194304 9 9 9 9 ${ticks.join(' ')} 20 0 1 0 55 9 9\n`,
    );
    if (readBytes !== undefined) writeFileSync(path.join(folder, String(pid), 'io'), `rchar: 77\nread_bytes: ${readBytes}\n`);
  };
  process(10, 'node', 1, [100, 50, 30, 20], 4096);
  process(11, 'a (b) 9 9', 10, [10, 0, 0, 0], 1000);
  process(12, 'node', 11, [5, 0, 0, 0]);
  process(20, 'other', 1, [9000, 0, 0, 0], 1e9);

  it('is the sum of it and all that it started', () => {
    assert.deepEqual(activityOf(10, folder), { processorS: 2.15, readBytes: 5096 });
  });

  it('is unknown of one that is gone, and where the system does not report', () => {
    assert.equal(activityOf(99, folder), null);
    assert.equal(activityOf(10, path.join(folder, 'none')), null);
  });
});
