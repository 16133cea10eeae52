import assert from 'node:assert/strict';
import { answerPrefill } from '../../src/features/prefill/core/answer';
import { noPrefill } from '../../src/features/prefill/protocol';
import type { PageState } from '../../src/protocol/page';
import { sentence } from '../../src/core/sentence';
import type { OpenOptions } from './browser';
import { show, until, type Case } from './cases';
import { llama3, request } from '../golden/requests';
import { planOf, stateOf } from './fixtures';

const tab: OpenOptions = { kind: 'tab', width: 1280, height: 1000 };

const prompt = 16_384;
const served = {
  ...request('H100-80GB', llama3('70b', 16), {
    training: { sequenceLength: prompt, attention: 'flash', precision: 'bf16', dropout: false, sequenceParallel: true },
    layout: { tensor: 8, pipeline: 4 },
  }),
  slicing: { unit: 128, scheme: null },
};
const answer = answerPrefill(served, '/models/<b>small</b>');

/** A page with that answer. */
export function prefillState(change: Partial<PageState> = {}): PageState {
  return stateOf('tab', planOf({ unit: 64 }), { prefill: { ...noPrefill, answer }, ...change });
}

/** The Prefill tab: what a person sees and does in it. */
export const prefillCases: readonly Case[] = [
  {
    name: 'prefill: shows the time, every way to cut with what it loses, its chunks and what launches it',
    options: tab,
    state: () => prefillState(),
    steps: async ({ page, messages }) => {
      await page.getByRole('tab', { name: 'Prefill' }).click();
      assert.match(await page.locator('.prefill-head .lead').innerText(), /^Prompt of 16.+ tokens over 4 stages of 8 × H100-80GB$/);
      assert.match(await page.locator('.prefill-head').innerText(), /Proved optimal/);
      const rows = page.getByRole('region', { name: 'Chunk lengths by rule' }).locator('tbody tr');
      const names = await rows.allInnerTexts();
      assert.ok(names[0]?.startsWith('best chunks') && names[0].includes('0 %'));
      for (const name of ['equal chunks', "SGLang's dynamic chunks", 'vLLM, launched for this'])
        assert.ok(
          names.some((text) => text.startsWith(name)),
          name,
        );
      const title = page.locator('.prefill-timeline h2');
      assert.equal(await title.innerText(), `Best chunks: ${answer.prefill.chunks.length} chunks`);
      const whole = names.findIndex((text) => text.startsWith('whole prompt'));
      await rows.nth(whole).click();
      await until('its chunks', async () => (await title.innerText()) === 'Whole prompt: 1 chunk');
      assert.equal(await page.getByRole('region', { name: 'Chunks', exact: true }).locator('tbody tr').count(), 1);
      // A name from a file is text.
      assert.ok((await page.locator('.prefill-launch pre').first().innerText()).includes('<b>small</b>'));
      assert.equal(await page.locator('.prefill-launch b').count(), 0);
      await page.getByRole('button', { name: 'Change prompt or stages' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'command', command: 'terapipe.planPrefill' });
      return undefined;
    },
  },
  {
    name: 'prefill: offers to plan one of a config that a server reads, and shows why there is none',
    options: tab,
    state: () => prefillState({ prefill: noPrefill }),
    steps: async ({ page, send, messages }) => {
      await page.getByRole('tab', { name: 'Prefill' }).click();
      await page.getByRole('button', { name: 'Plan prefill' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'command', command: 'terapipe.planPrefill' });
      const error = {
        code: 'x',
        message: sentence`no chunk is short enough`,
        remedy: sentence`allow longer ones`,
        place: null,
        placeText: null,
      };
      await send(show(prefillState({ prefill: { ...noPrefill, error } })));
      await page.getByText('No chunk is short enough; allow longer ones.').waitFor();
      await send(show(prefillState({ prefill: { ...noPrefill, answer, isStale: true } })));
      await page.getByText('From before the last edits.').waitFor();
      await send(show(prefillState({ prefill: null })));
      await until('no tab', async () => (await page.getByRole('tab', { name: 'Prefill' }).count()) === 0);
      return undefined;
    },
  },
];
