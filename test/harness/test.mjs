// @ts-check
// `npm test`: sets up what is missing, runs every tier and ends with `N passed, N failed`. `--only unit,vscode` runs some tiers;
// `--fast` the unit and property tests that take less than a second a file; `--full` everything on more cases, test/full too.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { run } from './processes.mjs';
import { ensureBuild, ensureChromium, ensureDependencies, lastWords, root } from './setup.mjs';
import { missing, runMain, say, secondsSince } from './steps.mjs';
import { ensureTools } from './tools.mjs';

const out = path.join(root, 'out');
const minute = 60_000;

/**
 * @typedef {object} Result
 * @property {number} passed
 * @property {number} failed
 * @property {number} [skipped]
 * @property {readonly string[]} failures
 * @property {readonly string[]} [notes]
 */

/** @param {string} script in node_modules */
const bin = (script) => path.join(root, 'node_modules', script);

/**
 * Formatting, types and lint: each command counts as one test.
 * @returns {Promise<Result>}
 */
async function runChecks() {
  const checks = [
    { name: 'format', args: [bin('prettier/bin/prettier.cjs'), '--check', '.'] },
    { name: 'types', args: [bin('typescript/bin/tsc'), '--noEmit', '-p', 'tsconfig.json'] },
    { name: 'types of the page', args: [bin('typescript/bin/tsc'), '--noEmit', '-p', 'webview/tsconfig.json'] },
    { name: 'lint', args: [bin('eslint/bin/eslint.js'), '.', '--max-warnings=0'] },
  ];
  const failures = [];
  for (const { name, args } of checks) {
    const { code, output, timedOut } = await run(process.execPath, args, { cwd: root, limitMs: 3 * minute });
    if (code !== 0) failures.push(`${name}: ${timedOut ? 'stopped at its time limit' : output.trim().slice(-3000)}`);
  }
  return { passed: checks.length - failures.length, failed: failures.length, failures };
}

/**
 * Unit and property tests, by mocha.
 * @returns {Promise<Result>}
 */
async function runUnit() {
  // The GPU path of the profiler runs on the software driver that Chromium brings; without one its test skips itself.
  await ensureChromium().catch(() => undefined);
  const file = path.join(out, 'unit.json');
  const specs = ['unit', 'property', ...(process.argv.includes('--full') ? ['full'] : [])].map((folder) => `test/${folder}/**/*.test.ts`);
  const ignored = process.argv.includes('--fast') ? ['--ignore', 'test/**/*.slow.test.ts'] : [];
  const args = [bin('mocha/bin/mocha.js'), '--reporter', 'json', '--reporter-option', `output=${file}`, ...specs, ...ignored];
  const env = { ...process.env, ...(process.argv.includes('--full') ? { TERAPIPE_TESTS: 'full' } : {}) };
  const { output, timedOut } = await run(process.execPath, args, { cwd: root, env, limitMs: 60 * minute });
  const report = readJson(file);
  if (report === null) throw new Error(timedOut ? 'stopped after an hour' : `mocha wrote no report: ${output.trim().slice(-3000)}`);
  /** @type {readonly { fullTitle: string, err: { message?: string, stack?: string } }[]} */
  const failed = report.failures;
  return {
    passed: report.stats.passes,
    failed: report.stats.failures,
    skipped: report.stats.pending,
    failures: failed.map(({ fullTitle, err }) => `${fullTitle}: ${(err.stack ?? err.message ?? '').slice(0, 1500)}`),
  };
}

/**
 * A tier that drives a browser, in a process of its own that can be killed whole.
 * @param {string} name
 * @param {number} limitMs
 * @returns {Promise<Result>}
 */
async function runDriven(name, limitMs) {
  const tools = name === 'webview' ? { node: '', codeServer: '' } : await ensureTools();
  const chromiumPath = await ensureChromium();
  if (name !== 'package') await ensureBuild();
  const file = path.join(out, `${name}.json`);
  const input = JSON.stringify({ tools, chromiumPath, screenshotsDir: path.join(out, 'screenshots') });
  const { output, timedOut } = await run(process.execPath, ['--import', 'tsx', 'test/harness/tier.ts', name, input, file], {
    cwd: root,
    limitMs,
  });
  const result = readJson(file);
  if (result === null)
    throw new Error(timedOut ? `stopped after ${limitMs / minute} minutes: ${lastWords(output)}` : output.trim().slice(-3000));
  return result;
}

/** @param {string} file */
function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/** @type {ReadonlyMap<string, () => Promise<Result>>} */
const tiers = new Map([
  ['checks', runChecks],
  ['unit', runUnit],
  ['webview', () => runDriven('webview', 3 * minute)],
  ['vscode', () => runDriven('vscode', 5 * minute)],
  ['package', () => runDriven('package', 3 * minute)],
]);

/** The tiers that the arguments ask for; all without any. */
function chosenTiers() {
  const [option, list, ...more] = process.argv.slice(2);
  if (option === '--fast') return [...tiers].filter(([name]) => name === 'unit');
  if (option === undefined || option === '--full') return [...tiers];
  const chosen = [...tiers].filter(([name]) => list?.split(',').includes(name));
  if (option !== '--only' || more.length > 0 || chosen.length !== list?.split(',').length) {
    throw missing(`unknown arguments ${process.argv.slice(2).join(' ')}`, `use --only with some of ${[...tiers.keys()].join(',')}`);
  }
  return chosen;
}

/**
 * Runs a tier; one that cannot run is one failure, said in one line.
 * @param {string} name
 * @param {() => Promise<Result>} tier
 * @returns {Promise<Result>}
 */
async function runTier(name, tier) {
  const startMs = performance.now();
  /** @type {Result} */
  let result;
  try {
    result = await tier();
  } catch (error) {
    result = { passed: 0, failed: 1, failures: [`could not run: ${error instanceof Error ? error.message : String(error)}`] };
  }
  for (const note of result.notes ?? []) say('', note);
  const skipped = result.skipped ? `, ${result.skipped} skipped` : '';
  say(name, `${result.passed} passed, ${result.failed} failed${skipped} in ${secondsSince(startMs)}`);
  for (const failure of result.failures) console.log(`\n  ${name}: ${failure.replaceAll('\n', '\n    ')}\n`);
  return result;
}

await runMain(async () => {
  const startMs = performance.now();
  const chosen = chosenTiers();
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  /** @type {Result[]} */
  const results = [];
  try {
    await ensureDependencies();
    for (const [name, tier] of chosen) results.push(await runTier(name, tier));
  } catch (error) {
    say('setup', error instanceof Error ? error.message : String(error));
    results.push({ passed: 0, failed: 1, failures: [] });
  }
  const sum = (/** @type {(result: Result) => number} */ of) => results.reduce((total, result) => total + of(result), 0);
  const passed = sum((result) => result.passed);
  const failed = sum((result) => result.failed);
  const skipped = sum((result) => result.skipped ?? 0);
  say('all', secondsSince(startMs));
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  if (failed > 0 || passed === 0) process.exitCode = 1;
});
