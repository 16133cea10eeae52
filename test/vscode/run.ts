import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import * as esbuild from 'esbuild';
import type { Browser } from 'playwright-core';
import { startCodeServer, temporaryFolder } from '../harness/code-server.mjs';
import { root } from '../harness/setup.mjs';
import { mergeResults, type TierInput, type TierResult } from '../harness/tier-result';
import { walkRestricted } from './restricted';
import { walkDemo } from './walk';
import { walkDrawn } from './walk-drawn';
import { walkLayout } from './walk-layout';
import { developmentHost, launchBrowser, openWorkbench } from './workbench';

const suiteLimitMs = 150_000;

/** Tests in a real VS Code: mocha inside the extension host, then a person's walk through the demo and a look into a restricted workspace. */
export async function runVscodeTests(input: TierInput): Promise<TierResult> {
  const browser = await launchBrowser(input.chromiumPath);
  try {
    return mergeResults([
      await attempt('the suite in the extension host', () => runSuite(browser, input)),
      await attempt('the walk through the demo', () => walkDemo(browser, input)),
      await attempt('the walk over what timelines draw', () => walkDrawn(browser, input)),
      await attempt('the walk from a launched layout to the best', () => walkLayout(browser, input)),
      await attempt('the walk in a restricted workspace', () => walkRestricted(browser, input)),
    ]);
  } finally {
    await browser.close();
  }
}

/** One part's failure to run at all is a failure of that part, and leaves the others their results. */
async function attempt(part: string, run: () => Promise<TierResult>): Promise<TierResult> {
  try {
    return await run();
  } catch (error) {
    return { passed: 0, failed: 1, failures: [`${part}: ${error instanceof Error ? error.message : String(error)}`] };
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

async function runSuite(browser: Browser, { tools, screenshotsDir }: TierInput): Promise<TierResult> {
  const testsFile = await bundleSuite();
  const folder = temporaryFolder('terapipe-suite');
  const workspace = path.join(folder, 'workspace');
  // Empty, so that nothing activates the extension before the test that measures it.
  mkdirSync(workspace);
  const resultFile = path.join(folder, 'result.json');
  const sample = path.join(root, 'media/samples/gpt3-175b');
  const server = await startCodeServer(tools, { env: { TERAPIPE_TEST_RESULT: resultFile, TERAPIPE_TEST_SAMPLE: sample } });
  try {
    const { page } = await openWorkbench(browser, server.url(workspace), (fresh) => developmentHost(fresh, server.port, root, testsFile));
    const giveUpMs = performance.now() + suiteLimitMs;
    while (!existsSync(resultFile) && performance.now() < giveUpMs) await page.waitForTimeout(100);
    if (!existsSync(resultFile)) {
      mkdirSync(screenshotsDir, { recursive: true });
      await page.screenshot({ path: path.join(screenshotsDir, 'vscode-suite-failed.png') });
      const failure = `the suite in the extension host did not end within ${suiteLimitMs / 1000} s: ${server.log().slice(-1500)}`;
      return { passed: 0, failed: 1, failures: [failure] };
    }
    await page.close();
    return JSON.parse(readFileSync(resultFile, 'utf8')) as TierResult;
  } finally {
    await server.stop();
  }
}
