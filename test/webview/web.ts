import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BrowserContext, Page } from 'playwright-core';
import { injectAxe, runAxe } from './axe';
import type { Stage } from './browser';
import { planned, startSite, type Site } from './site';

/*
 * The page for browsers as people get it: built and served by `npm run web -- --serve`, each case in a profile of its own.
 */

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const samples = path.join(root, 'media/samples/llama3-8b');
const sample = path.join(samples, 'config.json');

/** A visitor: a profile of its own. */
interface Visitor {
  readonly page: Page;
  readonly complaints: readonly string[];
}

async function visit(context: BrowserContext, url: string): Promise<Visitor> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  await page.goto(url);
  return { page, complaints };
}

async function paste(page: Page, text: string): Promise<void> {
  await page.locator('#paste').fill(text);
  await page.locator('#plan').click();
  await planned(page);
}

/** The plan as the page saves it. */
async function savedJson(page: Page): Promise<string> {
  const saving = page.waitForEvent('download');
  await page.evaluate(`acquireVsCodeApi().postMessage({ type: 'command', command: 'terapipe.exportPlan' })`);
  const file = await (await saving).path();
  return readFile(file, 'utf8');
}

/** Asserts that `a` is `b`, numbers to the last digits: Chromium and Node.js round some functions differently. */
function assertAlike(a: unknown, b: unknown, at: string): void {
  if (typeof a === 'number' && typeof b === 'number') assert.ok(Math.abs(a - b) <= 1e-9 * Math.abs(b), `${at}: ${a}, not ${b}`);
  else if (Array.isArray(a) && Array.isArray(b)) {
    assert.equal(a.length, b.length, at);
    a.forEach((each, index) => assertAlike(each, b[index], `${at}[${index}]`));
  } else if (typeof a === 'object' && a !== null && typeof b === 'object' && b !== null) {
    assert.deepEqual(Object.keys(a), Object.keys(b), at);
    for (const [key, value] of Object.entries(a)) assertAlike(value, (b as Record<string, unknown>)[key], `${at}.${key}`);
  } else assert.deepEqual(a, b, at);
}

/** What the terminal prints for a sample in a folder named as the page's. */
async function terminalJson(): Promise<Record<string, unknown>> {
  const folder = path.join(await mkdtemp(path.join(tmpdir(), 'terapipe-web-')), 'model');
  const file = path.join(folder, 'terapipe.json');
  await cp(samples, folder, { recursive: true });
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(root, 'dist/cli.js'), 'plan', file, '--json'], {
    maxBuffer: 2 ** 28,
  });
  await rm(path.dirname(folder), { recursive: true });
  return JSON.parse(stdout) as Record<string, unknown>;
}

interface WebCase {
  readonly name: string;
  readonly run: (stage: Stage) => Promise<void>;
}

type Steps = (site: Site, newVisitor: (url: string, width?: number) => Promise<Visitor>) => Promise<void>;

function webCase(name: string, steps: Steps): WebCase {
  return {
    name: `web: ${name}`,
    run: async (stage) => {
      const site = await startSite();
      const profiles: BrowserContext[] = [];
      const visitors: Visitor[] = [];
      try {
        await steps(site, async (url, width = 1440) => {
          const profile = await stage.newProfile({ width, height: 900 });
          profiles.push(profile);
          const visitor = await visit(profile, url);
          visitors.push(visitor);
          return visitor;
        });
        assert.deepEqual(
          visitors.flatMap(({ complaints }) => complaints),
          [],
        );
      } finally {
        await Promise.all(profiles.map((profile) => profile.close()));
        await site.stop();
      }
    },
  };
}

export const webCases: readonly WebCase[] = [
  webCase('a config is planned as the terminal plans it, and its link shows the same in another profile', async (site, newVisitor) => {
    const { page } = await newVisitor(site.url);
    await page.locator('#samples button', { hasText: /^terapipe\.json$/ }).click();
    await planned(page);
    const json = await savedJson(page);
    const { findings: ignored, ...terminal } = await terminalJson();
    assert.ok(Array.isArray(ignored));
    assertAlike(JSON.parse(json), terminal, 'plan');
    await page.locator('#link').click();
    await page.waitForURL(/#/);
    const { page: colleague } = await newVisitor(page.url());
    await planned(colleague);
    assert.equal(await savedJson(colleague), json);
  }),
  webCase('each sample and known model of the start screen is planned', async (site, newVisitor) => {
    const { page } = await newVisitor(site.url);
    const buttons = page.locator('#models button, #samples button');
    await buttons.first().waitFor();
    const count = await buttons.count();
    assert.ok(count >= 8);
    for (let index = 0; index < count; index++) {
      await buttons.nth(index).click();
      await planned(page);
      await page.locator('#home').click();
    }
  }),
  webCase('a link is planned again without a network', async (site, newVisitor) => {
    const { page } = await newVisitor(site.url);
    await page.evaluate(`navigator.serviceWorker.ready.then(() => undefined)`);
    await paste(page, await readFile(sample, 'utf8'));
    await page.locator('#link').click();
    await page.waitForURL(/#/);
    const figures = await planned(page);
    await page.reload();
    await planned(page);
    await site.stop();
    await page.reload();
    assert.equal(await planned(page), figures);
  }),
  webCase('works with the keyboard only', async (site, newVisitor) => {
    const { page } = await newVisitor(site.url);
    const focusOn = async (id: string): Promise<void> => {
      for (let presses = 0; (await page.evaluate('document.activeElement.id')) !== id; presses++) {
        assert.ok(presses < 40, `no way to ${id}`);
        await page.keyboard.press('Tab');
      }
    };
    await focusOn('paste');
    await page.keyboard.insertText(await readFile(sample, 'utf8'));
    await focusOn('plan');
    await page.keyboard.press('Enter');
    await planned(page);
    await focusOn('home');
  }),
  webCase('has no violation of axe, on a phone and a desktop, light and dark', async (site, newVisitor) => {
    for (const width of [390, 1440])
      for (const colorScheme of ['light', 'dark'] as const) {
        const { page } = await newVisitor(site.url, width);
        await page.emulateMedia({ colorScheme });
        await injectAxe(page);
        assert.deepEqual((await runAxe(page, 'all')).violations, [], `start at ${width} px, ${colorScheme}`);
        await paste(page, await readFile(sample, 'utf8'));
        assert.deepEqual((await runAxe(page, 'all')).violations, [], `plan at ${width} px, ${colorScheme}`);
        assert.equal(await page.evaluate('document.scrollingElement.scrollWidth <= innerWidth'), true, `${width} px scrolls sideways`);
      }
  }),
];
