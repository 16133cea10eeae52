// @ts-check
// Makes `assert.ok(...)` without a message show its line. Node would show the text at the position that the compiled code has, in the file
// as it is on disk: often that of another assertion.
import assert, { AssertionError } from 'node:assert';
import { readFileSync } from 'node:fs';

/**
 * @param {unknown} value
 * @param {string | Error} [message]
 */
function okWithLine(value, message) {
  if (value) return;
  if (message instanceof Error) throw message;
  const caller = { stack: '' };
  Error.captureStackTrace(caller, okWithLine);
  const shown = message ?? firstLine(caller.stack);
  throw new AssertionError({ message: shown, actual: value, expected: true, operator: '==', stackStartFn: okWithLine });
}

/** @param {string} stack */
function firstLine(stack) {
  const [, file = '', line] = /\(?([^\s(]+):(\d+):\d+\)?$/m.exec(stack) ?? [];
  try {
    const lines = readFileSync(file.startsWith('file:') ? new URL(file) : file, 'utf8').split('\n');
    return lines[Number(line) - 1]?.trim();
  } catch {
    return undefined;
  }
}

assert.strict.ok = /** @type {typeof assert.strict.ok} */ (okWithLine);
