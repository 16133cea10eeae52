import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Step } from '../harness/tier-result';
import { injectAxe, runAxe } from '../webview/axe';
import { closeSettings, figuresOfTab, pageFrame, timelineFrame, type Figures } from './plan-page';
import { until } from './until';
import { chooseTheme } from './workbench';

/** Workbench themes, the class they give the workbench and the one they give our pages. */
export const workbenchThemes = [
  { name: 'Dark Modern', workbench: 'vs-dark', page: 'vscode-dark' },
  { name: 'Light Modern', workbench: 'vs', page: 'vscode-light' },
  { name: 'Dark High Contrast', workbench: 'hc-black', page: 'vscode-high-contrast' },
  { name: 'Light High Contrast', workbench: 'hc-light', page: 'vscode-high-contrast-light' },
] as const;

const bothPages = ['side', 'tab'] as const;

/** Four themes, the memory parts in each and what axe-core reports on both pages; then a window at 200 %. `same`: the figures shown. */
export function themeSteps(
  page: Page,
  look: (name: string) => Promise<void>,
  note: (text: string) => void,
  same: (shown: Figures) => boolean,
): readonly Step[] {
  return [
    ...workbenchThemes.flatMap((theme) => [
      {
        name: `${theme.name} is followed, and memory parts have different colours in it`,
        act: async () => {
          await chooseTheme(page, theme.name, theme.workbench);
          for (const kind of bothPages) await (await pageFrame(page, kind)).locator(`body.${theme.page}`).waitFor();
          await figuresOfTab(page, same);
          await look(`theme-${theme.page.replace('vscode-', '')}`);
          await memoryPartsDiffer(page, theme.page.includes('high-contrast'));
        },
      },
      {
        name: `axe-core finds no violation in the frames of both pages in ${theme.name}`,
        act: async () => {
          await timelineFrame(page);
          for (const kind of bothPages) {
            const frame = await pageFrame(page, kind);
            const version = await injectAxe(frame);
            const { violations, incomplete, passes } = await runAxe(frame, theme === workbenchThemes[0] ? 'all' : 'colors');
            assert.ok(passes > 0, 'axe-core judged nothing');
            assert.deepEqual(violations, []);
            const left = [...new Set(incomplete.map(({ rule }) => rule))].join(', ') || 'nothing';
            if (theme === workbenchThemes[0]) note(`axe-core ${version}, ${kind} in VS Code: ${passes} rules pass, incomplete: ${left}`);
          }
        },
      },
    ]),
    {
      name: 'at 200 % the lanes of the timeline are on the first screen, with the side bar and without it',
      act: async () => {
        const size = page.viewportSize();
        assert.ok(size !== null);
        await closeSettings(await pageFrame(page, 'tab'));
        await page.setViewportSize({ width: size.width / 2, height: size.height / 2 });
        await lanesSeen(page);
        await look('zoomed');
        await page.keyboard.press('Control+B');
        await page.locator('.part.sidebar').waitFor({ state: 'hidden' });
        await lanesSeen(page);
        await look('zoomed-without-side-bar');
        await page.keyboard.press('Control+B');
        await page.locator('.part.sidebar').waitFor();
        await page.setViewportSize(size);
      },
    },
  ];
}

/** The pictures of all memory parts differ, and outside of high contrast their hues. */
async function memoryPartsDiffer(page: Page, isHighContrast: boolean): Promise<void> {
  const tab = await pageFrame(page, 'tab');
  await tab.getByRole('tab', { name: 'Memory' }).click();
  const panel = tab.getByRole('tabpanel', { name: 'Memory' });
  await panel.locator('.swatch').first().waitFor();
  const painted = await tab.evaluate<readonly (readonly [string, string, string])[]>(`
    [...document.querySelectorAll('[role=tabpanel]:not([hidden]) .swatch[class*="swatch-"]')]
      .map((element) => [element.className, getComputedStyle(element)])
      .map(([name, style]) => [name, style.backgroundImage, style.backgroundColor])`);
  const parts = [...new Map(painted.map((part) => [part[0], part])).values()];
  assert.ok(parts.length >= 6, `${parts.length} parts`);
  const distinct = (of: 1 | 2): number => new Set(parts.map((part) => part[of])).size;
  assert.equal(distinct(1), parts.length, JSON.stringify(parts));
  if (!isHighContrast) assert.equal(distinct(2), parts.length, JSON.stringify(parts));
  await tab.getByRole('tab', { name: 'Timeline' }).click();
}

/** Of the axis and three stages, CSS px. */
const leastLanesPx = 64;

/** Waits until the lanes reach that far into what is seen of the tab. */
async function lanesSeen(page: Page): Promise<void> {
  const tab = await timelineFrame(page);
  const seen = () =>
    tab.evaluate<number>(`(() => {
      const { top, bottom } = document.querySelector('.lanes-region').getBoundingClientRect();
      return Math.min(bottom, innerHeight) - top;
    })()`);
  await until('lanes on the first screen', async () => (await seen()) >= leastLanesPx || undefined, 20_000).catch(async () => {
    throw new Error(`${await seen()} px of the lanes are on the first screen`);
  });
}
