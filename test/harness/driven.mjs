// @ts-check
// A tier that drives a browser, in a process of its own that can be stopped whole; it writes what it does to a file of events.
import process from 'node:process';
import { followEvents } from './events.mjs';
import { roomy, start } from './processes.mjs';
import { lastWords, root } from './setup.mjs';

/**
 * @param {string} name of a tier in tiers.ts
 * @param {import('./tier-result').TierInput} input
 * @param {string} eventsFile
 * @returns {Pick<import('./supervise.mjs').Tier, 'start'>}
 */
export function drivenTier(name, input, eventsFile) {
  return {
    start(emit) {
      const stopFollowing = followEvents(eventsFile, emit);
      const running = start(
        process.execPath,
        [...roomy, '--import', './test/harness/typescript.mjs', 'test/harness/tier.mjs', name, JSON.stringify(input), eventsFile],
        {
          cwd: root,
        },
      );
      let output = '';
      for (const stream of [running.child.stdout, running.child.stderr])
        stream?.setEncoding('utf8').on('data', (/** @type {string} */ chunk) => (output = (output + chunk).slice(-5000)));
      return {
        done: running.ended.then(async (code) => {
          stopFollowing();
          await running.stop();
          if (code !== 0) throw new Error(`its process ended with code ${code}: ${lastWords(output) || 'no last words'}`);
        }),
        stop: () => running.stop(),
      };
    },
  };
}
