import assert from 'node:assert/strict';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { startCodeServer, temporaryFolder } from '../harness/code-server.mjs';
import { manifestFor } from '../harness/package.mjs';
import { ensureChromium } from '../harness/setup.mjs';
import { ensureTools } from '../harness/tools.mjs';
import type { Page } from 'playwright-core';
import { until } from './until';
import { launchBrowser, openFile, openWorkbench, picturesOf, runFromPalette } from './workbench';

/*
 * `npm run test:web-host`: the extension in a web-worker extension host, as vscode.dev and github.dev run it. code-server runs an extension
 * there that has `browser` and no `main`, and gives it its files as a virtual workspace: `vscode-remote:`, by `workspace.fs` only.
 */

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

async function main(): Promise<void> {
  const [tools, chromium] = [await ensureTools(), await ensureChromium()];
  const server = await startCodeServer(tools, { extensions: [await webOnly()] });
  const browser = await launchBrowser(chromium);
  const workspace = temporaryFolder('terapipe-web-host');
  await cp(path.join(root, 'media/samples/llama3-8b'), workspace, { recursive: true });
  await cp(path.join(root, 'src/web/samples/megatron.sh'), path.join(workspace, 'train.sh'));
  const { page, pageErrors } = await openWorkbench(browser, server.url(workspace));
  const { failed } = picturesOf(page, path.join(root, 'out/screenshots'));
  page.on('console', (message) => {
    if (message.type() === 'error' && /terapipe/i.test(message.text())) console.error(message.text());
  });
  try {
    await openFile(page, 'terapipe.json');
    const lens = page.locator('.codelens-decoration', { hasText: '/ step' }).first();
    await lens.waitFor({ timeout: 30_000 });
    console.log(`planned, lens: ${await lens.innerText()}`);
    await openFile(page, 'train.sh');
    const script = page.locator('.codelens-decoration', { hasText: '/ step' }).first();
    await script.waitFor({ timeout: 60_000 });
    console.log(`shell script read, lens: ${await script.innerText()}`);
    await openFile(page, 'terapipe.json');
    await runFromPalette(page, 'TeraPipe: Open timeline');
    await panelShows(page, '#root', 'per step');
    console.log('panel: shows the plan');
    await runFromPalette(page, 'TeraPipe: Search layouts');
    // Rows are of a search that has ended.
    await panelShows(page, '#root .layout-row .tag', 'best');
    console.log('search: shows the layouts that it found');
    await runFromPalette(page, 'TeraPipe: Profile this layer on this machine');
    await page.locator('.notifications-toasts', { hasText: 'desktop' }).waitFor({ timeout: 30_000 });
    console.log('profiling: states that it needs a desktop');
    assert.deepEqual(pageErrors, []);
  } catch (error) {
    await failed('web-host');
    console.error(server.log().slice(-2000));
    throw error;
  } finally {
    await browser.close();
    await server.stop();
  }
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

/** The extension with the manifest of its package for browsers. */
async function webOnly(): Promise<string> {
  const folder = temporaryFolder('terapipe-web-extension');
  const manifest = manifestFor(JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as Record<string, unknown>, {
    web: true,
  });
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ ...manifest, extensionKind: ['web'] }));
  await mkdir(folder, { recursive: true });
  for (const name of ['dist', 'media', 'docs', 'package.nls.json', 'README.md'])
    await symlink(path.join(root, name), path.join(folder, name));
  return folder;
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
