import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { formatBytes, formatDuration, formatNumber } from '../../src/core/format';
import { planned, type Site } from './site';
import { dropOn, savedJson, webCase, type WebCase } from './web-page';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/**
 * A file of each of the eight kinds, by the name that a text has when it is pasted, which is the one to open; then what it needs. Bridge
 * and NeMo, both YAML, have their own.
 */
const kinds: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Hugging Face config.json': { 'config.json': 'media/samples/llama3-8b/config.json' },
  'terapipe.json': { 'terapipe.json': 'media/samples/llama3-8b/terapipe.json', 'config.json': 'media/samples/llama3-8b/config.json' },
  'Megatron-LM': { 'train.sh': 'src/web/samples/megatron.sh' },
  NeMo: { 'config.yaml': 'src/web/samples/nemo.yaml' },
  'Megatron-Bridge': { 'config.yaml': 'src/web/samples/megatron-bridge.yaml' },
  'GPT-NeoX': { 'config.yaml': 'src/web/samples/gpt-neox.yml' },
  TorchTitan: { 'config.toml': 'src/web/samples/torchtitan.toml' },
  DeepSpeed: { 'ds_config.json': 'src/web/samples/ds_config.json', 'config.json': 'media/samples/llama3-8b/config.json' },
};

/** How files come onto the page, from a folder that holds them. */
const ways: Readonly<Record<string, (page: Page, folder: string, names: readonly string[]) => Promise<void>>> = {
  dropped: (page, folder, names) =>
    dropOn(
      page,
      names.map((name) => path.join(folder, name)),
    ),
  'opened as a folder': (page, folder) => page.locator('#folder').setInputFiles(folder),
  pasted: async (page, folder, [first = '', ...others]) => {
    await page.locator('#paste').fill('');
    await pasteInto(page, '#paste', path.join(folder, first));
    // What the first needs is asked for, and pasted there.
    for (const name of others) {
      await page.locator('#root', { hasText: name }).waitFor();
      await page.locator('#root .page:visible').waitFor();
      await pasteInto(page, 'body', path.join(folder, name));
    }
  },
};

