// Prints how long a person waits in the real VS Code: for the extension's activation, from opening a config to its first number, from a
// keystroke to the squiggle and to both pages redrawn, with 96 stages; and what memory 1,000 edits take: `npm run bench:vscode`. Only an
// idle machine gives a usable result.
import { cpSync, mkdirSync, renameSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Browser, Frame, Page } from 'playwright-core';
import { startCodeServer, temporaryFolder } from '../harness/code-server.mjs';
import { ensureBuild, ensureChromium, root } from '../harness/setup.mjs';
import { ensureTools, type Tools } from '../harness/tools.mjs';
import { figures, pageFrame } from '../vscode/plan-page';
import { goBehind, launchBrowser, openWorkbench, runFromPalette } from '../vscode/workbench';
import { until } from '../vscode/until';
import { residentMegabytes } from './resident';

const edits = 9;
const manyEditsCount = 1000;
/** The figures of both pages, of the elements `found`. */
const figuresText = '[...found].map((one) => one.textContent).join()';
const number = /[\d.]+ m?s \/ step/;

/**
 * Notes in a document when what a selector finds changes, once it is painted, on the clock that all frames share. `kept` is where the notes
 * are.
 */
const watch = (kept: string, selector: string, what: string): string => `(() => {
  const now = () => performance.timeOrigin + performance.now();
  const read = () => { const found = document.querySelectorAll(${JSON.stringify(selector)}); return ${what}; };
  const notes = (globalThis.${kept} = []);
  let last = read();
  new MutationObserver(() => {
    const text = read();
    if (text === last) return;
    last = text;
    requestAnimationFrame(() => requestAnimationFrame(() => notes.push({ atMs: now(), text })));
  }).observe(document.documentElement, { subtree: true, childList: true, characterData: true, attributes: true });
})()`;

interface Note {
  readonly atMs: number;
  readonly text: string;
}

async function waitedMs(of: Frame | Page, kept: string, since: number, accepts: (text: string) => boolean = () => true): Promise<number> {
  return until(`a change of ${kept}`, async () => {
    const notes = await of.evaluate<readonly Note[]>(`globalThis.${kept}`);
    const found = notes.find(({ atMs, text }) => atMs >= since && accepts(text));
    return found === undefined ? undefined : found.atMs - since;
  });
}

const clock = (of: Frame | Page): Promise<number> => of.evaluate<number>('performance.timeOrigin + performance.now()');

function print(what: string, values: readonly number[], goalMs: number | null): void {
  const ascending = values.toSorted((a, b) => a - b);
  const median = ascending[Math.floor(ascending.length / 2)] ?? NaN;
  const all = values.map((value) => value.toFixed(0)).join(', ');
  const goal = goalMs === null ? '' : `, goal ${goalMs}${median > goalMs ? ' NOT MET' : ''}`;
  console.log(`${what}: median ${median.toFixed(0)} ms${goal} (${all})`);
}

const samples = ['gpt3-175b', 'llama3-8b'] as const;

const nameOf = (sample: string): string => `${sample}.terapipe.json`;

function workspace(): string {
  const folder = path.join(temporaryFolder('terapipe-bench'), 'opened');
  mkdirSync(folder);
  for (const sample of samples) {
    cpSync(path.join(root, 'media/samples', sample), path.join(folder, sample), { recursive: true });
    renameSync(path.join(folder, sample, 'terapipe.json'), path.join(folder, sample, nameOf(sample)));
  }
  return folder;
}

/** From the file's name being picked to its step in the status bar: in a window that has just started, then in the same one. */
async function opening(browser: Browser, tools: Tools): Promise<void> {
  const server = await startCodeServer(tools, { extensions: [root] });
  try {
    const [cold, warm, counted, finished]: [number[], number[], number[], number[]] = [[], [], [], []];
    for (let turn = 0; turn < 3; turn += 1) {
      const { page } = await openWorkbench(browser, server.url(workspace()));
      await page.waitForTimeout(4000);
      await page.evaluate(
        watch(
          'firstNumbers',
          '.statusbar-item',
          `[...found].map((one) => one.textContent).filter((text) => ${String(number)}.test(text)).join()`,
        ),
      );
      for (const [sample, times] of [
        [samples[0], cold],
        [samples[1], warm],
      ] as const) {
        await page.keyboard.press('F1');
        await page.locator('.quick-input-widget input[type=text]').fill(nameOf(sample));
        const row = page.locator('.quick-input-list .monaco-list-row').getByText(nameOf(sample), { exact: true }).first();
        await row.waitFor();
        const began = await clock(page);
        await row.click();
        times.push(await waitedMs(page, 'firstNumbers', began, (text) => number.test(text)));
      }
      const activation = await activationMs(page);
      counted.push(activation.counted);
      finished.push(activation.finished);
      await page.close();
    }
    print('Activation with a config, as VS Code counts it: with the extensions that it loads for JSON at the same time', counted, null);
    print('The same until everything is ready', finished, null);
    print('Open a config to its first number, first in the window', cold, 2000);
    print('Open a config to its first number, later', warm, 1000);
  } finally {
    await server.stop();
  }
}

