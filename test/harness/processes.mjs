// @ts-check
// Child processes that never outlive us: each leads a process group of its own, which is killed at its time limit and when we end.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import process from 'node:process';

/** @type {Set<number>} */
const groups = new Set();
/** @type {Set<string>} */
const folders = new Set();

/**
 * Arguments of Node.js for a process that makes many short-lived objects: with this much room for them its garbage collector takes half the
 * time.
 */
export const roomy = ['--max-semi-space-size=32'];

/**
 * @param {number} pid leader of the group
 * @param {NodeJS.Signals} signal
 */
function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone already.
  }
}

process.once('exit', () => {
  for (const pid of groups) signalGroup(pid, 'SIGKILL');
  for (const folder of folders) {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    } catch (error) {
      console.error(`${folder} could not be removed: ${String(error)}`);
    }
  }
});
for (const [signal, code] of /** @type {const} */ ([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
])) {
  process.once(signal, () => process.exit(code));
}

/**
 * Removes a folder when this process ends, however it ends.
 * @param {string} folder
 */
export function removeAtExit(folder) {
  folders.add(folder);
}

/**
 * @typedef {object} Running
 * @property {import('node:child_process').ChildProcess} child
 * @property {Promise<number>} ended exit code; 128 when a signal ended it
 * @property {() => Promise<void>} stop asks the group to end, kills it after 5 s
 */

/**
 * Starts a command as the leader of a process group of its own.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, stdio?: import('node:child_process').StdioOptions }} [options]
 * @returns {Running}
 */
export function start(command, args, { cwd, env, stdio = ['ignore', 'pipe', 'pipe'] } = {}) {
  const child = spawn(command, args, { cwd, env: env ?? process.env, stdio, detached: true });
  const { pid } = child;
  if (pid !== undefined) groups.add(pid);
  /** @type {Promise<number>} */
  const ended = new Promise((resolve) => {
    child.once('error', () => resolve(127));
    child.once('exit', (code) => resolve(code ?? 128));
  });
  return {
    child,
    ended,
    async stop() {
      if (pid === undefined) return;
      signalGroup(pid, 'SIGTERM');
      const timer = setTimeout(() => signalGroup(pid, 'SIGKILL'), 5000);
      await ended;
      clearTimeout(timer);
      signalGroup(pid, 'SIGKILL');
      groups.delete(pid);
    },
  };
}

/**
 * Runs a command to its end.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, limitMs: number, onLine?: (line: string) => void }} options `onLine` sees both outputs
 * as they come
 * @returns {Promise<{ code: number, output: string, timedOut: boolean }>} `output` is both outputs together; code 127 when there is no such
 * command
 */
export async function run(command, args, { cwd, env, limitMs, onLine }) {
  const running = start(command, args, { ...(cwd === undefined ? {} : { cwd }), ...(env === undefined ? {} : { env }) });
  let output = '';
  let rest = '';
  for (const stream of [running.child.stdout, running.child.stderr]) {
    stream?.setEncoding('utf8').on('data', (/** @type {string} */ chunk) => {
      output += chunk;
      if (onLine === undefined) return;
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      lines.forEach(onLine);
    });
  }
  /** @type {Promise<void>} */
  const closed = new Promise((resolve) => {
    running.child.once('close', () => resolve());
    running.child.once('error', () => resolve());
  });
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    void running.stop();
  }, limitMs);
  const code = await running.ended;
  clearTimeout(timer);
  await running.stop();
  await closed;
  if (onLine !== undefined && rest !== '') onLine(rest);
  return { code, output, timedOut };
}
