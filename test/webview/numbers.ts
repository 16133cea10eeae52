import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { planAnswer } from '../../src/cli/answers/plan';
import type { Planned } from '../../src/core/export/planned-config';
import { searchJson } from '../../src/core/export/search-json';
import { bytesOfQuantity, column, formatBytes, formatCount, formatDuration, formatDurationRange, formatNumber, formatPercent, formatRate, plural } from '../../src/core/format'; // prettier-ignore
import { answerSearch } from '../../src/core/layout-search/answer';
import { toSearchProblem } from '../../src/core/layout-search/problem';
import type { SearchResult } from '../../src/core/layout-search/result';
import { chosenCandidate } from '../../src/core/planner/plan';
import { stepPartNames, stepParts, type StepPart } from '../../src/core/planner/explain/step-part-names';
import { say } from '../../src/core/sentence';
import { launchedPageLayout, toLayoutAnswer, noLayoutState, type LayoutState } from '../../src/protocol/layout';
import type { PageKind, PageState } from '../../src/protocol/page';
import { numberedRuns, plannedOf } from '../unit/cli/numbered-runs';
import type { OpenPage } from './browser';
import { show, type Case } from './cases';
import { stateOf } from './fixtures';

/** A plan as `terapipe plan --json` prints it, as far as pages show it. */
interface PlanNumbers {
  readonly iterationMs: number;
  readonly rangeMs: readonly [number, number];
  readonly pipelineMs: number;
  readonly gradientExchangeMs: number;
  readonly optimizerMs: number;
  readonly bubbleRate: number;
  readonly tokensPerSecond: number;
  readonly mfu: number;
  readonly fits: boolean;
  readonly scenario: { readonly gpus: number };
  readonly memory: { readonly stages: readonly StageNumbers[] };
  readonly comparisons: readonly {
    readonly id: string;
    readonly name: string;
    readonly iterationMs: number;
    readonly bubbleRate: number;
    readonly peakBytes: number;
  }[];
  readonly stepParts: Readonly<Record<StepPart, number>>;
  readonly remedies?: readonly { readonly slower: number }[];
}

interface StageNumbers {
  readonly stage: number;
  readonly peakBytes: number;
  readonly usableBytes: number;
  readonly reservedBytes: number;
  readonly inUseBytes: number;
}

interface LayoutNumbers {
  readonly name: string;
  readonly iterationMs: number;
  readonly peakBytes: number;
  readonly bubbleRate: number;
  readonly tokensPerSecond: number;
  readonly mfu: number;
  readonly fits: boolean;
}

interface SearchNumbers {
  readonly plan: LayoutNumbers;
  readonly search: {
    readonly launched: (LayoutNumbers & { readonly speedup: number }) | null;
    readonly paretoFront: readonly LayoutNumbers[];
    readonly perSchedule: readonly LayoutNumbers[];
    readonly runnersUp: readonly LayoutNumbers[];
  };
}

const flat = (text: string): string => text.replaceAll('\u00a0', ' ').replace(/\s+/gu, ' ').trim();
const textOf = async (place: Locator): Promise<string> => flat(await place.innerText());
const rowsOf = async (place: Locator): Promise<string[]> => (await place.allInnerTexts()).map(flat);

/** Names with values: `Pipeline` to `1.77 s`. */
async function pairsOf(place: Locator): Promise<Map<string, string>> {
  const names = await rowsOf(place.locator('dt'));
  const values = await rowsOf(place.locator('dd'));
  return new Map(names.map((name, index) => [name, values[index] ?? '']));
}

/** Shares as they are printed add up to this, except for rounding. */
function addUpTo(whole: number, percents: readonly string[], what: string): void {
  const shares = percents.filter((text) => text !== '').map((text) => Number.parseFloat(text.replace('< ', '')));
  const total = shares.reduce((sum, each) => sum + each, 0);
  assert.ok(Math.abs(total - whole) <= 0.3, `${what} add up to ${total}, not ${whole}: ${percents.join(', ')}`);
}

const tightest = ({ memory }: PlanNumbers): StageNumbers =>
  memory.stages.reduce((a, b) => (b.usableBytes - b.peakBytes < a.usableBytes - a.peakBytes ? b : a));

const words = [[1 / 4, 'A quarter'], [1 / 3, 'A third'], [1 / 2, 'Half'], [2 / 3, 'Two thirds'], [3 / 4, 'Three quarters']] as const; // prettier-ignore

