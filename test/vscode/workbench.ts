import { chromium, type Browser, type Frame, type Locator, type Page } from 'playwright-core';

/** A workbench page and what went wrong in it so far. */
export interface Workbench {
  readonly page: Page;
  /** Console messages about a violated Content Security Policy, from the page and every frame in it. */
  readonly cspViolations: string[];
  /** Errors thrown in our webviews. */
  readonly pageErrors: string[];
}

/** Starts Chromium without a window. Root needs its sandbox off. */
export async function launchBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}

/** Opens an address of code-server in a new page and waits for the workbench. `prepare` runs before the page loads. */
export async function openWorkbench(browser: Browser, url: string, prepare?: (page: Page) => Promise<void>): Promise<Workbench> {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  const workbench: Workbench = { page, cspViolations: [], pageErrors: [] };
  page.on('console', (message) => {
    if (/Content Security Policy/i.test(message.text())) workbench.cspViolations.push(message.text());
  });
  page.on('pageerror', (error) => {
    if (error.stack?.includes('dist/webview.js') === true) workbench.pageErrors.push(error.stack);
  });
  await prepare?.(page);
  await page.goto(url);
  await page.locator('.monaco-workbench .part.statusbar').waitFor({ timeout: 30_000 });
  return workbench;
}

/**
 * Makes the page an extension development host: the workbench's embedded configuration is patched as it is read, because built servers ignore
 * `extensionTestsPath` in the address unless they run with a flag that also switches toasts off. Call before the page loads.
 */
export async function developmentHost(page: Page, port: number, extensionFolder: string, testsFile: string): Promise<void> {
  const content = `{
    const [port, extension, tests] = ${JSON.stringify([String(port), extensionFolder, testsFile])};
    if (location.port === port && window === window.top) {
      const read = Element.prototype.getAttribute;
      const uri = (path) => ({ scheme: 'vscode-remote', authority: location.host, path });
      Element.prototype.getAttribute = function (name) {
        const value = read.call(this, name);
        if (this.id !== 'vscode-workbench-web-configuration' || name !== 'data-settings') return value;
        const developmentOptions = { extensions: [uri(extension)], extensionTestsPath: uri(tests) };
        return JSON.stringify({ ...JSON.parse(value), developmentOptions });
      };
    }
  }`;
  await page.addInitScript({ content });
}

/** Runs a command by its title from the command palette. */
export async function runFromPalette(page: Page, title: string): Promise<void> {
  await page.keyboard.press('F1');
  await fillQuickInput(page, `>${title}`, title);
}

/** Opens a workspace file by its name from quick open. */
export async function openFile(page: Page, name: string): Promise<void> {
  await page.keyboard.press('F1');
  await fillQuickInput(page, name, name);
  await page.locator('.tab.active', { hasText: name }).first().waitFor();
}

async function fillQuickInput(page: Page, text: string, row: string): Promise<void> {
  const input = page.locator('.quick-input-widget input[type=text]');
  await input.waitFor();
  await input.fill(text);
  await page.locator('.quick-input-list .monaco-list-row', { hasText: row }).first().waitFor();
  await page.keyboard.press('Enter');
}

/** The frame of one of our two pages, once it is there. A theme change or a move makes a new frame, so ask again after one. */
export async function terapipePage(page: Page, kind: 'side' | 'tab', timeoutMs = 20_000): Promise<Frame> {
  const giveUpMs = performance.now() + timeoutMs;
  while (performance.now() < giveUpMs) {
    for (const frame of page.frames()) {
      const found = await frame
        .locator(`body[data-page="${kind}"]`)
        .count()
        .catch(() => 0);
      if (found > 0) return frame;
    }
    await page.waitForTimeout(100);
  }
  throw new Error(`no webview with data-page="${kind}" within ${timeoutMs} ms`);
}

/** Waits until a text satisfies a condition and returns it. */
export async function waitForText(locator: Locator, accepts: (text: string) => boolean, timeoutMs = 15_000): Promise<string> {
  const giveUpMs = performance.now() + timeoutMs;
  let last = '';
  while (performance.now() < giveUpMs) {
    last = await locator
      .first()
      .innerText({ timeout: 1000 })
      .catch(() => last);
    if (accepts(last)) return last;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the text stayed ${JSON.stringify(last)}`);
}

/** Waits until one of our pages shows a plan: the three numbers that answer the first glance. Returns the page's text. */
export async function planShown(page: Page, kind: 'side' | 'tab', timeoutMs = 30_000): Promise<string> {
  const frame = await terapipePage(page, kind, timeoutMs);
  return waitForText(frame.locator('body'), (text) => /step/i.test(text) && /bubble/i.test(text) && text.includes('GB'), timeoutMs);
}
