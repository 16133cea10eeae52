import { spawn } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** The page for browsers as people get it: built and served by `npm run web -- --serve`. */
export interface Site {
  readonly url: string;
  /** Ends the server. */
  readonly stop: () => Promise<void>;
}

/** Builds the page and serves it on a free port. */
export async function startSite(): Promise<Site> {
  const server = spawn(process.execPath, ['web.mjs', '--serve'], {
    cwd: root,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => server.on('exit', () => resolve()));
  let printed = '';
  const url = await new Promise<string>((resolve, reject) => {
    server.stdout.on('data', (text: Buffer) => {
      printed += text.toString();
      const [address] = /http:\S+/.exec(printed) ?? [];
      if (address !== undefined) resolve(address);
    });
    void ended.then(() => reject(new Error('the server ended')));
  });
  return {
    url,
    stop: async () => {
      server.kill();
      await ended;
    },
  };
}

/** The figures of the plan, once the page shows them. */
export async function planned(page: Page): Promise<string> {
  const figures = page.locator('#root dl.figures').first();
  await figures.waitFor({ timeout: 120_000 });
  return figures.innerText();
}
