import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { OpenOptions } from './browser';
import { show, until, type Case } from './cases';
import { findings, planOf, stateOf } from './fixtures';
import { sentence } from '../../src/core/sentence';

const side: OpenOptions = { kind: 'side', width: 320 };
const tab: OpenOptions = { kind: 'tab', width: 1280 };
const hostile = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"\'&';
const hostileSentence = sentence`${hostile}`;

/** Presses the button of a known model and holds it; `words` are those of the verdict. */
async function pressModel(page: Page) {
  const model = page.getByRole('button', { name: 'Qwen3 32B' });
  await model.hover();
  await page.mouse.down();
  return { model, words: page.locator('.glance-words:visible') };
}

/** Every state that a page can be in, except showing a plan. */
export const stateCases: readonly Case[] = [
  {
    name: 'states: nothing open shows what there is to see, and offers known models and the samples',
    options: side,
    state: () => null,
    steps: async ({ page, messages }) => {
      await page.getByText('Open a model config').waitFor();
      assert.deepEqual(await messages(), [{ type: 'ready' }]);
      await page.getByRole('button', { name: 'Open sample workspace' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'command', command: 'terapipe.openSample' });
      await page.getByRole('button', { name: 'DeepSeek-V3' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'startModel', model: 'deepseek-v3' });
      assert.equal(await page.locator('.known-models button').count(), 5);
      assert.equal(await page.locator('.picture rect').count(), 18);
      return undefined;
    },
  },
  {
    name: 'states: what arrives while a button is pressed is drawn when it is released, and the click is heard',
    options: side,
    state: () => null,
    steps: async ({ page, send, messages }) => {
      const { model, words } = await pressModel(page);
      const next = show(stateOf('side', planOf({ unit: 64 })));
      await send(next);
      await send({ type: 'update', fields: { trusted: false } });
      await page.evaluate('harness.drawn()');
      assert.equal(await words.count(), 0);
      await page.mouse.up();
      assert.deepEqual((await messages()).at(-1), { type: 'startModel', model: 'qwen3-32b' });
      await words.waitFor();
      await page.getByText('Restricted workspace').waitFor();
      await send(show({ ...stateOf('side', planOf({ unit: 64 })), plan: null, file: null, document: null }));
      await model.focus();
      await page.keyboard.down('Space');
      await send(next);
      await page.keyboard.up('Space');
      assert.deepEqual((await messages()).at(-1), { type: 'startModel', model: 'qwen3-32b' });
      await words.waitFor();
      return undefined;
    },
  },
  {
    name: 'states: what arrives during a double click is drawn after its second click, and both are heard',
    options: side,
    state: () => null,
    steps: async ({ page, send, messages }) => {
      const { words } = await pressModel(page);
      await send(show(stateOf('side', planOf({ unit: 64 }))));
      // Of the first click the end, of the second the begin, in one task: so they come where a frame takes long.
      const events = ["PointerEvent('pointerup'", "MouseEvent('click'", "PointerEvent('pointerdown'"].map(
        (event) => `document.querySelector('[data-focus=known-qwen3-32b]').dispatchEvent(new ${event}, { bubbles: true, button: 0, pointerId: 1 }))`, // prettier-ignore
      );
      await page.evaluate(events.join('; '));
      await page.evaluate('harness.drawn()');
      assert.equal(await words.count(), 0, 'the second press holds the page, too');
      await page.mouse.up();
      await words.waitFor();
      const started = (await messages()).filter(({ type }) => type === 'startModel');
      assert.deepEqual(started, Array(2).fill({ type: 'startModel', model: 'qwen3-32b' }));
      return undefined;
    },
  },
  {
    name: 'states: while solving and after an error the last plan stays, and shows how old it is',
    options: side,
    state: () => stateOf('side', planOf({ unit: 64 })),
    steps: async ({ page, send, messages }) => {
      const before = await page.locator('.figures').innerText();
      const plan = planOf({ unit: 64 });
      await send(show(stateOf('side', plan, { progress: 0.5, staleEdits: 1 })));
      await page.getByText('from 1 edit ago').waitFor();
      const verdict = page.locator('.glance-words:visible');
      assert.match(await verdict.innerText(), /^Fits, /, 'the next plan comes soon');
      await page.getByRole('progressbar', { name: 'Planning' }).waitFor();
      const error = {
        code: 'x',
        message: sentence`expected a number`,
        remedy: sentence`Write a whole number`,
        place: findings[0]!.place,
        placeText: 'gpt3-175b/terapipe.json:7:3',
      };
      await send(show(stateOf('side', plan, { staleEdits: 2, error })));
      await page.getByRole('alert').waitFor();
      assert.match(await page.getByRole('alert').innerText(), /Expected a number\.\s+Write a whole number\.[\s\S]*terapipe\.json:7:3/);
      assert.equal(await page.locator('.figures').innerText(), before);
      assert.match(await verdict.innerText(), /^2\sedits ago: Fits, /, 'it is not the file that fits');
      await page.getByRole('button', { name: 'Show in the file' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'reveal', place: findings[0]!.place });
      const refused = { ...findings[1]!, severity: 'error' as const };
      await send(show(stateOf('side', plan, { staleEdits: 3, findings: [refused] })));
      await page.getByText('from 3 edits ago').waitFor();
      assert.match(
        await verdict.innerText(),
        /^Does not start as written: 1\serror\. 3\sedits ago: Fits, /,
        'such a text has no plan of its own',
      );
      return undefined;
    },
  },
  {
    name: 'states: a restricted workspace shows what does not work',
    options: side,
    state: () => stateOf('side', planOf({ unit: 64 }), { trusted: false }),
    steps: async ({ page }) => {
      await page.getByText('Restricted workspace').waitFor();
      return undefined;
    },
  },
  {
    name: 'states: an over-full plan names the stage and turns to the error colour',
    options: side,
    state: () => stateOf('side', planOf({ stages: 24, tensor: 8, nodes: 24 })),
    steps: async ({ page }) => {
      const figure = page.locator('.figure-error');
      assert.match(await figure.innerText(), /does not fit, stage \d+/);
      assert.match(String(await figure.getAttribute('title')), /does not fit, .* over/);
      return undefined;
    },
  },
  {
    name: 'states: hostile names and messages are text and nothing else',
    options: tab,
    state: () =>
      stateOf('tab', planOf({ unit: 64, title: hostile }), {
        file: hostile,
        findings: findings.map((finding) => ({ ...finding, message: hostileSentence, remedy: hostileSentence, placeText: hostile })),
        error: { code: hostile, message: hostileSentence, remedy: hostileSentence, place: null, placeText: hostile },
      }),
    steps: async ({ page }) => {
      assert.equal(await page.locator('h1').innerText(), hostile);
      for (const name of ['Memory', 'Slices', 'Compare', 'Timeline']) await page.getByRole('tab', { name }).click();
      assert.equal(await page.locator('img, script[src="x"]').count(), 0);
      assert.equal(await page.evaluate('window.hacked'), undefined);
      return undefined;
    },
  },
  {
    name: 'states: a plan too large to draw still shows its numbers and the reason',
    options: tab,
    state: () => {
      const plan = planOf({ unit: 64 });
      return stateOf('tab', { ...plan, candidates: plan.candidates.map((candidate) => ({ ...candidate, timeline: null })) });
    },
    steps: async ({ page }) => {
      await page.getByText('more operations than are drawn').waitFor();
      await page.locator('.figures').getByText('per step').waitFor();
      await page.getByRole('tab', { name: 'Slices' }).click();
      await page.getByRole('heading', { name: 'Proved optimal' }).waitFor();
      return undefined;
    },
  },
  {
    name: 'states: one stage, one micro-batch and 10,000 micro-batches are drawn',
    options: tab,
    state: () => stateOf('tab', planOf({ stages: 1, layers: 1, hidden: 2048, tensor: 1, nodes: 1, training: { globalBatch: 1 } })),
    steps: async ({ page, send }) => {
      await page.getByText('TP1 PP1 DP1').first().waitFor();
      const many = planOf({
        stages: 8,
        layers: 8,
        hidden: 1024,
        tensor: 1,
        nodes: 1,
        unit: 1024,
        schedule: '1F1B',
        training: { globalBatch: 10_000 },
      });
      await send(show(stateOf('tab', many, { document: 'file:///other' })));
      await until('8 stages', async () => (await page.locator('.setting').first().innerText()).includes('PP8'));
      await page.getByRole('button', { name: 'Try token slices' }).click();
      await page.getByText('× 10000').waitFor();
      return undefined;
    },
  },
];
