// @ts-check
// What the harness prints on the terminal: one short line a step, and one line when something is missing.
import { performance } from 'node:perf_hooks';
import process from 'node:process';

/**
 * Something that the machine lacks and that we cannot get ourselves.
 * @param {string} what what is missing, and why it could not be had
 * @param {string} remedy how the reader gets it
 * @returns {Error} its message is one line
 */
export function missing(what, remedy) {
  return Object.assign(new Error(`${what}; ${remedy}`), { name: 'Missing' });
}

/**
 * Prints one line about one step: a label in a column of its own, then the sentence.
 * @param {string} label
 * @param {string} text
 */
export function say(label, text) {
  console.log(`${label.padEnd(13)} ${text}`);
}

/**
 * @param {number} startMs from `performance.now()`
 * @returns {string} seconds since then, like `3.2 s`
 */
export function secondsSince(startMs) {
  return `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
}

/**
 * Runs a script's main function: a missing thing ends it with its one line, a bug with its stack. Exit code 1 in both cases.
 * @param {() => Promise<void>} main
 */
export async function runMain(main) {
  try {
    await main();
  } catch (error) {
    const text = error instanceof Error ? (error.name === 'Missing' ? error.message : error.stack) : String(error);
    console.error(text);
    process.exitCode = 1;
  }
}
