// `npm run screenshots`: every surface in four themes and three widths, into out/screenshots; -- --approve takes those that tests compare
// with and README shows, and writes them; -- --kinds takes kinds of files in a real VS Code instead, each next to its tab. An argument
// takes the surfaces or kinds whose names contain it.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { ensureChromium, root } from '../harness/setup.mjs';
import { startDemo } from '../vscode/demo';
import { kindPictures } from '../vscode/kinds';
import { figuresOfTab, pageFrame, timelineFrame } from '../vscode/plan-page';
import { chooseTheme, launchBrowser, openWorkbench } from '../vscode/workbench';
import { approve } from './approved';
import { openStage, type Stage } from './browser';
import { openLook, shoot, type Shot } from './shots';
import { approvedLooks, nameOf, surfaces, widths, type Look } from './surfaces';

/** The part of a dark picture that README shows, from its upper left corner, and how wide; pixels. */
const readmePictures = [
  { from: 'timeline-1500', to: 'timeline', height: 1000, shownWidth: 800 },
  { from: 'layout-1500', to: 'layout', height: 890, shownWidth: 800 },
  { from: 'compare-plans-1500', to: 'compare', height: 850, shownWidth: 800 },
] as const;

const allLooks = surfaces.flatMap((surface) => (surface.widths ?? widths[surface.kind]).map((width): Look => ({ surface, width })));

/** The looks that are committed, here and in README. */
const committedLooks = [...approvedLooks, ...allLooks.filter((look) => readmePictures.some(({ from }) => from === nameOf(look)))];

async function take(stage: Stage, folder: string, looks: readonly Look[]): Promise<ReadonlyMap<string, readonly Shot[]>> {
  const taken = new Map<string, readonly Shot[]>();
  for (const look of looks) {
    if (taken.has(nameOf(look))) continue;
    const open = await openLook(stage, look);
    const shots = await shoot(open);
    const complaints = await open.complaints();
    if (complaints.length > 0) throw new Error(`${nameOf(look)}: ${complaints.join('; ')}`);
    await open.close();
    taken.set(nameOf(look), shots);
    for (const { theme, png } of shots) writeFileSync(path.join(folder, `${nameOf(look)}-${theme}.png`), png);
  }
  console.log(`wrote ${4 * taken.size} pictures of ${taken.size} looks into ${path.relative(root, folder)}`);
  return taken;
}

async function writeReadmePictures(stage: Stage, taken: ReadonlyMap<string, readonly Shot[]>): Promise<void> {
  for (const { from, to, height, shownWidth } of readmePictures) {
    const png = taken.get(from)?.find(({ theme }) => theme === 'dark')?.png;
    if (png === undefined) throw new Error(`no picture ${from}`);
    writeFileSync(
      path.join(root, 'media/readme', `${to}.png`),
      await stage.scaled(png, { fromWidth: 1500, fromHeight: height, width: shownWidth }),
    );
  }
}

/** What README shows first: the demo as it opens in a real VS Code, 1600 by 1000 pixels. */
async function demoPicture(chromiumPath: string): Promise<Buffer> {
  const demo = await startDemo();
  const browser = await launchBrowser(chromiumPath);
  try {
    const { page } = await openWorkbench(browser, demo.url);
    await figuresOfTab(page, () => true);
    await chooseTheme(page, 'Dark Modern', 'vs-dark');
    for (const kind of ['side', 'tab'] as const) await (await pageFrame(page, kind)).locator('body.vscode-dark').waitFor();
    await page.locator('.codelens-decoration a', { hasText: '/ step' }).waitFor();
    await timelineFrame(page);
    // Toasts of the start go.
    await page.locator('.notifications-toasts.visible').waitFor({ state: 'hidden' });
    return await page.screenshot();
  } finally {
    await browser.close();
    await demo.stop();
  }
}

async function main(): Promise<void> {
  const [flags, [only = '']] = [
    process.argv.slice(2).filter((arg) => arg.startsWith('-')),
    process.argv.slice(2).filter((arg) => !arg.startsWith('-')),
  ];
  const isApproving = flags.includes('--approve');
  const folder = path.join(root, 'out/screenshots');
  mkdirSync(folder, { recursive: true });
  const chromium = await ensureChromium();
  if (flags.includes('--kinds')) {
    console.log(`wrote ${await kindPictures(chromium, folder, only)} pictures of kinds of files into ${path.relative(root, folder)}`);
    return;
  }
  const stage = await openStage(chromium);
  try {
    const taken = await take(stage, folder, isApproving ? committedLooks : allLooks.filter((look) => nameOf(look).includes(only)));
    if (!isApproving) return;
    approve(stage, new Map(approvedLooks.map((look) => [look, taken.get(nameOf(look)) ?? []])));
    await writeReadmePictures(stage, taken);
    writeFileSync(path.join(root, 'media/readme/demo.png'), await demoPicture(chromium));
  } finally {
    await stage.close();
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
