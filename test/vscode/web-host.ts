import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { installVsix, startCodeServer, temporaryFolder } from '../harness/code-server.mjs';
import { makePackage } from '../harness/package.mjs';
import { root } from '../harness/setup.mjs';
import { walkSteps, type TierRun } from '../harness/tier-result';
import { until } from './until';
import { openFile, openWorkbench, picturesOf, runFromPalette } from './workbench';

/** A script and its planner, without Node.js, ONNX Runtime and PyTorch. */
const sizeBudgetBytes = 3_000_000;

/**
 * The VSIX for browsers in a web-worker extension host, as vscode.dev and github.dev run it: code-server runs an extension there that has
 * `browser` and no `main`, and gives it its files as a virtual workspace: `vscode-remote:`, by `workspace.fs` only.
 */
export async function walkWebHost(browser: Browser, { tools, screenshotsDir, emit }: TierRun): Promise<void> {
  const vsix = await makePackage({ web: true });
  const extensionsFolder = path.join(temporaryFolder('terapipe-web-vsix'), 'extensions');
  const workspace = temporaryFolder('terapipe-web-host');
  await cp(path.join(root, 'media/samples/llama3-8b'), workspace, { recursive: true });
  await cp(path.join(root, 'src/web/samples/megatron.sh'), path.join(workspace, 'train.sh'));
  const install = {
    name: `the VSIX for browsers is under ${sizeBudgetBytes / 1e6} MB, and installs`,
    act: async () => {
      assert.ok(vsix.bytes < sizeBudgetBytes, `it has ${vsix.bytes} bytes`);
      await installVsix(tools, vsix.file, extensionsFolder);
    },
  };
  if (!(await walkSteps([install], emit, () => Promise.resolve()))) return;
  const server = await startCodeServer(tools, { extensionsFolder });
  try {
    const { page, pageErrors } = await openWorkbench(browser, server.url(workspace));
    const { failed } = picturesOf(page, screenshotsDir);
    const steps = [
      {
        name: 'in a web-worker extension host a terapipe.json is read and planned, with its lens',
        act: async () => {
          await openFile(page, 'terapipe.json');
          assert.match(await lens(page), /^Fits, [\d.]+ GiB free\b.* [\d.]+ m?s \/ step/);
        },
      },
      {
        name: 'in a web-worker extension host a launch script is read and planned, with its lens',
        act: async () => {
          await openFile(page, 'train.sh');
          assert.match(await lens(page), /^Fits, [\d.]+ GiB free\b.* [\d.]+ m?s \/ step/);
        },
      },
      {
        name: 'in a web-worker extension host a config is checked as it is edited',
        act: async () => {
          await openFile(page, 'terapipe.json');
          await page.keyboard.press('Control+End');
          await page.keyboard.type(' x');
          await page.locator('.squiggly-error').first().waitFor();
          await page.keyboard.press('Control+z');
          await page.locator('.squiggly-error').first().waitFor({ state: 'detached' });
        },
      },
      {
        name: 'in a web-worker extension host the panel shows the step of the lens, and its timeline',
        act: async () => {
          const [, step = ''] = /([\d.]+ m?s) \/ step/.exec(await lens(page)) ?? [];
          assert.notEqual(step, '');
          await runFromPalette(page, 'TeraPipe: Open timeline');
          await panelShows(page, '#root .glance-words', `${step} per step`);
          await panelShows(page, '#root .timeline-legend', 'Forward');
        },
      },
      {
        name: 'in a web-worker extension host layouts are searched',
        act: async () => {
          await runFromPalette(page, 'TeraPipe: Search layouts');
          // Rows are of a search that has ended.
          await panelShows(page, '#root .layout-row .tag', 'best');
        },
      },
      {
        name: 'in a web-worker extension host profiling is refused with the reason',
        act: async () => {
          await runFromPalette(page, 'TeraPipe: Profile this layer on this machine');
          await page.locator('.notifications-toasts', { hasText: 'desktop' }).waitFor();
          assert.deepEqual(pageErrors, []);
        },
      },
    ];
    await walkSteps(steps, emit, () => failed('web-host'));
    emit({ kind: 'note', text: `${path.basename(vsix.file)}: ${(vsix.bytes / 1000).toFixed(0)} kB, ${vsix.contents.length} files` });
  } finally {
    await server.stop();
  }
}

/** The text of the first lens, once it has a step time. */
async function lens(page: Page): Promise<string> {
  const first = page.locator('.codelens-decoration', { hasText: '/ step' }).first();
  await first.waitFor();
  return (await first.innerText()).replaceAll(/\s+/g, ' ').trim();
}

/** Waits for an element with a text in a webview. */
async function panelShows(page: Page, selector: string, text: string): Promise<void> {
  await until(`webview with ${text} in ${selector}`, async () => {
    for (const frame of page.frames()) {
      const found = await frame
        .locator(selector, { hasText: text })
        .count()
        .catch(() => 0);
      if (found > 0) return true;
    }
    return undefined;
  });
}
