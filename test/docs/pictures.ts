// Makes the small pictures of README from those of `npm run pictures`: run that first, then `npm run docs:pictures`.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { chromium } from 'playwright-core';
import { ensureChromium, root } from '../harness/setup.mjs';

/** What of a picture is shown, from its upper left corner, and how wide; pixels. */
interface Cut {
  readonly from: string;
  readonly to: string;
  readonly width: number;
  readonly height: number;
  readonly shownWidth: number;
}

const cuts: readonly Cut[] = [
  { from: 'tab-900-dark', to: 'timeline', width: 900, height: 760, shownWidth: 640 },
  { from: 'layout-1440-dark', to: 'layout', width: 1440, height: 890, shownWidth: 800 },
  { from: 'compared-plans-1440-dark', to: 'compare', width: 1440, height: 850, shownWidth: 800 },
];

async function main(): Promise<void> {
  const browser = await chromium.launch({ executablePath: await ensureChromium(), args: ['--no-sandbox'] });
  for (const { from, to, width, height, shownWidth } of cuts) {
    const source = path.join(root, 'out/screenshots', `${from}.png`);
    if (!existsSync(source)) throw new Error(`${source} is not there: run npm run pictures`);
    const scale = shownWidth / width;
    const page = await browser.newPage({ viewport: { width: shownWidth, height: Math.round(height * scale) } });
    const data = readFileSync(source).toString('base64');
    await page.setContent(
      `<body style="margin:0;overflow:hidden"><img style="transform-origin:0 0;transform:scale(${scale})" src="data:image/png;base64,${data}">`,
    );
    await page.waitForFunction('document.images[0].complete');
    writeFileSync(path.join(root, 'media/readme', `${to}.png`), await page.screenshot());
    await page.close();
    console.log(`wrote media/readme/${to}.png`);
  }
  await browser.close();
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
