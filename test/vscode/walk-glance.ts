import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Frame } from 'playwright-core';
import { walkSteps, type Step, type TierRun } from '../harness/tier-result';
import { figuresOfTab, openSettings, pageFrame, verdict, type Figures } from './plan-page';
import { goBehind, picturesOf, retype, runFromPalette, undoUntil, type Workbench } from './workbench';

/** What the first glance shows on both pages, sizes that are tried, and tabs that have nothing to show; the tab shows the sample's plan. */
export async function walkGlance(
  workbench: Workbench,
  workspace: string,
  { screenshotsDir, emit }: Pick<TierRun, 'screenshotsDir' | 'emit'>,
): Promise<void> {
  const { look, failed } = picturesOf(workbench.page, screenshotsDir);
  const steps = [...verdictSteps(workbench, workspace, look), ...tryingSteps(workbench, look), ...invitationSteps(workbench, look)];
  await walkSteps(steps, emit, () => failed('glance'));
}

function verdictSteps({ page }: Workbench, workspace: string, look: (name: string) => Promise<void>): readonly Step[] {
  return [
    {
      name: 'one verdict is the first thing in the tab, seen as heard',
      act: async () => {
        const { step } = await figuresOfTab(page, () => true);
        const shown = await verdict(
          page,
          'tab',
          /^Fits, [\d.]+ GiB free\. [\d.]+ s per step \([\d.]+ m?s to [\d.]+ s\)\. .+ of it is .+\.$/,
        );
        assert.ok(shown.includes(`${step} per step`), shown);
        const frame = await pageFrame(page, 'tab');
        assert.match(await frame.locator('main').ariaSnapshot(), /^- main:\s+- region "Verdict":\s+- paragraph:\s+- strong: Fits, /);
        const words = await frame.locator('.glance-words:visible').boundingBox();
        const figures = await frame.locator('dl.figures:visible, h1:visible, [role=tablist]:visible').first().boundingBox();
        assert.ok(words !== null && figures !== null && words.y + words.height <= figures.y + 1, 'the verdict is not on top');
      },
    },
    {
      name: 'figures show tokens a second, MFU and GPU hours, and money once a price is set',
      act: async () => {
        const costs = async (wanted: RegExp) => {
          // A narrow tab has no room for them.
          const shown = (await pageFrame(page, 'tab')).locator('.page:not([hidden]) dl.figures');
          await shown.filter({ hasText: wanted }).waitFor({ state: 'attached' });
        };
        await costs(/tokens\/s\s*[\d,]+\s*MFU\s*[\d.]+ %\s*GPU hours for 1B tokens\s*[\d,]+$/);
        const folder = path.join(workspace, '.vscode');
        mkdirSync(folder);
        try {
          const settings = { 'terapipe.cost.gpuHour': 2, 'terapipe.cost.currency': 'EUR' };
          writeFileSync(path.join(folder, 'settings.json'), JSON.stringify(settings));
          await costs(/GPU hours for 1B tokens\s*[\d,]+\s*for 1B tokens\s*[\d,]+ EUR$/);
          const text = (await (await pageFrame(page, 'tab')).locator('.page:not([hidden]) dl.figures').textContent()) ?? '';
          const [hours = NaN, money = NaN] = [...text.matchAll(/for 1B tokens\s*([\d,]+)/g)].map(([, count = '']) =>
            Number(count.replaceAll(',', '')),
          );
          assert.ok(Math.abs(money - 2 * hours) <= 2, `${hours} GPU hours at 2 EUR cost ${money} EUR`);
          await look('glance-money');
        } finally {
          rmSync(folder, { recursive: true });
        }
        await costs(/GPU hours for 1B tokens\s*[\d,]+$/);
      },
    },
    {
      name: 'what does not fit shows by how much and where, in the verdict and for sizes that are tried, and a button fixes the file',
      act: async () => {
        // A longer sequence than the model has positions does not start, which would keep the last plan.
        const model = path.join(workspace, 'config.json');
        const written = readFileSync(model, 'utf8');
        writeFileSync(model, written.replace('"n_positions": 2048', '"n_positions": 16384'));
        await retype(page, '"sequenceLength": 2048', '2048', '16384');
        const over = /^Does not fit: [\d.]+ GiB over on stage \d+\. [\d.]+ s per step/;
        await verdict(page, 'tab', over);
        const side = await pageFrame(page, 'side');
        const tab = await pageFrame(page, 'tab');
        await tab.locator('.figure-error').waitFor({ state: 'attached' });
        await look('glance-over');
        await openSettings(tab);
        await tab.getByRole('spinbutton', { name: 'Tensor', exact: true }).press('ArrowDown');
        const answer = tab.locator('.what-if-answer');
        await answer.filter({ hasText: /Tensor 4 to 2, Data 1 to 2 .* per step, .*does not fit, [\d.]+ GiB over/ }).waitFor();
        await answer.getByRole('button', { name: 'Discard' }).click();
        await tab.locator('.glance-help').getByRole('button', { name: 'Search layouts that fit' }).waitFor();
        // TeraPipe's runtime recomputes all layers or none
        const fix = side.locator('button.finding-more', { hasText: /^Recompute all layers: fits, [\d.]+ % slower$/ });
        await fix.waitFor();
        await fix.click();
        await verdict(page, 'tab', /^Fits, [\d.]+ GiB free\. /);
        await tab.locator('.figure-error').waitFor({ state: 'detached' });
        await goBehind(page, '"recompute": "full"');
        await undoUntil(page, '"sequenceLength": 2048,');
        writeFileSync(model, written);
        await verdict(page, 'tab', /^Fits, [\d.]+ GiB free\. 1\.\d+ s per step/);
        await page.locator('.tabs-container .tab.dirty').waitFor({ state: 'detached' });
      },
    },
  ];
}