/** A command in an empty folder activates the extension, and nothing else. */
async function activation(browser: Browser, tools: Tools): Promise<void> {
  const server = await startCodeServer(tools, { extensions: [root] });
  try {
    const [counted, finished]: [number[], number[]] = [[], []];
    for (let turn = 0; turn < 5; turn += 1) {
      const { page } = await openWorkbench(browser, server.url(temporaryFolder('terapipe-empty')));
      await page.waitForTimeout(6000);
      await runFromPalette(page, 'TeraPipe: Show log');
      await page.waitForTimeout(3000);
      const activation = await activationMs(page);
      counted.push(activation.counted);
      finished.push(activation.finished);
      await page.close();
    }
    print('Activation by a command, as VS Code counts it', counted, 50);
    print('The same until everything is ready', finished, 50);
  } finally {
    await server.stop();
  }
}

/** What VS Code itself measures: loading the code and the call of `activate`, and until what it returns is resolved. */
async function activationMs(page: Page): Promise<{ readonly counted: number; readonly finished: number }> {
  await runFromPalette(page, 'Developer: Startup Performance');
  const lines = page.locator('.editor-instance .view-lines').last();
  const row = /terapipe\.terapipe\s*\|\s*\w+\s*\|\s*(\d+)\s*\|\s*(\d+)\s*\|\s*(\d+)/;
  for (let pages = 0; pages < 60; pages += 1) {
    const [load, call, finish] = (row.exec(await lines.innerText()) ?? []).slice(1).map(Number);
    if (load !== undefined && call !== undefined && finish !== undefined) return { counted: load + call, finished: load + call + finish };
    await page.keyboard.press('PageDown');
    await page.waitForTimeout(100);
  }
  throw new Error('VS Code lists no activation of the extension');
}

/** From a key to the tab redrawn and to the squiggle: the sample of GPT-3 with 96 stages, in the editor next to its timeline. */
async function typing(browser: Browser, tools: Tools): Promise<void> {
  const server = await startCodeServer(tools, { extensions: [root, path.join(root, 'test/harness/demo-driver')] });
  try {
    const folder = path.join(temporaryFolder('terapipe-bench'), 'gpt3-175b');
    cpSync(path.join(root, 'media/samples/gpt3-175b'), folder, { recursive: true });
    const { page } = await openWorkbench(browser, server.url(folder));
    await figures(page, 'tab');
    const tab = await pageFrame(page, 'tab');
    await tab.evaluate(watch('numbers', 'dl.figures dd', figuresText));
    await page.evaluate(watch('squiggles', '.squiggly-error', 'String(found.length)'));
    await page.waitForTimeout(4000);
    await goBehind(page, '"globalBatch": 2');
    const times: number[] = [];
    for (let edit = 0; edit < edits; edit += 1) {
      await page.keyboard.press('Shift+ArrowLeft');
      const began = await clock(page);
      await page.keyboard.type(edit % 2 === 0 ? '4' : '2');
      times.push(await waitedMs(tab, 'numbers', began));
      await page.waitForTimeout(1500);
    }
    print('Key to tab redrawn, 96 stages', times, 400);
    const squiggles: number[] = [];
    await goBehind(page, '"tensor": 4');
    for (let edit = 0; edit < edits; edit += 1) {
      await page.keyboard.press('Shift+ArrowLeft');
      const began = await clock(page);
      await page.keyboard.type(edit % 2 === 0 ? '5' : '4');
      const waited = await waitedMs(page, 'squiggles', began);
      if (edit % 2 === 0) squiggles.push(waited);
      await page.waitForTimeout(1500);
    }
    print('Key to squiggle', squiggles, 150);
    await page.keyboard.press('Shift+ArrowLeft');
    await page.keyboard.type('4');
    await goBehind(page, '"globalBatch": 4');
    await manyEdits(page, [tab], server.folder);
  } finally {
    await server.stop();
  }
}

/** Memory of the window, the extension host and the planner over many edits, of which every tenth is waited for. */
async function manyEdits(page: Page, pages: readonly Frame[], serverFolder: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const say = async (after: number): Promise<void> => {
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    const resident = residentMegabytes(serverFolder, { 'extension host': '--type=extensionHost', planner: 'dist/worker.js' });
    const parts = Object.entries(resident).map(([name, megabytes]) => `${name} ${megabytes.toFixed(0)} MB resident`);
    console.log(`${after} edits: ${[`window with both pages ${(usedSize / 2 ** 20).toFixed(0)} MB of heap`, ...parts].join(', ')}`);
  };
  const retyped = async (keys: string): Promise<void> => {
    for (const key of keys) {
      await page.keyboard.press('Shift+ArrowLeft');
      await page.keyboard.type(key);
    }
  };
  const shown = (): Promise<readonly string[]> =>
    Promise.all(
      pages.map((of) =>
        of.evaluate<string>(`(() => {
    const found = document.querySelectorAll('dl.figures dd');
    return ${figuresText};
  })()`),
      ),
    );
  const known = new Map<string, readonly string[]>();
  for (const key of '24') {
    await retyped(key);
    await page.waitForTimeout(4000);
    known.set(key, await shown());
  }
  await say(0);
  for (let edit = 10; edit <= manyEditsCount; edit += 10) {
    const last = (edit / 10) % 2 === 0 ? '4' : '2';
    await retyped(`246246246${last}`);
    await until('the numbers of the last edit', async () => (isDeepStrictEqual(await shown(), known.get(last)) ? true : undefined));
    if (edit % (manyEditsCount / 4) === 0) await say(edit);
  }
}

async function main(): Promise<void> {
  const [tools, chromium] = [await ensureTools(), await ensureChromium()];
  await ensureBuild({ production: true });
  const browser = await launchBrowser(chromium);
  try {
    await activation(browser, tools);
    await opening(browser, tools);
    await typing(browser, tools);
  } finally {
    await browser.close();
  }
}

void main().then(() => process.exit());
