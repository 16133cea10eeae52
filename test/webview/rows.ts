import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import type { Plan } from '../../src/core/planner/plan';
import { savedState, type OpenOptions } from './browser';
import { until, type Case } from './cases';
import { planOf, stateOf } from './fixtures';
import { interleaved } from './schedule';

const wide: OpenOptions = { kind: 'tab', width: 1440, height: 900, reducedMotion: true };
/** 96 stages, two on each of 48 nodes; gradients in fp16, so that the step is short and only stage 0 is seen in the first two pixels. */
const plan = (): Plan => planOf({ unit: 56, training: { gradAccumulationFp32: false } });
const state = (): ReturnType<typeof stateOf> => stateOf('tab', plan());

interface Saved {
  readonly fileSettings: {
    readonly timelineRows: { readonly pinned: readonly number[]; readonly collapsed: boolean; readonly except: readonly number[] };
  };
  readonly viewport: { readonly rowPx: number; readonly scrollPx: number } | null;
  readonly selection: { readonly chunk: number } | null;
}

const saved = (page: Page): Promise<Saved> => savedState<Saved>(page);
const lanes = (page: Page): Locator => page.locator('.lanes-region:visible');
const tooltip = (page: Page): Locator => page.locator('.pane .tooltip:visible');
const row = (page: Page, name: string): Locator => page.locator('.row-buttons:visible').getByRole('button', { name, exact: true });
const allNodes = (page: Page): Locator => page.locator('[title="Collapse the stages of each node"]:visible');
const drawn = (page: Page): Promise<void> => page.evaluate('harness.drawn()');

/** `data-focus` of what has the keyboard focus, else its class. */
const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(`document.activeElement.dataset.focus ?? document.activeElement.className`);

/** Points at the lanes, CSS px from the left of the first lane and from the axis. */
async function pointAt(page: Page, x: number, y: number): Promise<void> {
  const box = (await page.locator('.lanes-overlay').first().boundingBox())!;
  const gutter = await page.evaluate<number>(
    `parseFloat(getComputedStyle(document.querySelector('.timeline-view')).getPropertyValue('--gutter'))`,
  );
  await page.mouse.move(box.x + gutter + x, box.y + 24 + y);
}