async function checkVerdict(page: Page, plan: PlanNumbers): Promise<void> {
  const verdict = await textOf(page.locator('.glance-words:visible'));
  const { iterationMs, rangeMs } = plan;
  const { stage, peakBytes, usableBytes } = tightest(plan);
  const room = formatBytes(Math.abs(usableBytes - peakBytes));
  assert.ok(verdict.startsWith(plan.fits ? `Fits, ${room} free. ` : `Does not fit: ${room} over on stage ${stage}. `), verdict);
  const range = formatDurationRange(iterationMs, [rangeMs[0] / iterationMs, rangeMs[1] / iterationMs]);
  assert.ok(verdict.includes(`${formatDuration(iterationMs)} per step (${range}).`), verdict);
  const [, share = '', name = ''] = /(\S+(?: \S+)?) of it is ([^,.]+)/u.exec(verdict) ?? [];
  if (name === '') return;
  const part = stepParts.find((each) => say(stepPartNames[each]) === name);
  assert.ok(part !== undefined, verdict);
  const exact = plan.stepParts[part] / iterationMs;
  const word = words.find(([, text]) => text === share);
  assert.ok(word === undefined ? share === formatPercent(exact) : Math.abs(word[0] - exact) <= 0.01, verdict);
}

async function checkFigures(page: Page, plan: PlanNumbers, count: 3 | 6): Promise<void> {
  const figures = await pairsOf(page.locator('.figures:visible').first());
  const { used, capacity, unit } = bytesOfQuantity(tightest(plan).peakBytes, tightest(plan).usableBytes);
  const hours = (plan.scenario.gpus * 1e9) / plan.tokensPerSecond / 3600;
  const memory = [...figures].find(([name]) => name.endsWith(`stage ${tightest(plan).stage}`));
  const expected = [
    ['per step', formatDuration(plan.iterationMs)],
    ['bubble', formatPercent(plan.bubbleRate)],
    ['tokens/s', formatRate(plan.tokensPerSecond)],
    ['MFU', formatPercent(plan.mfu)],
    ['GPU hours for 1B tokens', hours < 1000 ? formatNumber(hours) : formatCount(Math.round(hours))],
  ].slice(0, count - 1);
  assert.equal(figures.size, count);
  assert.deepEqual(
    expected.map(([name = '']) => [name, figures.get(name)]),
    expected,
  );
  assert.equal(memory?.[1], `${used} / ${capacity} ${unit}`);
  assert.equal(memory[0].startsWith('peak'), plan.fits);
}

async function checkDetails(page: Page, plan: PlanNumbers): Promise<void> {
  const details = page.locator('.inspector-selection');
  const step = await pairsOf(details.locator('.pairs').first());
  assert.deepEqual(
    ['Pipeline', 'Gradient exchange', 'Optimizer'].map((name) => step.get(name)),
    [plan.pipelineMs, plan.gradientExchangeMs, plan.optimizerMs].map(formatDuration),
  );
  const parts = [...(await pairsOf(details.locator('.limits')))];
  for (const [name, value] of parts) {
    const part = stepParts.find((each) => say(stepPartNames[each]) === name.toLowerCase() || (name === 'P2P transfers' && each === 'send'));
    assert.ok(part !== undefined, name);
    const ms = plan.stepParts[part];
    assert.equal(value.replaceAll(' ', ''), `${column.duration(ms)}${column.percent(ms / plan.iterationMs)}`.replaceAll(' ', ''), name);
  }
  addUpTo(100, await rowsOf(details.locator('.limits .share')), 'parts of the step');
  const idle = await rowsOf(details.locator('.pair:has(.swatch) .share'));
  addUpTo(100 * plan.bubbleRate, idle, 'causes of idle time');
}

async function checkMemory(page: Page, plan: PlanNumbers): Promise<void> {
  await page.getByRole('tab', { name: 'Memory', exact: true }).click();
  const detail = page.locator('.memory-detail');
  const { stage, peakBytes, reservedBytes, inUseBytes } = tightest(plan);
  assert.match(await textOf(detail.locator('h2')), new RegExp(`^Stage ${stage}\\b`, 'u'));
  const pairs = await pairsOf(detail.locator('.pairs'));
  assert.deepEqual(
    ['Peak', 'Reserved by the allocator', 'GPU memory in use (nvidia-smi)'].map((name) => pairs.get(name)),
    [peakBytes, reservedBytes, inUseBytes].map(column.bytes),
  );
  addUpTo(100, await rowsOf(detail.locator('.share')), 'parts of the memory');
  const rows = await page.locator('.memory-view .table-twin tbody tr').all();
  assert.ok(rows.length > 0, 'the memory table has rows');
  for (const row of rows) {
    const own = plan.memory.stages[Number(await textOf(row.locator('td').first()))]!;
    const cells = await rowsOf(row.locator('td, th'));
    assert.deepEqual(cells.slice(0, 4), [
      String(own.stage),
      ...[own.peakBytes, own.reservedBytes, own.inUseBytes].map((bytes) => column.number(bytes / 2 ** 30)),
    ]);
  }
}

