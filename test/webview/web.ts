import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Locator, Page } from 'playwright-core';
import { pageCommands } from '../../src/protocol/page-schema';
import type { PageMessage } from '../../src/protocol/page';
import { toFragment } from '../../src/web/link';
import { isFullRun } from '../property/cases';
import { injectAxe, runAxe, type AxeResult } from './axe';
import { until } from './cases';
import { heldObjects } from './heap';
import { planned } from './site';
import { kindCases } from './web-kinds';
import { dropOn, paste, savedJson, send, webCase, type WebCase } from './web-page';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const samples = path.join(root, 'media/samples/llama3-8b');
const sample = path.join(samples, 'config.json');

/** The part of a step that a timeline shows, as the page keeps it. */
interface Viewport {
  readonly startMs: number;
  readonly endMs: number;
}

/** The properties of a browser's window that are read. */
interface Styled {
  readonly document: { readonly createElement: (tag: string) => Drawn; readonly body: { readonly append: (element: Drawn) => void } };
  readonly getComputedStyle: (element: unknown) => { readonly backgroundColor: string };
}

interface Drawn {
  readonly style: { background: string };
  readonly remove: () => void;
}

/** The same of an element. */
interface Rooted {
  readonly getRootNode: () => { readonly activeElement: unknown };
}

async function pickCompared(page: Page, name: string): Promise<void> {
  await page.evaluate(`acquireVsCodeApi().postMessage({ type: 'command', command: 'terapipe.compareWith' })`);
  await page.locator('.web-choose button', { hasText: name }).click();
}

