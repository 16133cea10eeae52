import assert from 'node:assert/strict';
import type { Frame } from 'playwright-core';
import { walkSteps, type Step, type TierRun } from '../harness/tier-result';
import { focusOn, pageFrame, pressUntil, timelineFrame, widenTimeline } from './plan-page';
import { until } from './until';
import { picturesOf, runFromPalette, showEditor, type Workbench } from './workbench';

/** Keys in the timeline, in a field, from part to part and in the side view, and a key that is changed; the tab shows a timeline. */
export async function walkKeys(workbench: Workbench, { screenshotsDir, emit }: Pick<TierRun, 'screenshotsDir' | 'emit'>): Promise<void> {
  const { look, failed } = picturesOf(workbench.page, screenshotsDir);
  await walkSteps(
    keySteps(workbench, (name) => look(`keys-${name}`)),
    emit,
    () => failed('keys'),
  );
}

function keySteps({ page, pageErrors }: Workbench, look: (name: string) => Promise<void>): readonly Step[] {
  return [
    {
      name: 'the focus lands in the lanes of a timeline that is opened, and its keys are commands of VS Code',
      act: async () => {
        await page.locator('.tabs-container .tab', { hasText: 'Timeline' }).locator('.tab-actions .action-label').first().click();
        await showEditor(page, 'terapipe.json');
        await runFromPalette(page, 'TeraPipe: Open timeline');
        await focusOn(await timelineFrame(page), '.lanes-region');
        await widenTimeline(page);
        const tab = await timelineFrame(page);
        await tab.locator('.lanes-region').click();
        await pressUntil(page, 'c', () => isOutlined(tab, true));
        await page.keyboard.press('c');
        await isOutlined(tab, false);
        await page.keyboard.press('End');
        await isSelected(tab);
        await page.keyboard.press('Escape');
        await tab.locator('.inspector-selection h2', { hasText: 'per step' }).waitFor();
      },
    },
    {
      name: 'keys are letters while one types in a field',
      act: async () => {
        const tab = await timelineFrame(page);
        await page.keyboard.press('/');
        await focusOn(tab, '.find-bar vscode-text-field');
        await page.keyboard.type('c?n');
        await until('the letters', async () => (await tab.locator('.find-bar input').inputValue()) === 'c?n' || undefined);
        await page.keyboard.press('Escape');
        await focusOn(tab, '.lanes-region');
        // A key pressed later is done: what was pressed before would be, too.
        await pressUntil(page, 'Home', () => isSelected(tab));
        await isOutlined(tab, false);
        assert.equal(await tab.getByRole('dialog').count(), 0);
        await focusOn(tab, '.lanes-region');
      },
    },
    {
      name: 'N goes from part to part of the tab and of the side view',
      act: async () => {
        const tab = await timelineFrame(page);
        await page.keyboard.press('n');
        await focusOn(tab, '.lane-canvas');
        await page.keyboard.press('Shift+N');
        await focusOn(tab, '.lanes-region');
        await runFromPalette(page, 'TeraPipe: Focus on Schedule View');
        const side = await pageFrame(page, 'side');
        await pressUntil(page, 'n', () => focusOn(side, '.side-foot', 2000));
        await look('side');
      },
    },
    {
      name: 'a key that is changed in VS Code is the key, and the old one is none',
      act: async () => {
        await showEditor(page, 'Timeline');
        const tab = await timelineFrame(page);
        await tab.locator('.lanes-region').focus();
        await pressUntil(page, 'Shift+?', () => tab.getByRole('dialog', { name: 'Keys' }).waitFor({ timeout: 2000 }));
        await look('list');
        await tab.getByRole('button', { name: 'Change keys' }).click();
        const list = page.locator('.keybindings-editor');
        const row = list.locator('.monaco-list-row', { hasText: 'Outline the critical path' }).first();
        await row.dblclick();
        const asked = page.locator('.defineKeybindingWidget input');
        // It takes the focus a moment after it is seen.
        await asked.press('x');
        await asked.press('Enter');
        // Then it is the person's, no longer the extension's, whose keys the list shows.
        await row.waitFor({ state: 'detached' });
        await look('changed');
        // The row that had the focus is gone, and the focus with it: Escape is heard by nothing on a slow machine.
        await page.locator('.modal-editor-action-container .codicon-close').click();
        await list.waitFor({ state: 'hidden' });
        await showEditor(page, 'Timeline');
        const shown = await timelineFrame(page);
        await focusOn(shown, '.lanes-region');
        await pressUntil(page, 'x', () => isOutlined(shown, true));
        await page.keyboard.press('Escape');
        await shown.locator('.inspector-selection h2', { hasText: 'per step' }).waitFor();
        await page.keyboard.press('c');
        await page.keyboard.press('End');
        await isSelected(shown);
        await isOutlined(shown, true);
      },
    },
    {
      name: 'no page threw while keys were pressed',
      act: () => {
        assert.deepEqual(pageErrors, []);
        return Promise.resolve();
      },
    },
  ];
}

async function isOutlined(tab: Frame, wanted: boolean): Promise<void> {
  await tab.locator(`[title="Outline the critical path"][aria-pressed="${wanted}"]`).waitFor({ timeout: 5000 });
}

/** Waits until an operation is selected. */
async function isSelected(tab: Frame): Promise<void> {
  await tab.locator('.inspector-selection h2[class^="kind-"]').waitFor({ timeout: 5000 });
}
