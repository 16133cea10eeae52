// @ts-check
// The checks tier: formatting, types, lint and messages of commits, two at a time; each command counts as one test.
import path from 'node:path';
import process from 'node:process';
import { start } from './processes.mjs';
import { root } from './setup.mjs';

const module = (/** @type {string} */ file) => path.join(root, 'node_modules', file);

/** @param {string} cache folder for what the last run found, so that unchanged files are not read again */
export function checkCommands(cache) {
  const types = (/** @type {string} */ project, /** @type {string} */ name) => ({
    name,
    args: [
      module('typescript/bin/tsc'),
      '--noEmit',
      '-p',
      project,
      '--incremental',
      '--tsBuildInfoFile',
      path.join(cache, `${name.replaceAll(' ', '-')}.tsbuildinfo`),
    ],
  });
  const prettier = [module('prettier/bin/prettier.cjs'), '--check', '.'];
  return [
    { name: 'lint', args: [path.join(root, 'test/harness/lint.mjs'), path.join(cache, 'lint.json')] },
    types('tsconfig.json', 'types'),
    types('webview/tsconfig.json', 'types of the page'),
    { name: 'commits', args: [path.join(root, 'test/harness/commits.mjs')] },
    { name: 'format', args: [...prettier, '--cache', '--cache-location', path.join(cache, 'prettier'), '--cache-strategy', 'content'] },
  ];
}

/**
 * @param {readonly { name: string, args: readonly string[] }[]} commands arguments of node
 * @param {number} lanes
 * @returns {Pick<import('./supervise.mjs').Tier, 'start'>}
 */
export function checksTier(commands, lanes) {
  return {
    start(emit) {
      const queue = [...commands];
      /** @type {Set<import('./processes.mjs').Running>} */
      const alive = new Set();
      const work = async () => {
        for (let command = queue.shift(); command !== undefined; command = queue.shift()) {
          emit({ kind: 'start', name: command.name });
          const running = start(process.execPath, command.args, { cwd: root });
          alive.add(running);
          let output = '';
          for (const stream of [running.child.stdout, running.child.stderr])
            stream?.setEncoding('utf8').on('data', (/** @type {string} */ chunk) => (output += chunk));
          const closed = new Promise((resolve) => running.child.once('close', resolve));
          const code = await running.ended;
          await closed;
          alive.delete(running);
          if (code === 0) emit({ kind: 'pass', name: command.name });
          else emit({ kind: 'fail', name: command.name, why: output.slice(-3000) });
        }
      };
      emit({ kind: 'expect', count: queue.length });
      return {
        done: Promise.all(Array.from({ length: lanes }, work)).then(() => undefined),
        async stop() {
          queue.length = 0;
          await Promise.all([...alive].map((running) => running.stop()));
        },
      };
    },
  };
}