export const webCases: readonly WebCase[] = [
  ...kindCases,
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
    await until('the change is taken back', async () => (await page.locator('#editor').inputValue()) === before);
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
      const changed = /Read from train\.sh[^]*"recompute": "full"/;
      await until('the change has a file of its own', async () => changed.test(await page.locator('#editor').inputValue()));
      await page.locator('#home').click();
      await paste(page, await readFile(sample, 'utf8'));
      await send(page, { type: 'command', command: 'terapipe.beginElastic' });
      await page.locator('.web-choose button').first().click();
      await page.getByRole('dialog', { name: 'Epochs' }).getByRole('button', { name: 'OK' }).click();
      await until('the elastic section is in the file', async () => (await page.locator('#editor').inputValue()).includes('"epochs": 10'));
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
    let letGo = (): void => undefined;
    const left = new Promise<void>((resolve) => (letGo = resolve));
    await page.route('**/planner.js', async (route) => {
      held += 1;
      await left;
      await route.continue();
    });
    await page.goto(site.url + (await toFragment([['config.json', await readFile(sample, 'utf8')]])));
    await page.locator('#plan:enabled').waitFor({ state: 'attached' });
    await page.locator('#home').click();
    letGo();
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
  webCase('a number of GPUs with more digits moves no button, from a phone to a desktop', async (site, newVisitor) => {
    for (const width of [390, 541, 900, 1440]) {
      const { page } = await newVisitor(site.url, width);
      await paste(page, await readFile(sample, 'utf8'));
      const gpus = page.locator('#root [data-focus=scenario-gpus]:visible').first();
      const tops = (): Promise<readonly number[]> =>
        page.evaluate(`[...document.querySelectorAll('.web-head button, .scenario, .tab:not(#tab-prefill), .view-actions > *')]
          .filter((each) => each.checkVisibility()).map((each) => each.getBoundingClientRect().top)`);
      await page.locator('#root .view-actions > *:visible').first().waitFor();
      const before = await tops();
      await gpus.click();
      await page.locator('.web-choose button', { hasText: /^Nodes/ }).click();
      await page.getByRole('dialog', { name: 'Nodes', exact: true }).getByRole('textbox').fill('1250');
      await page.getByRole('dialog', { name: 'Nodes', exact: true }).getByRole('button', { name: 'OK' }).click();
      await gpus.filter({ hasText: '10,000 x' }).waitFor();
      await page.locator('#status', { hasText: /\S/ }).waitFor();
      assert.deepEqual(await tops(), before, `${width} px`);
    }
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
    const edits = 32;
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
  webCase('the timeline is zoomed and moved with keys', async (site, newVisitor) => {
    const { page } = await newVisitor(site.url);
    await page.locator('#samples button', { hasText: 'GPT-NeoX' }).click();
    await planned(page);
    await page.locator('#root [data-lanes]:visible').first().focus();
    const viewport = async (): Promise<Viewport | null> =>
      page.evaluate(`JSON.parse(sessionStorage.getItem('terapipe.page') ?? '{}').viewport ?? null`);
    /** The part that is shown once it is another than before. */
    const after = async (key: string): Promise<Viewport> => {
      const before = JSON.stringify(await viewport());
      await page.keyboard.press(key);
      await until(`${key} changes what is shown`, async () => JSON.stringify(await viewport()) !== before);
      return (await viewport()) ?? { startMs: 0, endMs: Infinity };
    };
    const length = ({ startMs, endMs }: Viewport): number => endMs - startMs;
    const near = await after('w');
    const nearer = await after('+');
    assert.ok(length(nearer) < length(near));
    const right = await after('d');
    assert.ok(right.startMs > nearer.startMs);
    assert.ok(Math.abs(length(right) - length(nearer)) < 1e-6);
    assert.ok((await after('a')).startMs < right.startMs);
    const far = await after('-');
    assert.ok(length(far) > length(nearer));
    assert.ok(length(await after('s')) > length(far));
  }),
  webCase('has no violation of axe, on each tab from a phone to a desktop, light and dark', async (site, newVisitor) => {
    for (const width of [390, 541, 1440])
      for (const colorScheme of ['light', 'dark'] as const) {
        const { page } = await newVisitor(site.url, width);
        await page.emulateMedia({ colorScheme });
        await injectAxe(page);
        const violations = async (): Promise<readonly AxeResult[]> =>
          (await runAxe(page, isFullRun || colorScheme === 'light' ? 'all' : 'colors')).violations;
        assert.deepEqual(await violations(), [], `start at ${width} px, ${colorScheme}`);
        await paste(page, await readFile(sample, 'utf8'));
        const background = await page
          .locator('#root vscode-button[appearance=secondary]:not(:hover):visible')
          .first()
          .evaluate((button) => {
            const { document, getComputedStyle } = globalThis as unknown as Styled;
            const like = document.createElement('div');
            like.style.background = 'var(--vscode-button-secondaryBackground)';
            document.body.append(like);
            const shown = [button, like].map((element) => getComputedStyle(element).backgroundColor);
            like.remove();
            return shown;
          });
        assert.equal(background[0], background[1], `a button in ${colorScheme}`);
        const tabs = await page.getByRole('tab').allInnerTexts();
        assert.ok(tabs.length >= 4);
        for (const tab of tabs) {
          await page.getByRole('tab', { name: tab, exact: true }).click();
          await page.locator('#root .panel:visible:not([aria-busy])').first().waitFor();
          assert.deepEqual(await violations(), [], `${tab} at ${width} px, ${colorScheme}`);
          assert.equal(
            await page.evaluate('document.scrollingElement.scrollWidth <= innerWidth'),
            true,
            `${tab} at ${width} px scrolls sideways`,
          );
        }
        await page.evaluate(`acquireVsCodeApi().postMessage({ type: 'command', command: 'terapipe.compareWith' })`);
        await page.locator('.web-choose').waitFor();
        assert.deepEqual(await violations(), [], `dialog at ${width} px, ${colorScheme}`);
        await page.keyboard.press('Escape');
        assert.equal(await page.evaluate('document.scrollingElement.scrollWidth <= innerWidth'), true, `${width} px scrolls sideways`);
      }
  }),
];
