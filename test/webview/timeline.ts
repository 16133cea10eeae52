import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { chosenCandidate, type Plan } from '../../src/core/planner/plan';
import { generateSchedule, toScheduleProblem } from '../../src/core/schedules/registry';
import { noTransfers, simulate } from '../../src/core/schedules/simulate/simulate';
import { savedState, type OpenOptions } from './browser';
import { drawnColors, turnWheel, until, type Case } from './cases';
import { planOf, stateOf } from './fixtures';

const wide: OpenOptions = { kind: 'tab', width: 1440, height: 900, reducedMotion: true };
let known: Plan | null = null;
const plan = (): Plan => (known ??= planOf({ unit: 56 }));
const state = (): ReturnType<typeof stateOf> => stateOf('tab', plan());

/** A plan of four stages whose 1F1B is drawn as ZB-H1, which splits backward. */
function splitPlan(): Plan {
  const plan = planOf({ layers: 8, stages: 4, tensor: 1, nodes: 1, hidden: 1024, schedule: '1F1B', training: { globalBatch: 8 } });
  const candidates = plan.candidates.map((candidate) => {
    if (candidate.timeline === null || candidate.schedule !== '1F1B') return candidate;
    const schedule = generateSchedule('ZB-H1', toScheduleProblem(candidate.scheme, 4));
    const ms = new Float64Array(4 * schedule.units.length).fill(1);
    const durations = { forwardMs: ms, backwardInputMs: ms, backwardWeightMs: ms };
    return { ...candidate, timeline: simulate(schedule, durations, noTransfers(schedule.units.length)) };
  });
  return { ...plan, candidates };
}

const small = {
  layers: 32,
  stages: 4,
  tensor: 2,
  data: 8,
  nodes: 8,
  hidden: 4096,
  gpu: 'A100-80GB',
  training: { globalBatch: 64 },
} as const;
/** Eight replicas, which exchange gradients. */
const replicated = (): Plan => planOf({ ...small, schedule: '1F1B' });
/** Stage 0 lends activations to stage 3. */
const copied = (): Plan => planOf({ ...small, tensor: 1, nodes: 4, schedule: 'BPipe', training: { globalBatch: 128 } });
/** Two chunks on every stage. */
const interleaved = (): Plan => planOf({ ...small, schedule: '1F1B', virtualStages: 2 });

interface Saved {
  readonly viewport: { readonly startMs: number; readonly endMs: number; readonly rowPx: number; readonly scrollPx: number } | null;
  readonly selection: { readonly type: string; readonly chunk: number; readonly unit: number; readonly kind: number } | null;
}

const saved = (page: Page): Promise<Saved> => savedState<Saved>(page);

/** Where the first operation of a stage is on screen in the fitted view. */
async function spot(page: Page, x: number, y: number): Promise<{ x: number; y: number }> {
  const box = (await page.locator('.lanes-overlay').first().boundingBox())!;
  return { x: box.x + x, y: box.y + y };
}

/** What the axis shows: the whole step. */
const stepMs = (): number => chosenCandidate(plan()).iterationMs;

const lanes = (page: Page): ReturnType<Page['getByRole']> => page.getByRole('application', { name: /^Timeline of / });
const inspector = (page: Page): ReturnType<Page['locator']> => page.locator('.inspector-selection');

