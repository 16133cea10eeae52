import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Frame, Page } from 'playwright-core';
import { temporaryFolder } from '../harness/code-server.mjs';
import { root } from '../harness/setup.mjs';
import { walkSteps, type Step, type TierRun } from '../harness/tier-result';
import { figures, openSettings, openTimelineWide, pageFrame, verdict } from './plan-page';
import { wideScript } from './wide-script';
import { until } from './until';
import { clickUncovered, openFile, openWorkbench, pickRow, picturesOf, runFromPalette, type Workbench } from './workbench';

const fixtures = path.join(root, 'test/fixtures/launchers');

/** What a new user opens, the text on its sizes, and what lens and verdict begin with where the launcher refuses the file. */
const firstFiles = [
  { file: 'train.sh', sizes: /TP16 PP1 DP1\s*16 x H100-80GB\s*4,096 tokens\s*batch 128/, refused: null },
  { file: 'torchtitan-2025.toml', sizes: /TP2 PP4 DP8 CP2/, refused: 'Does not start as written: 1 error' },
  { file: 'qwen-moe.json', sizes: /1\.85B parameters.*TP1 PP1 DP8/, refused: null },
] as const;

/** Widths that the side view is drawn at, CSS px. */
const sideWidths = [220, 400] as const;

/**
 * A new user's first window, on an empty folder of the same server as `url`: known models, files of launchers, the walkthrough. `after`
 * continues in it.
 */
export async function walkStart(
  browser: Browser,
  url: string,
  { screenshotsDir, emit }: Pick<TierRun, 'screenshotsDir' | 'emit'>,
  after: (workbench: Workbench, workspace: string) => Promise<void>,
): Promise<void> {
  const workspace = temporaryFolder('terapipe-start');
  const address = new URL(url);
  address.searchParams.set('folder', workspace);
  const workbench = await openWorkbench(browser, address.href);
  const { look, failed } = picturesOf(workbench.page, screenshotsDir);
  try {
    await walkSteps(
      startSteps(workbench, workspace, (name) => look(`start-${name}`)),
      emit,
      () => failed('start'),
    );
    await after(workbench, workspace);
  } finally {
    await workbench.page.close();
  }
}

