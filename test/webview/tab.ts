import assert from 'node:assert/strict';
import { joinNodeGroups } from '../../src/core/cluster/groups';
import { gpuPresets } from '../../src/core/cluster/presets';
import { column, formatBytes, formatDuration } from '../../src/core/format';
import { stepCosts } from '../../src/core/planner/explain/limit-labels';
import { makePlan } from '../../src/core/planner/make-plan';
import { chosenCandidate, type Plan } from '../../src/core/planner/plan';
import { stepPartNames } from '../../src/core/planner/explain/step-part-names';
import { say } from '../../src/core/sentence';
import { planFigures, type WhatIfState } from '../../src/protocol/what-if';
import type { OpenOptions } from './browser';
import { show, until, withClipboard, type Case } from './cases';
import { findings, planOf, stateOf } from './fixtures';

const wide: OpenOptions = { kind: 'tab', width: 1440, height: 900 };
const trying: OpenOptions = { ...wide, savedState: { tries: 'all' } };
let known: Plan | null = null;
const plan = (): Plan => (known ??= planOf({ unit: 56 }));
const state = (): ReturnType<typeof stateOf> => stateOf('tab', plan(), { findings });

/** Two stages on H200, two on L40S. */
function mixed(): Plan {
  const { request } = planOf({ layers: 8, stages: 4, tensor: 4, hidden: 4096, unit: 512, nodes: 2 });
  const groups = (['H200', 'L40S'] as const).map((name) => ({ ...gpuPresets[name], nodes: 1 }));
  const [first, second] = groups;
  assert.ok(first && second);
  return makePlan({
    ...request,
    schedule: '1F1B',
    cluster: joinNodeGroups([first, second]),
    training: { ...request.training, attention: 'flash' },
    layout: { ...request.layout, stageNodeGroups: [0, 0, 1, 1], stageLayers: [3, 3, 1, 1] },
  });
}

function firstCell(line: string): string {
  return line.split(',')[0] ?? '';
}

/** The plan on `data` times as many GPUs; only what it is for is other. */
function onMoreGpus(data: number, globalBatch: number): Plan {
  const { request, ...rest } = plan();
  return {
    ...rest,
    request: { ...request, layout: { ...request.layout, data }, training: { ...request.training, globalBatch } },
  };
}

/** No number of GPUs or sequences up to five digits moves what is below the scenario. */
function movedCase(kind: 'tab' | 'side', width: number): Case {
  return {
    name: `${kind}: a scenario with more digits moves nothing of a page ${width} px wide`,
    options: { kind, width, height: 900 },
    state,
    steps: async ({ page, send }) => {
      const below = kind === 'tab' ? '.tab, .view-bar vscode-button:not([appearance=icon]), .main' : '.side-numbers, vscode-button';
      const tops = (): Promise<readonly number[]> =>
        page.evaluate(
          `[...document.querySelectorAll('${below}')].filter((each) => each.checkVisibility())
            .map((each) => each.getBoundingClientRect().top)`,
        );
      const before = await tops();
      assert.ok(before.length > 1);
      for (const [data, batch, shown] of [
        [4, 512, '1,536'],
        [26, 4096, '9,984'],
        [260, 65_536, '99,840'],
      ] as const) {
        await send(show(stateOf(kind, onMoreGpus(data, batch), { findings })));
        await page
          .locator('[data-focus=scenario-gpus]:visible', { hasText: `${shown} x` })
          .first()
          .waitFor();
        assert.deepEqual(await tops(), before, `${shown} GPUs`);
      }
      return undefined;
    },
  };
}

