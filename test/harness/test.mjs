// @ts-check
// `npm test`: sets up what is missing, runs every tier and ends with `N passed, N failed`. `--only unit,vscode` runs some tiers;
// `--fast` the unit and property tests that take less than a second a file; `--full` everything on more cases, test/full too. The torch
// tier runs where PyTorch is found; `--only torch` (`npm run test:torch`) installs it.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { checkCommands, checksTier } from './checks.mjs';
import { drivenTier } from './driven.mjs';
import { ensureBuild, ensureChromium, ensureDependencies, root } from './setup.mjs';
import { missing, runMain, say, secondsSince } from './steps.mjs';
import { superviseTier } from './supervise.mjs';
import { ensureTools } from './tools.mjs';
import { ensureTorch, findTorch, torchTier } from './torch.mjs';
import { testFiles, unitTier } from './unit.mjs';

/**
 * @typedef {import('./supervise.mjs').Tier} Tier
 * @typedef {import('./supervise.mjs').Summary} Summary
 */

const out = path.join(root, 'out');
/** Kept from run to run: what tsc and prettier found, how long files took. */
const cache = path.join(out, 'cache');
const tierNames = ['checks', 'unit', 'webview', 'vscode', 'package', 'torch'];

/** @returns {{ names: readonly string[], fast: boolean, full: boolean }} what the arguments ask for */
function wanted() {
  const args = process.argv.slice(2);
  const fast = args.includes('--fast');
  const full = args.includes('--full');
  const rest = args.filter((arg) => arg !== '--fast' && arg !== '--full');
  const [option, list = '', ...more] = rest;
  const names = option === undefined ? (fast ? ['unit'] : tierNames) : list.split(',');
  if ((option !== undefined && option !== '--only') || more.length > 0 || (fast && full) || names.some((name) => !tierNames.includes(name)))
    throw missing(`unknown arguments ${args.join(' ')}`, `use --fast, --full, or --only with some of ${tierNames.join(',')}`);
  return { names, fast, full };
}

/**
 * @param {string} name
 * @param {{ fast: boolean, full: boolean }} kind
 * @returns {Promise<Tier>}
 */
async function tierOf(name, { fast, full }) {
  const lanes = Math.min(4, availableParallelism());
  if (name === 'checks') return { name, quietMinutes: 20, ...checksTier(checkCommands(cache), lanes) };
  if (name === 'unit') {
    // The GPU path of the profiler runs on the software driver that Chromium brings; without one its test skips itself.
    await ensureChromium().catch(() => undefined);
    const files = testFiles(['test/unit', 'test/property', ...(full ? ['test/full'] : [])], { fast });
    const durationsFile = path.join(cache, `durations${full ? '-full' : ''}.json`);
    return { name, quietMinutes: full ? 60 : 6, ...unitTier({ files, lanes, folder: path.join(out, 'unit'), durationsFile }) };
  }
  if (name === 'torch') return { name, quietMinutes: 30, ...torchTier(await ensureTorch(), path.join(out, 'torch')) };
  const tools = name === 'webview' ? { node: '', codeServer: '' } : await ensureTools();
  const chromiumPath = await ensureChromium();
  if (name !== 'package') await ensureBuild();
  const input = { tools, chromiumPath, screenshotsDir: path.join(out, 'screenshots') };
  return { name, quietMinutes: 6, ...drivenTier(name, input, path.join(out, `${name}.jsonl`)) };
}

/**
 * Runs tiers one after the other.
 * @param {readonly string[]} names
 * @param {{ fast: boolean, full: boolean }} kind
 * @returns {Promise<Summary[]>}
 */
async function runTiers(names, kind) {
  const summaries = [];
  for (const name of names) {
    try {
      summaries.push(await superviseTier(await tierOf(name, kind)));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      say(name, `could not be set up: ${why}`);
      if (name === 'torch' && process.env['CI'] !== undefined) {
        // Without PyPI no test of it ran.
        say(name, 'NOTHING of it was tested');
        summaries.push({ passed: 0, failed: 0, skipped: 1, failures: [] });
        continue;
      }
      summaries.push({ passed: 0, failed: 1, skipped: 0, failures: [{ name: `${name}: could not be set up`, why }] });
    }
  }
  return summaries;
}

/**
 * Tiers without that of PyTorch, where it was not asked for by name and there is none.
 * @param {readonly string[]} names
 */
async function possible(names) {
  if (names.length === 1 || !names.includes('torch') || (await findTorch()) !== null) return names;
  say('torch', 'skipped: no PyTorch here; npm run test:torch installs it');
  return names.filter((name) => name !== 'torch');
}

/** Empties out/, except for what makes the next run quicker. */
function cleanOut() {
  mkdirSync(cache, { recursive: true });
  for (const entry of readdirSync(out)) if (entry !== path.basename(cache)) rmSync(path.join(out, entry), { recursive: true });
}

await runMain(async () => {
  const startMs = performance.now();
  const { names: asked, ...kind } = wanted();
  if (kind.full) process.env['TERAPIPE_TESTS'] = 'full';
  if (asked.join() !== 'torch') cleanOut();
  await ensureDependencies();
  const names = await possible(asked);
  // Side by side: the tiers that mostly wait for a browser, and those that compute.
  const tracks = [
    ['webview', 'vscode', 'package'],
    ['checks', 'unit', 'torch'],
  ].map((track) => track.filter((name) => names.includes(name)));
  const summaries = (await Promise.all(tracks.map((track) => runTiers(track, kind)))).flat();
  const sum = (/** @type {'passed' | 'failed' | 'skipped'} */ what) => summaries.reduce((total, summary) => total + summary[what], 0);
  const [passed, failed, skipped] = [sum('passed'), sum('failed'), sum('skipped')];
  // The reason again: what was printed when it failed is far above, and a log may have lost it.
  for (const { name, why } of summaries.flatMap(({ failures }) => failures))
    say('failed', `${name}: ${why.trim().split('\n', 1)[0]?.slice(0, 300)}`);
  say('all', secondsSince(startMs));
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exitCode = failed > 0 || passed + skipped === 0 ? 1 : 0;
});
