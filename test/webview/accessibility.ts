import assert from 'node:assert/strict';
import { sentence } from '../../src/core/sentence';
import type { PageState } from '../../src/protocol/page';
import { isFullRun } from '../property/cases';
import { injectAxe, runAxe, type AxeResult } from './axe';
import type { OpenPage } from './browser';
import { type Case } from './cases';
import { contrast, over, type Rgba } from '../../webview/base/color';
import { drawnNow, watchDrawing } from './drawn';
import { findings, planOf, stateOf } from './fixtures';
import { themes } from './shots';
import { heights, surfaces, type Surface } from './surfaces';

const error: PageState['error'] = {
  code: 'x',
  message: sentence`expected a number`,
  remedy: sentence`Write a whole number`,
  place: findings[0]?.place ?? null,
  placeText: 'gpt3-175b/terapipe.json:7:3',
};
const troubled = { error, findings, staleEdits: 2, trusted: false, progress: 0.5 };

/** What surfaces do not show that people look at: errors, an old plan, and what opens over the page. */
const more: readonly Surface[] = [
  { name: 'side-troubled', kind: 'side', state: () => stateOf('side', planOf({ unit: 56 }), troubled) },
  { name: 'side-failed', kind: 'side', state: () => stateOf('side', null, { file: 'gpt3-175b/terapipe.json', error, findings }) },
  { name: 'side-planning', kind: 'side', state: () => stateOf('side', null, { file: 'gpt3-175b/terapipe.json', progress: 0.5 }) },
  {
    name: 'timeline-troubled',
    kind: 'tab',
    state: () => stateOf('tab', planOf({ unit: 56 }), troubled),
    savedState: { tab: 'timeline', table: true },
    act: (page) => page.getByRole('button', { name: 'Export' }).locator('visible=true').click(),
  },
  {
    name: 'timeline-help',
    kind: 'tab',
    state: () => stateOf('tab', planOf({ unit: 56 })),
    savedState: { tab: 'timeline' },
    act: (page) => page.locator('.lanes-region:visible').press('?'),
  },
  {
    name: 'timeline-nodes',
    kind: 'tab',
    state: () => stateOf('tab', planOf({ unit: 56 })),
    savedState: { tab: 'timeline' },
    act: async (page) => {
      for (const key of ['Shift+G', 'Home', 'p']) await page.locator('.lanes-region:visible').press(key);
    },
  },
];

/** Without a full run one surface of each tab, and those that show what the others do not. */
const usual = [
  'side-over',
  'side-elastic',
  'side-empty',
  'timeline-selected',
  'memory',
  'slices',
  'compare-trace',
  'layout',
  'profile',
  'prefill',
  'elastic',
  'schedule',
  'empty',
];

const looked = (kind: Surface['kind']): readonly Surface[] =>
  [...surfaces.filter(({ name }) => isFullRun || usual.includes(name)), ...more].filter((surface) => surface.kind === kind);

const widths = { side: 280, tab: 1500 } as const;

/** Both pages as axe-core judges them, in every tab and theme. */
export const accessibilityCases: readonly Case[] = (['side', 'tab'] as const).map((kind) => ({
  name: `axe: no violation in ${kind === 'side' ? 'the side view' : 'any tab'}, in four themes`,
  options: { kind, width: widths[kind], height: heights[kind], reducedMotion: true, vendoredFont: true },
  state: () => null,
  steps: async (open) => {
    const version = await injectAxe(open.page);
    const violations: string[] = [];
    const left: string[] = [];
    for (const surface of looked(kind)) {
      await turnTo(open, surface);
      const incomplete = new Map<string, number>();
      for (const theme of isFullRun || !more.includes(surface) ? themes : themes.slice(0, 1)) {
        await open.setTheme(theme);
        // Controls of the toolkit take a theme's colours a frame later.
        await open.page.evaluate('harness.settled()');
        const report = await runAxe(open.page, isFullRun || theme === themes[0] ? 'all' : 'colors');
        assert.ok(report.passes > 0, `${surface.name}, ${theme}: axe-core judged nothing`);
        violations.push(...report.violations.map((each) => `${surface.name}, ${theme}: ${sayResult(each)}`));
        for (const [rule, count] of countsOf(report.incomplete)) incomplete.set(rule, Math.max(count, incomplete.get(rule) ?? 0));
      }
      if (incomplete.size > 0) left.push(`${surface.name} ${[...incomplete].map(([rule, count]) => `${rule} ${count}`).join(', ')}`);
    }
    assert.deepEqual(violations, []);
    return `axe-core ${version}, ${kind}: no violation on ${looked(kind).length} surfaces; incomplete: ${left.join('; ') || 'nothing'}`;
  },
}));

