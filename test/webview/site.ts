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

/** The page is built once for all who ask for it. */
let built: Promise<void> | null = null;

async function build(): Promise<void> {
  const builder = spawn(process.execPath, ['web.mjs'], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  const code = await new Promise<number | null>((resolve, reject) => builder.once('error', reject).once('exit', resolve));
  if (code !== 0) throw new Error(`building the page for browsers ended with code ${code}`);
}

/** Serves the page on a free port, after building it if this process has not yet. */
export async function startSite(): Promise<Site> {
  await (built ??= build());
  const server = spawn(process.execPath, ['web.mjs', '--serve', '--built'], {
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
