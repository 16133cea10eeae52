import assert from 'node:assert/strict';
import path from 'node:path';
import { writeScheduleCsv } from '../../src/core/schedules/pytorch-csv/write';
import { readScheduleFile, type SteppedSchedule } from '../../src/core/schedules/pytorch-csv/schedule-file';
import { generateSchedule, toScheduleProblem } from '../../src/core/schedules/registry';
import type { ScheduleName } from '../../src/core/domain/schedule-names';
import type { PageState } from '../../src/protocol/page';
import type { OpenOptions } from './browser';
import { show, until, type Case } from './cases';
import { stateOf } from './fixtures';
import type { ThemeName } from './themes';
import { sentence } from '../../src/core/sentence';

const wide: OpenOptions = { kind: 'tab', width: 1280, height: 760, reducedMotion: true };
const file = 'file:///home/ada/schedules/mine.csv';

/** A schedule as it comes from a file. */
function drawnOf(name: ScheduleName, ranks: number, microBatches: number, chunksPerStage: number): SteppedSchedule {
  const scheme = Array.from({ length: microBatches }, () => ({ batch: 1, tokens: [1] }));
  const text = writeScheduleCsv(generateSchedule(name, toScheduleProblem(scheme, ranks, chunksPerStage)), 'compute_only');
  const { drawn } = readScheduleFile(text, file, 'mine.csv');
  assert.ok(drawn);
  return drawn;
}

function stateWith(schedule: SteppedSchedule, change: Partial<PageState> = {}): PageState {
  return { ...stateOf('tab', null), document: file, file: 'schedules/mine.csv', schedule, ...change };
}

/** Eight micro-batches over four ranks of two chunks, as read from a file. */
export const interleaved = (): PageState => stateWith(drawnOf('Interleaved1F1B', 4, 8, 2));
const pictures: readonly ThemeName[] = ['dark', 'light', 'high-contrast', 'high-contrast-light'];

/** The editor tab of a schedule file. */
export const scheduleCases: readonly Case[] = [
  {
    name: 'schedule: a file is drawn in steps, with what it runs and why ranks idle',
    options: wide,
    state: interleaved,
    steps: async ({ page }) => {
      const text = await page.locator('.page-schedule').innerText();
      for (const words of [
        'mine.csv',
        '4 ranks',
        '8 stages',
        '8 micro-batches',
        'passes only',
        'Each pass takes 1 step, a full backward 2.',
      ])
        assert.ok(text.includes(words), words);
      assert.match(await page.locator('.figure').first().innerText(), /57\s*steps/);
      assert.match(
        await page.locator('.page-schedule .inspector').innerText(),
        /Idle steps[\s\S]*Warm-up\s+6, 2.63 %[\s\S]*Most in flight[\s\S]*0\s+9\s+11/,
      );
      assert.equal(await page.getByRole('tab').count(), 0);
      assert.equal(await page.locator('.memory-lane:visible').count(), 0);
      return undefined;
    },
  },
  {
    name: 'schedule: a pass shows its rank, stage, micro-batch and times in steps, and no milliseconds anywhere',
    options: wide,
    state: interleaved,
    steps: async ({ page }) => {
      await page.locator('.lanes-region:visible').focus();
      await page.keyboard.press('End');
      const details = page.locator('.inspector-selection:visible');
      await details.getByText('Backward', { exact: true }).first().waitFor();
      const text = await details.innerText();
      assert.match(text, /Rank\s+0 of 4[\s\S]*Stage\s+0 of 8[\s\S]*Micro-batch\s+7[\s\S]*End\s+57 steps[\s\S]*Duration\s+2 steps/);
      assert.doesNotMatch(text, /Slice|Tokens/);
      await page.locator('.lanes-overlay:visible').hover({ position: { x: 60, y: 34 } });
      assert.match(
        await page.locator('.tooltip:visible').innerText(),
        /Rank 0 of 4, stage 0 of 8[\s\S]*1 step, from 0 steps[\s\S]*Starts the schedule/,
      );
      await page.getByRole('button', { name: 'Show operations as a table' }).click();
      assert.match(await page.locator('.table-twin:visible').innerText(), /Rank 0 of 4: 32 operations[\s\S]*Stage\s+Micro-batch\s+Start/);
      assert.doesNotMatch(await page.locator('.page-schedule').innerText(), /\d (ms|µs)\b/);
      return undefined;
    },
  },
  {
    name: 'schedule: finds a pass by rank, stage and micro-batch',
    options: wide,
    state: interleaved,
    steps: async ({ page }) => {
      await page.locator('.lanes-region:visible').focus();
      await page.keyboard.press('/');
      await page.keyboard.type('stage 6 micro-batch 3 backward');
      await page.keyboard.press('Enter');
      await until('the selection', async () =>
        /Rank\s+2 of 4[\s\S]*Stage\s+6 of 8/.test(await page.locator('.inspector-selection:visible').innerText()),
      );
      return undefined;
    },
  },
  {
    name: 'schedule: a broken file keeps the last drawing, shows how old it is and leads to the cell',
    options: wide,
    state: interleaved,
    steps: async ({ page, send, messages }) => {
      const place = { file, range: { start: 4, end: 7 } };
      const error = {
        code: 'schedule-csv-action',
        message: sentence`"0X1" is not an action of a schedule`,
        remedy: sentence`write 0F1`,
        place,
        placeText: 'schedules/mine.csv:1:5',
      };
      await send(show(stateWith(drawnOf('Interleaved1F1B', 4, 8, 2), { staleEdits: 2, error })));
      await page.getByText('from 2 edits ago').waitFor();
      assert.match(await page.getByRole('alert').innerText(), /is not an action of a schedule\.\s+Write 0F1\.[\s\S]*mine\.csv:1:5/);
      assert.match(await page.locator('.figure').first().innerText(), /57\s*steps/);
      await page.getByRole('button', { name: 'Show in the file' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'reveal', place });
      await send(show(stateWith(drawnOf('GPipe', 4, 8, 1))));
      await until('the new drawing', async () => /33\s*steps/.test(await page.locator('.figure').first().innerText()));
      assert.equal(await page.getByRole('alert').count(), 0);
      return undefined;
    },
  },
  ...pictures.map((theme): Case => ({
    name: `schedule: looks right in ${theme}`,
    options: { ...wide, theme },
    state: () => stateWith(drawnOf('ZBVZeroBubble', 4, 8, 2)),
    steps: async ({ page }) => {
      await page.locator('.lanes-region:visible').focus();
      await page.keyboard.press('Home');
      await page.waitForTimeout(150);
      await page.screenshot({ path: path.resolve('out/screenshots', `schedule-${theme}.png`) });
      return undefined;
    },
  })),
];
