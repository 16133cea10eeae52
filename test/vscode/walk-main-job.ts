import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { temporaryFolder } from '../harness/code-server.mjs';
import { walkSteps, type Step, type TierRun } from '../harness/tier-result';
import { pageFrame, verdict } from './plan-page';
import { until } from './until';
import {
  again,
  enterOn,
  focusFile,
  openFile,
  openWorkbench,
  picturesOf,
  pressInPalette,
  save,
  showEditor,
  type Workbench,
} from './workbench';

/** A Megatron script whose first stage does not fit. */
const tooLarge = `#!/bin/bash
# A Llama of 13B on two nodes.
GPUS_PER_NODE=8
NUM_NODES=2
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES pretrain_gpt.py \\
  --tensor-model-parallel-size 1 \\
  --pipeline-model-parallel-size 2 \\
  --num-layers 40 --hidden-size 5120 --num-attention-heads 40 \\
  --seq-length 8192 --max-position-embeddings 8192 \\
  --micro-batch-size 1 --global-batch-size 128 \\
  --use-distributed-optimizer --use-flash-attn \\
  --vocab-size 32000 --bf16
`;

/** Words that no step may show: ours for what the field calls otherwise, and what a fault of ours leaves behind. */
const wrongWords = /\b(?:undefined|NaN|null|Infinity|internal error|nothing needs to be done|on each of 1 GPUs)\b|\[object|\{\d\}/i;

/**
 * The main job, by keys, in a window of its own: a script that does not fit, F8 to what is wrong, a quick fix, a search, its best layout
 * applied, saved and exported. Each step has its time, shows no wrong word, and leaves the tabs of the page where they were.
 */
export async function walkMainJob(
  browser: Browser,
  url: string,
  { screenshotsDir, emit }: Pick<TierRun, 'screenshotsDir' | 'emit'>,
): Promise<void> {
  const workspace = temporaryFolder('terapipe-main-job');
  const script = path.join(workspace, 'train.sh');
  mkdirSync(workspace, { recursive: true });
  writeFileSync(script, tooLarge);
  const address = new URL(url);
  address.searchParams.set('folder', workspace);
  const workbench = await openWorkbench(browser, address.href);
  const { page } = workbench;
  const { look, failed } = picturesOf(page, screenshotsDir);
  const times: string[] = [];
  let tabsAt: number | null = null;
  const timed = ({ name, act }: Step, index: number): Step => ({
    name: `main job: ${name}`,
    act: async () => {
      const startMs = performance.now();
      await act();
      times.push(`${name}, ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
      await look(`main-job-${index}`);
      await nothingWrong(page);
      tabsAt = await tabsStay(page, tabsAt);
    },
  });
  await walkSteps(jobSteps(workbench, script).map(timed), emit, () => failed('main-job'));
  emit({ kind: 'note', text: `main job: ${times.join('; ')}` });
  await page.close();
}

function jobSteps({ page }: Workbench, script: string): readonly Step[] {
  const lens = (text: RegExp) => page.locator('.codelens-decoration a', { hasText: text }).first();
  const squiggle = page.locator('.monaco-editor .squiggly-warning').first();
  const change = page.locator('.monaco-diff-editor .line-insert').first();
  return [
    {
      name: 'a script that does not fit is opened',
      act: async () => {
        await openFile(page, script);
        await lens(/^Does not fit, [\d.]+ GiB over/).waitFor();
        await squiggle.waitFor();
      },
    },
    {
      name: 'its timeline opens next to it',
      act: async () => {
        await pressInPalette(page, 'TeraPipe: Open timeline');
        await verdict(page, 'tab', /^Does not fit: [\d.]+ GiB over on stage 0\./);
        await focusFile(page);
      },
    },
    {
      name: 'F8 leads to what is wrong',
      act: async () => {
        const zone = page.locator('.marker-widget', { hasText: /^\s*Stage 0 of 2 needs [\d.]+ GiB,[^]*does not fit, [\d.]+ GiB over/ });
        await again(async () => {
          await focusFile(page);
          await page.keyboard.press('F8');
          await zone.first().waitFor({ timeout: 10_000 });
        });
      },
    },
    {
      name: 'a quick fix makes it fit',
      act: async () => {
        // A menu that opens before the changes are planned has only the search: a person opens it again.
        const chosen = page.locator('.action-widget .monaco-list-row.focused', { hasText: /^Use .*: fits, [\d.]+ % slower$/ });
        await again(async () => {
          await page.keyboard.press('Escape');
          await focusFile(page);
          await page.keyboard.press('Control+.');
          await page.locator('.action-widget .monaco-list-row').first().waitFor({ timeout: 10_000 });
          // The best layout comes first once it is known; a setting that is changed follows.
          for (let pressed = 0; pressed < 5 && (await chosen.count()) === 0; pressed += 1) await page.keyboard.press('ArrowDown');
          await chosen.waitFor({ timeout: 10_000 });
          await enterOn(page, '.action-widget', 'Use ');
        });
        await lens(/^Fits, [\d.]+ [GM]iB free · /).waitFor();
        await squiggle.waitFor({ state: 'detached' });
        await verdict(page, 'tab', /^Fits, [\d.]+ [GM]iB free\./);
      },
    },
    {
      name: 'layouts are searched',
      act: async () => {
        await pressInPalette(page, 'TeraPipe: Search layouts');
        const panel = (await pageFrame(page, 'tab')).getByRole('tabpanel', { name: 'Layout' });
        await panel.locator('.layout-row').first().waitFor();
        await (await pageFrame(page, 'tab')).locator('.progress:visible').waitFor({ state: 'hidden' });
      },
    },
    {
      name: 'the best is shown as a change of the script',
      act: async () => {
        await pressInPalette(page, 'TeraPipe: Apply best layout');
        await change.waitFor();
        assert.equal(readFileSync(script, 'utf8'), tooLarge);
      },
    },
    {
      name: 'covered by the script, the change comes back from its notification',
      act: async () => {
        await showEditor(page, path.basename(script));
        await change.waitFor({ state: 'hidden' });
        // It may have left the screen by now.
        await pressInPalette(page, 'Notifications: Show Notifications');
        const center = page.locator('.notifications-center');
        const show = center.getByRole('button', { name: 'Show the diff' });
        await show.waitFor();
        const offers = center.locator('.monaco-button').filter({ hasText: /^(?:Apply|Discard)$/ });
        assert.equal(await offers.count(), 0, 'a notification offers what the title of the diff has');
        await show.click();
        await change.waitFor();
        assert.equal(readFileSync(script, 'utf8'), tooLarge);
      },
    },
    {
      name: 'the change is applied and saved',
      act: async () => {
        // The page next to it has the focus.
        await page.keyboard.press('Control+2');
        await pressInPalette(page, 'TeraPipe: Apply this layout');
        await page.locator('.monaco-diff-editor').waitFor({ state: 'detached' });
        await lens(/ \/ step · best layout$/).waitFor();
        await save(page, () => readFileSync(script, 'utf8') !== tooLarge);
        for (const flag of ['tensor', 'pipeline'])
          assert.equal(readFileSync(script, 'utf8').split(`--${flag}-model-parallel-size`).length, 2, `${flag} is written once`);
      },
    },
    {
      name: 'a launcher that trains another model asks first, and Escape writes nothing',
      act: async () => {
        await exportTo(page, 'TorchTitan');
        await page.locator('.monaco-dialog-box', { hasText: 'would train a different model' }).waitFor();
        await again(async () => {
          await page.keyboard.press('Escape');
          await page.locator('.monaco-dialog-box').waitFor({ state: 'detached', timeout: 10_000 });
        });
        assert.equal(await page.locator('.tabs-container .tab', { hasText: 'Untitled' }).count(), 0);
      },
    },
    {
      name: 'the layout is exported as a script of the same launcher',
      act: async () => {
        await exportTo(page, 'Megatron-LM');
        await page.locator('.tabs-container .tab.active', { hasText: 'Untitled' }).waitFor();
        await page.locator('.view-line', { hasText: '--pipeline-model-parallel-size' }).first().waitFor();
        assert.equal(await page.locator('.tabs-container .tab', { hasText: 'Untitled' }).count(), 1, 'the first export was not given up');
      },
    },
  ];
}

/** Exports by keys: the command, the name of the launcher, Enter. */
async function exportTo(page: Page, launcher: string): Promise<void> {
  await again(async () => {
    await focusFile(page);
    await pressInPalette(page, 'TeraPipe: Export layout');
    const rows = page.locator('.quick-input-list .monaco-list-row', { hasText: launcher });
    await rows.first().waitFor({ timeout: 20_000 });
    await page.keyboard.type(launcher);
    await rows.and(page.locator('.focused')).waitFor({ timeout: 10_000 });
    await enterOn(page, '.quick-input-widget', launcher);
  });
}

/** Neither the window nor our pages show a word that is wrong. */
async function nothingWrong(page: Page): Promise<void> {
  const shown = [page.locator('.codelens-decoration, .statusbar-item, .notification-list-item-message, .marker-widget')];
  for (const frame of page.frames()) shown.push(frame.locator('body[data-page] .page:visible'));
  for (const part of shown)
    for (const text of await part.allInnerTexts().catch(() => [])) assert.doesNotMatch(text, wrongWords, text.slice(0, 300));
}

/** The tabs of the page are as high up as they were, while the page is in view. @returns where they are, or were last, px */
async function tabsStay(page: Page, before: number | null): Promise<number | null> {
  if (before === null) return (await topOfTabs(page)) ?? null;
  let now: number | null | undefined;
  await until('tabs where they were', async () => {
    now = await topOfTabs(page);
    return now === null || now === before || undefined;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}: from ${before} px to ${now} px`);
  });
  return before;
}

/** Null while no page shows them; undefined while a page loads. */
async function topOfTabs(page: Page): Promise<number | null | undefined> {
  const seen = `[...document.querySelectorAll('body[data-page=tab] [role=tablist]')].filter((bar) => bar.checkVisibility())`;
  const tops = `${seen}.map((bar) => Math.round(bar.getBoundingClientRect().top))`;
  const found = await Promise.all(page.frames().map((frame) => frame.evaluate<number[]>(tops).catch(() => null)));
  return found.flatMap((each) => each ?? [])[0] ?? (found.includes(null) ? undefined : null);
}
