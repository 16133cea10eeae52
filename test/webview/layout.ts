import assert from 'node:assert/strict';
import { formatBytes, formatDuration, formatDurationRange } from '../../src/core/format';
import { noLayoutState, withUpdate, type LayoutState, type PageFound } from '../../src/protocol/layout';
import type { OpenOptions, OpenPage } from './browser';
import { drawnColors, show, until, type Case } from './cases';
import { findings } from './fixtures';
import { layoutOf, layoutState, searchedOf, usualSearch } from './layouts';
import { slowdownText } from '../../src/core/planner/explain/slower';
import { sentence } from '../../src/core/sentence';
import { toText } from '../unit/sentence-text';

const wide: OpenOptions = { kind: 'tab', width: 1440, height: 1100, savedState: { tab: 'layout' } };

const state = (layout: () => LayoutState): Case['state'] => {
  return () => layoutState(layout());
};

const found = (change: Partial<LayoutState> = {}): LayoutState => layoutOf(usualSearch(), change);

/** A plan of the usual answer that is not the best, with its index. */
function another(): { readonly plan: PageFound; readonly index: number } {
  const { plans, best } = found().answer!;
  const index = plans.findIndex(({ why }, at) => at !== best && why !== null);
  return { plan: plans[index]!, index };
}

async function textOf({ page }: OpenPage, selector = '.layout-view'): Promise<string> {
  return (await page.locator(selector).innerText()).replaceAll('\u00a0', ' ');
}

async function figureOf({ page }: OpenPage, name: string): Promise<string> {
  const figure = page.locator('.layout-view .figure', { has: page.locator('dt', { hasText: new RegExp(`^${name}`) }) });
  return (await figure.locator('dd').innerText()).replace(/\s+/g, ' ').trim();
}

/** The row whose tooltip is why a layout lost. */
function rowOf({ page }: OpenPage, { why }: PageFound) {
  return page
    .locator('.layout-table tbody tr')
    .filter({ has: page.getByTitle(toText(why).slice(1)) })
    .first();
}

async function rowTexts({ page }: OpenPage): Promise<string[]> {
  return page.locator('.layout-table tbody tr').allInnerTexts();
}

/** What the page asked for, without what every page posts. */
async function asked({ messages }: OpenPage): Promise<unknown[]> {
  return (await messages()).filter(({ type }) => type !== 'ready' && type !== 'log');
}

/** Where the point of the plot lies whose tooltip has these words: looked for in the page, as a mouse takes minutes. */
const pointWith = (words: readonly string[]): string => `(() => {
  const plot = document.querySelector('.chart-canvas.layout-canvas');
  const tooltip = plot.querySelector('.tooltip');
  const box = plot.getBoundingClientRect();
  for (let x = box.left + 60; x < box.right; x += 6)
    for (let y = box.top; y < box.bottom; y += 6) {
      plot.dispatchEvent(new PointerEvent('pointermove', { clientX: x, clientY: y }));
      const { innerText } = tooltip;
      if (tooltip.checkVisibility() && ${JSON.stringify(words)}.every((word) => innerText.includes(word))) return { x, y };
    }
  return null;
})()`;

const kept = sentence`layouts keep 6.5 % of GPU memory free: runs took more than predicted`;

