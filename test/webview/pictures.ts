import path from 'node:path';
import type { Page } from 'playwright-core';
import type { Stage } from './browser';
import { comparedState, comparisonOf, plansCompared, traceCompared } from './comparisons';
import { elasticOf, elasticState } from './elastic';
import { findings, planOf, stateOf } from './fixtures';
import { layoutOf, layoutState, usualSearch } from './layouts';
import { known, profileOf, profilesOf } from './profiles';
import type { ThemeName } from './themes';

const themes: readonly ThemeName[] = ['dark', 'light', 'high-contrast', 'high-contrast-light'];

/** Takes pictures of both pages in every theme and width into a folder, for people to look at. Resolves to what went wrong. */
export async function takePictures(stage: Stage, folder: string): Promise<string[]> {
  const plan = planOf({ unit: 56 });
  const profiles = profilesOf([known(profileOf())]);
  const failures: string[] = [];
  const picture = async (
    name: string,
    size: { readonly kind: 'side' | 'tab'; readonly width: number; readonly height: number; readonly theme: ThemeName },
    act: (page: Page) => Promise<void> = () => Promise.resolve(),
  ): Promise<void> => {
    const open = await stage.open({ ...size, scale: size.kind === 'side' ? 2 : 1, reducedMotion: true });
    await open.send({
      type: 'state',
      state: stateOf(size.kind, plan, { findings: findings.slice(1), profile: size.kind === 'tab' ? profiles : null }),
    });
    await open.page.locator('.figures').waitFor();
    await act(open.page);
    await open.page.waitForTimeout(150);
    await open.page.screenshot({ path: path.join(folder, `${name}.png`) });
    failures.push(...(await open.complaints()).map((complaint) => `picture ${name}: ${complaint}`));
    await open.close();
  };
  const elastic = elasticState(elasticOf());
  const elasticPicture = async (width: number, theme: ThemeName): Promise<void> => {
    const open = await stage.open({ kind: 'tab', width, height: 1400, theme, reducedMotion: true });
    await open.send({ type: 'state', state: elastic });
    await open.page.locator('.epoch-chart').press('PageDown');
    await open.page.waitForTimeout(150);
    await open.page.screenshot({ path: path.join(folder, `elastic-${width}-${theme}.png`) });
    failures.push(...(await open.complaints()).map((complaint) => `picture of the elastic tab: ${complaint}`));
    await open.close();
  };
  const layouts = layoutState(layoutOf(usualSearch()));
  const layoutPicture = async (width: number, theme: ThemeName): Promise<void> => {
    const open = await stage.open({ kind: 'tab', width, height: 1400, theme, reducedMotion: true, savedState: { tab: 'layout' } });
    await open.send({ type: 'state', state: layouts });
    await open.page.locator('.layout-canvas').last().press('ArrowLeft');
    await open.page.waitForTimeout(150);
    await open.page.screenshot({ path: path.join(folder, `layout-${width}-${theme}.png`) });
    failures.push(...(await open.complaints()).map((complaint) => `picture of the layout tab: ${complaint}`));
    await open.close();
  };
  const comparedPicture = async (
    name: string,
    answer: ReturnType<typeof plansCompared>,
    width: number,
    theme: ThemeName,
  ): Promise<void> => {
    const open = await stage.open({ kind: 'tab', width, height: 1500, theme, reducedMotion: true, savedState: { tab: 'compare' } });
    await open.send({ type: 'state', state: comparedState(comparisonOf(answer)) });
    await open.page.waitForTimeout(150);
    await open.page.screenshot({ path: path.join(folder, `compared-${name}-${width}-${theme}.png`) });
    failures.push(...(await open.complaints()).map((complaint) => `picture of a comparison: ${complaint}`));
    await open.close();
  };
  const ofTheme = async (theme: ThemeName): Promise<void> => {
    for (const width of [280, 400]) await picture(`side-${width}-${theme}`, { kind: 'side', width, height: 760, theme });
    for (const width of [900, 1600]) await picture(`tab-${width}-${theme}`, { kind: 'tab', width, height: 900, theme });
    for (const name of ['Memory', 'Slices', 'Compare', 'Profile'])
      await picture(`${name.toLowerCase()}-${theme}`, { kind: 'tab', width: 1440, height: 900, theme }, (page) =>
        page.getByRole('tab', { name }).click(),
      );
    for (const width of [480, 1440]) await elasticPicture(width, theme);
    for (const width of [280, 720, 1440]) await layoutPicture(width, theme);
    await comparedPicture('plans', plansCompared(), 1440, theme);
    for (const width of [480, 1440]) await comparedPicture('trace', traceCompared(), width, theme);
    await picture(`zoomed-${theme}`, { kind: 'tab', width: 1440, height: 900, theme }, (page) => page.mouse.dblclick(600, 520));
  };
  await Promise.all(themes.map(ofTheme));
  return failures;
}