function startSteps(
  { page, cspViolations, pageErrors }: Workbench,
  workspace: string,
  look: (name: string) => Promise<void>,
): readonly Step[] {
  return [
    {
      name: 'an empty workspace offers known models and the samples, and a click on one plans it',
      act: async () => {
        await page.locator('.activitybar .action-label[aria-label="TeraPipe"]').click();
        const side = await pageFrame(page, 'side');
        await side.locator('.picture').waitFor();
        await side.getByRole('button', { name: 'Open sample workspace' }).waitFor();
        const models = side.locator('.known-models button');
        assert.deepEqual(await models.allInnerTexts(), ['Llama 3 8B', 'Llama 3 70B', 'Qwen3 32B', 'DeepSeek-V3', 'GPT-3 175B']);
        await look('empty');
        await clickUncovered(page, models.filter({ hasText: 'Llama 3 8B' }));
        await figures(page, 'side');
        await side.getByRole('heading', { name: 'llama-3-8b' }).waitFor();
        await verdict(page, 'side', /^Fits, /);
        for (const name of ['config.json', 'terapipe.json']) assert.ok(existsSync(path.join(workspace, 'llama-3-8b', name)), name);
      },
    },
    {
      name: 'a Megatron script, a TorchTitan file and a mixture of experts have a verdict when they are first opened',
      act: async () => {
        const folder = path.join(workspace, 'own');
        mkdirSync(folder);
        writeFileSync(path.join(folder, 'train.sh'), wideScript);
        copyFileSync(path.join(fixtures, 'hf/qwen-moe.json'), path.join(folder, 'qwen-moe.json'));
        copyFileSync(path.join(fixtures, 'torchtitan-2025.toml'), path.join(folder, 'torchtitan-2025.toml'));
        for (const { file, sizes, refused } of firstFiles) {
          await openFile(page, path.join(folder, file));
          const side = await pageFrame(page, 'side');
          await side.locator('h1', { hasText: path.parse(file).name }).waitFor();
          await side.locator('.setting', { hasText: sizes }).waitFor();
          const begin = refused === null ? '' : `${refused}\\. `;
          const fits = await verdict(
            page,
            'side',
            new RegExp(`^${begin}Fits, [\\d.]+ GiB free\\. [\\d.]+ m?s per step \\(.+\\)\\. .+\\.$`),
          );
          const [, step] = /free\. ([\d.]+ m?s) per step/.exec(fits) ?? [];
          assert.ok(step, fits);
          // A file that has just been written may be read twice: until then its lens names the plan before.
          await page.locator('.codelens-decoration a', { hasText: new RegExp(`^${refused ?? 'Fits, '}.*${step} / step`) }).waitFor();
          await page
            .locator(`.statusbar-item:has(.codicon-${refused === null ? 'graph' : 'error'})`, { hasText: `${step} / step` })
            .waitFor();
          await look(path.parse(file).name);
        }
      },
    },
    {
      name: 'a mixture of experts has a size for experts to try, and its plan is whole in a narrow and a wide window',
      act: async () => {
        const tab = await openTimelineWide(page);
        await openSettings(tab);
        await tab.getByRole('spinbutton', { name: 'Expert', exact: true }).waitFor();
        for (const width of sideWidths) {
          await dragSideTo(page, width);
          await nothingCut(await pageFrame(page, 'side'));
          await look(`side-${width}`);
        }
        const before = page.viewportSize();
        assert.ok(before !== null);
        for (const width of [900, 2400]) {
          await page.setViewportSize({ ...before, width });
          await until(
            `a tab of a window of ${width} px`,
            async () => (await page.locator('.part.editor').boundingBox())!.width > width - 500 || undefined,
          );
          await nothingCut(tab, '.glance-words, :has(> .scenario), .scenario');
          await look(`window-${width}`);
        }
        await page.setViewportSize(before);
      },
    },
    {
      name: 'the walkthrough opens a sample that shows something',
      act: async () => {
        await runFromPalette(page, 'Welcome: Open Walkthrough...');
        await pickRow(page, 'Plan a pipeline with TeraPipe');
        await look('walkthrough');
        await page.locator('.step-container').getByText('Open the sample').first().click();
        const side = await pageFrame(page, 'side');
        await side.locator('h1', { hasText: 'gpt3-175b' }).waitFor();
        await verdict(page, 'side', /^Fits, /);
        await page.locator('.tabs-container .tab.active', { hasText: 'terapipe.json' }).waitFor();
      },
    },
    {
      name: 'no page of the first window violated its content security policy or threw',
      act: () => {
        assert.deepEqual(cspViolations, []);
        assert.deepEqual(pageErrors, []);
        return Promise.resolve();
      },
    },
  ];
}

/** Drags the edge of the side bar until it is as wide as wanted, within a pixel of the pointer. */
async function dragSideTo(page: Page, width: number): Promise<void> {
  const bar = await page.locator('.part.sidebar').boundingBox();
  if (bar === null) throw new Error('no side bar');
  await page.mouse.move(bar.x + bar.width, bar.y + bar.height / 2);
  await page.mouse.down();
  await page.mouse.move(bar.x + width, bar.y + bar.height / 2, { steps: 4 });
  await page.mouse.up();
  await until(`a side bar of ${width} px`, async () => {
    const now = await page.locator('.part.sidebar').boundingBox();
    return (now !== null && Math.abs(now.width - width) < 4) || undefined;
  });
}

/**
 * Waits until nothing of a page scrolls sideways or is cut at its edge.
 * @param shortened what ends in an ellipsis, and is whole in its tooltip
 */
async function nothingCut(frame: Frame, shortened = 'no-element'): Promise<void> {
  const wide = (): Promise<string[]> =>
    frame.evaluate<
      string[]
    >(`[document.scrollingElement, ...document.querySelectorAll('.glance-words, .setting span, .figure, .strip-name, .side-actions *')]
      .filter((element) => !element.matches(${JSON.stringify(shortened)}))
      .filter((element) => element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display !== 'inline' || element.getBoundingClientRect().right > innerWidth + 0.5)
      .map((element) => element.className + ': ' + element.textContent.slice(0, 40))`);
  await until('a page of which nothing is cut', async () => (await wide()).length === 0 || undefined).catch(async (error: unknown) => {
    throw new Error(`${String(error)}: ${(await wide()).join('; ')}`);
  });
}
