import { existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import * as esbuild from 'esbuild';
import type { Browser } from 'playwright-core';
import { startCodeServer, temporaryFolder } from '../harness/code-server.mjs';
import { followEvents, type Emit } from '../harness/events.mjs';
import { root } from '../harness/setup.mjs';
import type { TierRun } from '../harness/tier-result';
import { endOf } from './suite/end';
import { until } from './until';
import { walkDemo, walkJobs } from './walk';
import { drawnEnvironment, walkDrawn } from './walk-drawn';
import { developmentHost, launchBrowser, openWorkbench, picturesOf } from './workbench';

/** If set, only the suite's tests whose names contain this text run, and no walk; for `walk`, `jobs` or `drawn`, only that walk. */
const only = process.env['VSCODE_ONLY'];

/**
 * Tests in a real VS Code: mocha inside the extension host and what timelines draw in its window, then a person's walk through the demo.
 */
export async function runVscodeTests(input: TierRun): Promise<void> {
  const { emit } = input;
  const browser = await launchBrowser(input.chromiumPath);
  try {
    if (only !== 'walk' && only !== 'jobs')
      await attempt('VS Code with the tests in its extension host', emit, () => testInHost(browser, input));
    if (only === undefined || only === 'walk') await attempt('the walk through the demo', emit, () => walkDemo(browser, input));
    if (only === 'jobs') await attempt('the walks through jobs', emit, () => walkJobs(browser, input));
  } finally {
    await browser.close();
  }
}

/** One part's failure to run at all is a failure of that part, and leaves the others their results. */
async function attempt(part: string, emit: Emit, run: () => Promise<void>): Promise<void> {
  emit({ kind: 'enter', name: part });
  try {
    await run();
  } catch (error) {
    emit({ kind: 'fail', name: part, why: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  } finally {
    emit({ kind: 'leave', name: part });
  }
}

async function bundleSuite(): Promise<string> {
  const folder = path.join(root, 'out/suite');
  rmSync(folder, { recursive: true, force: true });
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: ['test/vscode/suite/index.ts'],
    outdir: folder,
    bundle: true,
    platform: 'node',
    target: 'node22',
    format: 'cjs',
    external: ['vscode', 'mocha'],
    // jsonc-parser's `main` is UMD, whose requires esbuild cannot follow.
    mainFields: ['module', 'main'],
    logLevel: 'warning',
    sourcemap: 'inline',
  });
  return path.join(folder, 'index.js');
}

/** The suite, and then, in the same window, the walk over what timelines draw, for which the tests' module opens a panel. */
async function testInHost(browser: Browser, input: TierRun): Promise<void> {
  const { tools, screenshotsDir, emit } = input;
  const testsFile = await bundleSuite();
  const folder = temporaryFolder('terapipe-suite');
  const workspace = path.join(folder, 'workspace');
  // Empty, so that nothing activates the extension before the test that measures it.
  mkdirSync(workspace);
  const eventsFile = path.join(folder, 'events.jsonl');
  const sample = path.join(root, 'media/samples/gpt3-175b');
  const env = {
    TERAPIPE_TEST_EVENTS: eventsFile,
    TERAPIPE_TEST_SAMPLE: sample,
    ...(only !== undefined && { TERAPIPE_TEST_ONLY: only }),
    ...drawnEnvironment(workspace),
  };
  const server = await startCodeServer(tools, { env });
  try {
    const workbench = await openWorkbench(browser, server.url(workspace), (fresh) => developmentHost(fresh, server.port, root, testsFile));
    const died = server.ended.then((code) => Promise.reject(new Error(`VS Code ended with code ${code}: ${server.log().slice(-1500)}`)));
    await attempt('the suite in the extension host', emit, async () => {
      await Promise.race([suiteThrough(eventsFile, emit), died]).catch(async (error: unknown) => {
        await picturesOf(workbench.page, screenshotsDir).failed('suite');
        throw new Error(`${String(error)}: ${server.log().slice(-1500)}`);
      });
    });
    if (only === undefined || only === 'drawn')
      await attempt('the walk over what timelines draw', emit, () => walkDrawn(workbench, workspace, input));
    await workbench.page.close();
  } finally {
    await server.stop();
  }
}

/** Reports the suite's events until it is through. There is no limit: whoever runs this tier stops it when nothing finishes any more. */
async function suiteThrough(eventsFile: string, emit: Emit): Promise<void> {
  const stopFollowing = followEvents(eventsFile, emit);
  try {
    await until('first test in the extension host', () => existsSync(eventsFile) || undefined);
    await until('end of the suite', () => existsSync(endOf(eventsFile)) || undefined, Infinity);
  } finally {
    stopFollowing();
  }
}
