import assert from 'node:assert/strict';
import { memoryVerdict } from '../../src/core/memory-model/verdict';
import { chosenCandidate } from '../../src/core/planner/plan';
import { sentence } from '../../src/core/sentence';
import { noLayoutState } from '../../src/protocol/layout';
import type { PageState } from '../../src/protocol/page';
import { planFigures, type WhatIfState } from '../../src/protocol/what-if';
import { show, type Case } from './cases';
import { answeredFirst, planOf, stateOf } from './fixtures';

const wide = { kind: 'tab', width: 1500, height: 820, savedState: { tries: 'all' } } as const;
const plan = planOf({ unit: 56, data: 2, stages: 48 });
const whatIf: WhatIfState = { edits: 0, chunks: 'several', leavesOpen: true, cut: [], sets: [], tried: null, error: null };
/** The same with nothing of the training assumed, as files of launchers have it. */
const setByFiles = { ...plan, request: { ...plan.request, assumptions: [] } };
const figures = planFigures(plan);
const slower = { ...figures, iterationMs: figures.iterationMs * 1.08, tokensPerSecond: figures.tokensPerSecond / 1.08 };

function state(change: Partial<PageState> = {}): PageState {
  return stateOf('tab', plan, { whatIf, ...change });
}

const cut = Array.from({ length: 48 }, () => 2);

function layersState(change: Partial<WhatIfState> = {}): PageState {
  return state({ layout: noLayoutState, whatIf: { ...whatIf, cut, ...change } });
}

const loaded: WhatIfState['sets'] = [
  ['layout.tensor', 8],
  ['layout.data', 1],
  ['schedule', '1F1B'],
];

