import assert from 'node:assert/strict';
import type { Frame, Page } from 'playwright-core';
import { walkSteps, type Step, type TierRun } from '../harness/tier-result';
import { focusOn, pressUntil, timelineFrame } from './plan-page';
import { until } from './until';
import { picturesOf, runFromPalette, showEditor, type Workbench } from './workbench';

/** Rows of nodes and pinned rows in the timeline; the tab shows one of 96 stages, two on a node. */
export async function walkRows(workbench: Workbench, { screenshotsDir, emit }: Pick<TierRun, 'screenshotsDir' | 'emit'>): Promise<void> {
  const { look, failed } = picturesOf(workbench.page, screenshotsDir);
  await walkSteps(
    rowSteps(workbench, (name) => look(`rows-${name}`)),
    emit,
    () => failed('rows'),
  );
}

function rowSteps({ page, pageErrors }: Workbench, look: (name: string) => Promise<void>): readonly Step[] {
  return [
    {
      name: 'Shift+G makes each node one row; a click on one shows its stages, Enter collapses them, and a command shows all again',
      act: async () => {
        await showEditor(page, 'Timeline');
        const tab = await timelineFrame(page);
        await tab.locator('.lanes-region').focus();
        const collapsed = tab.locator('.row-button[aria-expanded="false"]');
        await pressUntil(page, 'Shift+G', () => collapsed.nth(47).waitFor({ timeout: 3000 }));
        assert.equal(await collapsed.count(), 48);
        await look('collapsed');
        const node = tab.getByRole('button', { name: 'Node 3: stages 6–7', exact: true });
        await node.click();
        await tab.locator('[data-focus="node-3"][aria-expanded="true"]').waitFor();
        await focusOn(tab, '[data-focus="node-3"]');
        await look('opened');
        await page.keyboard.press('Enter');
        await tab.locator('[data-focus="node-3"][aria-expanded="false"]').waitFor();
        await focusOn(tab, '[data-focus="node-3"]');
        await runFromPalette(page, 'TeraPipe: Collapse or expand the stages of all nodes');
        await tab.locator('.row-button').first().waitFor({ state: 'detached' });
      },
    },
    {
      name: 'a stage that is pinned stays at the top while the others scroll, and after its page was loaded again',
      act: async () => {
        const tab = await timelineFrame(page);
        await tab.locator('.lanes-region').focus();
        await pressUntil(page, 'Home', () => tab.locator('.inspector-selection h2[class^="kind-"]').waitFor({ timeout: 5000 }));
        await page.keyboard.press('p');
        const pinned = tab.locator('.row-button[aria-pressed="true"]');
        await pinned.waitFor();
        const name = (await pinned.getAttribute('aria-label')) ?? '';
        const stage = Number(/^Unpin stage (\d+)$/.exec(name)?.[1]);
        for (let press = 0; press < 10; press += 1) await page.keyboard.press('Shift+W');
        await until('high rows', async () => ((await pinned.boundingBox())?.height ?? 0) > 30 || undefined);
        const below = await until('a stage below the pinned one', async () => {
          const found = await stageIn(page, tab, 1);
          return found === stage ? undefined : found;
        });
        await page.keyboard.press('PageDown');
        await until('other stages below the pinned one', async () => ((await stageIn(page, tab, 1)) ?? 0) > below || undefined);
        await until('the pinned one at the top', async () => (await stageIn(page, tab, 0)) === stage || undefined);
        await look('pinned');
        await runFromPalette(page, 'Developer: Reload Webviews');
        await until('a page that was loaded again', () => Promise.resolve(tab.isDetached() || undefined));
        const again = await timelineFrame(page);
        await again.getByRole('button', { name, exact: true }).waitFor();
        await until('the pinned row as the first', async () => {
          const pin = await again.locator('.row-button').boundingBox();
          const lanes = await again.locator('.lanes-overlay').first().boundingBox();
          return (pin !== null && lanes !== null && pin.y - lanes.y < pin.height) || undefined;
        });
        await again.locator('.lanes-region').focus();
        await pressUntil(page, 'p', () => again.locator('.row-button').waitFor({ state: 'detached', timeout: 5000 }));
      },
    },
    {
      name: 'no page threw while rows were collapsed and pinned',
      act: () => {
        assert.deepEqual(pageErrors, []);
        return Promise.resolve();
      },
    },
  ];
}

/** The stage in a row from the top, as the tooltip shows it; undefined while there is none. */
async function stageIn(page: Page, tab: Frame, row: number): Promise<number | undefined> {
  const pin = await tab.locator('.row-button[aria-pressed="true"]').boundingBox();
  const lanes = await tab.locator('.lanes-overlay').first().boundingBox();
  if (pin === null || lanes === null) throw new Error('no pinned row');
  // A page that was just loaded hears of a pointer that moves.
  for (const fromMiddle of [-10, 0]) await page.mouse.move(lanes.x + lanes.width / 2 + fromMiddle, pin.y + (row + 0.5) * pin.height);
  const found = /Stage (\d+) of/.exec((await tab.locator('.pane .tooltip').first().textContent()) ?? '')?.[1];
  return found === undefined ? undefined : Number(found);
}
