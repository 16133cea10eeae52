import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { temporaryFolder } from '../harness/code-server.mjs';
import { walkSteps, type Step, type TierRun } from '../harness/tier-result';
import { figures, pageFrame, verdict } from './plan-page';
import { clickUncovered, openFile, openWorkbench, picturesOf, pickRow } from './workbench';

/** As Transformers saves a Llama of 13B. */
const ownModel = JSON.stringify(
  {
    model_type: 'llama',
    hidden_size: 5120,
    intermediate_size: 13_824,
    num_hidden_layers: 40,
    num_attention_heads: 40,
    num_key_value_heads: 40,
    vocab_size: 32_000,
    max_position_embeddings: 4096,
  },
  null,
  2,
);

const lensWith = (page: Page, text: RegExp) => page.locator('.codelens-decoration a', { hasText: text }).first();

/** Neither errors nor warnings are marked in the file in front. */
async function nothingMarked(page: Page): Promise<void> {
  assert.equal(await page.locator('.monaco-editor .squiggly-error, .monaco-editor .squiggly-warning').count(), 0);
}

/**
 * A newcomer's first minute, in a window on an empty folder: a known model, a config of their own, their own number of GPUs, and one number
 * everywhere.
 */
export async function walkNewcomer(
  browser: Browser,
  url: string,
  { screenshotsDir, emit }: Pick<TierRun, 'screenshotsDir' | 'emit'>,
): Promise<void> {
  const workspace = temporaryFolder('terapipe-newcomer');
  const address = new URL(url);
  address.searchParams.set('folder', workspace);
  const { page } = await openWorkbench(browser, address.href);
  const { look, failed } = picturesOf(page, screenshotsDir);
  const own = path.join(workspace, 'mine', 'config.json');
  const chip = async (text: RegExp) => (await pageFrame(page, 'side')).locator('[data-focus=scenario-gpus]:visible', { hasText: text });
  let assumed = '';
  const steps: readonly Step[] = [
    {
      name: 'a click on a known model of the empty window plans it, without a finding',
      act: async () => {
        await page.locator('.activitybar .action-label[aria-label="TeraPipe"]').click();
        const side = await pageFrame(page, 'side');
        await clickUncovered(page, side.locator('.known-models button', { hasText: 'Llama 3 8B' }));
        await verdict(page, 'side', /^Fits, /);
        await lensWith(page, /^Fits, .* \/ step · \d+ x H100-80GB/).waitFor();
        await nothingMarked(page);
      },
    },
    {
      name: 'a config of their own has a verdict, on GPUs that are named',
      act: async () => {
        mkdirSync(path.dirname(own));
        writeFileSync(own, ownModel);
        await openFile(page, own);
        await (await pageFrame(page, 'side')).locator('.setting', { hasText: /13(?:\.\d)?B parameters/ }).waitFor();
        await verdict(page, 'side', /^Fits, /);
        await (await chip(/^\d+ x H100-80GB$/)).waitFor();
        ({ step: assumed } = await figures(page, 'side'));
        await lensWith(page, / \/ step · \d+ x H100-80GB, batch \d+/).waitFor();
        await nothingMarked(page);
      },
    },
    {
      name: 'a click on the GPUs asks how many there are',
      act: async () => {
        await (await chip(/x H100-80GB$/)).click();
        await pickRow(page, 'Nodes');
        // The list has its input in the same place.
        await page.locator('.quick-input-widget', { hasText: 'A whole number from 1 to' }).waitFor();
        await page.locator('.quick-input-widget input[type=text]').fill('4');
        await page.locator('.quick-input-widget input[type=text]').press('Enter');
        await (await chip(/^32 x H100-80GB$/)).waitFor();
      },
    },
    {
      name: 'side view, lens and status bar have one step time for their own GPUs',
      act: async () => {
        const { step } = await figures(page, 'side', (shown) => shown.step !== assumed);
        const text = new RegExp(`${step.replaceAll('.', '\\.')} / step`);
        await lensWith(page, text).waitFor();
        await page.locator('.statusbar-item', { hasText: text }).filter({ hasText: '32 x H100-80GB' }).waitFor();
        await verdict(page, 'side', /^Fits, [\d.]+ GiB free\. [\d.]+ m?s per step \([\d.]+ (?:m?s )?to [\d.]+ m?s\)\./);
        await nothingMarked(page);
      },
    },
  ];
  const times: string[] = [];
  const timed = ({ name, act }: Step, index: number): Step => ({
    name: `newcomer: ${name}`,
    act: async () => {
      const startMs = performance.now();
      await act();
      times.push(`${name}, ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
      await look(`newcomer-${index}`);
    },
  });
  await walkSteps(steps.map(timed), emit, () => failed('newcomer'));
  emit({ kind: 'note', text: `newcomer: ${times.join('; ')}` });
  await page.close();
}
