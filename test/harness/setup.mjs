// @ts-check
// Everything between a fresh clone and a running build, each step safe to repeat. Works before node_modules exists: only node's own modules
// here.
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { run } from './processes.mjs';
import { missing, say, secondsSince } from './steps.mjs';

/** The repository's root folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '');

const minute = 60_000;

/**
 * Runs npm, the one that started us when there is one.
 * @param {readonly string[]} args
 * @param {{ cwd: string, limitMs: number, env?: NodeJS.ProcessEnv }} options
 */
export async function npm(args, options) {
  const script = process.env['npm_execpath'];
  const known = script !== undefined && /npm-cli\.c?js$/.test(script) && existsSync(script);
  return known ? run(process.execPath, [script, ...args], options) : run('npm', args, options);
}

/**
 * The last lines of a command's output that say something, for a one-line failure.
 * @param {string} output
 */
export function lastWords(output) {
  const lines = output
    .split('\n')
    .map((line) => line.replace(/^npm (error|ERR!)\s*/, '').trim())
    .filter((line) => line !== '' && !/complete log of this run|_logs\//.test(line));
  return lines.slice(-3).join(' / ').slice(0, 400);
}

/**
 * @param {string} file
 * @returns {Record<string, { version?: string, optional?: boolean, link?: boolean }> | null} the packages of a lock file, null when it is
 * absent or broken
 */
function lockedPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages ?? null;
  } catch {
    return null;
  }
}

/**
 * Compares what npm installed with what the lock file asks for; packages for other platforms may be absent.
 * @param {string} folder with package-lock.json and perhaps node_modules
 */
export function dependenciesAreCurrent(folder) {
  const wanted = lockedPackages(path.join(folder, 'package-lock.json'));
  const installed = lockedPackages(path.join(folder, 'node_modules', '.package-lock.json'));
  if (wanted === null || installed === null) return false;
  return Object.entries(wanted).every(([name, { version, optional }]) => {
    if (name === '') return true;
    const found = installed[name];
    return found === undefined ? optional === true : found.version === version;
  });
}

/** Installs node_modules as the lock file lists it, unless it is so already. */
export async function ensureDependencies() {
  if (dependenciesAreCurrent(root)) {
    say('dependencies', 'up to date');
    return;
  }
  const startMs = performance.now();
  say('dependencies', 'installing node_modules with npm ci');
  const { code, output } = await npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    limitMs: 5 * minute,
  });
  if (code === 127) throw missing('npm is not on the PATH', 'install Node.js 20.19 or newer, which brings it');
  if (code !== 0) throw missing(`npm ci failed: ${lastWords(output)}`, 'see that npm reaches its registry and run it again');
  say('dependencies', `installed in ${secondsSince(startMs)}`);
}

/** Whether the last build of this process was for production; null before the first. */
let lastBuild = /** @type {boolean | null} */ (null);

/**
 * Bundles the extension into dist/, unless this process has just done so.
 * @param {{ production?: boolean }} [options] production: minified, without source maps
 */
export async function ensureBuild({ production = false } = {}) {
  if (lastBuild === production) return;
  const startMs = performance.now();
  const { code, output } = await run(process.execPath, ['esbuild.mjs', ...(production ? ['--production'] : [])], {
    cwd: root,
    limitMs: 2 * minute,
  });
  if (code !== 0) throw new Error(`The build failed:\n${output.trim()}`);
  lastBuild = production;
  say('build', `dist/ ${production ? 'for production ' : ''}in ${secondsSince(startMs)}`);
}

/**
 * @param {string} name of a program
 * @returns {string | null} its absolute path on the PATH
 */
export function findProgram(name) {
  for (const folder of (process.env['PATH'] ?? '').split(path.delimiter)) {
    const file = path.join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

const chromiumPrograms = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const chromiumOnMac = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';

function findChromium() {
  const found = chromiumPrograms.map(findProgram).find((file) => file !== null);
  if (found !== undefined && found !== null) return found;
  return process.platform === 'darwin' && existsSync(chromiumOnMac) ? chromiumOnMac : null;
}

/**
 * Finds Chromium (CHROMIUM names one; else the PATH), or installs Debian's package when we are root on a machine with apt-get.
 * @returns {Promise<string>} path of the program
 */
export async function ensureChromium() {
  const named = process.env['CHROMIUM'];
  if (named !== undefined && named !== '') {
    if (!existsSync(named)) throw missing(`CHROMIUM names ${named}, which does not exist`, 'correct it or leave it out');
    say('chromium', named);
    return named;
  }
  const remedy = 'install Chromium or Google Chrome, or name one in CHROMIUM';
  let found = findChromium();
  if (found === null) {
    const aptGet = findProgram('apt-get');
    if (aptGet === null || process.getuid?.() !== 0) throw missing('no Chromium found', remedy);
    const startMs = performance.now();
    say('chromium', 'installing it with apt-get');
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    await run(aptGet, ['update', '-q'], { env, limitMs: 5 * minute });
    const { code, output } = await run(aptGet, ['install', '-y', '-q', '--no-install-recommends', 'chromium'], {
      env,
      limitMs: 10 * minute,
    });
    if (code !== 0) throw missing(`apt-get could not install chromium: ${lastWords(output)}`, remedy);
    found = findChromium();
    if (found === null) throw missing('apt-get installed chromium, but it is not on the PATH', remedy);
    say('chromium', `installed in ${secondsSince(startMs)}`);
  }
  say('chromium', found);
  return found;
}
