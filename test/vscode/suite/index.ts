// Loaded inside the extension host as `extensionTestsPath`, bundled with all its tests. Writes the result where TERAPIPE_TEST_RESULT says.
import { renameSync, writeFileSync } from 'node:fs';
import Mocha from 'mocha';
import type { TierResult } from '../../harness/tier-result';
import { measurements } from './measurements';

/** Called by VS Code. Rejects when a test fails. */
export async function run(): Promise<void> {
  const resultFile = process.env['TERAPIPE_TEST_RESULT'];
  if (resultFile === undefined) throw new Error('TERAPIPE_TEST_RESULT names no file');
  const mocha = new Mocha({ ui: 'bdd', color: false, timeout: 30_000 });
  mocha.suite.emit('pre-require', globalThis, '', mocha);
  await import('./activation.test');
  await import('./compare.test');
  await import('./editor.test');
  await import('./elastic.test');
  await import('./launchers.test');
  await import('./layouts.test');
  await import('./profile.test');
  await import('./schedules.test');
  const failures: string[] = [];
  let passed = 0;
  await new Promise<void>((resolve) => {
    mocha
      .run(() => resolve())
      .on('pass', () => (passed += 1))
      .on('fail', (test, error: Error) => failures.push(`${test.fullTitle()}: ${error.stack ?? error.message}`));
  });
  const result: TierResult = { passed, failed: failures.length, failures, notes: measurements() };
  writeFileSync(`${resultFile}.part`, JSON.stringify(result));
  renameSync(`${resultFile}.part`, resultFile);
  if (failures.length > 0) throw new Error(`${failures.length} failed`);
}
