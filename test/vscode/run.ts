import { existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import * as esbuild from 'esbuild';
import type { Browser } from 'playwright-core';
import { startCodeServer, temporaryFolder } from '../harness/code-server.mjs';
import { followEvents, type Emit } from '../harness/events.mjs';
import { root } from '../harness/setup.mjs';
import type { TierRun } from '../harness/tier-result';
import { walkRestricted } from './restricted';
import { endOf } from './suite/end';
import { until } from './until';
import { walkDemo } from './walk';
import { walkDrawn } from './walk-drawn';
import { walkLayout } from './walk-layout';
import { developmentHost, launchBrowser, openWorkbench } from './workbench';

/** Tests in a real VS Code: mocha inside the extension host, then a person's walk through the demo and a look into a restricted workspace. */
export async function runVscodeTests(input: TierRun): Promise<void> {
  const { emit } = input;
  const browser = await launchBrowser(input.chromiumPath);
  try {
    await attempt('the suite in the extension host', emit, () => runSuite(browser, input));
    await attempt('the walk through the demo', emit, () => walkDemo(browser, input));
    await attempt('the walk over what timelines draw', emit, () => walkDrawn(browser, input));
    await attempt('the walk from a launched layout to the best', emit, () => walkLayout(browser, input));
    await attempt('the walk in a restricted workspace', emit, () => walkRestricted(browser, input));
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
    logLevel: 'warning',
    sourcemap: 'inline',
  });
  return path.join(folder, 'index.js');
}

async function runSuite(browser: Browser, { tools, screenshotsDir, emit }: TierRun): Promise<void> {
  const testsFile = await bundleSuite();
  const folder = temporaryFolder('terapipe-suite');
  const workspace = path.join(folder, 'workspace');
  // Empty, so that nothing activates the extension before the test that measures it.
  mkdirSync(workspace);
  const eventsFile = path.join(folder, 'events.jsonl');
  const sample = path.join(root, 'media/samples/gpt3-175b');
  const server = await startCodeServer(tools, { env: { TERAPIPE_TEST_EVENTS: eventsFile, TERAPIPE_TEST_SAMPLE: sample } });
  const stopFollowing = followEvents(eventsFile, emit);
  try {
    const { page } = await openWorkbench(browser, server.url(workspace), (fresh) => developmentHost(fresh, server.port, root, testsFile));
    await until('first test in the extension host', () => existsSync(eventsFile) || undefined).catch(async (error: unknown) => {
      mkdirSync(screenshotsDir, { recursive: true });
      await page.screenshot({ path: path.join(screenshotsDir, 'vscode-suite-failed.png') });
      throw new Error(`${String(error)}: ${server.log().slice(-1500)}`);
    });
    // No limit: whoever runs this tier stops it when nothing finishes any more.
    const through = until('end of the suite', () => existsSync(endOf(eventsFile)) || undefined, Infinity);
    const died = server.ended.then((code) => Promise.reject(new Error(`VS Code ended with code ${code}: ${server.log().slice(-1500)}`)));
    await Promise.race([through, died]);
    await page.close();
  } finally {
    stopFollowing();
    await server.stop();
  }
}
