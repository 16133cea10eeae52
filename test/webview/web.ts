import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { injectAxe, runAxe } from './axe';
import type { PageMessage } from '../../src/protocol/page';
import { pageCommands } from '../../src/protocol/page-schema';
import { toFragment } from '../../src/web/link';
import type { Stage } from './browser';
import { until } from './cases';
import { heldObjects } from './heap';
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

/** A file of each of the eight kinds, with what it names. */
const kinds: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Hugging Face config.json': { 'config.json': 'media/samples/llama3-8b/config.json' },
  'terapipe.json': { 'terapipe.json': 'media/samples/llama3-8b/terapipe.json', 'config.json': 'media/samples/llama3-8b/config.json' },
  'Megatron-LM': { 'train.sh': 'src/web/samples/megatron.sh' },
  NeMo: { 'nemo.yaml': 'src/web/samples/nemo.yaml' },
  'Megatron-Bridge': { 'bridge.yaml': 'src/web/samples/megatron-bridge.yaml' },
  'GPT-NeoX': { 'neox.yml': 'src/web/samples/gpt-neox.yml' },
  TorchTitan: { 'torchtitan.toml': 'src/web/samples/torchtitan.toml' },
  DeepSpeed: { 'ds_config.json': 'src/web/samples/ds_config.json', 'config.json': 'media/samples/llama3-8b/config.json' },
};

/** What of a browser's window is asked. */
interface Styled {
  readonly getComputedStyle: (element: unknown) => { readonly getPropertyValue: (name: string) => string };
}

/** The same of an element. */
interface Rooted {
  readonly getRootNode: () => { readonly activeElement: unknown };
}

/** Drops files or folders on the page, as the desktop does. */
async function dropOn(page: Page, files: readonly string[]): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [...files], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', { type, x: 300, y: 300, data });
  await session.detach();
}

/** The figures of what is opened from the start screen. */
async function figuresAfter(page: Page, act: () => Promise<unknown>): Promise<string> {
  await page.locator('#home').click();
  await page.locator('#plan:enabled').waitFor();
  await act();
  await page.locator('body[data-screen=work]').waitFor();
  // What was shown before goes first.
  await page.waitForTimeout(300);
  await page.locator('#root .progress:visible').first().waitFor({ state: 'hidden' });
  return planned(page);
}

async function pickCompared(page: Page, name: string): Promise<void> {
  await page.evaluate(`acquireVsCodeApi().postMessage({ type: 'command', command: 'terapipe.compareWith' })`);
  await page.locator('.web-choose button', { hasText: name }).click();
}

