import { readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { deflateRawSync } from 'node:zlib';
import type { CDPSession, Page } from 'playwright-core';
import { ensureChromium } from '../harness/setup.mjs';
import { openStage, type Stage } from '../webview/browser';
import { planned, startSite } from '../webview/site';

/*
 * `npm run bench:web`: when a link of Llama 3 8B shows its first number and its page, at a processor four times slower (the page; Chromium
 * slows no workers down), and what 500 edits leave of memory.
 */

const runs = 5;
const edits = 500;
const samples = path.resolve('media/samples/llama3-8b');

async function main(): Promise<void> {
  const stage = await openStage(await ensureChromium());
  const site = await startSite();
  const names = ['terapipe.json', 'config.json'];
  const files = await Promise.all(names.map(async (name) => [name, await readFile(path.join(samples, name), 'utf8')]));
  const link = `${site.url}#v1=${deflateRawSync(JSON.stringify(files)).toString('base64url')}`;
  for (const rate of [4, 1]) {
    const times: Opened[] = [];
    for (let run = 0; run < runs; run++) times.push(await opened(stage, link, rate));
    const ms = (pick: (time: Opened) => number): string => times.map((time) => `${Math.round(pick(time))}`).join(', ');
    console.log(`${rate}x: first number after ${ms(({ line }) => line)} ms; the page after ${ms(({ page }) => page)} ms`);
  }
  await memoryOverEdits(stage, link);
  await site.stop();
  await stage.close();
}

interface Opened {
  readonly line: number;
  readonly page: number;
}

/** How long after navigating the first line and the page's own figures were there, ms. */
async function opened(stage: Stage, link: string, rate: number): Promise<Opened> {
  const profile = await stage.newProfile({ width: 1440, height: 900 });
  const page = await profile.newPage();
  const session = await profile.newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate });
  await page.addInitScript(`
    const look = setInterval(() => {
      if (document.querySelector('#first')?.textContent && !window.lineMs) window.lineMs = performance.now();
      if (document.querySelector('#root dl.figures')?.checkVisibility()) { window.pageMs = performance.now(); clearInterval(look); }
    }, 10);
  `);
  await page.goto(link);
  await planned(page);
  const times: Opened = await page.evaluate('({ line: window.lineMs ?? window.pageMs, page: window.pageMs })');
  await profile.close();
  return times;
}

async function memoryOverEdits(stage: Stage, link: string): Promise<void> {
  const profile = await stage.newProfile({ width: 1440, height: 900 });
  const page = await profile.newPage();
  const session = await profile.newCDPSession(page);
  await page.goto(link);
  await planned(page);
  const written = await page.locator('#editor').inputValue();
  const used = [await heapMb(page, session)];
  for (let edit = 1; edit <= edits; edit++) {
    await page.locator('#editor').fill(written.replace(/"globalBatch": \d+/, `"globalBatch": ${64 + 16 * (edit % 8)}`));
    await page.waitForTimeout(60);
    if (edit % 100 === 0) used.push(await heapMb(page, session));
  }
  console.log(`heap of the page at 0, 100, ... ${edits} edits: ${used.map((mb) => mb.toFixed(1)).join(', ')} MB`);
  await profile.close();
}

async function heapMb(page: Page, session: CDPSession): Promise<number> {
  await page.waitForTimeout(3000);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize / 1e6;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
