import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { startCodeServer, temporaryFolder } from '../harness/code-server.mjs';
import { root } from '../harness/setup.mjs';
import { ensureTools } from '../harness/tools.mjs';
import { pageFrame, verdict } from './plan-page';
import { until } from './until';
import { wideScript } from './wide-script';
import { again, chooseTheme, launchBrowser, openFile, openWorkbench, runFromPalette } from './workbench';
import { workbenchThemes } from './walk-themes';

/** A kind of file, in a folder of its own. */
interface Kind {
  readonly name: string;
  readonly file: string;
  /** Files of the repository by their names in the folder; `text` is the file itself where the repository has none. */
  readonly copies?: Readonly<Record<string, string>>;
  readonly text?: string;
}

/** A Llama of 7B, for launchers that leave the model to another file. */
const llama = 'test/fixtures/launchers/hf/llama.json';

/** Kinds of files that people open, as their launchers write them. */
const kinds: readonly Kind[] = [
  { name: 'megatron', file: 'train.sh', text: wideScript },
  {
    name: 'deepspeed',
    file: 'ds_config.json',
    copies: { 'ds_config.json': 'test/fixtures/launchers/deepspeed.json', 'config.json': llama },
  },
  { name: 'torchtitan', file: 'train.toml', copies: { 'train.toml': 'test/fixtures/launchers/torchtitan-2025.toml' } },
  { name: 'hugging-face', file: 'config.json', copies: { 'config.json': 'test/fixtures/launchers/hf/qwen-moe.json' } },
  {
    name: 'terapipe',
    file: 'terapipe.json',
    copies: {
      'terapipe.json': 'media/samples/gpt3-175b/terapipe.json',
      'config.json': 'media/samples/gpt3-175b/config.json',
    },
  },
  { name: 'axolotl', file: 'full-finetune.yaml', copies: { 'full-finetune.yaml': 'test/fixtures/launchers/hf-trainer.yaml' } },
  { name: 'nemo', file: 'pretrain.yaml', copies: { 'pretrain.yaml': 'test/fixtures/launchers/nemo.yaml' } },
  { name: 'trainer', file: 'finetune.sh', copies: { 'finetune.sh': 'test/fixtures/launchers/trainer.sh' } },
  {
    name: 'elastic',
    file: 'elastic.terapipe.json',
    copies: {
      'elastic.terapipe.json': 'media/samples/vit-elastic/terapipe.json',
      'config.json': 'media/samples/vit-elastic/config.json',
    },
  },
];

/** A laptop: the side bar, the file and the tab, which is 541 px wide then. */
const laptop = { width: 1440, height: 900 } as const;
const tabWidth = 541;

/**
 * Every kind of file in a real VS Code on a laptop, with its tab next to it and the side view, in four themes: a picture each.
 * @param only takes the kinds whose names contain it
 * @returns how many pictures it took into the folder
 */
export async function kindPictures(chromiumPath: string, folder: string, only: string): Promise<number> {
  const wanted = kinds.filter(({ name }) => name.includes(only));
  const workspace = temporaryFolder('terapipe-kinds');
  for (const kind of wanted) writeKind(path.join(workspace, kind.name), kind);
  const server = await startCodeServer(await ensureTools(), { extensions: [root] });
  const browser = await launchBrowser(chromiumPath);
  let taken = 0;
  try {
    const { page, cspViolations, pageErrors } = await openWorkbench(browser, server.url(workspace));
    await page.setViewportSize(laptop);
    await page.locator('.activitybar .action-label[aria-label="TeraPipe"]').click();
    for (const theme of workbenchThemes) {
      await chooseTheme(page, theme.name, theme.workbench);
      for (const { name, file } of wanted) {
        await again(async () => {
          await runFromPalette(page, 'View: Close All Editors');
          await openFile(page, path.join(workspace, name, file));
          await runFromPalette(page, 'TeraPipe: Open timeline');
          await seen(page, theme.page);
        });
        await page.screenshot({ path: path.join(folder, `kind-${name}-${theme.page.replace('vscode-', '')}.png`) });
        taken += 1;
        console.log(`${name}, ${theme.name}`);
      }
    }
    const faults = [...cspViolations, ...pageErrors];
    if (faults.length > 0) throw new Error(faults.join('; '));
  } finally {
    await browser.close();
    await server.stop();
  }
  return taken;
}

function writeKind(folder: string, { file, copies = {}, text }: Kind): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, source] of Object.entries(copies)) cpSync(path.join(root, source), path.join(folder, name));
  if (text !== undefined) writeFileSync(path.join(folder, file), text);
}

/** Waits until the tab has its verdict at its width, in its theme, the file its lens, and the toasts of the start are gone. */
async function seen(page: Page, bodyClass: string): Promise<void> {
  await verdict(page, 'tab', /\w/, 60_000);
  for (const kind of ['side', 'tab'] as const) await (await pageFrame(page, kind)).locator(`body.${bodyClass}`).waitFor();
  await page.locator('.codelens-decoration a').first().waitFor();
  const tab = await pageFrame(page, 'tab');
  await until(`a tab of ${tabWidth} px`, async () => {
    const width = await tab.evaluate<number>('innerWidth');
    return Math.abs(width - tabWidth) <= 1 || undefined;
  });
  await page.locator('.notifications-toasts.visible').waitFor({ state: 'hidden' });
  await page.mouse.move(2, laptop.height - 2);
  await (await pageFrame(page, 'tab')).locator('canvas:visible').first().waitFor();
  await page.waitForTimeout(1500);
}
