// Loaded inside the extension host as `extensionTestsPath`, bundled with all its tests. Reports each as it comes where TERAPIPE_TEST_EVENTS
// names a file.
import { writeFileSync } from 'node:fs';
import Mocha from 'mocha';
import { eventWriter } from '../../harness/events.mjs';
import { endOf } from './end';
import { measurements } from './measurements';

/** Called by VS Code. Runs the tests, then keeps a panel open for who looks at what it draws: ends with the window. */
export async function run(): Promise<void> {
  const eventsFile = process.env['TERAPIPE_TEST_EVENTS'];
  if (eventsFile === undefined) throw new Error('TERAPIPE_TEST_EVENTS names no file');
  const emit = eventWriter(eventsFile);
  const mocha = new Mocha({ ui: 'bdd', color: false, timeout: 300_000 });
  const only = process.env['TERAPIPE_TEST_ONLY'];
  if (only !== undefined) mocha.fgrep(only);
  mocha.suite.emit('pre-require', globalThis, '', mocha);
  await import('./activation.test');
  await import('./agents.test');
  await import('./asks.test');
  await import('./calibrate.test');
  await import('./commands.test');
  await import('./compare.test');
  await import('./editor.test');
  await import('./elastic.test');
  await import('./families.test');
  await import('./faults.test');
  await import('./launchers.test');
  await import('./layouts.test');
  await import('./prefill.test');
  await import('./problems.test');
  await import('./profile.test');
  await import('./rehearse.test');
  await import('./run-here.test');
  await import('./scenario.test');
  await import('./schedules.test');
  await import('./slices.test');
  await import('./tasks.test');
  const name = (test: Mocha.Runnable) => test.fullTitle();
  await new Promise((resolve) => {
    const runner = mocha.run(resolve);
    emit({ kind: 'expect', count: runner.total });
    runner
      .on('test', (test) => emit({ kind: 'start', name: name(test) }))
      .on('pass', (test) => emit({ kind: 'pass', name: name(test) }))
      .on('pending', (test) => emit({ kind: 'skip', name: name(test) }))
      .on('fail', (test, error: Error) => emit({ kind: 'fail', name: name(test), why: error.stack ?? error.message }));
  });
  for (const text of measurements()) emit({ kind: 'note', text });
  writeFileSync(endOf(eventsFile), '');
  const { showCandidates } = await import('../drawn/host');
  await showCandidates();
}