/** Surfaces whose canvases have words, lines and every kind of part. */
const painted = ['timeline-selected', 'memory', 'slices', 'layout', 'profile', 'elastic'] as const;

/** What WCAG 2 asks of words (1.4.3) and of parts that a picture is read by (1.4.11). */
const leastContrast = { words: 4.5, parts: 3 } as const;

/** axe-core does not look into canvases: their words, and the parts that legends name, against what they are drawn on. */
export const canvasCases: readonly Case[] = [
  {
    name: 'contrast: words and parts on canvases contrast with the page, in four themes',
    options: { kind: 'tab', width: widths.tab, height: heights.tab, reducedMotion: true, vendoredFont: true },
    state: () => null,
    steps: async (open) => {
      const { page } = open;
      await watchDrawing(page);
      const least = { words: Infinity, parts: Infinity };
      const weak: string[] = [];
      for (const name of painted) {
        await turnTo(
          open,
          surfaces.find((surface) => surface.name === name)!,
        );
        for (const theme of themes) {
          await open.setTheme(theme);
          await page.evaluate('harness.settled()');
          const ground = rgbaOf(await page.evaluate<string>('getComputedStyle(document.body).backgroundColor'));
          const words = (await drawnNow(page)).flatMap(({ marks }) =>
            Object.keys(marks).flatMap((mark) => /^fillText (.*)$/.exec(mark)?.[1] ?? []),
          );
          const parts = await page.evaluate<string[]>(swatchColors);
          assert.ok(words.length > 0, `${name}: no words on a canvas`);
          for (const [kind, found] of [
            ['words', words.filter((color) => !isInsideBars(color))],
            ['parts', parts],
          ] as const)
            for (const color of found) {
              const ratio = Math.max(...color.split('|').map((one) => contrast(over(rgbaOf(one), ground), ground)));
              least[kind] = Math.min(least[kind], ratio);
              if (ratio < leastContrast[kind]) weak.push(`${name}, ${theme}: ${kind} ${color} ${ratio.toFixed(2)}`);
            }
        }
      }
      assert.deepEqual([...new Set(weak)], []);
      return `canvases: words ${least.words.toFixed(1)} to 1 at least, parts ${least.parts.toFixed(1)} to 1`;
    },
  },
];

/** Text on bars is black or white: `readableOn` chooses between them by contrast, which has a test of its own. */
function isInsideBars(color: string): boolean {
  const [red, green, blue] = rgbaOf(color);
  return [0, 255].some((value) => red === value && green === value && blue === value);
}

/**
 * What legends show of canvases: of each swatch the colours of its fill and of the lines over it, or of its edge where it has neither,
 * with bars between them.
 */
const swatchColors = `[...document.querySelectorAll('.swatch')].filter((one) => one.checkVisibility()).map((one) => {
  const { backgroundColor, backgroundImage, borderTopColor } = getComputedStyle(one);
  const colors = [backgroundColor, ...(backgroundImage.match(/(?:rgba?|color)\\([^()]*\\)/g) ?? [])];
  const shown = colors.filter((color) => !/^rgba.*, 0\\)$/.test(color));
  return (shown.length > 0 ? shown : [borderTopColor]).join('|');
})`;

/** As browsers write computed colours: `#rrggbb`, `rgb()`, `rgba()` or `color(srgb ...)`. */
function rgbaOf(color: string): Rgba {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(color);
  const numbers = hex === null ? [...color.matchAll(/[\d.]+/g)].map(Number) : hex.slice(1).map((part) => parseInt(part, 16));
  const [red = NaN, green = NaN, blue = NaN, alpha = 1] = numbers;
  const scale = color.startsWith('color(srgb') ? 255 : 1;
  return [scale * red, scale * green, scale * blue, alpha];
}