function tryingSteps({ page }: Workbench, look: (name: string) => Promise<void>): readonly Step[] {
  return [
    {
      name: 'tensor, nodes and micro-batch step only through valid sizes, each shows its result, and none is written',
      act: async () => {
        const before = await figuresOfTab(page, () => true);
        const tab = await pageFrame(page, 'tab');
        await openSettings(tab);
        const answer = tab.locator('.what-if-answer');
        const size = (name: string) => tab.getByRole('spinbutton', { name, exact: true });
        const ends = (name: string) => tab.locator('.stepper-control', { hasText: name }).locator('button');
        for (const name of ['Context', 'Nodes', 'Micro-batch']) assert.ok(await ends(name).first().isDisabled(), `less of ${name}`);
        assert.ok(await ends('Tensor').last().isDisabled(), 'more tensor ranks than data ranks can give up');
        for (const [name, key, wanted] of [
          // The runtime of the sample has no ZeRO: each replica holds the whole optimizer state.
          ['Tensor', 'ArrowDown', /Tensor 4 to 2, Data 1 to 2 .* per step, .*does not fit, [\d.]+ GiB over/],
          ['Micro-batch', 'ArrowUp', /Micro-batch Auto: 1 to 1 as fast/],
          ['Nodes', 'ArrowUp', /Data 1 to 2, Nodes 48 to 96 [−+][\d.]+ % .* per step/],
        ] as const) {
          await size(name).press(key);
          await answer.filter({ hasText: wanted }).waitFor();
          await look(`glance-${name.toLowerCase()}`);
          await answer.getByRole('button', { name: 'Discard' }).click();
          await answer.filter({ hasText: 'Change a setting' }).waitFor();
        }
        const same = (shown: Figures) => shown.step === before.step && shown.memory === before.memory;
        await figuresOfTab(page, same);
        assert.equal(await page.locator('.tabs-container .tab.dirty').count(), 0);
      },
    },
  ];
}

/** A picture and what to press, where a tab has nothing to show. @param open opens the tab */
async function invites(tab: Frame, name: string, open: () => Promise<void>): Promise<void> {
  await open();
  const panel = tab.getByRole('tabpanel', { name, exact: true });
  await panel.locator('.picture').locator('visible=true').waitFor();
  await panel.locator('vscode-button, button.link').locator('visible=true').first().waitFor();
}

function invitationSteps({ page }: Workbench, look: (name: string) => Promise<void>): readonly Step[] {
  return [
    {
      name: 'tabs with nothing to show invite with a picture and a button; slices are tried where none are cut',
      act: async () => {
        const before = await figuresOfTab(page, () => true);
        const tab = await pageFrame(page, 'tab');
        // The bar offers no tab that is empty: a command opens it.
        assert.equal(await tab.getByRole('tab', { name: 'Elastic', exact: true }).count(), 0);
        await invites(tab, 'Elastic', () => runFromPalette(page, 'TeraPipe: Open elastic plan'));
        await look('glance-elastic');
        await invites(tab, 'Profile', () => tab.getByRole('tab', { name: 'Profile', exact: true }).click());
        await look('glance-profile');
        await openSettings(tab);
        await tab.locator('.toolbar vscode-dropdown[aria-label="Schedule"]').click();
        await tab.getByRole('option', { name: '1F1B', exact: true }).click();
        await tab
          .locator('.what-if-answer')
          .getByText(/^Schedule TeraPipe to 1F1B$/)
          .waitFor();
        await tab.getByRole('button', { name: 'Write to the config' }).click();
        await figuresOfTab(page, (shown) => shown.step !== before.step);
        await tab.getByRole('tab', { name: 'Timeline', exact: true }).click();
        await invites(tab, 'Slices', () => tab.getByRole('button', { name: 'Try token slices' }).click());
        const panel = tab.getByRole('tabpanel', { name: 'Slices' });
        await panel.getByRole('button', { name: 'Try 4 slices' }).click();
        await panel.getByText(/^Seq1F1B with 4 equal slices: [\d.]+ s per step, [\d.]+x as fast\.$/).waitFor();
        assert.doesNotMatch(await panel.innerText(), /Slice\s+0/i);
        await look('glance-slices');
        await panel.getByRole('button', { name: 'Plan with Seq1F1B' }).click();
        await goBehind(page, '"schedule": "Seq1F1B"');
        await undoUntil(page, '"schedule": "TeraPipe"');
        await figuresOfTab(page, (shown) => shown.step === before.step);
        await page.locator('.tabs-container .tab.dirty').waitFor({ state: 'detached' });
        await tab.getByRole('tab', { name: 'Timeline' }).click();
      },
    },
  ];
}
