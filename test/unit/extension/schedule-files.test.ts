import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { isScheduleCsv, sniffed } from '../../../src/core/schedules/pytorch-csv/cells';
import { hoverAt } from '../../../src/extension/language/hover-text';
import { toPageState } from '../../../src/host/pages/page-state';
import type { SessionState } from '../../../src/host/sessions/session-state';
import { startOfDocument, textWithin } from '../../../src/extension/sessions/document-text';
import { maximumDrawnCells, tooLargeToDraw } from '../../../src/host/sessions/schedule-size';
import { scheduleLensText } from '../../../src/extension/language/schedule-text';
import { english } from '../../../src/core/sentence';
import { nextTurn, testHost, uri } from './test-host';

const file = uri('two%20ranks.csv');
const sound = '0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n';
const broken = sound.replace('1B0', '1X0');
const context = { page: 'tab', trusted: true, displayPath: (name: string) => name.replace('file:///w/', '') } as const;

/** A session of the file, and a way to type into it. */
async function opened(text: string): Promise<{ state: () => SessionState; type: (next: string) => Promise<void> }> {
  const { sessions, files, bugs } = testHost({ 'two%20ranks.csv': text });
  await sessions.ensure(file, 'pytorch-schedule');
  assert.deepEqual(bugs, []);
  return {
    state: () => sessions.get(file)!,
    type: async (next) => {
      files.set(file, next);
      sessions.changed(file);
      await nextTurn();
      await nextTurn();
    },
  };
}

async function hoverOn(text: string, cell: string): Promise<string | null> {
  const { state } = await opened(text);
  const hover = hoverAt(state(), file, text, text.indexOf(cell) + 1, english);
  return hover === null ? null : [hover.title, ...hover.lines].join(' / ');
}

/** Of find-configs.ts, which only VS Code can load. */
const scheduleLanguage = 'pytorch-schedule';

describe('a schedule file in the editor', () => {
  it('is drawn without a plan', async () => {
    const { state } = await opened(sound);
    const { schedule, plan, error, findings, progress } = state();
    assert.deepEqual([schedule?.timeline.makespanMs, schedule?.timeline.name], [9, 'two ranks.csv']);
    assert.deepEqual([plan, error, findings, progress], [null, null, [], null]);
  });

  it('is not drawn where it is larger than the extension host can afford, and nothing of it is kept', async () => {
    const { state, type } = await opened(sound);
    await type(
      `${Array(maximumDrawnCells + 1)
        .fill('0F0')
        .join()}\n`,
    );
    const { error, findings, texts, schedule } = state();
    assert.deepEqual([error?.code, findings.length, texts.size], ['schedule-csv-too-large', 1, 0]);
    assert.equal(schedule?.timeline.makespanMs, 9);
    assert.equal(toPageState(state(), context).error?.code, 'schedule-csv-too-large');
    await type(sound);
    assert.deepEqual([state().error, state().findings], [null, []]);
  });

  it('is too large by cells and by size', () => {
    const row = Array(maximumDrawnCells / 2)
      .fill('1B1')
      .join();
    for (const text of [`${row}\n${row}\n`, `${row}\r\n${row}`, sound]) assert.equal(tooLargeToDraw(text, file), null);
    for (const text of [`${row}\n${row},\n`, `${row}\r${row}\r0B0`, sound + ' '.repeat(2 ** 24)])
      assert.equal(tooLargeToDraw(text, file)?.code, 'schedule-csv-too-large');
  });

  it('is distinguished from other tables by its first lines, and its text is not made where it is too large to be read', () => {
    const document = (lines: readonly string[]) => {
      const asked = { lines: new Set<number>(), texts: 0 };
      const lineAt = (line: number) => {
        asked.lines.add(line);
        return { text: lines[line]!, range: { end: { line, character: lines[line]!.length } } };
      };
      const offsetAt = ({ line, character }: { line: number; character: number }) =>
        lines.slice(0, line).reduce((sum, { length }) => sum + length + 1, character);
      const getText = () => {
        asked.texts += 1;
        return lines.join('\n');
      };
      return { asked, open: { lineCount: lines.length, lineAt, offsetAt, getText } as unknown as Parameters<typeof textWithin>[0] };
    };
    const large = document(Array(100_000).fill('0F0,0B0'));
    assert.equal(isScheduleCsv(startOfDocument(large.open, sniffed + 1)), true);
    assert.equal(isScheduleCsv(startOfDocument(document(Array(100_000).fill('12,teams')).open, sniffed + 1)), false);
    assert.ok(large.asked.lines.size < 1000);
    assert.equal(textWithin(large.open, 799_998), null);
    assert.equal(large.asked.texts, 0);
    assert.equal(textWithin(large.open, 799_999)?.length, 799_999);
    assert.equal(startOfDocument(document(sound.split('\n')).open, sniffed + 1), `${sound}\n`);
  });

  it('shows its size, steps and bubble in a lens', async () => {
    const { state } = await opened(sound);
    assert.equal(scheduleLensText(state(), english), '2 ranks, 2 micro-batches, 9 steps · bubble 33.3 %');
  });

  it('keeps the last good drawing while it is broken, and shows how old it is and where the error is', async () => {
    const { state, type } = await opened(sound);
    await type(broken);
    await type(broken.replace('1B1', '1B1 '));
    const page = toPageState(state(), context);
    assert.equal(page.schedule?.timeline.makespanMs, 9);
    assert.equal(page.staleEdits, 2);
    assert.equal(page.error?.code, 'schedule-csv-action');
    assert.equal(page.error.placeText, 'two%20ranks.csv:2:5');
    assert.equal(scheduleLensText(state(), english), 'Schedule does not run: 1 problem');
    await type(sound.replace('0F1,0B0', '0B0,0F1'));
    const mended = toPageState(state(), context);
    assert.deepEqual([mended.error, mended.staleEdits, mended.findings], [null, 0, []]);
    // One micro-batch after the other: twice F, F, B, B.
    assert.equal(mended.schedule?.timeline.makespanMs, 12);
  });

  it('is left in peace while it is written again, or becomes another table', async () => {
    for (const next of ['', 'name,price\nTea,3\n']) {
      const { state, type } = await opened(sound);
      await type(next);
      assert.deepEqual([state().findings, state().error, state().staleEdits], [[], null, 1]);
      assert.match(scheduleLensText(state(), english) ?? '', /^Before the last edits: /);
    }
  });

  it('is not sent to the side view, which shows plans', async () => {
    const { state } = await opened(sound);
    assert.equal(toPageState(state(), { ...context, page: 'side' }).schedule, null);
  });
});

