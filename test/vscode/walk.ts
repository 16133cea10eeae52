import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { walkSteps, type Step, type TierRun } from '../harness/tier-result';
import { startDemo, type Demo } from './demo';
import { figures, figuresOfTab, openSettings, pageFrame, timelineFrame, verdict, widenTimeline, type Figures } from './plan-page';
import { walkElastic } from './walk-elastic';
import { walkGlance } from './walk-glance';
import { walkKeys } from './walk-keys';
import { walkMainJob } from './walk-main-job';
import { walkNewcomer } from './walk-newcomer';
import { walkPlans } from './walk-plans';
import { walkRows } from './walk-rows';
import { walkLayout } from './walk-layout';
import { walkStart } from './walk-start';
import { walkTests } from './walk-tests';
import { themeSteps } from './walk-themes';
import { walkTimeline } from './walk-timeline';
import { chooseFix, goBehind, openWorkbench, picturesOf, retype, runFromPalette, undoUntil, type Workbench } from './workbench';

/**
 * A person's walk through `npm run demo`: read, edit, undo, break, fix, take in the first glance, look around, change the theme; then, in
 * the same window, rows and keys, from a launched layout to the best, along the sliders of a run that freezes layers, and the configs as
 * tests; then, in windows of their own, a newcomer's minute, the main job, a new user's first files and what a timeline draws; leave.
 */
export async function walkDemo(browser: Browser, { screenshotsDir, emit }: TierRun): Promise<void> {
  const startMs = performance.now();
  const demo = await startDemo();
  try {
    const workbench = await openWorkbench(browser, demo.url);
    const { look, failed } = picturesOf(workbench.page, screenshotsDir);
    const walk = { demo, workbench, look, note: (text: string) => emit({ kind: 'note', text }), startMs };
    await walkSteps(demoSteps(walk), emit, () => failed('demo'));
    await walkGlance(workbench, demo.workspace, { screenshotsDir, emit });
    await walkSteps(lookSteps(walk), emit, () => failed('look'));
    await walkRows(workbench, { screenshotsDir, emit });
    await walkKeys(workbench, { screenshotsDir, emit });
    await walkLayout(workbench, demo.workspace, { screenshotsDir, emit });
    await walkPlans(workbench, demo.workspace, { screenshotsDir, emit });
    await walkElastic(workbench, demo.workspace, { screenshotsDir, emit });
    await walkTests(workbench, demo.workspace, { screenshotsDir, emit });
    await walkNewcomer(browser, demo.url, { screenshotsDir, emit });
    await walkMainJob(browser, demo.url, { screenshotsDir, emit });
    await walkStart(browser, demo.url, { screenshotsDir, emit }, (first, workspace) =>
      walkTimeline(first, workspace, { screenshotsDir, emit }),
    );
    await walkSteps([leave(demo, workbench)], emit, () => Promise.resolve());
  } finally {
    await demo.stop().catch(() => undefined);
  }
}

/** The walks that need no other, by themselves: a newcomer's minute and the main job. */
export async function walkJobs(browser: Browser, { screenshotsDir, emit }: TierRun): Promise<void> {
  const demo = await startDemo();
  try {
    await walkNewcomer(browser, demo.url, { screenshotsDir, emit });
    await walkMainJob(browser, demo.url, { screenshotsDir, emit });
  } finally {
    await demo.stop().catch(() => undefined);
  }
}

function leave(demo: Demo, { page }: Workbench): Step {
  return {
    name: 'Ctrl+C ends the demo and leaves nothing behind',
    act: async () => {
      await page.close();
      await demo.stop();
    },
  };
}

interface Walk {
  readonly demo: Demo;
  readonly workbench: Workbench;
  readonly look: (name: string) => Promise<void>;
  readonly note: (text: string) => void;
  readonly startMs: number;
}

