import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { startCodeServer, temporaryFolder } from '../harness/code-server.mjs';
import { root } from '../harness/setup.mjs';
import { walkSteps, type TierRun } from '../harness/tier-result';
import { figures, pageFrame } from './plan-page';
import { wideScript } from './wide-script';
import { openFile, openWorkbench, picturesOf, runFromPalette } from './workbench';

/** Where VS Code finds a link in a notification, a click on it runs the command, in restricted workspaces too. */
const hostileConfig = `{
  "model": { "layers": 12, "hidden": 768, "heads": 12, "vocab": 50257 },
  "schedule": "[Fix it](command:workbench.action.quickOpen)"
}
`;

/**
 * The installed extension in a workspace that nobody trusted yet: reading and planning work all the same, and the page shows what does not.
 */
export async function walkRestricted(browser: Browser, extensionsFolder: string, { tools, screenshotsDir, emit }: TierRun): Promise<void> {
  const workspace = path.join(temporaryFolder('terapipe-restricted'), 'gpt3-175b');
  cpSync(path.join(root, 'media/samples/gpt3-175b'), workspace, { recursive: true });
  const script = path.join(workspace, 'llama/train.sh');
  mkdirSync(path.dirname(script));
  writeFileSync(script, wideScript);
  writeFileSync(path.join(workspace, 'hostile.terapipe.json'), hostileConfig);
  const settings = { 'security.workspace.trust.enabled': true, 'security.workspace.trust.startupPrompt': 'never' };
  const server = await startCodeServer(tools, { extensionsFolder, settings });
  try {
    const { page } = await openWorkbench(browser, server.url(workspace));
    const { look, failed } = picturesOf(page, screenshotsDir);
    const plan = {
      name: 'installed, it shows the plan of the sample in a restricted workspace, and shows that it is restricted',
      act: async () => {
        await page.locator('.statusbar-item', { hasText: 'Restricted Mode' }).waitFor();
        await openFile(page, 'terapipe.json');
        await page.locator('.activitybar .action-label[aria-label="TeraPipe"]').click();
        await figures(page, 'side');
        await (await pageFrame(page, 'side')).locator('.notice', { hasText: 'Restricted' }).waitFor();
        await look('restricted');
      },
    };
    const refusal = {
      name: 'a restricted workspace refuses to profile and gives the reason',
      act: async () => {
        await runFromPalette(page, 'TeraPipe: Profile this layer on this machine');
        await page.locator('.notification-toast', { hasText: 'trust the workspace first' }).waitFor();
        await look('restricted-profile');
      },
    };
    const untrained = {
      name: 'a restricted workspace refuses to train and gives the reason',
      act: async () => {
        await runFromPalette(page, 'TeraPipe: Run here');
        await page.locator('.notification-toast', { hasText: 'A restricted workspace trains nothing' }).waitFor();
      },
    };
    const unwritten = {
      name: 'a restricted workspace shows a layout as a change, and does not write it',
      act: async () => {
        await openFile(page, 'train.sh');
        await runFromPalette(page, 'TeraPipe: Apply best layout');
        await page.locator('.monaco-diff-editor .line-insert').first().waitFor();
        await page.locator('.editor-actions .action-label[aria-label^="Apply this layout"]').click();
        await page.locator('.notification-toast', { hasText: 'trust the workspace first' }).last().waitFor();
        await page.locator('.monaco-diff-editor .line-insert').first().waitFor();
        if (readFileSync(script, 'utf8') !== wideScript) throw new Error('train.sh was written');
      },
    };
    const unclickable = {
      name: 'a link that a config smuggles into a notification stays text',
      act: async () => {
        await openFile(page, 'hostile.terapipe.json');
        await runFromPalette(page, 'TeraPipe: Search layouts');
        const message = page.locator('.notification-toast .notification-list-item-message', { hasText: 'Fix it' }).last();
        await message.waitFor();
        await look('restricted-hostile');
        const links = await message.locator('a').allTextContents();
        if (links.length > 0) throw new Error(`the notification has links: ${links.join(', ')}`);
      },
    };
    await walkSteps([plan, refusal, untrained, unwritten, unclickable], emit, () => failed('restricted'));
    await page.close();
  } finally {
    await server.stop();
  }
}