/** Rows of nodes that are collapsed, and of pinned stages, by mouse and keys. */
export const rowCases: readonly Case[] = [
  {
    name: 'rows: a button makes each node one row that names its stages; a click opens one and its twistie closes it, and the focus stays',
    options: wide,
    state,
    steps: async ({ page }) => {
      assert.equal(await page.locator('.row-button').count(), 0);
      await allNodes(page).click();
      await drawn(page);
      assert.equal(await allNodes(page).getAttribute('aria-pressed'), 'true');
      assert.equal(await page.locator('.row-button[aria-expanded=false]').count(), 48);
      await row(page, 'Node 3: stages 6–7').click();
      await until('the node to be open', async () => (await row(page, 'Node 3: stages 6–7').getAttribute('aria-expanded')) === 'true');
      assert.equal(await focused(page), 'node-3');
      assert.deepEqual((await saved(page)).fileSettings.timelineRows, { pinned: [], collapsed: true, except: [3] });
      await page.keyboard.press('Enter');
      await until('the node to be closed', async () => (await row(page, 'Node 3: stages 6–7').getAttribute('aria-expanded')) === 'false');
      assert.equal(await focused(page), 'node-3');
      await page.keyboard.press('ArrowDown');
      assert.equal(await focused(page), 'node-4');
      await page.keyboard.press('ArrowRight');
      await until('the next to be open', async () => (await row(page, 'Node 4: stages 8–9').getAttribute('aria-expanded')) === 'true');
      await page.keyboard.press('Escape');
      assert.match(await focused(page), /lanes-region/);
      await allNodes(page).click();
      await allNodes(page).click();
      await drawn(page);
      assert.equal(await page.locator('.row-button').count(), 0);
      assert.match(await page.locator('.timeline-view > .visually-hidden').innerText(), /A row for each stage/);
      return undefined;
    },
  },
  {
    name: 'rows: a node shows what its stages do, and a click in its lanes shows them',
    options: wide,
    state,
    steps: async ({ page }) => {
      await allNodes(page).click();
      await drawn(page);
      await pointAt(page, 4, 3);
      assert.match(
        await tooltip(page).innerText(),
        /^Node 0: stages 0–1\s+Stage 0: Forward · micro-batch 0 · slice \d+\s+Stage 1: [\s\S]*Idle for [\d.]+ % of the pipeline/,
      );
      const share = await coveredAt(page, 1);
      assert.ok(share > 0.2 && share < 0.8, `only stage 0 has begun, and the row is covered by ${share}`);
      await page.mouse.down();
      await page.mouse.up();
      await until('the node to be open', async () => (await saved(page)).fileSettings.timelineRows.except.includes(0));
      await drawn(page);
      await pointAt(page, 4, 3);
      assert.match(await tooltip(page).innerText(), /^Forward · micro-batch 0[\s\S]*Stage 0 of 96/);
      assert.ok((await coveredAt(page, 1)) > 0.95);
      return undefined;
    },
  },
  {
    name: 'rows: find, keys and the selection open the node of their stage, and a drag over nodes sums their stages',
    options: wide,
    state,
    steps: async ({ page }) => {
      await lanes(page).focus();
      await page.keyboard.press('Shift+G');
      await page.keyboard.press('/');
      await page.keyboard.type('stage 41 mb 0');
      await page.keyboard.press('Enter');
      await until('the node of stage 41', async () => (await saved(page)).fileSettings.timelineRows.except.includes(20));
      assert.equal((await saved(page)).selection!.chunk, 41);
      await page.keyboard.press('Escape');
      await page.keyboard.press('ArrowDown');
      assert.deepEqual((await saved(page)).fileSettings.timelineRows.except, [20, 21]);
      await page.keyboard.press('g');
      assert.deepEqual((await saved(page)).fileSettings.timelineRows.except, [20]);
      assert.equal((await saved(page)).selection!.chunk, 42, 'what is selected stays, in the row of its node');
      await page.keyboard.press('Shift+G');
      assert.deepEqual((await saved(page)).fileSettings.timelineRows.except, []);
      await page.locator('.inspector-selection button.link').click();
      assert.deepEqual((await saved(page)).fileSettings.timelineRows.except, [20], 'what it waited for is on stage 41');
      await page.keyboard.press('Escape');
      await page.mouse.move(0, 0);
      await drawn(page);
      const rowPx = await rowHeight(page);
      await pointAt(page, 5, rowPx * 1.5);
      await page.mouse.down();
      await pointAt(page, 300, rowPx * 3.5);
      await page.mouse.up();
      assert.match(await page.locator('.inspector-selection').innerText(), /Selected range[\s\S]*2 to 7/);
      return undefined;
    },
  },
  {
    name: 'rows: a pinned stage stays at the top while the rest scrolls, by key and by button, and over a reload',
    options: { ...wide, savedState: { tab: 'timeline', timelineRows: { pinned: [61], collapsed: false, except: [] } } },
    state,
    steps: async ({ page }) => {
      await drawn(page);
      const onTop = async (): Promise<string> => {
        await pointAt(page, (await barX(page)) ?? 0, 3);
        return (await tooltip(page).innerText()).replace(/\s+/g, ' ');
      };
      assert.match(await onTop(), /Stage 61 of 96/);
      assert.equal(await row(page, 'Unpin stage 61').getAttribute('aria-pressed'), 'true');
      await lanes(page).focus();
      for (let press = 0; press < 8; press++) await page.keyboard.press('Shift+W');
      await page.keyboard.press('PageDown');
      await drawn(page);
      assert.ok((await saved(page)).viewport!.scrollPx > 200);
      assert.match(await onTop(), /Stage 61 of 96/);
      // The row that is pointed at is pinned by the button next to its number.
      await pointAt(page, -20, 150);
      const pin = page.locator('.row-pin:visible');
      const stage = Number(/^Pin stage (\d+)$/.exec((await pin.getAttribute('aria-label')) ?? '')?.[1]);
      assert.ok(stage > 3, `${stage}`);
      await pin.hover();
      await pin.click();
      assert.deepEqual(
        (await saved(page)).fileSettings.timelineRows.pinned,
        [stage, 61].sort((a, b) => a - b),
      );
      assert.match(await focused(page), /lanes-region/);
      await drawn(page);
      await row(page, 'Unpin stage 61').focus();
      await page.keyboard.press('Enter');
      assert.deepEqual((await saved(page)).fileSettings.timelineRows.pinned, [stage]);
      await lanes(page).focus();
      await page.keyboard.press('Home');
      await page.keyboard.press('p');
      const { selection, fileSettings } = await saved(page);
      const { timelineRows } = fileSettings;
      assert.deepEqual(
        timelineRows.pinned,
        [stage, selection!.chunk].sort((a, b) => a - b),
      );
      await page.keyboard.press('p');
      assert.deepEqual((await saved(page)).fileSettings.timelineRows.pinned, [stage]);
      return undefined;
    },
  },
  {
    name: 'rows: of a schedule file ranks are pinned, and it has no nodes to collapse',
    options: wide,
    state: interleaved,
    steps: async ({ page }) => {
      assert.equal(await allNodes(page).count(), 0);
      await lanes(page).focus();
      await page.keyboard.press('Home');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('p');
      await drawn(page);
      assert.equal(await page.locator('.row-buttons:visible .row-button').getAttribute('aria-label'), 'Unpin rank 1');
      await page.keyboard.press('g');
      assert.deepEqual((await saved(page)).fileSettings.timelineRows, { pinned: [1], collapsed: false, except: [] });
      return undefined;
    },
  },
];

/** Height of the rows, CSS px, as a button over one has it. */
async function rowHeight(page: Page): Promise<number> {
  return (await page.locator('.row-button').first().boundingBox())!.height;
}

/** Opacity of the fill of the first row over its ground, `x` CSS px from the left: 1 as dense as the densest of that row. */
async function coveredAt(page: Page, x: number): Promise<number> {
  return page.evaluate<number>(`(() => {
    const canvas = document.querySelector('.lanes');
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const gutter = Math.round(parseFloat(getComputedStyle(document.querySelector('.timeline-view')).getPropertyValue('--gutter')));
    const { data } = copy.getImageData(gutter, 24 + 3, canvas.width - gutter - 80, 1);
    const far = (at) => Math.abs(data[4 * at] - data[4 * idle]) + Math.abs(data[4 * at + 2] - data[4 * idle + 2]);
    const idle = Math.round((canvas.width - gutter - 80) * 0.4);
    let most = 0;
    for (let at = 0; at < idle / 4; at++) most = Math.max(most, far(at));
    return far(${x}) / most;
  })()`);
}

/** x of the first pass in the first row, CSS px from the left of the lanes; null where there is none. */
async function barX(page: Page): Promise<number | null> {
  return page.evaluate<number | null>(`(() => {
    const canvas = document.querySelector('.lanes');
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data, width } = copy.getImageData(56, 24 + 2, canvas.width - 56 - 80, 1);
    for (let at = 0; at < width; at++) if (data[4 * at + 2] - data[4 * at] > 60) return at + 2;
    return null;
  })()`);
}