function demoSteps({ workbench: { page }, look, note, startMs }: Walk): readonly Step[] {
  let before: Figures = { step: '', bubble: '', memory: '' };
  const same = (shown: Figures) => shown.step === before.step && shown.bubble === before.bubble && shown.memory === before.memory;
  const errorShown = async (wanted: boolean) => {
    const side = await pageFrame(page, 'side');
    await side.locator('.notice-error').waitFor({ state: wanted ? 'visible' : 'detached' });
  };
  return [
    {
      name: 'the demo shows the plan in a tab, and the side view what is wrong, without a click',
      act: async () => {
        before = await figuresOfTab(page, () => true);
        note(`demo: started and plan shown in ${((performance.now() - startMs) / 1000).toFixed(1)} s: ${JSON.stringify(before)}`);
        assert.match(before.step, /^[\d.]+ s$/);
        assert.match(before.memory, /\/ 14\.3 GiB$/);
      },
    },
    {
      name: 'the lens over the file and the status bar say the same',
      act: async () => {
        const stepText = new RegExp(`${before.step.replace('.', '\\.')} / step`);
        await page.locator('.codelens-decoration a', { hasText: stepText }).waitFor();
        await page.locator('.statusbar-item', { hasText: stepText }).waitFor();
        await look('demo');
      },
    },
    {
      name: 'another slice unit changes the numbers, and undo brings them back',
      act: async () => {
        await retype(page, '"unit": 8', '8', '1024');
        const after = await figuresOfTab(page, (shown) => shown.step !== before.step);
        note(`slices of 1,024 tokens: ${JSON.stringify(after)}`);
        await undoUntil(page, '"unit": 8 }');
        await figuresOfTab(page, same);
      },
    },
    {
      name: 'layers that the stages do not divide get a squiggle, and the quick fix corrects them',
      act: async () => {
        await retype(page, '"pipeline": 96', '6', '0');
        await page.locator('.monaco-editor .squiggly-error').first().waitFor();
        // A text that does not start has no plan of its own: the last one stays, and its age is shown.
        await verdict(page, 'tab', /^Does not start as written: 2 errors\. \d edits? ago: Fits/);
        await figuresOfTab(page, same);
        await look('squiggle');
        await page.keyboard.press('ArrowLeft');
        await chooseFix(page, 'pipeline', () => look('quick-fix'));
        await page.locator('.monaco-editor .squiggly-error').first().waitFor({ state: 'detached' });
        await undoUntil(page, /\b96,/);
        await figuresOfTab(page, same);
      },
    },
    {
      name: 'a broken file keeps the last plan and shows what is wrong; undo clears it',
      act: async () => {
        await retype(page, '"unit": 8 }', '}', '');
        await errorShown(true);
        await figures(page, 'tab', same);
        await verdict(page, 'tab', /^\d edits? ago: Fits/);
        await look('broken');
        await page.keyboard.press('Control+Z');
        await errorShown(false);
        await figuresOfTab(page, same);
        await verdict(page, 'tab', /^Fits/);
      },
    },
    {
      name: 'a control of the tab edits the file, its schedule is shown while others are simulated, and undo takes that back',
      act: async () => {
        const tab = await pageFrame(page, 'tab');
        await tab.evaluate(`(() => {
          globalThis.whilePlanning = [];
          new MutationObserver(() => {
            const bar = document.querySelector('.page:not([hidden]) .progress');
            const step = document.querySelector('.page:not([hidden]) dl.figures dd');
            if (bar !== null && !bar.hidden && step !== null) globalThis.whilePlanning.push(step.innerText);
          }).observe(document.body, { subtree: true, childList: true, attributes: true });
        })()`);
        await openSettings(tab);
        await tab.locator('.toolbar vscode-dropdown[aria-label="Schedule"]').click();
        await tab.getByRole('option', { name: '1F1B', exact: true }).click();
        await tab
          .locator('.what-if-answer')
          .getByText(/^Schedule TeraPipe to 1F1B$/)
          .waitFor();
        await tab.getByRole('button', { name: 'Write to the config' }).click();
        const { step } = await figuresOfTab(page, (shown) => shown.step !== before.step);
        const whilePlanning = await tab.evaluate<readonly string[]>('globalThis.whilePlanning');
        const steps = new Set(whilePlanning.map((text) => text.replace(/\s+/g, ' ').trim()));
        assert.ok(steps.has(step), `${step} was not shown before all were planned: ${[...steps].join(', ')}`);
        await goBehind(page, '"schedule": "1F1B"');
        await look('schedule-1f1b');
        await page.keyboard.press('Control+Z');
        await figuresOfTab(page, same);
      },
    },
    {
      name: 'half the stages are tried before they are written; the history shows their result, and undo reverts them',
      act: async () => {
        const tab = await pageFrame(page, 'tab');
        await openSettings(tab);
        await tab.getByRole('spinbutton', { name: 'Pipeline' }).press('ArrowDown');
        const answer = tab.locator('.what-if-answer');
        await answer.getByText(/Pipeline 96 to 48, Data 1 to 2/).waitFor();
        await answer.getByText(/[−+]\d.* %/).waitFor();
        await look('what-if');
        await figures(page, 'tab', same);
        await tab.getByRole('button', { name: 'Write to the config' }).click();
        await figuresOfTab(page, (shown) => shown.step !== before.step);
        await goBehind(page, '"pipeline": 48');
        await tab.locator('.history-summary', { hasText: 'since saved' }).click();
        await look('history');
        await tab.getByRole('button', { name: 'Undo' }).click();
        await figuresOfTab(page, same);
        // The text is that of the disk again, and the file is not marked as changed.
        await page.locator('.tabs-container .tab.dirty').waitFor({ state: 'detached' });
      },
    },
  ];
}

