import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { chromium, type Browser, type Locator, type Page } from 'playwright-core';
import { isFullRun } from '../property/cases';
import { patienceMs, until } from './until';

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

/**
 * Takes pictures of a page into a folder. `look` is for people, only in a full run: a picture costs as much as many a step. `failed`
 * is taken whenever something failed.
 */
export function picturesOf(
  page: Page,
  folder: string,
): { readonly look: (name: string) => Promise<void>; readonly failed: (name: string) => Promise<void> } {
  const take = async (name: string): Promise<void> => {
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: path.join(folder, `vscode-${name}.png`) }).catch(() => undefined);
  };
  return { look: (name) => (isFullRun ? take(name) : Promise.resolve()), failed: (name) => take(`${name}-failed`) };
}

/** Opens an address of code-server in a new page and waits for the workbench. `prepare` runs before the page loads. */
export async function openWorkbench(browser: Browser, url: string, prepare?: (page: Page) => Promise<void>): Promise<Workbench> {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 }, colorScheme: 'dark', reducedMotion: 'reduce' });
  page.setDefaultTimeout(patienceMs);
  const workbench: Workbench = { page, cspViolations: [], pageErrors: [] };
  page.on('console', (message) => {
    if (/Content Security Policy/i.test(message.text())) workbench.cspViolations.push(message.text());
  });
  page.on('pageerror', (error) => {
    const { stack = '' } = error;
    if (/dist\/(webview|page\/[\w-]+)\.js/.test(stack)) workbench.pageErrors.push(stack);
  });
  await prepare?.(page);
  await page.goto(url);
  await page.locator('.monaco-workbench .part.statusbar').waitFor();
  return workbench;
}

/**
 * Makes the page an extension development host: the workbench's embedded configuration is patched as it is read, because built servers
 * ignore `extensionTestsPath` in the address unless they run with a flag that also switches toasts off. Call before the page loads.
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

const quickInput = '.quick-input-widget input[type=text]';

/** Runs a command by its title from the command palette; again where a page that took the focus has closed it. */
export async function runFromPalette(page: Page, title: string): Promise<void> {
  await again(async () => {
    await typeInPalette(page, `>${title}`);
    await pickRow(page, title, 20_000);
  });
}

/** The same by keys: the title is typed, and Enter pressed on its row. */
export async function pressInPalette(page: Page, title: string): Promise<void> {
  await again(async () => {
    await typeInPalette(page, `>${title}`);
    await page.locator('.quick-input-list .monaco-list-row.focused').getByText(title, { exact: true }).waitFor({ timeout: 20_000 });
    await enterOn(page, '.quick-input-widget', title);
  });
}

/**
 * Presses Enter on the row of a list that has the focus.
 * @param list the list, in which the keyboard focus is
 * @throws where another row had the focus by then, or the focus was elsewhere: then the key does nothing, and may be pressed again
 */
export async function enterOn(page: Page, list: string, text: string): Promise<void> {
  await page.evaluate(`(() => {
    globalThis.enteredOn = 'nothing: the focus was elsewhere';
    const hear = (event) => {
      if (event.key !== 'Enter') return;
      const row = event.target.closest?.(${JSON.stringify(list)})?.querySelector('.monaco-list-row.focused');
      if (row) globalThis.enteredOn = row.innerText;
      if (row?.innerText.includes(${JSON.stringify(text)})) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    addEventListener('keydown', hear, true);
    globalThis.hearNoMore = () => removeEventListener('keydown', hear, true);
  })()`);
  await page.keyboard.press('Enter');
  const row = await page.evaluate<string>('hearNoMore(), enteredOn');
  if (!row.includes(text)) throw new Error(`Enter was pressed on ${row}, not on ${text}`);
}

/** Runs a command that asks with a list, until the list shows `row`: a page that takes the focus closes a list as it closes the palette. */
export async function askFromPalette(page: Page, title: string, row: string): Promise<void> {
  await again(async () => {
    await runFromPalette(page, title);
    await page.locator('.quick-input-list').getByText(row, { exact: true }).waitFor({ timeout: 20_000 });
  });
}

async function typeInPalette(page: Page, text: string): Promise<void> {
  // A page that takes the focus as it opens closes the palette: a person presses the key again.
  await again(async () => {
    await page.keyboard.press('F1');
    await page.locator(quickInput).fill(text, { timeout: 10_000 });
  });
}

/** Does it until it succeeds, ten times at most: what takes the focus undoes what a person has just begun. */
export async function again(action: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await action();
      return;
    } catch (error) {
      if (tries === 10) throw error;
    }
  }
}

/** Clicks what the hover of an icon may cover: moves the mouse off the icon, again where the hover appears only afterwards. */
export async function clickUncovered(page: Page, target: Locator): Promise<void> {
  let x = 400;
  await again(async () => {
    await page.mouse.move((x += 20), 400, { steps: 4 });
    await target.click({ timeout: 20_000 });
  });
}

/** Picks a row of the quick pick that is open. */
export async function pickRow(page: Page, row: string, timeout: number = patienceMs): Promise<void> {
  await page.locator('.quick-input-list .monaco-list-row').getByText(row, { exact: true }).first().click({ timeout });
}

/**
 * Opens a file from quick open, by its name, or by its path where it is so new that the search of files may not know it, and waits for its
 * text.
 */