/** Sends what the page would. */
const send = (page: Page, message: PageMessage): Promise<unknown> =>
  page.evaluate(`acquireVsCodeApi().postMessage(${JSON.stringify(message)})`);

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
  webCase('each kind of file is planned when it is dropped, pasted and in a folder', async (site, newVisitor) => {
    const { page } = await newVisitor(site.url);
    for (const [kind, files] of Object.entries(kinds)) {
      const folder = await mkdtemp(path.join(tmpdir(), 'terapipe-web-'));
      const named = Object.entries(files);
      for (const [name, from] of named) await cp(path.join(root, from), path.join(folder, name));
      const dropped = await figuresAfter(page, () => dropOn(page, [folder]));
      const opened = await figuresAfter(page, () => page.locator('#folder').setInputFiles(folder));
      assert.equal(opened, dropped, kind);
      assert.equal(
        await figuresAfter(page, () => page.locator('#file').setInputFiles(named.map(([name]) => path.join(folder, name)))),
        dropped,
      );
      if (named.length === 1) {
        const text = await readFile(path.join(folder, named[0]?.[0] ?? ''), 'utf8');
        assert.equal(await figuresAfter(page, () => paste(page, text)), dropped, `${kind}, pasted`);
      }
      await rm(folder, { recursive: true });
    }
  }),
  webCase('a plan is compared with a dropped trace of its own, another config and the best layout', async (site, newVisitor) => {
    const { page } = await newVisitor(site.url);
    await page.locator('#samples button', { hasText: /^terapipe\.json$/ }).click();
    await planned(page);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Chrome trace' }).click();
    const folder = await mkdtemp(path.join(tmpdir(), 'terapipe-web-'));
    const trace = path.join(folder, 'step.json');
    await (await saving).saveAs(trace);
    await dropOn(page, [trace]);
    await page.locator('#root .panel:visible', { hasText: 'step.json' }).waitFor({ timeout: 60_000 });
    await pickCompared(page, 'Best layout');
    await page.locator('#root .panel:visible', { hasText: /best layout/i }).waitFor({ timeout: 120_000 });
    const chooser = page.waitForEvent('filechooser');
    await pickCompared(page, 'Open a file');
    await (await chooser).setFiles(path.join(root, 'src/web/samples/megatron.sh'));
    await page.locator('#root .panel:visible', { hasText: 'megatron.sh' }).waitFor({ timeout: 60_000 });
    await rm(folder, { recursive: true });
  }),
  webCase('a found layout is written into the file, taken back, and saved as a launcher', async (site, newVisitor) => {
    const { page } = await newVisitor(site.url);
    await page.locator('#samples button', { hasText: /^terapipe\.json$/ }).click();
    await planned(page);
    const before = await page.locator('#editor').inputValue();
    const command = (name: string) => page.evaluate(`acquireVsCodeApi().postMessage({ type: 'command', command: 'terapipe.${name}' })`);
    await command('searchLayout');
    await page.getByRole('button', { name: 'Cancel' }).first().click();
    await page.getByRole('button', { name: 'Cancel' }).first().waitFor({ state: 'detached' });
    await command('searchLayout');
    const apply = page.getByRole('button', { name: /^Apply/ }).first();
    await apply.click({ timeout: 120_000 });
    await page.locator('#status', { hasText: 'per step with this layout' }).waitFor();
    assert.match(await page.locator('#editor').inputValue(), /"pipeline": \d/);
    await page.evaluate(`acquireVsCodeApi().postMessage({ type: 'undo' })`);
    assert.equal(await page.locator('#editor').inputValue(), before);
    await page
      .getByRole('button', { name: /^Export…/ })
      .first()
      .click();
    const saving = page.waitForEvent('download');
    await page.locator('.web-choose button', { hasText: 'Megatron-LM' }).click();
    assert.match(await readFile(await (await saving).path(), 'utf8'), /--pipeline-model-parallel-size/);
  }),
  webCase(
    'what a bare config is planned for is changed by its chips, into a terapipe.json that its link carries',
    async (site, newVisitor) => {
      const { page } = await newVisitor(site.url);
      await paste(page, await readFile(sample, 'utf8'));
      const answer = async (title: string, text: string): Promise<void> => {
        const dialog = page.getByRole('dialog', { name: title, exact: true });
        await dialog.getByRole('textbox').fill(text);
        await dialog.getByRole('button', { name: 'OK' }).click();
      };
      const chip = (name: string) => page.locator(`#root [data-focus=scenario-${name}]:visible`).first();
      await chip('batch').click();
      await answer('Global batch', 'many');
      await page.getByText('A whole number from 1 to 10M, not many').waitFor();
      await answer('Global batch', '96');
      await chip('batch').filter({ hasText: 'batch 96' }).waitFor();
      await chip('gpus').click();
      await page.locator('.web-choose button', { hasText: /^GPU$/ }).click();
      await page.locator('.web-choose button', { hasText: 'H200' }).first().click();
      await answer('Nodes', '2');
      await answer('GPUs in each node', '4');
      await chip('gpus').filter({ hasText: '8 x H200' }).waitFor();
      await chip('sequence').click();
      // The file has one already, which is shown there.
      assert.match(await page.evaluate<string>('getSelection().toString()'), /^\d+$/);
      await page.locator('#link').click();
      await page.waitForURL(/#/);
      const json = await savedJson(page);
      const { page: colleague } = await newVisitor(page.url());
      await planned(colleague);
      assert.equal(await savedJson(colleague), json);
    },
  ),
  webCase(
    'a launcher that is changed on the page gets a terapipe.json of its own, and so does an elastic run',
    async (site, newVisitor) => {
      const { page } = await newVisitor(site.url);
      await page.locator('#samples button', { hasText: 'Megatron-LM' }).click();
      await planned(page);
      await send(page, { type: 'change', change: { key: 'training.recompute', value: 'full' } });
      await page.locator('#files option', { hasText: 'terapipe.json' }).waitFor({ state: 'attached' });
      assert.match(await page.locator('#editor').inputValue(), /Read from train\.sh[^]*"recompute": "full"/);
      await page.locator('#home').click();
      await paste(page, await readFile(sample, 'utf8'));
      await send(page, { type: 'command', command: 'terapipe.beginElastic' });
      await page.locator('.web-choose button').first().click();
      await page.getByRole('dialog', { name: 'Epochs' }).getByRole('button', { name: 'OK' }).click();
      assert.match(await page.locator('#editor').inputValue(), /"epochs": 10/);
      await page.locator('#root .elastic-content:visible').waitFor();
    },
  ),
  webCase('each message of the page is one that its host here knows, and what it cannot do is not shown', async (site, newVisitor) => {
    const { page } = await newVisitor(site.url);
    await page.locator('#samples button', { hasText: /^terapipe\.json$/ }).click();
    await planned(page);
    const file = 'file:///model/terapipe.json';
    const messages: { readonly [T in PageMessage['type']]: Extract<PageMessage, { readonly type: T }> | null } = {
      ready: { type: 'ready' },
      focus: { type: 'focus', on: 'other' },
      startModel: null,
      command: null,
      reveal: { type: 'reveal', place: { file, range: { start: 0, end: 1 } } },
      change: { type: 'change', change: { key: 'schedule', value: 'GPipe' } },
      fix: { type: 'fix', code: 'none', title: 'None' },
      export: { type: 'export', format: 'html', candidate: null },
      draw: { type: 'draw', candidates: [] },
      openLayout: { type: 'openLayout', point: null },
      applyLayout: { type: 'applyLayout', point: { answer: 'none', index: 0 } },
      exportLayout: { type: 'exportLayout', point: { answer: 'none', index: 0 } },
      try: { type: 'try', sets: [['training.globalBatch', 96]] },
      write: { type: 'write', sets: [] },
      undo: { type: 'undo' },
      past: { type: 'past', act: 'pin', id: 1 },
      comparison: { type: 'comparison', act: 'close' },
      openTab: { type: 'openTab', tab: 'memory', candidate: null },
      save: { type: 'save', name: 'a', mime: 'text/csv', text: 'a' },
      log: null,
    };
    for (const message of Object.values(messages)) if (message !== null) await send(page, message);
    for (const command of pageCommands) {
      await send(page, { type: 'command', command });
      await page.keyboard.press('Escape');
    }
    await page.locator('#home').click();
    await page.locator('#samples button', { hasText: /^terapipe\.json$/ }).click();
    await planned(page);
    await send(page, { type: 'command', command: 'terapipe.showLog' });
    assert.equal(await page.locator('#status').innerText(), '');
    assert.equal(await page.getByRole('tab', { name: 'Profile' }).count(), 0);
    await page.locator('#root').press('Shift+?');
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Change keys' }).count(), 0);
  }),
  webCase('a search that is given up leaves its planner running', async (site, newVisitor) => {
    const names = ['terapipe.json', 'config.json'];
    const linked = await Promise.all(names.map(async (name) => [name, await readFile(path.join(samples, name), 'utf8')] as const));
    const { page } = await newVisitor(site.url + (await toFragment(linked)));
    await page.evaluate(`navigator.serviceWorker.ready.then(() => undefined)`);
    // From its own cache the page comes apart from other sites, and may share memory.
    await page.reload();
    assert.equal(await page.evaluate('crossOriginIsolated'), true);
    await planned(page);
    const search = () => page.evaluate(`acquireVsCodeApi().postMessage({ type: 'command', command: 'terapipe.searchLayout' })`);
    const cancel = page.getByRole('button', { name: 'Cancel' }).first();
    await search();
    await cancel.waitFor();
    const workers = page.workers();
    assert.equal(workers.length, 2);
    await cancel.click();
    await cancel.waitFor({ state: 'detached' });
    await search();
    await page
      .getByRole('button', { name: /^Apply/ })
      .first()
      .waitFor({ timeout: 120_000 });
    assert.deepEqual(page.workers(), workers);
  }),
  webCase('a link that holds nothing to plan leads to the start screen, with the reason', async (site, newVisitor) => {
    const links = { 'not a config': [['notes.txt', 'lr 3e-4']], damaged: [['\ud800.json', '{}']] } as const;
    for (const [reason, files] of Object.entries(links)) {
      const { page } = await newVisitor(site.url + (await toFragment(files)));
      await page.locator('#status', { hasText: reason }).waitFor();
      await page.locator('body[data-screen=start] #paste').waitFor();
    }
  }),
  webCase('first figures of a link that come late are not shown', async (site, newVisitor) => {
    const { page } = await newVisitor('about:blank');
    let held = 0;
    await page.route('**/planner.js', async (route) => {
      held += 1;
      await new Promise((resolve) => setTimeout(resolve, 3000));
      await route.continue();
    });
    await page.goto(site.url + (await toFragment([['config.json', await readFile(sample, 'utf8')]])));
    await page.locator('#plan:enabled').waitFor({ state: 'attached' });
    await page.locator('#home').click();
    await page.waitForTimeout(6000);
    assert.ok(held > 0);
    assert.equal(await page.locator('#first').innerText(), '');
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
  webCase('an edit leaves nothing in memory once the history of plans is full', async (site, newVisitor) => {
    const { page } = await newVisitor(site.url);
    await page.locator('#samples button', { hasText: /^terapipe\.json$/ }).click();
    await planned(page);
    const session = await page.context().newCDPSession(page);
    const written = await page.locator('#editor').inputValue();
    const editUpTo = async (first: number, last: number): Promise<ReadonlyMap<string, number>> => {
      for (let edit = first; edit <= last; edit++) {
        const batch = 64 + 16 * (edit % 8);
        // Not as a key: Chromium keeps what a text field takes back.
        const text = written.replace(/"globalBatch": \d+/, `"globalBatch": ${batch}`);
        await page.evaluate(`{
          const editor = document.querySelector('#editor');
          editor.value = ${JSON.stringify(text)};
          editor.dispatchEvent(new Event('input'));
        }`);
        await page.locator('#root [data-focus=scenario-batch]:visible', { hasText: `batch ${batch}` }).waitFor();
      }
      // Remedies and pictures that come after the plan.
      await page.waitForTimeout(1500);
      return heldObjects(session);
    };
    const edits = 64;
    const before = await editUpTo(1, 24);
    const after = await editUpTo(25, 24 + edits);
    const grown = [...after].filter(([name, count]) => count - (before.get(name) ?? 0) >= edits / 2);
    assert.deepEqual(
      grown.map(([name, count]) => `${name}: ${count - (before.get(name) ?? 0)} more`),
      [],
    );
  }),
  webCase('works with the keyboard only', async (site, newVisitor) => {
    const { page } = await newVisitor(site.url);
    const { keyboard } = page;
    /** Goes to an element with Tab. */
    const focusOn = async (what: string, to: Locator): Promise<void> => {
      // A button of the toolkit is in a root of its own.
      const hasFocus = (): Promise<boolean> =>
        to.evaluateAll((elements: readonly unknown[]) =>
          (elements as readonly Rooted[]).some((element) => element.getRootNode().activeElement === element),
        );
      for (let presses = 0; !(await hasFocus()); presses++) {
        assert.ok(presses < 120, `no way to ${what}`);
        await keyboard.press('Tab');
      }
    };
    const button = (name: string | RegExp): Locator => page.locator('#root').getByRole('button', { name }).locator('visible=true');
    const press = async (what: string, to: Locator): Promise<void> => {
      await focusOn(what, to);
      await keyboard.press('Enter');
    };
    const openTab = async (name: string): Promise<void> => {
      await focusOn('the tabs', page.getByRole('tab', { selected: true }));
      for (let presses = 0; !(await page.getByRole('tab', { name, selected: true }).isVisible()); presses++) {
        assert.ok(presses < 10, `no way to the tab ${name}`);
        await keyboard.press('ArrowRight');
      }
    };
    await page.locator('#plan:enabled').waitFor();
    const chooser = page.waitForEvent('filechooser');
    await press('the files', page.locator('#file'));
    await (await chooser).setFiles(['terapipe.json', 'config.json'].map((name) => path.join(samples, name)));
    await planned(page);
    assert.match(await page.locator('#root').innerText(), /^Fits, /);
    const batch = page.locator('#root [data-focus=scenario-batch]:visible');
    const given = await batch.innerText();
    await focusOn('the text', page.locator('#editor'));
    await keyboard.press('Control+a');
    await keyboard.insertText((await readFile(path.join(samples, 'terapipe.json'), 'utf8')).replace(/"globalBatch": \d+,?/, ''));
    await until('the batch is assumed', async () => (await batch.innerText()) !== given);
    await press('the batch', batch);
    await keyboard.press('Control+a');
    await keyboard.insertText('96');
    await keyboard.press('Enter');
    await batch.filter({ hasText: 'batch 96' }).waitFor();
    await focusOn('the timeline', page.locator('#root [data-lanes]:visible'));
    await keyboard.press('ArrowRight');
    await keyboard.press('ArrowRight');
    await page
      .locator('#root')
      .getByText(/micro-batch \d/i)
      .locator('visible=true')
      .first()
      .waitFor();
    await openTab('Memory');
    await page.locator('#root .memory-view:visible').waitFor();
    await openTab('Layout');
    await press('the search', button(/^Search/));
    await page.locator('#root .layout-row .tag').first().waitFor({ timeout: 120_000 });
    await press('a found layout', button(/^Apply/));
    await page.locator('#status', { hasText: 'per step with this layout' }).waitFor();
    await openTab('Compare');
    await press('what to compare with', button(/^Compare with/));
    await press('the best layout', page.locator('.web-choose').getByRole('button', { name: 'Best layout' }));
    await page.locator('#root .panel:visible', { hasText: /best layout/i }).waitFor({ timeout: 120_000 });
    const saving = page.waitForEvent('download');
    await press('the exports', button(/^Export$/));
    await page.getByRole('menuitem').first().waitFor();
    await keyboard.press('Enter');
    await saving;
    await press('the link', page.locator('#link'));
    await page.waitForURL(/#/);
    await press('the start', page.locator('#home'));
    await focusOn('the text to paste', page.locator('#paste'));
    await keyboard.insertText(await readFile(sample, 'utf8'));
    await press('the plan', page.locator('#plan'));
    await planned(page);
  }),
  webCase('has no violation of axe, from a phone to a desktop, light and dark', async (site, newVisitor) => {
    for (const width of [390, 541, 1440])
      for (const colorScheme of ['light', 'dark'] as const) {
        const { page } = await newVisitor(site.url, width);
        await page.emulateMedia({ colorScheme });
        await injectAxe(page);
        assert.deepEqual((await runAxe(page, 'all')).violations, [], `start at ${width} px, ${colorScheme}`);
        await paste(page, await readFile(sample, 'utf8'));
        const background = await page
          .locator('#root vscode-button')
          .first()
          .evaluate((element) => {
            const style = (name: string) => (globalThis as unknown as Styled).getComputedStyle(element).getPropertyValue(name).trim();
            return [style('--button-secondary-background'), style('--vscode-button-secondaryBackground')];
          });
        assert.equal(background[0], background[1], `a button in ${colorScheme}`);
        assert.deepEqual((await runAxe(page, 'all')).violations, [], `plan at ${width} px, ${colorScheme}`);
        await page.evaluate(`acquireVsCodeApi().postMessage({ type: 'command', command: 'terapipe.compareWith' })`);
        await page.locator('.web-choose').waitFor();
        assert.deepEqual((await runAxe(page, 'all')).violations, [], `dialog at ${width} px, ${colorScheme}`);
        await page.keyboard.press('Escape');
        assert.equal(await page.evaluate('document.scrollingElement.scrollWidth <= innerWidth'), true, `${width} px scrolls sideways`);
      }
  }),
];
