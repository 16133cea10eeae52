// @ts-check
// How a tier reports what it does while it does it: one line of JSON an event, appended to a file. Events survive however the process ends,
// and the extension host of a VS Code that we did not start can write them too.
import { appendFileSync, closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';

/**
 * `expect`: this many more tests are coming; `enter` and `leave`: a part of the tier that has tests and is not one itself; `fail` carries
 * what went wrong; `note` is a measurement worth a line.
 * @typedef {{ readonly kind: 'expect', readonly count: number }
 *   | { readonly kind: 'enter' | 'leave' | 'start' | 'pass' | 'skip', readonly name: string }
 *   | { readonly kind: 'fail', readonly name: string, readonly why: string }
 *   | { readonly kind: 'note', readonly text: string }} TestEvent
 * @typedef {(event: TestEvent) => void} Emit
 */

/**
 * @param {string} file
 * @returns {Emit} appends to the file at once
 */
export function eventWriter(file) {
  return (event) => appendFileSync(file, `${JSON.stringify(event)}\n`);
}

/**
 * Emits every event that is in a file or is appended to it.
 * @param {string} file need not exist yet
 * @param {Emit} emit
 * @returns {() => void} reads what is left and stops
 */
export function followEvents(file, emit) {
  let at = 0;
  let rest = Buffer.alloc(0);
  const read = () => {
    if (!existsSync(file)) return;
    const handle = openSync(file, 'r');
    const fresh = Buffer.alloc(Math.max(0, fstatSync(handle).size - at));
    at += readSync(handle, fresh, 0, fresh.length, at);
    closeSync(handle);
    rest = Buffer.concat([rest, fresh]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      const line = rest.subarray(0, end).toString('utf8');
      rest = rest.subarray(end + 1);
      emit(JSON.parse(line));
    }
  };
  const timer = setInterval(read, 200);
  return () => {
    clearInterval(timer);
    read();
  };
}