export async function openFile(page: Page, file: string): Promise<void> {
  const name = path.basename(file);
  await again(async () => {
    await typeInPalette(page, file);
    await pickRow(page, name, 20_000);
  });
  await page.locator('.tab.active', { hasText: name }).first().waitFor();
  await page.locator(`.monaco-editor[data-uri$="/${name}"]`).first().waitFor();
}

async function fillQuickInput(page: Page, text: string, row: string): Promise<void> {
  const input = page.locator(quickInput);
  await input.waitFor();
  await input.fill(text);
  await pickRow(page, row);
}

/** Brings an open editor to the front by a click on its tab. */
export async function showEditor(page: Page, name: string): Promise<void> {
  await page.locator('.tabs-container .tab', { hasText: name }).first().click();
}

/** Puts the cursor behind a text in the editor on the left, as a person does with find. */
export async function goBehind(page: Page, text: string): Promise<void> {
  await focusFile(page);
  await page.keyboard.press('Control+F');
  const input = page.locator('.find-widget.visible .find-part textarea');
  await input.fill(text);
  const matches = page.locator('.find-widget.visible .matchesCount');
  // A text that is written only after it was looked for is found, and not gone to.
  await matches.filter({ hasText: /^[?1] of 1$/ }).waitFor({ state: 'attached' });
  await input.press('Enter');
  await matches.filter({ hasText: /^1 of 1$/ }).waitFor({ state: 'attached' });
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowRight');
}

/** Replaces the end of a text that exists once: `retype(page, '"unit": 8', '8', '64')`. */
export async function retype(page: Page, text: string, old: string, fresh: string): Promise<void> {
  await goBehind(page, text);
  for (let left = old.length; left > 0; left -= 1) await page.keyboard.press('Backspace');
  await page.keyboard.type(fresh);
}

/** Opens the menu of quick fixes at the cursor and takes the first with these words; again where new findings have closed the menu. */
export async function chooseFix(page: Page, words: string, look: () => Promise<unknown>): Promise<void> {
  const fix = page.locator('.action-widget .monaco-list-row', { hasText: words }).first();
  for (let tries = 0; tries < 12; tries += 1) {
    await page.keyboard.press('Control+.');
    try {
      await fix.waitFor({ timeout: 5000 });
      await look();
      await fix.click({ timeout: 5000 });
      return;
    } catch {
      await page.keyboard.press('Escape');
    }
  }
  throw new Error(`no quick fix with ${words}`);
}

/** A line of the visible text editor. */
export function editorLine(page: Page, text: string | RegExp): Locator {
  return page.locator('.monaco-editor .view-line', { hasText: text }).first();
}

/** Undoes in the focused text editor until a line reads as it did. */
export async function undoUntil(page: Page, line: string | RegExp): Promise<void> {
  for (let tries = 0; tries < 12; tries += 1) {
    await page.keyboard.press('Control+Z');
    await painted(page);
    if ((await editorLine(page, line).count()) > 0) return;
  }
  throw new Error(`undo did not bring back ${String(line)}`);
}

/** Waits until the window shows what it knows: an editor draws its lines in the next frame. */
async function painted(page: Page): Promise<void> {
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))');
}

/** The first editor of the first group has the focus. A key that is pressed while the focus moves is lost. */
export async function focusFile(page: Page): Promise<void> {
  // A key pressed in a webview travels to the workbench and back: the editor has the focus a moment later.
  await again(async () => {
    await page.keyboard.press('Control+1');
    await page.locator('.editor-group-container .monaco-editor.focused').first().waitFor({ timeout: 10_000 });
  });
}

/** Saves the file in the focused editor by its key, and waits until the disk has what it should. */
export async function save(page: Page, onDisk: () => boolean): Promise<void> {
  await again(async () => {
    await focusFile(page);
    await page.keyboard.press('Control+S');
    await page.locator('.tabs-container .tab.dirty').waitFor({ state: 'detached', timeout: 10_000 });
  });
  await until('the saved file', () => onDisk() || undefined);
}

/** Accepts the name that VS Code proposes for a file of a folder, which ends with `ending`. @returns the text of the file */
export async function saveAsProposed(page: Page, folder: string, ending: string): Promise<string> {
  const input = page.locator(quickInput);
  const isAsked = async () => (await input.isVisible()) && (await input.inputValue()).endsWith(ending);
  await until(`a name that ends with ${ending}`, async () => (await isAsked()) || undefined);
  let saved: string | undefined;
  await again(async () => {
    // Enter is not heard before the folder has been looked at.
    if (await isAsked()) await page.keyboard.press('Enter');
    saved = await until(`a file that ends with ${ending}`, () => readdirSync(folder).find((name) => name.endsWith(ending)), 20_000);
  });
  // The extension writes files whole or not at all.
  return readFileSync(path.join(folder, saved ?? ''), 'utf8');
}

/** Chooses a colour theme as a person does, and waits for the workbench to wear it. */
export async function chooseTheme(page: Page, name: string, bodyClass: string): Promise<void> {
  await runFromPalette(page, 'Preferences: Color Theme');
  await fillQuickInput(page, name, name);
  await page.locator(`.monaco-workbench.${bodyClass}`).waitFor();
}
