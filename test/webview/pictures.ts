import path from 'node:path';
import type { Page } from 'playwright-core';
import type { Stage } from './browser';
import { comparedState, comparisonOf, plansCompared, traceCompared } from './comparisons';
import type { PageState } from '../../src/protocol/page';
import { elasticOf, elasticState } from './elastic';
import { findings, planOf, stateOf } from './fixtures';
import { layoutOf, layoutState, usualSearch } from './layouts';
import { prefillState } from './prefill';
import { known, profileOf, profilesOf } from './profiles';
import type { ThemeName } from './themes';

const themes: readonly ThemeName[] = ['dark', 'light', 'high-contrast', 'high-contrast-light'];

/** A page to take pictures of. */
interface Scene {
  readonly name: string;
  readonly kind: 'side' | 'tab';
  readonly width: number;
  readonly height: number;
  readonly state: PageState;
  readonly savedState?: unknown;
  readonly act?: (page: Page) => Promise<void>;
}

function scenes(): readonly Scene[] {
  const plan = planOf({ unit: 56 });
  const profiles = profilesOf([known(profileOf())]);
  const side = stateOf('side', plan, { findings: findings.slice(1) });
  const tab = stateOf('tab', plan, { findings: findings.slice(1), profile: profiles });
  const elastic = elasticState(elasticOf());
  const layouts = layoutState(layoutOf(usualSearch()));
  const compared = (answer: ReturnType<typeof plansCompared>): PageState => comparedState(comparisonOf(answer));
  const tabNamed =
    (name: string) =>
    async (page: Page): Promise<void> =>
      page.getByRole('tab', { name }).click();
  const tall = { kind: 'tab', height: 1500 } as const;
  return [
    ...[280, 400].map((width): Scene => ({ name: `side-${width}`, kind: 'side', width, height: 760, state: side })),
    ...[900, 1600].map((width): Scene => ({ name: `tab-${width}`, kind: 'tab', width, height: 900, state: tab })),
    ...['Memory', 'Slices', 'Compare', 'Profile'].map((name): Scene => ({
      name: name.toLowerCase(),
      kind: 'tab',
      width: 1440,
      height: 900,
      state: tab,
      act: tabNamed(name),
    })),
    ...[480, 1280].map((width): Scene => ({ ...tall, name: `prefill-${width}`, width, state: prefillState(), act: tabNamed('Prefill') })),
    { name: 'zoomed', kind: 'tab', width: 1440, height: 900, state: tab, act: (page) => page.mouse.dblclick(600, 520) },
    ...[480, 1440].map((width): Scene => ({
      ...tall,
      name: `elastic-${width}`,
      width,
      state: elastic,
      act: (page) => page.locator('.epoch-chart').press('PageDown'),
    })),
    ...[280, 720, 1440].map((width): Scene => ({
      ...tall,
      name: `layout-${width}`,
      width,
      state: layouts,
      savedState: { tab: 'layout' },
      act: (page) => page.locator('.layout-canvas').last().press('ArrowLeft'),
    })),
    { ...tall, name: 'compared-plans-1440', width: 1440, state: compared(plansCompared()), savedState: { tab: 'compare' } },
    ...[480, 1440].map((width): Scene => ({
      ...tall,
      name: `compared-trace-${width}`,
      width,
      state: compared(traceCompared()),
      savedState: { tab: 'compare' },
    })),
  ];
}

/**
 * Takes pictures of both pages in every theme and width into a folder, for people to look at; a page is opened once and changes its theme
 * as when a person
 * chooses another. Resolves to what went wrong.
 */
export async function takePictures(stage: Stage, folder: string): Promise<string[]> {
  const failures: string[] = [];
  for (const { name, kind, width, height, state, savedState, act } of scenes()) {
    const open = await stage.open({ kind, width, height, theme: 'dark', scale: kind === 'side' ? 2 : 1, reducedMotion: true, savedState });
    await open.send({ type: 'state', state });
    await open.page.locator('.page:visible').waitFor();
    await act?.(open.page);
    for (const theme of themes) {
      await open.setTheme(theme);
      await open.page.waitForTimeout(150);
      await open.page.screenshot({ path: path.join(folder, `${name}-${theme}.png`) });
    }
    failures.push(...(await open.complaints()).map((complaint) => `picture ${name}: ${complaint}`));
    await open.close();
  }
  return failures;
}