/** The timeline by mouse, wheel and keys. */
export const timelineCases: readonly Case[] = [
  ...[900, 600].map((height): Case => ({
    name: `timeline: opens with the focus in the lanes, all 96 stages and their memory in view, in 570 x ${height} px`,
    options: { ...wide, width: 570, height },
    state,
    steps: async ({ page }) => {
      await until('the focus in the lanes', () =>
        page.evaluate<boolean>(`document.activeElement?.classList.contains('lanes-region') === true`),
      );
      const box = (await page.locator('.lanes-overlay').first().boundingBox())!;
      assert.ok(box.height >= 24 + 96 + 8, `lanes of ${box.height} px`);
      const memory = (await page.locator('.memory-lane').boundingBox())!;
      assert.ok(memory.height >= 96 && memory.y + memory.height <= height, `memory of ${memory.height} px from ${memory.y}`);
      const seen = (await page.locator('.panels').boundingBox())!;
      assert.ok(memory.y + memory.height <= seen.y + seen.height, 'memory below its panel');
      await page.keyboard.press('w');
      const { viewport } = await saved(page);
      assert.ok(viewport !== null && viewport.scrollPx === 0 && viewport.rowPx * 96 <= box.height - 32 + 1, JSON.stringify(viewport));
      return undefined;
    },
  })),
  {
    name: 'timeline: draws the whole step, and its axis ends where the step does',
    options: wide,
    state: () => stateOf('tab', replicated()),
    steps: async ({ page }) => {
      const box = (await page.locator('.lanes-overlay').first().boundingBox())!;
      const chosen = chosenCandidate(replicated());
      const at = (ms: number): number => box.x + 56 + (ms / chosen.iterationMs) * (box.width - 56 - 80);
      const tooltip = page.locator('.pane .tooltip:visible');
      await page.mouse.move(at(chosen.pipelineMs + chosen.gradientExchangeMs / 2), box.y + 40);
      assert.match(await tooltip.innerText(), /^Gradient exchange\s+Stage 0 of 4/);
      await page.mouse.move(at(chosen.iterationMs - chosen.optimizerMs / 2), box.y + 40);
      assert.match(await tooltip.innerText(), /^Optimizer\s/);
      return undefined;
    },
  },
  {
    name: 'timeline: the legend hides kinds and chunks and explains the shades, and nothing is called a slice where none is cut',
    options: wide,
    state: () => stateOf('tab', interleaved()),
    steps: async (open) => {
      const { page } = open;
      const button = (name: string): ReturnType<Page['getByRole']> =>
        page.locator('.timeline-legend').getByRole('button', { name, exact: true });
      const all = await drawnColors(open, '.lanes');
      assert.equal(await button('chunk').getAttribute('aria-pressed'), 'true');
      assert.equal(await button('slice').count(), 0);
      await button('micro-batch').click();
      assert.ok((await drawnColors(open, '.lanes')) > all, 'four shades of micro-batches are no more than two of chunks');
      for (const name of ['Forward', 'Backward', 'Gradient exchange', 'Optimizer']) await button(name).click();
      assert.equal(await button('Forward').getAttribute('aria-pressed'), 'false');
      assert.ok((await drawnColors(open, '.lanes')) < all / 2, 'what is hidden is drawn');
      await button('Forward').click();
      const both = await drawnColors(open, '.lanes');
      await button('Chunks 4 to 7').click();
      assert.ok((await drawnColors(open, '.lanes')) <= both);
      assert.equal(await page.evaluate(`document.activeElement.dataset.focus`), 'legend-chunk-1');
      const at = await spot(page, 56 + 4, 24 + 8);
      await page.mouse.move(at.x, at.y);
      assert.match(await page.locator('.pane .tooltip:visible').innerText(), /^Forward · micro-batch 0 · chunk 0\s/);
      await page.mouse.click(at.x, at.y);
      assert.doesNotMatch(await page.locator('.page-tab').innerText(), /slice 0|Slice\s+0/);
      return undefined;
    },
  },
  {
    name: 'timeline: copies of activations are drawn on their stages, explained by their passes and hidden by the legend',
    options: wide,
    state: () => stateOf('tab', copied()),
    steps: async (open) => {
      const { page } = open;
      const drawn = await drawnColors(open, '.lanes');
      const at = await spot(page, 56 + 4, 24 + 8);
      await page.mouse.click(at.x, at.y);
      assert.match(await inspector(page).innerText(), /^Forward/);
      await lanes(page).press('ArrowRight');
      await inspector(page)
        .getByText(/^Activations copied to stage 3: [\d.]+ ms, from [\d.]+ ms$/)
        .waitFor();
      await page.locator('.timeline-legend').getByRole('button', { name: 'Activation copies' }).click();
      assert.ok((await drawnColors(open, '.lanes')) < drawn, 'copies are still drawn');
      return undefined;
    },
  },
  {
    name: 'timeline: a pass that waits for a copy of activations is shown with it',
    options: wide,
    state: () => stateOf('tab', planOf({ ...small, stages: 8, tensor: 1, schedule: 'PO-H', virtualStages: 4 })),
    steps: async ({ page }) => {
      const at = await spot(page, 56 + 1, 24 + 8);
      await page.mouse.click(at.x, at.y);
      await lanes(page).press('ArrowRight');
      await inspector(page)
        .getByText(/^Waited [\d.]+ ms for activations to be offloaded$/)
        .waitFor();
      return undefined;
    },
  },
  {
    name: 'timeline: Ctrl+wheel zooms at the pointer, Shift+wheel pans, wheel scrolls stages',
    options: wide,
    state,
    steps: async ({ page }) => {
      const makespan = plan().candidates[0]!.timeline!.makespanMs;
      const at = await spot(page, 56 + 400, 200);
      await page.mouse.move(at.x, at.y);
      const viewport = async (): Promise<Saved['viewport']> => (await saved(page)).viewport;
      const zoomed = (await turnWheel(page, -600, 'Control', viewport))!;
      assert.ok(zoomed.endMs - zoomed.startMs < makespan * 0.4);
      const width = (await page.locator('.lanes-overlay').first().boundingBox())!.width - 56 - 80;
      const before = (400 / width) * stepMs();
      const after = zoomed.startMs + (400 / width) * (zoomed.endMs - zoomed.startMs);
      assert.ok(Math.abs(after - before) < makespan * 1e-6, `${before} moved to ${after}`);
      const panned = (await turnWheel(page, 100, 'Shift', viewport))!;
      assert.ok(panned.startMs > zoomed.startMs);
      assert.ok(Math.abs(panned.endMs - panned.startMs - (zoomed.endMs - zoomed.startMs)) < 1e-6);
      const high = (await turnWheel(page, -500, 'Alt', viewport))!;
      assert.ok(high.rowPx > panned.rowPx);
      assert.ok((await turnWheel(page, 120, null, viewport))!.scrollPx > high.scrollPx);
      return undefined;
    },
  },
  {
    name: 'timeline: wheel and drag work over the memory lane as over the lanes; a range there is of its stage',
    options: wide,
    state,
    steps: async ({ page }) => {
      const box = (await page.locator('.memory-lane-curve').boundingBox())!;
      const perPx = stepMs() / (box.width - 56 - 80);
      const y = box.y + box.height / 2;
      await page.mouse.move(box.x + 56 + 400, y);
      const zoomed = (await turnWheel(page, -600, 'Control', async () => (await saved(page)).viewport))!;
      const share = (zoomed.endMs - zoomed.startMs) / stepMs();
      assert.ok(share < 0.4, `${share} of the step`);
      const at = zoomed.startMs + 400 * perPx * share;
      assert.ok(Math.abs(at - 400 * perPx) < stepMs() * 1e-6, `${400 * perPx} moved to ${at}`);
      await page.mouse.down({ button: 'middle' });
      await page.mouse.move(box.x + 56 + 300, y, { steps: 4 });
      await page.mouse.up({ button: 'middle' });
      const panned = (await saved(page)).viewport!;
      assert.ok(Math.abs(panned.startMs - zoomed.startMs - 100 * perPx * share) < stepMs() * 1e-6);
      await page.mouse.move(box.x + 56 + 200, y);
      await page.mouse.down();
      await page.mouse.move(box.x + 56 + 350, y + 10, { steps: 4 });
      await page.mouse.up();
      const worst = Number(/^Memory of stage (\d+)/.exec(await page.locator('.lane-words').innerText())![1]);
      const { selection } = await savedState<{ selection: Record<string, unknown> }>(page);
      const [startMs, endMs] = [200, 350].map((px) => panned.startMs + px * perPx * share) as [number, number];
      assert.deepEqual([selection['type'], selection['firstStage'], selection['lastStage']], ['range', worst, worst]);
      assert.ok(Math.abs(Number(selection['startMs']) - startMs) < stepMs() * 1e-6, JSON.stringify(selection));
      assert.ok(Math.abs(Number(selection['endMs']) - endMs) < stepMs() * 1e-6, JSON.stringify(selection));
      const range = (await page.locator('.lane-range').boundingBox())!;
      assert.ok(Math.abs(range.x - box.x - 256) <= 1.5 && Math.abs(range.width - 150) <= 1.5, JSON.stringify(range));
      await inspector(page).getByText('Selected range').waitFor();
      await page.mouse.click(box.x + 56 + 250, y);
      await inspector(page).locator('dt', { hasText: 'Micro-batch' }).waitFor();
      assert.ok(await page.locator('.lane-range').isHidden());
      return undefined;
    },
  },
  {
    name: 'timeline: a click gives the details of an operation, a double click zooms to it',
    options: wide,
    state,
    steps: async ({ page }) => {
      const at = await spot(page, 56 + 4, 24 + 2);
      await page.mouse.move(at.x, at.y);
      await page.locator('.pane .tooltip:visible').getByText('Forward · micro-batch 0').waitFor();
      await page.mouse.click(at.x, at.y);
      const text = await inspector(page).innerText();
      assert.match(text, /^Forward/);
      assert.match(text, /Stage\s+0 of 96/);
      await page.mouse.dblclick(at.x, at.y);
      const { viewport, selection } = await saved(page);
      assert.equal(selection!.type, 'operation');
      assert.ok(viewport!.rowPx >= 18);
      return undefined;
    },
  },
  {
    name: 'timeline: idle time shows how long and why',
    options: wide,
    state,
    steps: async ({ page }) => {
      const at = await spot(page, 56 + 8, 450);
      await page.mouse.move(at.x, at.y);
      const tooltip = page.locator('.pane .tooltip:visible');
      await tooltip.getByText(/^Idle for/).waitFor();
      assert.match(await tooltip.innerText(), /Warm-up: waits for the forward of micro-batch 0, slice 0 on stage \d+/);
      return undefined;
    },
  },
  {
    name: 'timeline: a drag selects with sums that add up, Escape steps back',
    options: wide,
    state,
    steps: async ({ page }) => {
      const box = (await page.locator('.lanes-overlay').first().boundingBox())!;
      await page.mouse.move(box.x + 57, box.y + 26);
      await page.mouse.down();
      await page.mouse.move(box.x + 400, box.y + 200, { steps: 4 });
      await page.mouse.move(box.x + box.width - 60, box.y + box.height - 2, { steps: 4 });
      await page.mouse.up();
      const text = await inspector(page).innerText();
      const { timeline } = plan().candidates[0]!;
      assert.match(text, /Selected range[\s\S]*0 to 95/);
      assert.match(text, /Idle: warm-up\s+[\d.]+ m?s[\s\S]*Idle: waits for a link\s+[\d.]+ m?s[\s\S]*Most memory, stage \d+\s+[\d.]+ GiB/);
      assert.match(text, new RegExp(`Operations\\s+${timeline!.kind.length.toLocaleString('en-US')}`));
      await page.locator('.lanes-region').focus();
      await page.keyboard.press('Escape');
      await until('the selection to be gone', async () => !(await inspector(page).innerText()).includes('Selected range'));
      return undefined;
    },
  },
  {
    name: 'timeline: dragging the axis pans, dragging the minimap moves the window',
    options: wide,
    state,
    steps: async ({ page }) => {
      await lanes(page).focus();
      for (let press = 0; press < 8; press++) await page.keyboard.press('w');
      const zoomed = (await saved(page)).viewport!;
      const axis = await spot(page, 500, 10);
      await page.mouse.move(axis.x, axis.y);
      await page.mouse.down();
      await page.mouse.move(axis.x - 100, axis.y, { steps: 3 });
      await page.mouse.up();
      const panned = (await saved(page)).viewport!;
      assert.ok(panned.startMs > zoomed.startMs);
      const map = (await page.locator('.minimap').boundingBox())!;
      const makespan = plan().candidates[0]!.timeline!.makespanMs;
      const perMs = (map.width - 56 - 80) / stepMs();
      const middle = map.x + 56 + ((panned.startMs + panned.endMs) / 2) * perMs;
      await page.mouse.move(middle, map.y + 20);
      await page.mouse.down();
      await page.mouse.move(middle - 60, map.y + 20, { steps: 3 });
      await page.mouse.up();
      const moved = (await saved(page)).viewport!;
      assert.ok(Math.abs(panned.startMs - moved.startMs - 60 / perMs) < makespan * 1e-3);
      return undefined;
    },
  },
  {
    name: 'timeline: everything by keyboard, spoken as it goes',
    options: wide,
    state,
    steps: async ({ page }) => {
      await lanes(page).focus();
      const live = page.locator('.timeline-view > .visually-hidden');
      const selection = async (): Promise<string> => {
        const { chunk, kind, unit } = (await saved(page)).selection!;
        return `${kind}/${chunk}/${unit}`;
      };
      await page.keyboard.press('ArrowRight');
      assert.match(await live.innerText(), /^Forward of micro-batch 0, slice 0 on stage \d+\. \d+ tokens\. .* from /);
      await page.keyboard.press('Home');
      for (let press = 0; press < 5; press++) await page.keyboard.press('ArrowRight');
      const { chunk } = (await saved(page)).selection!;
      assert.equal(await selection(), `0/${chunk}/5`);
      await page.keyboard.press('ArrowUp');
      assert.equal((await saved(page)).selection!.chunk, chunk - 1);
      const here = await selection();
      await page.keyboard.press(']');
      assert.notEqual(await selection(), here);
      await page.keyboard.press('[');
      assert.equal(await selection(), here);
      await page.keyboard.press('f');
      assert.ok((await saved(page)).viewport !== null);
      await page.keyboard.press('0');
      assert.equal((await saved(page)).viewport, null);
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys', exact: true }).waitFor();
      await page.keyboard.press('Escape');
      assert.equal(await page.getByRole('dialog').count(), 0);
      return undefined;
    },
  },
  {
    name: 'timeline: letters and signs work wherever the focus is, but not while typing',
    options: wide,
    state,
    steps: async ({ page }) => {
      await page.getByRole('tab', { name: 'Timeline' }).click();
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys', exact: true }).waitFor();
      await page.keyboard.press('Escape');
      await page.keyboard.press('/');
      await page.keyboard.type('?cs');
      assert.equal(await page.getByRole('dialog').count(), 0);
      const outlined = page.locator('.pressed[title="Outline the critical path"]');
      assert.equal(await outlined.count(), 0);
      await page.keyboard.press('Escape');
      await page.getByRole('tab', { name: 'Timeline' }).focus();
      await page.keyboard.press('c');
      await outlined.waitFor();
      return undefined;
    },
  },
  {
    name: 'timeline: / finds a stage, micro-batch and slice',
    options: wide,
    state,
    steps: async ({ page }) => {
      await lanes(page).focus();
      await page.keyboard.press('/');
      await page.keyboard.type('stage 3 mb 1');
      const count = page.locator('.find-answer');
      assert.match(await count.innerText(), /^\d+ found$/);
      await page.keyboard.press('Enter');
      assert.match(await count.innerText(), /^1 of \d+$/);
      await page.getByRole('button', { name: 'Next match (Enter)' }).click();
      assert.match(await count.innerText(), /^2 of/);
      await page.getByRole('button', { name: 'Previous match (Shift+Enter)' }).click();
      assert.match(await count.innerText(), /^1 of/);
      await page.getByRole('search').locator('vscode-text-field').click();
      await page.keyboard.press('Control+a');
      await page.keyboard.type('stage 3 mb 1 slice 4 backward');
      await page.keyboard.press('Enter');
      await until('the found operation', async () =>
        /^Backward[\s\S]*Stage\s+3 of 96[\s\S]*Slice\s+4\b/.test(await inspector(page).innerText()),
      );
      await page.keyboard.press('Control+a');
      await page.keyboard.type('stage 4711');
      await page.getByText('No match').waitFor();
      await page.keyboard.press('Escape');
      assert.equal(await page.getByRole('search').count(), 0);
      assert.equal(await page.evaluate('document.activeElement.getAttribute("role")'), 'application');
      return undefined;
    },
  },
  {
    name: 'timeline: the table twin lists the same operations and selects them',
    options: wide,
    state,
    steps: async ({ page }) => {
      await page.getByRole('button', { name: 'Show operations as a table' }).click();
      const rows = page.locator('.timeline-view tbody tr');
      const { timeline } = plan().candidates[0]!;
      assert.equal(await rows.count(), Math.min(50, timeline!.units.length * 2));
      await rows.nth(2).focus();
      await page.keyboard.press('Enter');
      await until('the selected row', async () => (await rows.nth(2).getAttribute('aria-selected')) === 'true');
      assert.match(await inspector(page).innerText(), /^Forward[\s\S]*Slice\s+2\b/);
      await page.getByRole('button', { name: 'Next page' }).click();
      assert.match(await page.locator('.timeline-view .pager').innerText(), /51 to/);
      return undefined;
    },
  },
  {
    name: 'timeline: two plans are above each other on one time scale',
    options: { ...wide, savedState: { tries: 'first' } },
    state,
    steps: async ({ page }) => {
      await page.getByRole('combobox', { name: 'Compare with' }).click();
      await page.getByRole('option', { name: 'Whole sequences' }).click();
      await page.getByText(/^Whole sequences · .* bubble/).waitFor();
      assert.equal(await page.locator('.pane:visible').count(), 2);
      return undefined;
    },
  },
  {
    name: 'timeline: a screen reader gets the table at once',
    options: { ...wide, bodyClass: 'vscode-using-screen-reader' },
    state,
    steps: async ({ page }) => {
      await page.locator('.timeline-view table').waitFor();
      assert.match(String(await lanes(page).getAttribute('aria-label')), /96 stages, [\d,]+ operations/);
      return undefined;
    },
  },
  {
    name: 'timeline: split backward has a colour, a name and a place in the table of its own',
    options: wide,
    state: () => stateOf('tab', splitPlan()),
    steps: async ({ page }) => {
      await lanes(page).focus();
      await page.keyboard.press('/');
      await page.keyboard.type('stage 1 mb 4 weight');
      await page.keyboard.press('Enter');
      await until('the found operation', async () => /^Weight gradient[\s\S]*Micro-batch\s+4/.test(await inspector(page).innerText()));
      const shares = await page.evaluate<Record<string, number>>(`(() => {
        const canvas = document.querySelector('.lanes');
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
        copy.drawImage(canvas, 0, 0);
        const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
        const probe = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
        const share = (variable) => {
          const sample = document.body.appendChild(document.createElement('i'));
          sample.style.color = 'var(' + variable + ')';
          probe.fillStyle = 'rgb(0 0 0)';
          probe.fillStyle = getComputedStyle(sample).color;
          probe.fillRect(0, 0, 1, 1);
          const wanted = probe.getImageData(0, 0, 1, 1).data;
          let found = 0;
          for (let at = 0; at < data.length; at += 4)
            if (Math.abs(data[at] - wanted[0]) + Math.abs(data[at + 1] - wanted[1]) + Math.abs(data[at + 2] - wanted[2]) < 6) found++;
          return found / (data.length / 4);
        };
        return { forward: share('--forward'), backward: share('--backward'), weight: share('--backward-weight') };
      })()`);
      for (const [name, share] of Object.entries(shares)) assert.ok(share > 0.01, `${name}: ${share} of the lanes`);
      await page.getByRole('button', { name: 'Show operations as a table' }).click();
      await page.locator('.timeline-view tbody').getByText('Input gradient').first().waitFor();
      return undefined;
    },
  },
  {
    name: 'timeline: a change of theme repaints, and canvases have device pixels',
    options: { ...wide, scale: 2 },
    state,
    steps: async ({ page, setTheme }) => {
      const pixel = (): Promise<string> =>
        page.evaluate(`(() => {
          const pen = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
          pen.drawImage(document.querySelector('.lanes'), -(56 + 4) * 2, -(24 + 2) * 2);
          return [...pen.getImageData(0, 0, 1, 1).data].join();
        })()`);
      await until('the first paint', async () => (await pixel()) !== '0,0,0,0');
      const dark = await pixel();
      await setTheme('light');
      await until('the light paint', async () => (await pixel()) !== dark);
      const [wideInPixels, wideInCss] = await page.evaluate<[number, number]>(
        `[document.querySelector('.lanes').width, document.querySelector('.lanes').getBoundingClientRect().width]`,
      );
      assert.equal(wideInPixels, Math.round(wideInCss * 2));
      return undefined;
    },
  },
];