/** The tab opened again, its other tabs, four themes; and what the whole walk so far left. */
function lookSteps({ demo, workbench, look, note }: Walk): readonly Step[] {
  const { page } = workbench;
  let before: Figures = { step: '', bubble: '', memory: '' };
  const same = (shown: Figures) => shown.step === before.step && shown.bubble === before.bubble && shown.memory === before.memory;
  return [
    {
      name: 'the palette opens the timeline again, next to its config, after it was closed',
      act: async () => {
        before = await figuresOfTab(page, () => true);
        const timeline = page.locator('.tabs-container .tab', { hasText: 'Timeline' });
        await timeline.locator('.tab-actions .action-label').first().click();
        await timeline.first().waitFor({ state: 'detached' });
        await runFromPalette(page, 'TeraPipe: Open timeline');
        await figuresOfTab(page, same);
        assert.equal(await page.locator('.editor-instance .monaco-editor:visible').count(), 1, 'the config stays in view');
      },
    },
    {
      name: 'the page loads what a tab needs when the tab is first opened',
      act: async () => {
        const tab = await pageFrame(page, 'tab');
        const scripts = () =>
          tab.evaluate<string[]>(`performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.endsWith('.js'))`);
        const before = await scripts();
        assert.ok(before.length > 0, 'no script is seen to load');
        await tab.getByRole('tab', { name: 'Slices' }).click();
        await tab.getByRole('tabpanel', { name: 'Slices' }).locator('canvas').first().waitFor();
        const after = await scripts();
        assert.ok(after.length > before.length, 'Slices needed nothing new');
        await tab.getByRole('tab', { name: 'Timeline' }).click();
        await timelineFrame(page);
        assert.deepEqual(await scripts(), after);
      },
    },
    {
      name: 'undo in a tab in front of its config reverts the edit, leaves the file unmarked and shows the tab again',
      act: async () => {
        await widenTimeline(page);
        const tab = await pageFrame(page, 'tab');
        await openSettings(tab);
        await tab.locator('.toolbar vscode-dropdown[aria-label="Schedule"]').click();
        await tab.getByRole('option', { name: '1F1B', exact: true }).click();
        await tab
          .locator('.what-if-answer')
          .getByText(/^Schedule TeraPipe to 1F1B$/)
          .waitFor();
        await tab.getByRole('button', { name: 'Write to the config' }).click();
        await figuresOfTab(page, (shown) => shown.step !== before.step);
        await page.locator('.tabs-container .tab.dirty').waitFor();
        await tab.getByRole('button', { name: 'Undo' }).click();
        await figuresOfTab(page, same);
        await page.locator('.tabs-container .tab.dirty').waitFor({ state: 'detached' });
        await page.locator('.tabs-container .tab.active', { hasText: 'Timeline' }).waitFor();
      },
    },
    ...(['Memory', 'Slices', 'Compare', 'Timeline'] as const).map((name) => ({
      name: `the tab shows ${name.toLowerCase()}`,
      act: async () => {
        const tab = await pageFrame(page, 'tab');
        await tab.getByRole('tab', { name }).click();
        await tab.getByRole('tabpanel', { name }).waitFor();
        await look(`tab-${name.toLowerCase()}`);
      },
    })),
    ...themeSteps(page, look, note, same),
    {
      name: 'the file on disk was not touched',
      act: () => {
        assert.match(readFileSync(path.join(demo.workspace, 'terapipe.json'), 'utf8'), /"unit": 8 \}/);
        return Promise.resolve();
      },
    },
    {
      name: 'no page violated its content security policy or threw',
      act: () => {
        assert.deepEqual(workbench.cspViolations, []);
        assert.deepEqual(workbench.pageErrors, []);
        return Promise.resolve();
      },
    },
  ];
}
