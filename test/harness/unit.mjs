// @ts-check
// The unit tier: the mocha files over a few processes, the slowest first. A file whose process dies or hangs costs only its own tests.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { followEvents } from './events.mjs';
import { roomy, start } from './processes.mjs';
import { lastWords, root } from './setup.mjs';

/**
 * @typedef {import('./events.mjs').Emit} Emit
 *
 * @typedef {object} Lane a process that runs test files
 * @property {(file: string) => Promise<void>} run settles when the file is through, or the process gone
 * @property {() => boolean} isGone
 * @property {() => Promise<void>} stop
 */

const isSlow = (/** @type {string} */ file) => file.endsWith('.slow.test.ts');

/**
 * The test files of some folders, relative to the root, with slashes.
 * @param {readonly string[]} folders
 * @param {{ fast?: boolean }} [options] fast: without `*.slow.test.ts`
 */
export function testFiles(folders, { fast = false } = {}) {
  return folders
    .flatMap((folder) => readdirSync(path.join(root, folder), { recursive: true }).map((name) => `${folder}/${String(name)}`))
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.test.ts') && !(fast && isSlow(file)));
}

/** Folders whose files predict the same runs, which a process does once: one lane runs them in turn. */
const together = ['test/unit/golden/'];

/**
 * What a lane runs in turn, the slowest first, so that nothing long is left for the end: by what files took last time, else by their names
 * and sizes.
 * @param {readonly string[]} files
 * @param {Readonly<Record<string, number>>} tookMs
 */
export function slowestFirst(files, tookMs) {
  const guessMs = (/** @type {string} */ file) => (isSlow(file) ? 60_000 : 0) + statSync(path.join(root, file)).size / 1000;
  const weight = new Map(files.map((file) => [file, tookMs[file] ?? guessMs(file)]));
  const weigh = (/** @type {readonly string[]} */ some) => some.reduce((sum, file) => sum + (weight.get(file) ?? 0), 0);
  /** @type {Map<string, string[]>} */
  const groups = new Map();
  for (const file of files) {
    const key = together.find((folder) => file.startsWith(folder)) ?? file;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [file]);
    else group.push(file);
  }
  return [...groups.values()].sort((a, b) => weigh(b) - weigh(a));
}

/**
 * Starts a lane. Tests that run when its process ends are failed with its exit code and last words.
 * @param {string} eventsFile
 * @param {Emit} emit
 * @param {NodeJS.ProcessEnv} env
 * @returns {Lane}
 */
function startLane(eventsFile, emit, env) {
  /** @type {string | null} */
  let current = null;
  const stopFollowing = followEvents(eventsFile, (event) => {
    if (event.kind === 'start') current = event.name;
    if (event.kind === 'pass' || event.kind === 'fail') current = null;
    emit(event);
  });
  const running = start(
    process.execPath,
    [...roomy, '--import', './test/harness/typescript.mjs', 'test/harness/mocha-lane.mjs', eventsFile],
    {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    },
  );
  let output = '';
  for (const stream of [running.child.stdout, running.child.stderr])
    stream?.setEncoding('utf8').on('data', (/** @type {string} */ chunk) => (output = (output + chunk).slice(-5000)));
  let gone = false;
  let stopped = false;
  const ended = running.ended.then((code) => {
    gone = true;
    stopFollowing();
    return code;
  });
  return {
    async run(file) {
      const finished = new Promise((resolve) => running.child.once('message', () => resolve(null)));
      running.child.send({ file });
      const code = await Promise.race([finished, ended]);
      if (code !== null && !stopped)
        emit({ kind: 'fail', name: current ?? file, why: `its process ended with code ${code}: ${lastWords(output) || 'no last words'}` });
    },
    isGone: () => gone,
    async stop() {
      stopped = true;
      await running.stop();
      await ended;
    },
  };
}

/**
 * @param {string} file
 * @returns {Record<string, number>}
 */
function durations(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}

/**
 * @param {{ files: readonly string[], lanes: number, folder: string, durationsFile: string, env?: NodeJS.ProcessEnv }} options
 *   `folder` is emptied and takes the lanes' events
 * @returns {Pick<import('./supervise.mjs').Tier, 'start'>}
 */
export function unitTier({ files, lanes, folder, durationsFile, env = process.env }) {
  return {
    start(emit) {
      const tookMs = durations(durationsFile);
      const queue = slowestFirst(files, tookMs);
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
      /** @type {Set<Lane>} */
      const alive = new Set();
      let stopped = false;
      let started = 0;
      let through = 0;
      const work = async () => {
        /** @type {Lane | null} */
        let lane = null;
        for (let group = queue.shift(); group !== undefined && !stopped; group = queue.shift())
          for (const file of group) {
            if (stopped) break;
            if (lane === null || lane.isGone()) {
              if (lane !== null) alive.delete(lane);
              started += 1;
              lane = startLane(path.join(folder, `lane-${started}.jsonl`), emit, env);
              alive.add(lane);
            }
            const startMs = performance.now();
            await lane.run(file);
            through += 1;
            if (!lane.isGone()) tookMs[file] = Math.round(performance.now() - startMs);
          }
        await lane?.stop();
      };
      const done = Promise.all(Array.from({ length: Math.min(lanes, files.length) }, work)).then(() => {
        mkdirSync(path.dirname(durationsFile), { recursive: true });
        writeFileSync(durationsFile, JSON.stringify(tookMs));
      });
      return {
        done,
        left: () => `${through} of ${files.length} files`,
        async stop() {
          stopped = true;
          await Promise.all([...alive].map((lane) => lane.stop()));
        },
      };
    },
  };
}