async function pasteInto(page: Page, selector: string, file: string): Promise<void> {
  await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(await readFile(file, 'utf8'))})`);
  await page.locator(selector).click({ position: { x: 2, y: 2 } });
  await page.keyboard.press('Control+v');
}

/** What is in the JSON of a plan that the page shows in words. */
interface PrintedPlan {
  readonly plan: {
    readonly iterationMs: number;
    readonly rangeMs: readonly [number, number];
    readonly bubbleRate: number;
    readonly fits: boolean;
    readonly memory: { readonly peakBytes: number; readonly usableBytes: number };
  };
}

/** The files of a kind in a folder named as the page's. */
async function inFolder(files: Readonly<Record<string, string>>): Promise<{ readonly folder: string; readonly names: readonly string[] }> {
  const folder = path.join(await mkdtemp(path.join(tmpdir(), 'terapipe-web-')), 'model');
  await mkdir(folder);
  for (const [name, from] of Object.entries(files)) await cp(path.join(root, from), path.join(folder, name));
  return { folder, names: Object.keys(files) };
}

/** What the terminal prints for a config, without its findings and an option that a page does not have. */
async function terminalJson(file: string): Promise<PrintedPlan> {
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(root, 'dist/cli.js'), 'plan', file, '--json'], {
    maxBuffer: 2 ** 28,
  });
  const { findings, ...plan } = JSON.parse(stdout.replaceAll('; set it with --gpu', '')) as PrintedPlan & { readonly findings: unknown };
  assert.ok(Array.isArray(findings));
  return plan;
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

/** Asserts that verdict and figures on the page are those of a plan's JSON. */
async function assertShown(page: Page, { plan }: PrintedPlan, at: string): Promise<void> {
  const plain = (text: string): string => text.replaceAll(/\s+/g, ' ');
  const verdict = plain(await page.locator('#root .page-tab .glance-words').innerText());
  assert.ok(verdict.startsWith(plan.fits ? 'Fits' : 'Does not fit'), `${at}: ${verdict}`);
  assert.ok(verdict.includes(`${formatDuration(plan.iterationMs)} per step`), `${at}: ${verdict}`);
  if (plan.fits) assert.ok(verdict.includes(`${formatBytes(plan.memory.usableBytes - plan.memory.peakBytes)} free`), `${at}: ${verdict}`);
  const figures = plain(await planned(page));
  assert.ok(figures.includes(`${formatNumber(plan.bubbleRate * 100)} %`), `${at}: ${figures}`);
}

/** Waits for a plan with all that it is compared with, which comes after its own figures. */
async function wholePlan(page: Page): Promise<void> {
  await planned(page);
  await page.locator('#root .progress:visible').first().waitFor({ state: 'hidden', timeout: 120_000 });
}

/** Opens the start screen of a page that has shown nothing. */
async function openStart(page: Page, { url }: Site): Promise<void> {
  await page.goto(url);
  await page.locator('#plan:enabled').waitFor({ timeout: 120_000 });
}

export const kindCases: readonly WebCase[] = [
  webCase(
    'each of eight kinds of files is planned as the terminal plans it, dropped, pasted and from a folder',
    async (site, newVisitor) => {
      const { page } = await newVisitor(site.url);
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      for (const [kind, files] of Object.entries(kinds)) {
        const { folder, names } = await inFolder(files);
        const terminal = await terminalJson(path.join(folder, names[0] ?? ''));
        const saved = new Set<string>();
        for (const [way, open] of Object.entries(ways)) {
          await openStart(page, site);
          await open(page, folder, names);
          await wholePlan(page);
          await assertShown(page, terminal, `${kind}, ${way}`);
          const json = await savedJson(page);
          assertAlike(JSON.parse(json), terminal, `${kind}, ${way}`);
          saved.add(json);
        }
        assert.equal(saved.size, 1, `${kind}: each way the same JSON`);
        await rm(path.dirname(folder), { recursive: true });
      }
    },
  ),
  webCase('a link of each of eight kinds shows the same JSON in another profile', async (site, newVisitor) => {
    const { page } = await newVisitor(site.url);
    for (const [kind, files] of Object.entries(kinds)) {
      const { folder } = await inFolder(files);
      await openStart(page, site);
      await dropOn(page, [folder]);
      await wholePlan(page);
      const json = await savedJson(page);
      await page.locator('#link').click();
      await page.waitForURL(/#v1=/);
      const { page: colleague } = await newVisitor(page.url());
      await wholePlan(colleague);
      assert.equal(await savedJson(colleague), json, kind);
      await colleague.context().close();
      await rm(path.dirname(folder), { recursive: true });
    }
  }),
  webCase("a model's config is put next to a config that lacks it, and else opened", async (site, newVisitor) => {
    const { page } = await newVisitor(site.url);
    await openStart(page, site);
    const folder = await mkdtemp(path.join(tmpdir(), 'terapipe-web-'));
    const model = await readFile(path.join(root, 'media/samples/llama3-8b/config.json'), 'utf8');
    const dropped = async (name: string, text: string): Promise<void> => {
      await writeFile(path.join(folder, name), text);
      await dropOn(page, [path.join(folder, name)]);
    };
    const opened = (): Promise<string[]> => page.locator('#files option').allTextContents();
    const refused = async (why: RegExp): Promise<void> => {
      await page.locator('#root', { hasText: why }).waitFor();
      await page.locator('#root .page:visible').waitFor();
    };

    await dropped('my-bad.json', model.replace(/("hidden_size": )\d+/, '$1"a"'));
    await refused(/hidden_size/i);
    await dropped('config.json', model);
    await planned(page);
    assert.deepEqual(await opened(), ['config.json'], 'a model refused for its own value');

    await writeFile(path.join(folder, 'terapipe.json'), '{ "model": "config.json", "training": { "globalBatch": "a" } }');
    await dropOn(page, [path.join(folder, 'terapipe.json'), path.join(folder, 'config.json')]);
    await refused(/globalBatch/i);
    await dropped('config.json', model);
    await planned(page);
    assert.deepEqual(await opened(), ['config.json'], 'a terapipe.json refused for its batch');

    await dropped('terapipe.json', '{ "model": "llama.json", "training": { "globalBatch": 64 } }');
    await refused(/There is no file llama\.json/i);
    await page.evaluate(`{
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', ${JSON.stringify(model)} + ' '.repeat(6e6));
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
    }`);
    await page.locator('#status', { hasText: 'over 5 MB' }).waitFor();
    assert.deepEqual(await opened(), ['terapipe.json'], 'a text that is too large');
    await dropped('config.json', model);
    await planned(page);
    assert.deepEqual(await opened(), ['terapipe.json', 'llama.json']);
    await rm(folder, { recursive: true });
  }),
];
