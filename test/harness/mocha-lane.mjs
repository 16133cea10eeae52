// @ts-check
// One lane of the unit tier: runs the test files that its parent names, one after the other, and appends every event to EVENTS-FILE.
// `node --import ./test/harness/typescript.mjs test/harness/mocha-lane.mjs EVENTS-FILE` with an IPC channel; answers each `{ file }` with
// `{ finished: file }`.
import Mocha from 'mocha';
import process from 'node:process';
import './drawn-cases.mjs';
import { eventWriter } from './events.mjs';

const emit = eventWriter(process.argv[2] ?? '');

/**
 * A test that waits for ever fails after this, none: 0; one that computes for ever is stopped by the parent, a little later. In the full
 * run tests may take an hour.
 */
const hangMs = process.env['TERAPIPE_TESTS'] === 'full' ? 0 : 900_000;

class Quiet {}

/** @param {string} file */
async function runFile(file) {
  const mocha = new Mocha({ ui: 'bdd', timeout: hangMs, forbidOnly: true, reporter: /** @type {any} */ (Quiet) });
  const name = (/** @type {Mocha.Runnable} */ test) => `${file}: ${test.fullTitle()}`;
  mocha.addFile(file);
  await mocha.loadFilesAsync();
  await new Promise((resolve) => {
    const runner = mocha.run(resolve);
    emit({ kind: 'expect', count: runner.total });
    runner.on('test', (test) => emit({ kind: 'start', name: name(test) }));
    runner.on('pass', (test) => emit({ kind: 'pass', name: name(test) }));
    runner.on('pending', (test) => emit({ kind: 'skip', name: name(test) }));
    runner.on('fail', (test, error) => emit({ kind: 'fail', name: name(test), why: error?.stack ?? String(error) }));
  });
}

process.on('message', (message) => {
  const { file } = /** @type {{ file: string }} */ (message);
  void runFile(file)
    .catch((error) => emit({ kind: 'fail', name: file, why: `does not load: ${error instanceof Error ? error.stack : String(error)}` }))
    .then(() => process.send?.({ finished: file }));
});
process.on('disconnect', () => process.exit());