/** Every state of the Layout tab, and what a person does in it. */
export const layoutCases: readonly Case[] = [
  {
    name: 'layout: without a part of the host there is no tab, and a saved one falls back',
    options: wide,
    state: () => layoutState(null),
    steps: async ({ page }) => {
      await page.getByRole('tab', { name: 'Timeline', selected: true }).waitFor();
      assert.equal(await page.getByRole('tab', { name: 'Layout' }).count(), 0);
      await page.getByRole('tab', { name: 'Compare' }).focus();
      await page.keyboard.press('ArrowRight');
      assert.equal(await page.evaluate('document.activeElement.textContent'), 'Memory');
      return undefined;
    },
  },
  {
    name: 'layout: the memory that layouts keep free is shown with the search',
    options: wide,
    state: state(() => ({ ...found(), answer: { ...found().answer!, keptFree: kept } })),
    steps: async (opened) => {
      await opened.page.locator('summary', { hasText: 'Searched' }).click();
      assert.match(await textOf(opened), /Searched[^]*\nLayouts keep 6\.5 % of GPU memory free: runs took more than predicted\.\n/);
      return undefined;
    },
  },
  {
    name: 'layout: before a search there is one sentence and one button',
    options: wide,
    state: state(() => noLayoutState),
    steps: async (open) => {
      const { page } = open;
      assert.match(await textOf(open), /Finds the fastest layout/);
      const panel = page.getByRole('tabpanel', { name: 'Layout' });
      assert.equal(await panel.locator('vscode-button').locator('visible=true').count(), 1);
      await panel.getByRole('button', { name: 'Search layouts' }).click();
      assert.deepEqual(await asked(open), [{ type: 'command', command: 'terapipe.searchLayout' }]);
      return undefined;
    },
  },
  {
    name: 'layout: a search streams the best so far, then the answer, then what would help, and can be cancelled in between',
    options: wide,
    state: state(() => noLayoutState),
    steps: async (open) => {
      const { page, send } = open;
      const { updates } = usualSearch();
      let layout: LayoutState = noLayoutState;
      const report = async (kind: string, nth: number): Promise<void> => {
        layout = withUpdate(layout, updates.filter((each) => each.kind === kind).at(nth)!, 'search-1');
        await send({ type: 'update', fields: { layout } });
      };
      await report('searching', -1);
      await page.getByText('Best so far').waitFor();
      assert.match(
        await textOf(open),
        /Best so far [\d.]+ m?s \(TP\d.*none is faster than.*[\d,]+ layouts considered, [\d,]+ of them simulated/s,
      );
      assert.equal(await page.evaluate(`document.querySelector('.layout-running progress').hasAttribute('value')`), false);
      await report('found', 0);
      await page.getByText('In progress.').waitFor();
      await report('helping', -1);
      await page.getByText('Finding what would help').waitFor();
      // Messages that come between press and release must not cost the click.
      const cancel = (await page.getByRole('button', { name: 'Cancel' }).boundingBox())!;
      await page.mouse.move(cancel.x + 10, cancel.y + 10);
      await page.mouse.down();
      await report('helping', -1);
      await page.mouse.up();
      await until('the command', async () => (await asked(open)).length > 0);
      assert.deepEqual(await asked(open), [{ type: 'command', command: 'terapipe.cancelSearch' }]);
      await send({ type: 'update', fields: { layout: found() } });
      await page.locator('.layout-running').waitFor({ state: 'hidden' });
      await page.getByRole('button', { name: 'Search again' }).waitFor();
      return undefined;
    },
  },
  {
    name: 'layout: the first glance is the best against as launched, with the error bar, ties and the proof',
    options: wide,
    state: state(found),
    steps: async (open) => {
      const { answer, launched } = found();
      const best = answer!.plans[answer!.best]!;
      assert.equal(await figureOf(open, 'best step'), formatDuration(best.iterationMs));
      assert.equal(await figureOf(open, 'as launched'), formatDuration(launched!.iterationMs));
      const ratio = launched!.iterationMs / best.iterationMs;
      assert.ok(ratio > 1 + answer!.cost.errorPercent / 100, 'the fixture must not be a tie');
      assert.equal(await figureOf(open, 'faster than launched'), `${Number(ratio.toPrecision(3))}x`);
      const text = await textOf(open);
      assert.ok(text.includes(formatDurationRange(best.iterationMs, answer!.cost.range)));
      assert.ok(text.toLowerCase().includes(toText(best.words).toLowerCase()));
      const ties = answer!.plans.filter(({ tie }) => tie).length - 1;
      assert.ok(text.includes(`${ties} layouts are within error of the best`), text.slice(0, 900));
      assert.match(text, /As launched: .*compared with TP\d/);
      assert.match(text, /Proved: no layout with equal or optimized slices is faster/);
      assert.ok(text.includes(toText(answer!.improvements[0]!.summary).slice(1)));
      return undefined;
    },
  },
  {
    name: 'layout: a tie with as launched is shown as one',
    options: wide,
    state: state(() => {
      const layout = found();
      const { answer, launched } = layout;
      const near = { ...launched!, iterationMs: answer!.plans[answer!.best]!.iterationMs * 1.01 };
      return { ...layout, launched: near, answer: { ...answer!, launched: null } };
    }),
    steps: async (open) => {
      assert.equal(await figureOf(open, 'within error of the launched layout'), '1.01x');
      return undefined;
    },
  },
  {
    name: 'layout: the plot draws, shows points by arrow keys, picks by a click and opens by another',
    options: wide,
    state: state(found),
    steps: async (open) => {
      const { page } = open;
      const plot = page.locator('.chart-canvas.layout-canvas');
      await until('layouts are drawn', async () => (await drawnColors(open, '.layout-canvas canvas')) > 8);
      await page.getByRole('tab', { name: 'Layout' }).press('Tab');
      await plot.focus();
      await page.keyboard.press('Home');
      const tooltip = plot.locator('.tooltip');
      const { answer } = found();
      const smallest = answer!.plans.toSorted((a, b) => a.peakBytes - b.peakBytes)[0]!;
      assert.ok((await tooltip.innerText()).includes(formatDuration(smallest.iterationMs)), await tooltip.innerText());
      await page.locator('.layout-detail', { hasText: formatDuration(smallest.iterationMs) }).waitFor();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('Enter');
      const index = answer!.plans.indexOf(smallest);
      assert.deepEqual(await asked(open), [{ type: 'openLayout', point: { answer: 'search-1', index } }]);
      // the selected point is where its cross hairs meet: a press on an empty place deselects it
      const box = (await plot.boundingBox())!;
      await page.mouse.click(box.x + box.width - 4, box.y + 4);
      const best = answer!.plans[answer!.best]!;
      await page.locator('.layout-detail', { hasText: formatDuration(best.iterationMs) }).waitFor();
      return undefined;
    },
  },
  {
    name: 'layout: hovering shows a point, one click picks it and the next opens it',
    options: wide,
    state: state(found),
    steps: async (open) => {
      const { page } = open;
      const plot = page.locator('.chart-canvas.layout-canvas');
      const tooltip = plot.locator('.tooltip');
      // the slowest: nothing else lies where its point does
      const slowest = found().answer!.plans.reduce((a, b) => (a.iterationMs > b.iterationMs ? a : b));
      const words = [toText(slowest.name), formatDuration(slowest.iterationMs)];
      const hit = await page.evaluate<{ readonly x: number; readonly y: number } | null>(pointWith(words));
      assert.ok(hit !== null, `no point of ${words.join(', ')}`);
      await page.mouse.move(hit.x, hit.y);
      const title = (await tooltip.innerText()).split('\n')[0]!;
      await page.mouse.click(hit.x, hit.y);
      assert.ok((await textOf(open, '.layout-detail')).includes(title), title);
      assert.deepEqual(await asked(open), []);
      await page.mouse.click(hit.x, hit.y);
      assert.equal(((await asked(open))[0] as { type: string }).type, 'openLayout');
      return undefined;
    },
  },
  {
    name: 'layout: the table sorts, filters by text and schedule, and shows how much slower each is and why',
    options: wide,
    state: state(found),
    steps: async (open) => {
      const { page } = open;
      const { answer } = found();
      const rows = await rowTexts(open);
      assert.equal(rows.length, 6);
      assert.match(await textOf(open, '.layout-table .pager'), new RegExp(`1 to 6 of ${answer!.plans.length + 1}$`));
      const { plan } = another();
      const slower = toText(slowdownText(plan.iterationMs / answer!.plans[answer!.best]!.iterationMs - 1));
      assert.ok(
        rows.some((row) => row.toLowerCase().includes(slower)),
        slower,
      );
      await rowOf(open, plan).waitFor();
      await page.getByRole('button', { name: 'Memory', exact: true }).click();
      const least = Math.min(...answer!.plans.map(({ peakBytes }) => peakBytes));
      assert.ok((await rowTexts(open))[0]!.includes(formatBytes(least)));
      await page.getByRole('button', { name: 'Memory', exact: true }).click();
      assert.equal(await page.locator('.layout-table th.layout-memory').getAttribute('aria-sort'), 'descending');
      assert.ok(!(await rowTexts(open))[0]!.includes(formatBytes(least)));
      await page.getByRole('textbox', { name: 'Filter layouts' }).fill('gpipe');
      await until('one row', async () => (await rowTexts(open)).length === 1);
      assert.match((await rowTexts(open))[0]!, /GPipe/);
      await page.keyboard.press('Escape');
      await until('all rows again', async () => (await rowTexts(open)).length === rows.length);
      await page.getByRole('combobox', { name: 'Schedule' }).last().click();
      await page.getByRole('option', { name: 'TeraPipe' }).last().click();
      await until('the rows of TeraPipe', async () => (await rowTexts(open)).every((row) => row.includes('TeraPipe')));
      return undefined;
    },
  },
  {
    name: 'layout: a picked row can be opened, applied and exported by the id of its answer and its index',
    options: wide,
    state: state(found),
    steps: async (open) => {
      const { page } = open;
      const { plan, index } = another();
      const row = rowOf(open, plan);
      await row.focus();
      await page.keyboard.press('Enter');
      await until('the detail', async () => (await textOf(open, '.layout-detail')).includes(toText(plan.why).slice(1)));
      const parts = page.locator('.layout-parts tbody tr');
      assert.ok((await parts.count()) >= 3);
      const detail = page.locator('.layout-detail');
      await detail.getByRole('button', { name: 'Apply to config…' }).click();
      await detail.getByRole('button', { name: 'Export…' }).click();
      await detail.getByRole('button', { name: 'Open' }).click();
      const point = { answer: 'search-1', index };
      assert.deepEqual(await asked(open), [
        { type: 'applyLayout', point },
        { type: 'exportLayout', point },
        { type: 'openLayout', point },
      ]);
      return undefined;
    },
  },
  {
    name: 'layout: as launched is a row of its own that cannot be applied',
    options: wide,
    state: state(found),
    steps: async (open) => {
      const { page } = open;
      await page.getByRole('textbox', { name: 'Filter layouts' }).fill('tp8 pp 4 dp1 1f1b micro-batch 1 full');
      await page.locator('.layout-table tbody tr', { hasText: 'as launched' }).click();
      const detail = page.locator('.layout-detail');
      await until('the detail', async () => (await textOf(open, '.layout-detail')).includes('as launched'));
      assert.equal(await detail.getByRole('button', { name: 'Apply to config…' }).count(), 0);
      await detail.getByRole('button', { name: 'Open' }).click();
      assert.deepEqual(await asked(open), [{ type: 'openLayout', point: null }]);
      await page.getByRole('tab', { name: 'Timeline', selected: true }).waitFor();
      return undefined;
    },
  },
  {
    name: 'layout: tokens to train on become GPU hours',
    options: wide,
    state: state(found),
    steps: async (open) => {
      const { page } = open;
      assert.equal(await page.locator('.layout-view').getByText('GPU hours').count(), 0);
      await page.getByRole('textbox', { name: 'Tokens to train on' }).fill('1.5T');
      const { answer } = found();
      const hours = (1.5e12 / answer!.plans[answer!.best]!.tokensPerSecond / 3600) * answer!.gpus;
      await until('GPU hours', async () => (await page.locator('.layout-view .figure', { hasText: 'GPU hours' }).count()) === 1);
      assert.match(await figureOf(open, 'GPU hours'), hours >= 1e5 ? /^[\d.]+[KM]$/ : /^[\d,]+$/);
      const shown = Number.parseFloat((await figureOf(open, 'GPU hours')).replaceAll(',', ''));
      assert.ok(Math.abs(shown / (hours >= 1e6 ? hours / 1e6 : hours >= 1e5 ? hours / 1e3 : hours) - 1) < 0.005, `${shown} for ${hours}`);
      assert.equal(await page.locator('.layout-table th.layout-hours').count(), 1);
      await page.getByRole('textbox', { name: 'Tokens to train on' }).fill('many');
      await until('no GPU hours', async () => (await page.locator('.layout-view .figure', { hasText: 'GPU hours' }).count()) === 0);
      return undefined;
    },
  },
  {
    name: 'layout: every view shows that a layout is opened, with the way back and no controls that edit the config',
    options: { ...wide, savedState: { tab: 'timeline', tries: 'first' } },
    state: state(() => found({ opened: another().index })),
    steps: async (open) => {
      const { page } = open;
      const { plan, index } = another();
      await page.getByText('A layout that the search found').waitFor();
      assert.ok((await textOf(open, '.notice-opened')).includes(toText(plan.words)));
      const controls = page.getByRole('toolbar', { name: 'Plan' });
      assert.equal(await controls.getByRole('combobox').count(), 1);
      await controls.getByRole('combobox', { name: 'Compare with' }).waitFor();
      await controls.getByText('The search chose schedule').waitFor();
      const refused = { ...findings[0]!, code: 'vpp-layers-lost', severity: 'error' as const };
      await open.send({ type: 'update', fields: { findings: [refused] } });
      await page.evaluate('harness.drawn()');
      assert.match(await page.locator('.glance-words:visible').innerText(), /^Fits, /, 'it is the file that is refused, not this layout');
      await page.getByRole('button', { name: 'Back to the config' }).click();
      await page.locator('.notice-opened').getByRole('button', { name: 'Apply to config…' }).click();
      assert.deepEqual(await asked(open), [
        { type: 'openLayout', point: null },
        { type: 'applyLayout', point: { answer: 'search-1', index } },
      ]);
      return undefined;
    },
  },
  {
    name: 'layout: what a search finds in the files is among the findings, with a way to the layouts',
    options: { ...wide, savedState: { tab: 'timeline' } },
    state: state(found),
    steps: async (open) => {
      const { page, send } = open;
      const place = { file: 'file:///home/ada/run.sh', range: { start: 1, end: 3 } };
      const slower = {
        code: 'layout-slower',
        severity: 'warning' as const,
        place,
        placeText: 'run.sh:5:4',
        fixes: [],
        message: sentence`tensor 16 crosses nodes of 8 GPUs: 5.8x slower than tensor 1`,
        remedy: sentence`apply the best layout`,
      };
      await send({ type: 'update', fields: { findings: [slower] } });
      await page.getByRole('button', { name: '1 finding' }).waitFor();
      await page.getByRole('button', { name: /^Tensor 16 crosses nodes/ }).click();
      await page.locator('.findings').getByRole('button', { name: 'Compare layouts' }).click();
      assert.deepEqual((await open.messages()).slice(-2), [
        { type: 'reveal', place },
        { type: 'openTab', tab: 'layout', candidate: null },
      ]);
      await send({ type: 'update', fields: { findings: [{ ...slower, code: 'unknown-key' }] } });
      await until('no way to the layouts', async () => (await page.getByRole('button', { name: 'Compare layouts' }).count()) === 0);
      return undefined;
    },
  },
  {
    name: 'layout: shows that nothing fits, with the layout that needs least',
    options: wide,
    state: () => {
      const searched = searchedOf({ nodes: 1, stages: 1, tensor: 8 }, false);
      return layoutState(layoutOf(searched), searched.plan);
    },
    steps: async (open) => {
      assert.match(await textOf(open), /No layout fits: the one with the least memory is shown/);
      assert.match(await figureOf(open, 'does not fit'), /\/ 14\.3 GiB/);
      assert.match(await textOf(open, '.layout-detail'), /least memory/);
      return undefined;
    },
  },
  {
    name: 'layout: an answer from before the edits shows its age, and an error keeps it on screen',
    options: wide,
    state: state(() => found({ staleEdits: 2 })),
    steps: async (open) => {
      const { page, send } = open;
      await page.locator('.layout-view').getByText('from 2 edits ago').waitFor();
      const message = sentence`<img src=x onerror="window.hacked=1">`;
      const error = { code: 'search-no-layout', message, remedy: sentence`change the batch`, place: null, placeText: null };
      await send({ type: 'update', fields: { layout: found({ error }) } });
      await page.locator('.layout-notices').getByText('Change the batch.').waitFor();
      assert.equal(await page.evaluate('window.hacked'), undefined);
      await page.locator('.layout-view').getByText('Step time, mean of all stages').waitFor();
      await send({ type: 'update', fields: { layout: { ...noLayoutState, error } } });
      await page.getByRole('button', { name: 'Search layouts' }).waitFor();
      return undefined;
    },
  },
  {
    name: 'layout: nothing is cut at 280 px, and the page does not scroll sideways',
    options: { ...wide, width: 280, height: 900 },
    state: state(found),
    steps: async ({ page }) => {
      await page.locator('.layout-view').getByText('Step time, mean of all stages').waitFor();
      const cut = await page.evaluate<string[]>(`[...document.querySelectorAll('.layout-view *')]
        .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && each.getBoundingClientRect().width > 0 && !each.closest('.tooltip') && !each.closest('.visually-hidden'))
        .map((each) => each.className || each.tagName)`);
      assert.deepEqual(cut, []);
      return undefined;
    },
  },
  {
    name: 'layout: what was looked at survives a reload',
    options: {
      ...wide,
      savedState: { tab: 'layout', layoutSettings: { by: 'memory', descending: true, text: '1f1b', tokenBudget: 1e12, picked: 7 } },
    },
    state: state(found),
    steps: async (open) => {
      const { page, send } = open;
      assert.equal(await page.locator('.layout-table th.layout-memory').getAttribute('aria-sort'), 'descending');
      await page.locator('.layout-view .figure', { hasText: 'GPU hours' }).waitFor();
      assert.ok((await rowTexts(open)).every((row) => /1F1B/i.test(row)));
      await send(show(layoutState(found())));
      await until('the state to be saved', async () => (await page.evaluate<{ tab?: string }>('harness.state()')).tab === 'layout');
      return undefined;
    },
  },
];