describe('the language of schedule files', () => {
  const manifest = JSON.parse(readFileSync(path.resolve(import.meta.dirname, '../../../package.json'), 'utf8')) as {
    contributes: { languages: { id: string; firstLine?: string }[] };
    activationEvents: string[];
  };
  const { firstLine = '' } = manifest.contributes.languages.find(({ id }) => id === scheduleLanguage) ?? {};

  it('is known by a first line that is one of a schedule, so that other tables do not wake the extension', () => {
    assert.ok(manifest.activationEvents.includes(`onLanguage:${scheduleLanguage}`));
    for (const line of ['0F0,0F1,0B0', ',,,1F0', '"0F0",', '(0F1;1B0)OVERLAP_F_B', '0UNSHARD,0F0', '0BW1'])
      assert.ok(new RegExp(firstLine).test(line) && isScheduleCsv(line), line);
    for (const line of ['', '1B,2B,3B', 'tokens,forward_ms', '1,2', 'F0,F1']) assert.ok(!new RegExp(firstLine).test(line), line);
  });
});

describe('hovers on cells of a schedule file', () => {
  it('show what runs, when, and what it waited for', async () => {
    assert.equal(await hoverOn(sound, '0F0'), 'Rank 0 runs the forward of stage 0, micro-batch 0 / Starts at step 0, takes 1 step, waited for nothing'); // prettier-ignore
    assert.equal(await hoverOn(sound, '1F0'), 'Rank 1 runs the forward of stage 1, micro-batch 0 / Starts at step 1, takes 1 step, waited for the activation from rank 0'); // prettier-ignore
    assert.equal(await hoverOn(sound, '0B0'), 'Rank 0 runs the backward of stage 0, micro-batch 0 / Starts at step 4, takes 2 steps, waited for the gradient from rank 1'); // prettier-ignore
    assert.equal(await hoverOn(sound, '1B1'), 'Rank 1 runs the backward of stage 1, micro-batch 1 / Starts at step 5, takes 2 steps, right after the cell before it'); // prettier-ignore
  });

  it('show where a send goes and a receive comes from', async () => {
    const text = '0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n';
    assert.equal(await hoverOn(text, '0SEND'), 'Rank 0 sends the activation of stage 0, micro-batch 0 to rank 1');
    assert.equal(await hoverOn(text, '1RECV'), 'Rank 1 receives the activation for stage 1, micro-batch 0 from rank 0');
    assert.equal(await hoverOn(text, '1SEND'), 'Rank 1 sends the gradient of stage 1, micro-batch 0 to rank 0');
    assert.equal(await hoverOn(text, '0RECV'), 'Rank 0 receives the gradient for stage 0, micro-batch 0 from rank 1');
  });

  it('show both passes of an overlapped pair', async () => {
    const hover = await hoverOn('0F0,(0F1;0B0)OVERLAP_F_B,0B1\n', '(0F1');
    assert.match(hover ?? '', /runs the forward of stage 0, micro-batch 1 .* runs the backward of stage 0, micro-batch 0/);
  });

  it('are silent while the drawing is older than the text', async () => {
    const { state, type } = await opened(sound);
    await type(broken);
    assert.equal(hoverAt(state(), file, broken, 1, english), null);
  });
});