export const whatIfCases: readonly Case[] = [
  {
    name: 'what-if: what the file of a launcher sets cannot be left to the planner, and the choices give the reason',
    options: wide,
    state: () => state({ whatIf: { ...whatIf, leavesOpen: false } }),
    steps: async ({ page, send, messages }) => {
      const microBatch = page.getByRole('spinbutton', { name: 'Micro-batch' });
      const fewer = page.locator('.stepper', { has: microBatch }).locator('button').first();
      assert.match(await microBatch.innerText(), /^Auto: \d+$/, 'no file sets it: it is left open');
      await send(show(stateOf('tab', setByFiles, { whatIf: { ...whatIf, leavesOpen: false } })));
      assert.equal(await microBatch.innerText(), '1');
      assert.ok(await fewer.isDisabled());
      assert.match(String(await fewer.getAttribute('title')), /launcher file sets this itself/);
      await page.getByRole('combobox', { name: 'Recompute' }).click();
      const auto = page.getByRole('option', { name: 'Auto', exact: true }).locator('visible=true');
      assert.match(String(await auto.getAttribute('title')), /launcher file sets this itself/);
      await auto.click({ force: true });
      await page.keyboard.press('Escape');
      assert.deepEqual(
        (await messages()).filter(({ type }) => type === 'try'),
        [],
      );
      await send(show(stateOf('tab', setByFiles, { whatIf })));
      assert.ok(await fewer.isEnabled());
      await page.getByRole('combobox', { name: 'Recompute' }).click();
      await auto.click();
      assert.deepEqual((await messages()).at(-1), { type: 'try', sets: [['training.recompute', null]] });
      return undefined;
    },
  },
  {
    name: 'what-if: a step is previewed with what follows from it, and written only when asked to',
    options: wide,
    state,
    steps: async ({ page, send, messages }) => {
      const tensor = page.getByRole('spinbutton', { name: 'Tensor' });
      assert.equal(await tensor.innerText(), '4');
      await tensor.press('ArrowUp');
      assert.equal(await tensor.innerText(), '8');
      assert.equal(await page.getByRole('spinbutton', { name: 'Data' }).innerText(), '1');
      const asked = (await messages()).at(-1);
      assert.ok(asked?.type === 'try');
      assert.deepEqual(asked.sets, [
        ['layout.tensor', 8],
        ['layout.data', 1],
      ]);
      const answer = page.locator('.what-if-answer');
      assert.match(await answer.innerText(), /Tensor 4 to 8, Data 2 to 1\s+Planning/);
      const over = { ...memoryVerdict(chosenCandidate(plan).memory), fits: false, roomBytes: -1.5 * 2 ** 30 };
      await send(show(state({ whatIf: { ...whatIf, sets: asked.sets, tried: { ...slower, verdict: over } } })));
      await page.getByText('+8 %').waitFor();
      assert.match(await answer.innerText(), /\+8 %[\s\S]*does not fit, 1\.5 GiB over/);
      await page.getByRole('button', { name: 'Write to the config' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'write', sets: asked.sets });
      await page.getByRole('button', { name: 'Discard' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'try', sets: [] });
      assert.equal(await tensor.innerText(), '4');
      assert.match(await answer.innerText(), /^Change a setting to see what it would give/);
      return undefined;
    },
  },
  {
    name: 'what-if: has no button for what is not valid, and shows why sizes cannot be planned',
    options: wide,
    state,
    steps: async ({ page, send, messages }) => {
      const nodes = page.locator('.stepper-control', { hasText: 'Context' });
      assert.ok(await nodes.locator('button').first().isDisabled());
      const tensor = page.locator('.stepper-control', { hasText: 'Tensor' });
      await tensor.locator('button').last().click();
      assert.ok(await tensor.locator('button').last().isDisabled());
      const asked = (await messages()).at(-1);
      const error = {
        code: 'plan-heads',
        message: sentence`Heads are not divided`,
        remedy: sentence`use fewer`,
        place: null,
        placeText: null,
      };
      await send(show(state({ whatIf: { ...whatIf, sets: asked?.type === 'try' ? asked.sets : [], error } })));
      await page.getByText('Heads are not divided: use fewer').waitFor();
      assert.equal(await page.getByRole('button', { name: 'Write to the config' }).count(), 0);
      return undefined;
    },
  },
  {
    name: 'what-if: boundaries of stages are moved by keys and by the pointer, previewed with what they cost, and written when asked to',
    options: { ...wide, savedState: { tab: 'layout', tries: 'all' } },
    state: () => layersState(),
    steps: async ({ page, send, messages }) => {
      const boundary = page.getByRole('slider', { name: 'Boundary of stages 1 and 2' });
      assert.equal(await page.locator('.stage-strip [role=slider]').count(), 47);
      assert.deepEqual([await boundary.getAttribute('aria-valuenow'), await boundary.getAttribute('aria-valuemin')], ['4', '3']);
      await boundary.press('ArrowLeft');
      await boundary.press('ArrowLeft');
      const asked = (await messages()).at(-1) ?? assert.fail();
      const moved = cut.map((layers, stage) => layers + (stage === 1 ? -1 : stage === 2 ? 1 : 0));
      assert.deepEqual(asked, { type: 'try', sets: [['layout.stageLayers', moved]] });
      assert.equal(await boundary.getAttribute('aria-valuetext'), 'layers of stage 1: 1, of stage 2: 3');
      const answer = page.locator('.stage-layers .what-if-answer');
      assert.match(await answer.innerText(), /Layers of stage 1: 2 to 1, Layers of stage 2: 2 to 3\s+Planning/);
      const over = { ...memoryVerdict(chosenCandidate(plan).memory), fits: false, roomBytes: -1.5 * 2 ** 30 };
      assert.ok(asked.type === 'try');
      await send(show(layersState({ sets: asked.sets, tried: { ...slower, verdict: over } })));
      await answer.getByText('+8 %').waitFor();
      assert.match(await answer.innerText(), /\+8 %[\s\S]*does not fit, 1\.5 GiB over/);
      await answer.getByRole('button', { name: 'Write to the config' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'write', sets: asked.sets });
      await boundary.press('Escape');
      assert.deepEqual((await messages()).at(-1), { type: 'try', sets: [] });
      assert.ok(await answer.isHidden());

      const box = (await boundary.boundingBox())!;
      const strip = (await page.locator('.stage-strip').boundingBox())!;
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      await page.mouse.move(x, y);
      await page.mouse.down();
      await page.mouse.move(x + strip.width / 96, y);
      await page.mouse.up();
      const back = cut.map((layers, stage) => layers + (stage === 1 ? 1 : stage === 2 ? -1 : 0));
      assert.deepEqual((await messages()).at(-1), { type: 'try', sets: [['layout.stageLayers', back]] });

      // Sizes that are stepped to are tried in place of the cut, and the other way round.
      await page.getByRole('spinbutton', { name: 'Tensor' }).press('ArrowUp');
      const stepped = (await messages()).at(-1);
      assert.ok(stepped?.type === 'try');
      await send(show(layersState({ sets: stepped.sets })));
      await answer.waitFor({ state: 'hidden' });
      const ofSizes = page.locator('.what-if-answer:not(.stage-layers *)');
      assert.match(await ofSizes.innerText(), /^Tensor /);
      await boundary.press('ArrowRight');
      await send(show(layersState({ sets: [['layout.stageLayers', back]] })));
      await page.locator('.toolbar > .what-if-answer', { hasText: 'Change a setting' }).waitFor();
      assert.ok(await answer.isVisible());
      return undefined;
    },
  },
  {
    name: 'what-if: sizes and a cut that are tried stay when the other schedules of the plan arrive',
    options: { ...wide, savedState: { tab: 'layout', tries: 'all' } },
    state: () => answeredFirst(plan, layersState()),
    steps: async ({ page, send, messages }) => {
      const tensor = page.getByRole('spinbutton', { name: 'Tensor' });
      await tensor.press('ArrowUp');
      await send(show(answeredFirst(plan, layersState({ sets: loaded.slice(0, 2) }))));
      await send(show(layersState({ sets: loaded.slice(0, 2) })));
      assert.equal(await tensor.innerText(), '8');
      assert.ok(await page.locator('.toolbar > .what-if-answer').isVisible());

      const boundary = page.getByRole('slider', { name: 'Boundary of stages 1 and 2' });
      await boundary.press('ArrowLeft');
      const asked = (await messages()).at(-1);
      assert.ok(asked?.type === 'try');
      await send(show(answeredFirst(plan, layersState({ sets: asked.sets }))));
      await send(show(layersState({ sets: asked.sets })));
      assert.equal(await boundary.getAttribute('aria-valuenow'), '3');
      assert.ok(await page.locator('.stage-layers .what-if-answer').isVisible());
      return undefined;
    },
  },
  {
    name: 'what-if: what is tried is asked for again after an edit that leaves the sizes as they are, and forgotten after one of them',
    options: wide,
    state,
    steps: async ({ page, send, messages }) => {
      const tries = async () => (await messages()).filter(({ type }) => type === 'try');
      const ofEdits = (edits: number, change: Partial<PageState> = {}) => show(state({ whatIf: { ...whatIf, edits }, ...change }));
      const tensor = page.getByRole('spinbutton', { name: 'Tensor' });
      await tensor.press('ArrowUp');
      const [asked] = await tries();
      assert.ok(asked?.type === 'try');
      const answered = (edits: number) => show(state({ whatIf: { ...whatIf, edits, sets: asked.sets, tried: slower } }));
      await send(answered(0));
      await send(ofEdits(1, { staleEdits: 1 }));
      assert.equal((await tries()).length, 1, 'the edit is not planned yet');
      await send(ofEdits(1));
      assert.deepEqual(await tries(), [asked, asked]);
      await send(ofEdits(1));
      assert.equal((await tries()).length, 2, 'the host has not answered yet');
      await send(answered(1));
      await page.getByText('+8 %').waitFor();

      const longer = { ...plan, request: { ...plan.request, training: { ...plan.request.training, sequenceLength: 4096 } } };
      await send(ofEdits(2, { plan: longer }));
      assert.equal(await tensor.innerText(), '8');
      assert.deepEqual(await tries(), [asked, asked, asked]);

      await send(ofEdits(3, { staleEdits: 1 }));
      await send(ofEdits(3, { plan: setByFiles }));
      assert.equal(await tensor.innerText(), '4');
      assert.equal((await tries()).length, 3);
      return undefined;
    },
  },
  {
    name: 'what-if: what is tried for one config is not tried for another with the same sizes',
    options: wide,
    state,
    steps: async ({ page, send, messages }) => {
      const tensor = page.getByRole('spinbutton', { name: 'Tensor' });
      await tensor.press('ArrowUp');
      await send(show(state({ file: 'other/terapipe.json', whatIf: { ...whatIf, edits: 1 } })));
      assert.equal(await tensor.innerText(), '4');
      assert.equal((await messages()).filter(({ type }) => type === 'try').length, 1);
      return undefined;
    },
  },
  {
    name: 'what-if: what the host forgot before the page heard that it had it is asked for again',
    options: wide,
    state,
    steps: async ({ page, send, messages }) => {
      await page.getByRole('spinbutton', { name: 'Tensor' }).press('ArrowUp');
      await send(show(state({ whatIf: { ...whatIf, edits: 1 } })));
      const tries = (await messages()).filter(({ type }) => type === 'try');
      assert.equal(tries.length, 2);
      assert.deepEqual(tries[0], tries[1]);
      return undefined;
    },
  },
  {
    name: 'what-if: a choice that the config has now is no longer tried',
    options: wide,
    state,
    steps: async ({ page, send }) => {
      await page.getByRole('combobox', { name: 'Recompute' }).click();
      await page.getByRole('option', { name: 'full', exact: true }).locator('visible=true').click();
      const answer = page.locator('.toolbar > .what-if-answer');
      await answer.getByText('Recompute none to full').waitFor();
      const written = { ...plan.request, training: { ...plan.request.training, recompute: 'full' as const } };
      await send(show(state({ plan: { ...plan, request: written }, whatIf: { ...whatIf, edits: 1 } })));
      await answer.getByText('Change a setting').waitFor();
      return undefined;
    },
  },
  {
    name: 'what-if: a cut that was tried is kept when the page is loaded again',
    options: { ...wide, savedState: { tab: 'layout', tries: 'all' } },
    state: () => layersState({ sets: [['layout.stageLayers', [1, 3, ...cut.slice(2)]]], tried: slower }),
    steps: async ({ page }) => {
      const answer = page.locator('.stage-layers .what-if-answer');
      assert.match(await answer.innerText(), /Layers of stage 0: 2 to 1, Layers of stage 1: 2 to 3 \+8 %/);
      await answer.getByRole('button', { name: 'Write to the config' }).waitFor();
      return undefined;
    },
  },
  {
    name: 'what-if: a batch that cannot be kept is shown first, and times are then per token',
    options: { ...wide, savedState: { tab: 'layout', tries: 'all' } },
    state: () =>
      layersState({
        sets: [['layout.stageLayers', [1, 3, ...cut.slice(2)]]],
        tried: { ...slower, globalBatch: figures.globalBatch + 2 },
      }),
    steps: async ({ page }) => {
      const answer = page.locator('.stage-layers .what-if-answer');
      assert.match(await answer.innerText(), /^\s*Batch \d+ to \d+, Layers of stage 0: 2 to 1, Layers of stage 1: 2 to 3 \+8 % a token/);
      return undefined;
    },
  },
  {
    name: 'what-if: sizes and settings that were tried are kept when the page is loaded again',
    options: wide,
    state: () => state({ whatIf: { ...whatIf, sets: loaded, tried: slower } }),
    steps: async ({ page, messages }) => {
      const answer = page.locator('.toolbar > .what-if-answer');
      const wanted = /^Tensor 4 to 8, Data 2 to 1, Schedule Auto: TeraPipe to 1F1B \+8 % /;
      assert.match(await answer.innerText(), wanted);
      assert.equal(await page.getByRole('spinbutton', { name: 'Tensor' }).innerText(), '8');
      assert.equal(await page.locator('.control.changed').count(), 3);
      assert.ok(!(await messages()).some(({ type }) => type === 'try'), 'nothing is tried again');
      await answer.getByRole('button', { name: 'Write to the config' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'write', sets: loaded });
      return undefined;
    },
  },
  {
    name: 'what-if: boundaries of virtual stages are called so',
    options: { ...wide, savedState: { tab: 'layout', tries: 'all' } },
    state: () => {
      const { request } = plan;
      const interleaved = { ...plan, request: { ...request, layout: { ...request.layout, pipeline: 24, virtualStages: 2 } } };
      return { ...layersState(), plan: interleaved };
    },
    steps: async ({ page }) => {
      const boundary = page.getByRole('slider', { name: 'Boundary of virtual stages 1 and 2' });
      await boundary.press('ArrowLeft');
      assert.equal(await boundary.getAttribute('aria-valuetext'), 'layers of virtual stage 1: 1, of virtual stage 2: 3');
      const answer = page.locator('.stage-layers .what-if-answer');
      assert.match(await answer.innerText(), /Layers of virtual stage 1: 2 to 1, Layers of virtual stage 2: 2 to 3/);
      return undefined;
    },
  },
  {
    name: 'what-if: one stage has no boundary to move, and that is shown',
    options: { ...wide, savedState: { tab: 'layout', tries: 'all' } },
    state: () => layersState({ cut: [96] }),
    steps: async ({ page }) => {
      await page.getByText('One stage has all 96 layers').waitFor();
      assert.equal(await page.locator('.stage-strip').isVisible(), false);
      return undefined;
    },
  },
];