/** Shows a surface as high as what scrolls in it: axe-core cannot read colours of what is scrolled away. */
async function turnTo({ page, send }: OpenPage, { kind, state, savedState, act }: Surface): Promise<void> {
  await page.keyboard.press('Escape');
  await page.setViewportSize({ width: widths[kind], height: heights[kind] });
  await send({ type: 'state', state: state() });
  await page.locator('.page:visible').waitFor();
  const { tab } = (savedState ?? {}) as { readonly tab?: string };
  if (tab !== undefined) await page.locator(`#tab-${tab}`).click();
  await page.evaluate('harness.settled()');
  await act?.(page);
  const scrolledPx =
    await page.evaluate<number>(`Math.max(0, ...[...document.querySelectorAll('.page:not([hidden]), .page:not([hidden]) *')]
    .filter((element) => /auto|scroll/.test(getComputedStyle(element).overflowY)).map((element) => element.scrollHeight - element.clientHeight))`);
  if (scrolledPx === 0) return;
  await page.setViewportSize({ width: widths[kind], height: heights[kind] + scrolledPx });
  await page.evaluate('harness.settled()');
}

function countsOf(results: readonly AxeResult[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { rule } of results) counts.set(rule, (counts.get(rule) ?? 0) + 1);
  return counts;
}

function sayResult({ rule, help, selector, why }: AxeResult): string {
  return `${rule}: ${help}: ${selector}: ${why}`;
}

const tabWithFinding = (): PageState => stateOf('tab', planOf({ unit: 56 }), { findings: findings.slice(1) });

/** Of the lanes, their axis, and three stages. */
const leastLanesPx = 64;

/** What a window of 1500 by 1000 has left for the tab at 200 %, and what comes first for those who hear a page. */
export const readingCases: readonly Case[] = [
  {
    name: 'reading: at 200 % the first lanes of the timeline are on the first screen',
    options: { kind: 'tab', width: widths.tab / 2, height: heights.tab / 2, scale: 2, vendoredFont: true },
    state: tabWithFinding,
    steps: async ({ page }) => {
      const lanes = await page.locator('.lanes-region:visible').boundingBox();
      assert.ok(lanes !== null);
      const shownPx = heights.tab / 2 - lanes.y;
      assert.ok(shownPx >= leastLanesPx, `${shownPx} px of the lanes are on the first screen`);
      assert.equal(await page.evaluate('document.scrollingElement.scrollWidth'), widths.tab / 2, 'the page scrolls sideways');
      return `200 %: ${Math.round(Math.min(shownPx, lanes.height))} px of the lanes on a first screen of ${heights.tab / 2} px`;
    },
  },
  ...(['side', 'tab'] as const).map((kind): Case => ({
    name: `reading: ${kind === 'side' ? 'the side view' : 'the tab'} announces its verdict first, and again when it changes`,
    options: { kind, width: widths[kind] },
    state: () => stateOf(kind, planOf({ unit: 56 })),
    steps: async ({ page, send }) => {
      const heard = await page.locator('main').ariaSnapshot();
      assert.match(heard, /^- main:\s+- region "Verdict":\s+- paragraph:\s+- strong: Fits, /);
      assert.ok(heard.indexOf('Fits,') < heard.indexOf('- heading'), heard);
      const live = page.locator('.glance-words:visible');
      assert.equal(await live.getAttribute('aria-live'), 'polite');
      await page.evaluate(`document.querySelector('.glance-words').dataset.kept = 'yes'`);
      await send({ type: 'state', state: stateOf(kind, planOf({ stages: 24, tensor: 8, nodes: 24 })) });
      await page.getByText('Does not fit:').first().waitFor();
      assert.match(
        await page.locator('.glance-words[data-kept]').innerText(),
        /^Does not fit: /,
        'another element has the text: nothing is announced',
      );
      return undefined;
    },
  })),
];