async function checkCompare(page: Page, plan: PlanNumbers): Promise<void> {
  await page.getByRole('tab', { name: 'Compare' }).click();
  const all = page.getByRole('button', { name: /^All \d+ ways/ });
  if (await all.isVisible()) await all.click();
  const { comparisons } = plan;
  const baseline = comparisons.find(({ id }) => id === '1f1b') ?? comparisons.find(({ iterationMs }) => iterationMs === plan.iterationMs)!;
  const caption = await textOf(page.locator('.compare-table caption'));
  assert.ok(caption.endsWith(`Speed-up is over ${baseline.name}.`), caption);
  const names = new Set<string>();
  for (const row of await page.locator('.compare-table tbody tr').all()) {
    const id = await row.getAttribute('data-candidate');
    const own = comparisons.find((each) => each.id === id)!;
    const cells = await rowsOf(row.locator('td.numeric'));
    assert.deepEqual(cells.slice(0, 3), [
      column.duration(own.iterationMs),
      `${column.number(baseline.iterationMs / own.iterationMs)}x`,
      column.percent(own.bubbleRate),
    ]);
    names.add((await textOf(row.locator('.compare-name button'))).toLowerCase());
    if ((await row.getByText('chosen', { exact: true }).count()) === 0) continue;
    assert.deepEqual([own.iterationMs, own.bubbleRate, own.peakBytes], [plan.iterationMs, plan.bubbleRate, tightest(plan).peakBytes]);
  }
  assert.equal(names.size, comparisons.length, 'two ways have one name');
}

/** Turns the table of layouts to its next page; false on the last. */
async function turnPage(view: Locator): Promise<boolean> {
  const pager = view.locator('.layout-table .pager');
  if ((await pager.count()) === 0) return false;
  const [, end, total] = /to ([\d,]+) of ([\d,]+)$/.exec(await textOf(pager)) ?? [];
  if (end === total) return false;
  await pager.getByRole('button', { name: 'Next page' }).click();
  return true;
}

async function checkLayouts(page: Page, { plan: best, search }: SearchNumbers, shown: LayoutState): Promise<void> {
  await page.getByRole('tab', { name: 'Layout' }).click();
  const view = page.locator('.layout-view');
  const figures = await pairsOf(view.locator('.figures').first());
  const figure = (start: string): string | undefined => [...figures].find(([name]) => name.startsWith(start))?.[1];
  assert.equal(figure('best step'), formatDuration(best.iterationMs));
  assert.equal(figure('tokens/s'), formatRate(best.tokensPerSecond));
  const { launched } = search;
  if (launched !== null) {
    assert.equal(figure('as launched'), formatDuration(launched.iterationMs));
    const { speedup } = launched;
    if (Math.abs(speedup - 1) > 1e-6) {
      const name = figure('within error') !== undefined ? 'within error' : speedup > 1 ? 'faster than launched' : 'slower than launched';
      assert.equal(figure(name), `${formatNumber(Math.max(speedup, 1 / speedup))}x`);
    }
  }
  const all = [best, ...search.paretoFront, ...search.perSchedule, ...search.runnersUp, ...(launched === null ? [] : [launched])];
  const numbers = new Set(
    all.map(
      ({ iterationMs, peakBytes, bubbleRate, tokensPerSecond, mfu }) =>
      [column.duration(iterationMs), column.bytes(peakBytes), column.percent(bubbleRate), formatRate(tokensPerSecond), column.percent(mfu)].join(' '), // prettier-ignore
    ),
  );
  const steps: number[] = [];
  const names: string[] = [];
  for (;;) {
    for (const row of await view.locator('.layout-table tbody tr').all()) {
      const cells = await rowsOf(row.locator('td, th'));
      assert.ok(numbers.has(cells.slice(0, 5).join(' ')), cells.join(' | '));
      const sizes = await textOf(row.locator('.layout-sizes'));
      names.push([...cells.slice(5, 7), sizes].join(' | '));
      if (sizes.endsWith('best')) assert.equal(cells[0], column.duration(best.iterationMs));
      const own = all.find(
        ({ iterationMs, peakBytes }) => column.duration(iterationMs) === cells[0] && column.bytes(peakBytes) === cells[1],
      );
      steps.push(own!.iterationMs);
    }
    if (!(await turnPage(view))) break;
  }
  assert.ok(steps.length > 0, 'the layout table has rows');
  assert.deepEqual(
    steps,
    steps.toSorted((a, b) => a - b),
  );
  assert.equal(
    new Set(names).size,
    names.length,
    `two rows look alike: ${names.filter((name, at) => names.indexOf(name) !== at).join('; ')}`,
  );
  const parts = await rowsOf(view.locator('.layout-parts td.numeric'));
  const units: Readonly<Record<string, number>> = { µs: 1e-3, ms: 1, s: 1e3 };
  const total = parts.reduce(
    (sum, text) => sum + Number.parseFloat(text.replaceAll(',', '')) * (units[text.split(' ')[1] ?? ''] ?? NaN),
    0,
  );
  assert.ok(Math.abs(total / best.iterationMs - 1) < 0.005, `parts of the best add up to ${total} of ${best.iterationMs} ms`);
  const { families, opened, considered, bounded, overMemory, evaluated } = shown.answer!.counts;
  const counts = `${plural(families, 'layout')}, ${formatCount(opened)} of them cut in ${plural(considered, 'way')}: ${formatCount(overMemory)} ruled out by memory, ${formatCount(bounded)} by time, ${formatCount(evaluated)} simulated.`; // prettier-ignore
  await view.locator('summary', { hasText: 'Searched' }).click();
  const facts = await rowsOf(view.locator('.layout-facts p', { hasText: 'ruled out by memory' }));
  assert.ok(facts[0]?.startsWith(counts), facts.join());
}

