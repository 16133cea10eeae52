import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checksTier } from '../../harness/checks.mjs';
import type { Emit } from '../../harness/events.mjs';
import { root } from '../../harness/setup.mjs';
import { superviseTier, type Tier } from '../../harness/supervise.mjs';
import { slowestFirst, testFiles, unitTier } from '../../harness/unit.mjs';

/** A tier that reports its end and then never ends by itself. */
function hangingTier(say: (emit: Emit) => void): Tier {
  let end = (): void => undefined;
  const done = new Promise<void>((resolve) => (end = resolve));
  return {
    name: 'made up',
    quietMinutes: 5,
    start: (emit) => {
      say(emit);
      const stop = () => {
        end();
        return done;
      };
      return { done, stop };
    },
  };
}

/** A watch whose seconds pass when the test calls `pass`. */
function handWatch() {
  let tick: (() => void) | null = null;
  return {
    watch: (onTick: () => void) => {
      tick = onTick;
      return () => (tick = null);
    },
    pass: (seconds: number) => {
      for (let second = 0; second < seconds; second += 1) tick?.();
    },
  };
}

describe('tiers under watch', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-supervise-test-'));
  after(() => rmSync(folder, { recursive: true }));
  const lines: string[] = [];
  beforeEach(() => lines.splice(0));
  const print = (label: string, text: string): void => void lines.push(`${label} ${text}`);
  const { watch, pass } = handWatch();
  const supervise = (tier: Tier) => superviseTier(tier, { watch, print });

  /** Mocha files of a made-up project, outside the repository. */
  const files = (contents: Readonly<Record<string, string>>): string[] =>
    Object.entries(contents).map(([name, text]) => {
      writeFileSync(path.join(folder, name), text);
      return path.relative(root, path.join(folder, name));
    });
  const unit = (texts: Readonly<Record<string, string>>): Tier => {
    const options = {
      files: files(texts),
      lanes: 2,
      folder: path.join(folder, 'events'),
      durationsFile: path.join(folder, 'durations.json'),
    };
    return { name: 'unit', quietMinutes: 5, ...unitTier(options) };
  };

  it('names what hangs, counts what was done and shows how much was not reached', async () => {
    const result = supervise(
      hangingTier((emit) => {
        emit({ kind: 'expect', count: 5 });
        emit({ kind: 'enter', name: 'a part' });
        emit({ kind: 'start', name: 'one' });
        emit({ kind: 'pass', name: 'one' });
        emit({ kind: 'leave', name: 'a part' });
        emit({ kind: 'start', name: 'two' });
      }),
    );
    pass(299);
    assert.match(lines.at(-1)!, /^made up 1 of 5 done; now: two$/);
    pass(1);
    const { passed, failed, failures } = await result;
    assert.deepEqual([passed, failed, failures.map(({ name }) => name)], [1, 1, ['made up: two']]);
    assert.match(lines.join('\n'), /FAILED two\n {4}hangs.*nothing finished for 5 minutes/);
    assert.match(lines.at(-1)!, /1 passed, 1 failed, 3 not reached/);
  });

  it('names the tier, or its part, when it hangs between tests', async () => {
    const between = supervise(hangingTier(() => undefined));
    pass(300);
    assert.equal((await between).failures[0]?.name, 'made up: made up');
    const inPart = supervise(hangingTier((emit) => emit({ kind: 'enter', name: 'a part' })));
    pass(300);
    assert.equal((await inPart).failures[0]?.name, 'made up: a part');
  });

  it('has no limit on the whole: what continues finishing tests is let run', async () => {
    const hours = 10;
    const start = (emit: Emit) => {
      const work = async () => {
        for (let at = 0; at < hours * 15; at += 1) {
          await Promise.resolve();
          pass(240);
          emit({ kind: 'pass', name: String(at) });
        }
      };
      return { done: work(), stop: () => Promise.resolve() };
    };
    const { passed, failed } = await supervise({ name: 'slow', quietMinutes: 5, start });
    assert.deepEqual([passed, failed], [hours * 15, 0]);
  });

  it('counts one failure of a tier that cannot run', async () => {
    const done = Promise.reject(new Error('no browser'));
    const { failed } = await supervise({ name: 'x', quietMinutes: 1, start: () => ({ done, stop: () => Promise.resolve() }) });
    assert.equal(failed, 1);
    assert.match(lines[0]!, /could not run: no browser/);
  });

  it('keeps the counts of a test process that dies, names the test and continues with the other files', async () => {
    const { passed, failed, skipped, failures } = await supervise(
      unit({
        'dies.slow.test.ts': `describe('a', () => { it('first', () => {}); it('dies', () => process.exit(7)); it('never', () => {}); });`,
        'sound.test.ts': [
          "describe('b', () => {",
          "it('passes', () => {});",
          "it('skips', function () { this.skip(); });",
          "it('fails', () => { throw new Error('no'); });",
          '});',
        ].join('\n'),
        'broken.test.ts': `describe('c', () => {`,
      }),
    );
    assert.deepEqual([passed, failed, skipped], [2, 3, 1], lines.join('\n'));
    assert.ok(failures.some(({ name, why }) => name.endsWith('dies.slow.test.ts: a dies') && why !== ''));
    assert.match(lines.join('\n'), /its process ended with code 7/);
    assert.match(lines.at(-1)!, /, 1 not reached .*3 of 3 files/);
  });

  it('stops a test that never gives its thread back, with its name, after the others are through', async () => {
    const tier = unit({
      'dies.slow.test.ts': `describe('a', () => { it('first', () => {}); it('blocks', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)); });`,
      'sound.test.ts': `describe('b', () => { it('passes', () => {}); it('passes too', () => {}); });`,
      'broken.test.ts': `describe('c', () => { it('passes', () => {}); });`,
    });
    let events = 0;
    const start = (emit: Emit) =>
      tier.start((event) => {
        emit(event);
        // Four tests that start and pass, and the start of the one that does not.
        if (event.kind !== 'expect' && (events += 1) === 9) pass(300);
      });
    const { passed, failures } = await supervise({ ...tier, start });
    assert.equal(passed, 4, lines.join('\n'));
    assert.ok(failures.length === 1 && failures[0]!.name.endsWith('a blocks'), JSON.stringify(failures));
  });

  it('fails a check with its output', async () => {
    const commands = [
      { name: 'good', args: ['-e', '0'] },
      { name: 'bad', args: ['-e', 'console.log("line 3 is wrong"); process.exit(1)'] },
    ];
    const { passed, failures } = await supervise({ name: 'checks', quietMinutes: 1, ...checksTier(commands, 2) });
    assert.deepEqual([passed, failures.map(({ name }) => name)], [1, ['checks: bad']]);
    assert.match(lines[0]!, /line 3 is wrong/);
  });

  it('finds the test files, without slow ones for the inner loop, and starts with the slowest', () => {
    const all = testFiles(['test/unit']);
    const fast = testFiles(['test/unit'], { fast: true });
    assert.ok(fast.includes('test/unit/harness/setup.test.ts'));
    assert.deepEqual(
      fast,
      all.filter((file) => !file.includes('.slow.')),
    );
    const known = { [all[3]!]: 5e6, [all[1]!]: 4e6 };
    assert.deepEqual(slowestFirst(all, known).slice(0, 2), [[all[3]], [all[1]]]);
  });

  it('runs files that share predictions in one process', () => {
    const all = testFiles(['test/unit']);
    const groups = slowestFirst(all, {});
    assert.deepEqual(groups.flat().sort(), [...all].sort());
    assert.deepEqual(
      groups.filter((group) => group.length > 1),
      [all.filter((file) => file.startsWith('test/unit/golden/'))],
    );
  });
});