/** The editor tab, except its timeline: header, controls, memory, slices, comparison. */
export const tabCases: readonly Case[] = [
  {
    name: 'tab: the views turn by click and by arrow keys',
    options: wide,
    state,
    steps: async ({ page }) => {
      await page.getByRole('tab', { name: 'Timeline' }).focus();
      await page.keyboard.press('ArrowRight');
      assert.equal(await page.getByRole('tab', { name: 'Memory' }).getAttribute('aria-selected'), 'true');
      await page.getByRole('tabpanel', { name: 'Memory' }).waitFor();
      await page.keyboard.press('End');
      await page.getByRole('tabpanel', { name: 'Profile' }).waitFor();
      await page.getByRole('tab', { name: 'Slices' }).click();
      await page.getByRole('tabpanel', { name: 'Slices' }).waitFor();
      assert.equal(await page.getByRole('tabpanel').count(), 1);
      return undefined;
    },
  },
  ...[541, 900, 1440, 2400].map((width): Case => ({
    name: `tab: verdict, scenario and tabs take 90 px of a page ${width} px wide, and its lanes half the height`,
    options: { kind: 'tab', width, height: 798 },
    state,
    steps: async ({ page, send }) => {
      const measured = async (): Promise<{ readonly head: number; readonly lanes: number }> => {
        const [main, lanes] = [await page.locator('.main').boundingBox(), await page.locator('.lanes-region').boundingBox()];
        return { head: main!.y, lanes: lanes!.height };
      };
      const within = async (what: string): Promise<void> => {
        const { head, lanes } = await measured();
        assert.ok(head <= 90, `${what}: ${head} px before the timeline`);
        assert.ok(lanes >= 798 / 2, `${what}: lanes ${lanes} px high`);
      };
      await within('fits');
      await send(show(stateOf('tab', planOf({ unit: 56, stages: 8, tensor: 8, nodes: 8 }), { findings })));
      await page.locator('.glance-over').waitFor();
      await within('8 stages that do not fit');
      const words = await page.locator('.glance-words').getAttribute('title');
      assert.match(words ?? '', /^Does not fit: .* per step/, 'what a narrow page cuts off');
      await page.getByRole('button', { name: 'Search layouts that fit' }).waitFor();
      const [asked, has] = await page.evaluate<readonly [number, number]>(
        `(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])(document.querySelector('.glance-help vscode-button'))`,
      );
      assert.ok(asked <= has, `the button takes ${asked} px of ${has}`);
      const [line, first] = [page.locator('.glance-words'), page.locator('.glance-words strong')];
      const [whole, shown] = [(await first.boundingBox())!, (await line.boundingBox())!];
      assert.ok(whole.x + whole.width <= shown.x + shown.width, `the first sentence takes ${whole.width} px of ${shown.width}`);
      return undefined;
    },
  })),
  ...([541, 900, 1440] as const).flatMap((width) => [movedCase('tab', width), movedCase('side', width)]),
  movedCase('side', 300),
  {
    name: 'tab: settings to try are the three that matter until more are asked for, and what they give moves nothing',
    options: wide,
    state,
    steps: async ({ page }) => {
      const names = (): Promise<readonly string[]> =>
        page.evaluate<readonly string[]>(`[...document.querySelectorAll('.toolbar :is(vscode-dropdown, [role=spinbutton])')]
          .filter((each) => each.checkVisibility()).map((each) => each.getAttribute('aria-label'))`);
      const open = page.getByRole('button', { name: 'Try', exact: true });
      assert.deepEqual(await names(), []);
      await open.click();
      assert.deepEqual(await names(), ['Schedule', 'Pipeline', 'Micro-batch', 'Compare with']);
      const before = await page.locator('.lanes-region').boundingBox();
      await page.getByRole('spinbutton', { name: 'Pipeline' }).press('ArrowDown');
      await page.locator('.toolbar > .what-if-answer', { hasText: 'Planning' }).waitFor();
      assert.deepEqual(await page.locator('.lanes-region').boundingBox(), before);
      await page.getByRole('button', { name: 'More settings' }).click();
      assert.ok((await names()).length > 8, (await names()).join());
      await page.getByRole('button', { name: 'Fewer settings' }).click();
      await page.getByRole('spinbutton', { name: 'Pipeline' }).press('Escape');
      assert.deepEqual(await names(), []);
      assert.equal(await page.evaluate('document.activeElement.textContent'), 'Try');
      return undefined;
    },
  },
  {
    name: 'tab: the first tab replaces one that no longer exists, with its buttons',
    options: { ...wide, savedState: { tab: 'of an older version' } },
    state,
    steps: async ({ page }) => {
      await page.getByRole('tabpanel', { name: 'Timeline' }).waitFor();
      assert.equal(await page.getByRole('tab', { name: 'Timeline' }).getAttribute('aria-selected'), 'true');
      const fit = page.getByRole('button', { name: 'Zoom to fit' }).first();
      assert.ok(await fit.isVisible());
      await page.getByRole('tab', { name: 'Memory' }).click();
      assert.ok(!(await fit.isVisible()));
      assert.ok(await page.getByRole('button', { name: 'Show details' }).isVisible());
      return undefined;
    },
  },
  {
    name: 'tab: a schedule, a slice unit and recompute are tried together with sizes, and written when asked to',
    options: trying,
    state,
    steps: async ({ page, messages, send }) => {
      const choose = async (control: string, option: string): Promise<void> => {
        await page.getByRole('combobox', { name: control }).click();
        await page.getByRole('option', { name: option, exact: true }).locator('visible=true').click();
      };
      const tried = async (): Promise<WhatIfState['sets']> => {
        const last = (await messages()).at(-1);
        assert.ok(last?.type === 'try', last?.type);
        return last.sets;
      };
      const answer = page.locator('.toolbar > .what-if-answer');
      await choose('Schedule', '1F1B');
      assert.deepEqual(await tried(), [['schedule', '1F1B']]);
      assert.match(await answer.innerText(), /^Schedule Auto: TeraPipe to 1F1B Planning/);
      await choose('Slice unit', '128 tokens');
      await choose('Recompute', 'full');
      await page.getByRole('spinbutton', { name: 'Tensor' }).press('ArrowDown');
      const sets = await tried();
      assert.deepEqual(sets.slice(-3), [
        ['schedule', '1F1B'],
        ['slicing.unit', 128],
        ['training.recompute', 'full'],
      ]);
      assert.ok(sets.some(([key, value]) => key === 'layout.tensor' && value === 2));
      const figures = planFigures(plan());
      const slower = { ...figures, tokensPerSecond: figures.tokensPerSecond / 1.08 };
      await send({
        type: 'state',
        state: stateOf('tab', plan(), {
          whatIf: { edits: 0, chunks: 'several', leavesOpen: true, cut: [], sets, tried: slower, error: null },
        }),
      });
      await page.getByText('+8 %').waitFor();
      assert.match(
        await answer.innerText(),
        /^Tensor 4 to 2, .*, Schedule Auto: TeraPipe to 1F1B, Slice unit 56 tokens to 128 tokens, Recompute none to full \+8 %/,
      );
      assert.equal((await messages()).filter(({ type }) => type === 'change').length, 0);
      await page.getByRole('button', { name: 'Write to the config' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'write', sets });
      await choose('Schedule', 'Auto: TeraPipe');
      assert.ok((await tried()).every(([key]) => key !== 'schedule'));
      await page.getByRole('button', { name: 'Discard' }).click();
      assert.deepEqual(await tried(), []);
      const recompute = `document.querySelector('vscode-dropdown[aria-label="Recompute"]').value`;
      await until('the planned recompute', async () => (await page.evaluate(recompute)) === 'none');
      assert.equal(await page.locator('.control.changed').count(), 0);
      return undefined;
    },
  },
  {
    name: 'tab: shows what limits the selected stage, what a measured step changed, and which plans are within error',
    options: wide,
    state: () => {
      const plan = planOf({ unit: 56 });
      const calibration = {
        iterationMs: 2000,
        predictedMs: 1600,
        before: 0.96,
        gemmEfficiency: 0.7,
        constants: [],
        steps: [],
        errorPercent: 10,
      };
      return stateOf('tab', { ...plan, request: { ...plan.request, calibration } });
    },
    steps: async ({ page }) => {
      const inspector = page.locator('.inspector');
      const parts = stepCosts(plan(), chosenCandidate(plan())).map(([part, share]) => {
        assert.ok(part !== 'work', 'what the work of the stages goes to is known');
        return [say(stepPartNames[part]), column.percent(share)];
      });
      assert.ok(parts.length > 3);
      assert.match(await inspector.innerText(), /Step time, mean of all stages/);
      const pairs = await page.locator('.limits .pair').all();
      const shown = await Promise.all(
        pairs.map(async (pair) => [(await pair.locator('dt').innerText()).toLowerCase(), await pair.locator('.share').innerText()]),
      );
      assert.deepEqual(
        shown,
        parts.map(([name = '', share]) => [name.toLowerCase(), share]),
      );
      assert.match(await page.locator('.page-tab > .glance').innerText(), /^Fits, /);
      await inspector.getByText('Calibrated model', { exact: false }).click();
      await inspector.getByText('Calibrated to a measured step of 2 s, predicted 1.6 s before', { exact: false }).waitFor();
      await page.getByRole('tab', { name: 'Compare' }).click();
      const { candidates, chosen, cost } = plan();
      const ms = candidates.find(({ id }) => id === chosen)!.iterationMs;
      const ties = candidates.filter(({ id, iterationMs }) => id !== chosen && iterationMs <= ms * (1 + cost.errorPercent / 100));
      assert.ok(ties.length > 0, 'the fixture has a plan within error');
      assert.equal(await page.locator('.compare-table .tag').getByText('within error', { exact: true }).count(), ties.length);
      await page.getByRole('tab', { name: 'Memory' }).click();
      assert.match(
        await page.locator('.memory-detail').innerText(),
        /Peak[\s\S]*Reserved by the allocator[\s\S]*GPU memory in use \(nvidia-smi\)/,
      );
      return undefined;
    },
  },
  {
    name: 'tab: memory shows the parts of a stage, by mouse, keys and table',
    options: wide,
    state,
    steps: async ({ page }) => {
      await page.getByRole('tab', { name: 'Memory' }).click();
      const detail = page.locator('.memory-detail');
      assert.match(await detail.innerText(), /Stage \d+[\s\S]*highest[\s\S]*Fits, .* free[\s\S]*Activations/);
      const host = /^Host memory, fullest node: data loader .*; .* more during an asynchronous save\.$/;
      assert.match(await page.locator('.memory-host').innerText(), host);
      await page.locator('.memory-chart').focus();
      for (let press = 0; press < 3; press++) await page.keyboard.press('ArrowLeft');
      const worst = Number(/stage (\d+)/.exec(await page.locator('.figure').nth(2).innerText())![1]);
      assert.match(await detail.innerText(), new RegExp(`Stage ${worst - 3}\\b`));
      await page
        .locator('.panel-memory')
        .getByRole('row', { name: /^9[0-9] / })
        .first()
        .click();
      await page.locator('.memory-chart canvas').hover({ position: { x: 80, y: 250 } });
      await page.locator('.memory-chart .tooltip').getByText('Weights').waitFor();
      return undefined;
    },
  },
  {
    name: "tab: memory shows that a peak is in the optimizer's step, and what that holds",
    options: wide,
    state: () => stateOf('tab', planOf({ training: { gradAccumulationFp32: false } })),
    steps: async ({ page }) => {
      await page.getByRole('tab', { name: 'Memory' }).click();
      const detail = await page.locator('.memory-detail').innerText();
      assert.match(detail, /Optimizer step\s+[\d.]+ GiB[^]*The peak is reached in the optimizer step\./);
      assert.doesNotMatch(detail, /Backward operation/);
      return undefined;
    },
  },
  {
    name: 'tab: pointing at a time of the timeline shows the parts of the memory of its row then',
    options: wide,
    state,
    steps: async ({ page }) => {
      const cursor = page.locator('.lane-cursor');
      assert.ok(await cursor.isHidden());
      const box = (await page.locator('.lanes-overlay').first().boundingBox())!;
      const { memory } = chosenCandidate(plan());
      const [first] = memory.stages;
      await page.mouse.move(box.x + box.width - 90, box.y + 27);
      const text = await cursor.innerText();
      // After its last pass a stage holds only its static memory.
      assert.match(text, new RegExp(`^Stage 0 at .* · ${formatBytes(first!.staticBytes)}\\n`));
      const parts = (await cursor.locator('.readout-part').allInnerTexts()).map((part) => part.replace(/\s+/g, ' '));
      for (const part of ['weights', 'gradients', 'optimizer'] as const)
        assert.ok(
          parts.some((text) => text.endsWith(` ${formatBytes(first!.parts[part])}`)),
          `${part} in ${parts.join('; ')}`,
        );
      assert.ok(parts.includes('Activations –'), parts.join('; '));
      const curve = (await page.locator('.memory-lane-curve').boundingBox())!;
      assert.ok(Math.abs((await cursor.boundingBox())!.x - curve.x - box.width + 90) <= 1.5);
      await page.mouse.move(box.x + 10, box.y + 60);
      assert.ok(await cursor.isHidden(), 'outside the lanes');
      return undefined;
    },
  },
  {
    name: 'tab: the memory lane shows the parts of a time, is clicked and walked by keys, and leads to the Memory tab and back',
    options: wide,
    state,
    steps: async ({ page }) => {
      const cursor = page.locator('.lane-cursor');
      const readout = page.locator('.lane-readout');
      const box = (await page.locator('.memory-lane-curve').boundingBox())!;
      const [x, y] = [box.x + box.width * 0.4, box.y + box.height / 2];
      await page.mouse.move(x, y);
      const text = await readout.innerText();
      const worst = Number(/^Memory of stage (\d+)/.exec(await page.locator('.lane-words').innerText())![1]);
      assert.equal(/^Stage (\d+) at /.exec(text)?.[1], String(worst));
      await page.mouse.click(x, y);
      await page.locator('.inspector-selection dt', { hasText: 'Micro-batch' }).waitFor();
      // The cursor is where the operation begins, and keys of the lanes go on from there.
      await readout.waitFor();
      const [before, at] = [await readout.innerText(), (await cursor.boundingBox())!.x];
      assert.ok(at <= x + 1, `${at} of ${x}: ${before}`);
      await page.keyboard.press('ArrowRight');
      await until('the next operation', async () => (await readout.innerText()) !== before);
      const next = (await cursor.boundingBox())!.x;
      assert.ok(next >= at, `${next} after ${at}`);
      const heard = await page.locator('.memory-lane [aria-live]').innerText();
      assert.match(heard, new RegExp(`^Memory of stage ${worst}: .* GiB, .*Weights`));
      const [title] = (await readout.innerText()).split('\n');
      await page.getByRole('tab', { name: 'Memory' }).click();
      const detail = page.locator('.memory-detail');
      const [, time] = /at (.*) · /.exec(title!)!;
      const rows = (await detail.locator('.pair').allInnerTexts()).map((row) => row.replace(/\s+/g, ' '));
      assert.ok(rows[0]!.includes(`At ${time}`), rows[0]);
      const { peakBytes } = chosenCandidate(plan()).memory.stages[worst]!;
      assert.match(
        rows.find((row) => row.startsWith('Peak '))!,
        new RegExp(`^Peak ${column.bytes(peakBytes)} ?[\\d.]+ GiB$`),
      );
      await detail.getByRole('button', { name: 'Show it in the timeline' }).click();
      await page.getByRole('tab', { name: 'Timeline', selected: true }).waitFor();
      await page.locator('.lane-canvas').focus();
      await until('the peak', async () => (await readout.innerText()).includes(` · ${formatBytes(peakBytes)}`));
      return undefined;
    },
  },
  {
    name: 'tab: a plan to compare with, chosen in Memory, is shown there; in Slices, next to the timeline',
    options: { ...wide, savedState: { tab: 'memory', tries: 'first' } },
    state,
    steps: async ({ page }) => {
      const choose = async (name: string): Promise<void> => {
        await page.getByRole('combobox', { name: 'Compare with' }).click();
        await page.getByRole('option', { name, exact: true }).click();
      };
      await choose('GPipe');
      await page.locator('.memory-chart').nth(1).waitFor();
      await page.getByRole('tab', { name: 'Slices' }).click();
      await choose('1F1B');
      await page.getByRole('tab', { name: 'Timeline', selected: true }).waitFor();
      return undefined;
    },
  },
  {
    name: 'tab: a short page has no legend until something is hidden by it',
    options: { ...wide, height: 640, savedState: { tab: 'timeline' } },
    state,
    steps: async ({ page }) => {
      const legend = page.locator('.timeline-legend:visible');
      await page.locator('.lanes-region').waitFor();
      assert.equal(await legend.count(), 0);
      await page.setViewportSize({ width: wide.width, height: 900 });
      await legend.getByRole('button', { name: 'Forward' }).click();
      await page.setViewportSize({ width: wide.width, height: 640 });
      await legend.getByRole('button', { name: 'Forward' }).click();
      await legend.waitFor({ state: 'hidden' });
      return undefined;
    },
  },
  {
    name: 'tab: memory of two plans is on one axis, with what one takes more than the other',
    options: { ...wide, savedState: { tab: 'memory', compareWith: 'whole' } },
    state,
    steps: async ({ page }) => {
      const charts = page.locator('.memory-chart');
      await charts.nth(1).waitFor();
      assert.equal(await charts.count(), 2);
      assert.match((await page.locator('.memory-charts h2').allInnerTexts()).join(), /TeraPipe,Whole sequences/);
      const detail = page.locator('.memory-detail');
      const { memory } = plan().candidates.find(({ id }) => id === 'whole')!;
      await charts.nth(1).focus();
      await page.keyboard.press('ArrowLeft');
      const text = await detail.innerText();
      const stage = Number(/Stage (\d+)/.exec(text)![1]);
      const taken = chosenCandidate(plan()).memory.stages[stage]!.peakBytes - memory.stages[stage]!.peakBytes;
      assert.ok(
        text.replaceAll('\u00a0', ' ').includes(`${taken < 0 ? '−' : '+'}${column.bytes(Math.abs(taken))}`.replaceAll('\u00a0', ' ')),
        text,
      );
      assert.match(text, /more or less than whole sequences/);
      return undefined;
    },
  },
  {
    name: 'tab: memory holds each stage against the card it is on',
    options: wide,
    state: () => stateOf('tab', mixed()),
    steps: async ({ page }) => {
      assert.match(await page.locator('.setting').first().innerText(), /8 H200 \+ 8 L40S\s2,048 tokens\sbatch 2/);
      await page.getByRole('tab', { name: 'Memory' }).click();
      const detail = page.locator('.memory-detail');
      const chart = page.locator('.memory-chart');
      assert.match(await detail.innerText(), /Stage 2, L40S[\s\S]*least room/);
      assert.match((await chart.getAttribute('aria-label')) ?? '', /Least room: stage 2 with [\d.]+ GiB of 41\.9 GiB/);
      await chart.focus();
      await page.keyboard.press('ArrowLeft');
      assert.match(await detail.innerText(), /Stage 1, H200[\s\S]*Fits, \d{2,} GiB free/);
      assert.ok(!(await detail.innerText()).includes('least room'));
      return undefined;
    },
  },
  {
    name: 'tab: slices show the scheme as the paper writes it, and its certificate',
    options: wide,
    state,
    steps: async ({ page }) => {
      await page.getByRole('tab', { name: 'Slices' }).click();
      assert.match(await page.locator('.lead').innerText(), /^\[\(1, \[[\d ×,]+\]\)\] × 2$/);
      assert.match(await page.locator('.proof').innerText(), /Proved optimal[\s\S]*Lower bound[\s\S]*Gap\s+0 %/);
      const cuts = page.locator('.cuts tbody tr');
      assert.equal(await cuts.count(), plan().candidates[0]!.certificate!.cuts.length + 1);
      assert.match(await cuts.last().innerText(), /^Optimized\s/);
      const rows = page.locator('.slice-table tbody tr');
      const scheme = plan().candidates[0]!.scheme;
      assert.equal(await rows.count(), scheme[0]!.tokens.length);
      assert.equal(await rows.nth(1).locator('td').nth(1).innerText(), String(scheme[0]!.tokens[1]));
      return undefined;
    },
  },
  {
    name: 'tab: picking a candidate shows it everywhere, and that it is not the chosen one',
    options: wide,
    state,
    steps: async ({ page }) => {
      await page.getByRole('tab', { name: 'Compare' }).click();
      await page.getByRole('button', { name: '1F1B', exact: true }).click();
      const other = plan().candidates.find(({ id }) => id === '1f1b')!;
      await until('the other step time', async () =>
        (await page.locator('.figure').first().innerText()).includes(formatDuration(other.iterationMs).split(' ')[0]!),
      );
      await page.getByText('1F1B, not the chosen plan').waitFor();
      await page.getByRole('tab', { name: 'Slices' }).click();
      await page.getByText('[(1, [2048])] × 2').waitFor();
      return undefined;
    },
  },
  {
    name: 'tab: exports a picture, the plan, the schedule, a trace and a table',
    options: wide,
    state,
    steps: async ({ page, messages }) => {
      const run = async (item: string): Promise<void> => {
        await page.getByRole('button', { name: 'Export' }).click();
        await page.getByRole('menuitem', { name: item }).click();
      };
      const saves = async () => (await messages()).filter((message) => message.type === 'save');
      await run('Picture as PNG');
      await until('a picture', async () => (await saves()).length === 1);
      await run('Picture as SVG');
      await until('another picture', async () => (await saves()).length === 2);
      const [png, svg] = await saves();
      assert.deepEqual([png?.name, svg?.name], ['gpt3-175b-timeline.png', 'gpt3-175b-timeline.svg']);
      const bytes = Buffer.from(png?.text ?? '', 'base64');
      const shown = (await page.locator('.panel-timeline').boundingBox())!;
      assert.deepEqual([bytes.toString('latin1', 1, 4), bytes.readUInt32BE(16)], ['PNG', Math.round(shown.width)]);
      assert.match(svg?.text ?? '', /<image [^>]*href="data:image\/png[\s\S]*<text [^>]*>Memory of stage/);
      await page.getByRole('tab', { name: 'Memory' }).click();
      await run('Tables as CSV');
      const csv = (await messages()).at(-1);
      assert.ok(csv?.type === 'save' && csv.mime === 'text/csv');
      const everyStage = Array.from({ length: 96 }, (_, stage) => String(stage));
      assert.deepEqual(csv.text.split('\r\n').map(firstCell), ['Stage', ...everyStage, '']);
      assert.equal(await page.locator('.panel-memory tbody tr').count(), 6);
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      const copied = (item: string): Promise<string> =>
        withClipboard(async () => {
          await run(item);
          await page.getByRole('status').getByText('Copied').waitFor();
          return page.evaluate<string>('navigator.clipboard.readText()');
        });
      const markdown = await copied('Copy tables as Markdown');
      await page.keyboard.press('Shift');
      await page.getByText('Copied').waitFor({ state: 'hidden' });
      assert.match(markdown, /^\| Stage \|[^\n]*\n\|( --- \|)+\n\| 0 \|/);
      assert.deepEqual(
        markdown
          .split('\n')
          .slice(2, -1)
          .map((line) => line.split(' ')[1]),
        everyStage,
      );
      await page.getByRole('tab', { name: 'Timeline' }).click();
      const before = (await saves()).length;
      await run('Timeline as SVG');
      await until('a drawing', async () => (await saves()).length > before);
      await run('Plan as JSON');
      await run('Report as HTML');
      await run('PyTorch run as a folder');
      await run('Schedule as PyTorch CSV');
      await run('Chrome trace for Perfetto');
      const table = await copied('Copy operations as table');
      const sent = await messages();
      assert.deepEqual(
        sent.filter(({ type }) => type === 'export'),
        [
          { type: 'export', format: 'html', candidate: 'terapipe' },
          { type: 'export', format: 'torchrun', candidate: 'terapipe' },
          { type: 'export', format: 'pytorch-csv', candidate: 'terapipe' },
          { type: 'export', format: 'chrome-trace', candidate: 'terapipe' },
        ],
      );
      const saved = sent.find((message) => message.type === 'save' && message.name === 'gpt3-175b-terapipe.svg')!;
      assert.ok(saved.type === 'save');
      assert.match(saved.text, /^<svg [\s\S]*<g class="o"><title>Optimizer<\/title>[\s\S]*<\/svg>\n$/);
      assert.ok(sent.some((message) => message.type === 'command' && message.command === 'terapipe.exportPlan'));
      assert.match(table, /^stage\toperation\tmicro_batch/);
      const { timeline } = plan().candidates[0]!;
      assert.equal(table.trimEnd().split('\n').length, 1 + timeline!.kind.length);
      return undefined;
    },
  },
  {
    name: 'tab: the menu goes by keys and Escape gives the focus back',
    options: wide,
    state,
    steps: async ({ page, messages }) => {
      await page.getByRole('button', { name: 'Export' }).focus();
      await page.keyboard.press('Enter');
      await page.keyboard.press('ArrowDown');
      assert.equal(await page.evaluate('document.activeElement.textContent'), 'Picture as SVG');
      await page.keyboard.press('Escape');
      assert.equal(await page.getByRole('menu').count(), 0);
      assert.match(await page.evaluate<string>('document.activeElement.textContent'), /Export/);
      assert.ok(!(await messages()).some((message) => message.type === 'command'));
      return undefined;
    },
  },
  {
    name: 'tab: Tab goes through everything in reading order and is trapped nowhere',
    options: trying,
    state,
    steps: async ({ page }) => {
      const seen: string[] = [];
      for (let press = 0; press < 60; press++) {
        await page.keyboard.press('Tab');
        const name = await page.evaluate<string>(`(() => {
          const element = document.activeElement;
          return element === document.body ? 'BODY' : (element.getAttribute('aria-label') ?? element.textContent).slice(0, 40);
        })()`);
        if (seen.includes(name)) break;
        seen.push(name);
      }
      const order = [
        '2 findings',
        'Timeline',
        'Try',
        'Zoom to fit',
        'Export',
        'Schedule',
        'Compare with',
        'Timeline of',
        'Analytic model',
        'Assumptions',
      ];
      // The page opens with the focus in the lanes: the round begins there.
      const start = seen.indexOf('BODY') + 1;
      const read = [...seen.slice(start), ...seen.slice(0, start)];
      const at = order.map((name) => read.findIndex((candidate) => candidate.startsWith(name)));
      assert.ok(start > 0 && !at.includes(-1), `missing in ${seen.join(' | ')}`);
      assert.deepEqual(
        at,
        [...at].sort((a, b) => a - b),
        seen.join(' | '),
      );
      return undefined;
    },
  },
  {
    name: 'tab: what was looked at survives a reload, and the host may ask for a tab',
    options: { ...wide, savedState: { document: 'x', tab: 'memory', stage: 3, inspector: false, viewport: 'nonsense' } },
    state,
    steps: async ({ page, send }) => {
      await page.getByText('Stage 3', { exact: true }).waitFor();
      assert.equal(await page.locator('.inspector').isVisible(), false);
      await send({ type: 'show', tab: 'compare', candidate: '1f1b' });
      await page.getByRole('tabpanel', { name: 'Compare' }).waitFor();
      await until('the state to be saved', async () => (await page.evaluate<{ tab: string }>('harness.state()')).tab === 'compare');
      assert.equal((await page.evaluate<{ document: string }>('harness.state()')).document, 'file:///home/ada/gpt3-175b/terapipe.json');
      return undefined;
    },
  },
  {
    name: 'tab: a plan that arrives while a list is open is drawn when it closes, and the list keeps its place',
    options: trying,
    state,
    steps: async ({ page, send }) => {
      const figures = async (): Promise<string> => page.locator('dl.figures').innerText();
      const before = await figures();
      await page.getByRole('combobox', { name: 'Schedule' }).click();
      await send({ type: 'state', state: stateOf('tab', planOf({ unit: 56, stages: 24, tensor: 8, nodes: 24 })) });
      assert.equal(await figures(), before);
      await send({ type: 'update', fields: { staleEdits: 2 } });
      await page.keyboard.press('Escape');
      await until('the plan that was held', async () => (await figures()) !== before);
      return undefined;
    },
  },
];
