import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { BrowserContext, Page } from 'playwright-core';
import type { PageMessage } from '../../src/protocol/page';
import type { Stage } from './browser';
import { planned, startSite, type Site } from './site';

/*
 * The page for browsers as people get it: built and served by `npm run web -- --serve`, each case in a profile of its own.
 */

/** A visitor: a profile of its own. */
export interface Visitor {
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

/** Drops files or folders on the page, as the desktop does. */
export async function dropOn(page: Page, files: readonly string[]): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [...files], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', { type, x: 300, y: 300, data });
  await session.detach();
}

/** Sends what the page would. */
export const send = (page: Page, message: PageMessage): Promise<unknown> =>
  page.evaluate(`acquireVsCodeApi().postMessage(${JSON.stringify(message)})`);

export async function paste(page: Page, text: string): Promise<void> {
  await page.locator('#paste').fill(text);
  await page.locator('#plan').click();
  await planned(page);
}

/** The plan as the page saves it. */
export async function savedJson(page: Page): Promise<string> {
  const saving = page.waitForEvent('download');
  await page.evaluate(`acquireVsCodeApi().postMessage({ type: 'command', command: 'terapipe.exportPlan' })`);
  const file = await (await saving).path();
  return readFile(file, 'utf8');
}

export interface WebCase {
  readonly name: string;
  readonly run: (stage: Stage) => Promise<void>;
}

type Steps = (site: Site, newVisitor: (url: string, width?: number) => Promise<Visitor>) => Promise<void>;

export function webCase(name: string, steps: Steps): WebCase {
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