/** What no page may say, whatever is planned: nothing as a difference, rounding as a number, more digits than are known. */
async function checkWords(page: Page, plan: PlanNumbers): Promise<void> {
  const text = await textOf(page.locator('body'));
  const wrong = /.{30}(?:\b0 % (?:slower|faster|longer)|NaN|Infinity|[−-]0\b|\b0\.0*[1-9]\d{3,}|\b[1-9]\d*\.\d{3,}).{30}/u.exec(text);
  assert.equal(wrong?.[0], undefined);
  const limits = new Set([...text.matchAll(/ \/ ([\d.,]+) GiB/gu)].map(([, limit]) => limit));
  const { capacity } = bytesOfQuantity(tightest(plan).peakBytes, tightest(plan).usableBytes);
  assert.deepEqual([...limits], [capacity], 'one limit');
}

async function opened({ page, send }: OpenPage, state: PageState): Promise<void> {
  await send(show(state));
  await page.locator('.page:visible').waitFor();
  await page.evaluate('harness.settled()');
}

/** What the host sends of a planned file, after a search of its layouts where there is one. */
function stateFor(kind: PageKind, { plan, run, findings }: Planned, result: SearchResult | null): PageState {
  const names = run.layout.tensor !== undefined || run.layout.pipeline !== undefined;
  const launched = names ? launchedPageLayout(plan) : null;
  const layout = { ...noLayoutState, launched, answer: result === null ? null : toLayoutAnswer(result, 'search-1') };
  const shown = kind === 'tab' ? plan : { ...plan, candidates: [chosenCandidate(plan)] };
  return stateOf(kind, shown, { layout, findings: findings.map((finding) => ({ ...finding, placeText: 'train.sh:1:1' })) });
}

const searched: readonly string[] = ['a script that does not fit', 'a TOML of TorchTitan'];

/** Every number of a page is that of `plan --json`, and they add up. */
export const numberCases: readonly Case[] = Object.entries(numberedRuns).flatMap(([what, named]): Case[] => [
  {
    name: `numbers: those of the editor tab are those of the plan and add up: ${what}`,
    options: { kind: 'tab', width: 1600, height: 1400, savedState: { tab: 'timeline' } },
    state: () => null,
    steps: async (open) => {
      const planned = await plannedOf(named);
      const { plan } = planAnswer(planned, new Map([named])).json as { readonly plan: PlanNumbers };
      const result = searched.includes(what)
        ? answerSearch(toSearchProblem(planned.run, planned.plan.request, null), { improvements: false })
        : null;
      const state = stateFor('tab', planned, result);
      await opened(open, state);
      await checkVerdict(open.page, plan);
      await checkFigures(open.page, plan, 6);
      await checkDetails(open.page, plan);
      await checkMemory(open.page, plan);
      await checkWords(open.page, plan);
      await checkCompare(open.page, plan);
      await checkWords(open.page, plan);
      if (result === null) return undefined;
      await checkLayouts(open.page, searchJson(result) as unknown as SearchNumbers, state.layout!);
      await checkWords(open.page, plan);
      return undefined;
    },
  },
  {
    name: `numbers: those of the side view are those of the plan: ${what}`,
    options: { kind: 'side', width: 420 },
    state: () => null,
    steps: async (open) => {
      const planned = await plannedOf(named);
      const { plan } = planAnswer(planned, new Map([named])).json as { readonly plan: PlanNumbers };
      await opened(open, stateFor('side', planned, null));
      await checkVerdict(open.page, plan);
      await checkFigures(open.page, plan, 3);
      await checkWords(open.page, plan);
      return undefined;
    },
  },
]);
