import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Frame } from 'playwright-core';
import { operationKind } from '../../src/core/schedules/schedule';
import { candidateIds, chosenCandidate, type Candidate, type CandidateId } from '../../src/core/planner/plan';
import { packMessage } from '../property/packed-whole';
import type { HostMessage, TabId } from '../../src/protocol/page';
import { root } from '../harness/setup.mjs';
import { walkSteps, type Step, type TierRun } from '../harness/tier-result';
import { planOfFile, withAllCandidates } from './drawn/plans';
import { figures, openTimelineWide, pageFrame } from './plan-page';
import { until } from './until';
import { openFile, picturesOf, runFromPalette, type Workbench } from './workbench';

/** Where the walk puts the files that it opens: names that no other file of the workspace has. */
function filesIn(workspace: string): { readonly folder: string; readonly config: string; readonly plain: string } {
  const folder = path.join(workspace, 'drawn');
  return { folder, config: path.join(folder, 'sample.terapipe.json'), plain: path.join(folder, 'llama-3-8b.json') };
}

/** What `drawn/host.ts` reads in the extension host. */
export function drawnEnvironment(workspace: string): NodeJS.ProcessEnv {
  return { TERAPIPE_TEST_CONFIG: filesIn(workspace).config };
}

/**
 * What a page draws is what was planned: of a plain model, of the shipped sample and of a plan with every candidate, all of which the
 * Compare tab draws: together they have more typed arrays than the extension host's protocol takes arguments.
 */
export async function walkDrawn({ page, pageErrors }: Workbench, workspace: string, { screenshotsDir, emit }: TierRun): Promise<void> {
  const { folder, config, plain } = filesIn(workspace);
  const { look, failed } = picturesOf(page, screenshotsDir);
  const opened = (file: string, name: string): Step => ({
    name: `every operation of ${name} is drawn where it is planned`,
    act: async () => {
      await openFile(page, path.basename(file));
      await page.locator('.codelens-decoration a', { hasText: '/ step' }).waitFor();
      assert.deepEqual(await drawnIn(await openTimelineWide(page)), operationsOf(chosenCandidate(await planOfFile(file))));
      await look(`drawn-${path.basename(file, '.json')}`);
      await runFromPalette(page, 'View: Close All Editors');
    },
  });
  const steps: readonly Step[] = [
    {
      name: `every operation of ${candidateIds.length} candidates is drawn where it is planned`,
      act: async () => {
        await runFromPalette(page, 'View: Close All Editors');
        mkdirSync(folder);
        const sample = path.join(root, 'media/samples/llama3-8b');
        for (const copy of ['config.json', path.basename(plain)]) copyFileSync(path.join(sample, 'config.json'), path.join(folder, copy));
        copyFileSync(path.join(sample, 'terapipe.json'), config);
        await figures(page, 'tab');
        const frame = await pageFrame(page, 'tab');
        await show(frame, 'compare', candidateIds[0]);
        await until('all of them in the Compare tab', async () =>
          (await frame.locator('.compare-timeline canvas').count()) === candidateIds.length ? true : undefined,
        );
        for (const candidate of withAllCandidates(await planOfFile(config)).candidates) {
          await show(frame, 'timeline', candidate.id);
          assert.deepEqual(await drawnIn(frame), operationsOf(candidate), candidate.id);
        }
        await runFromPalette(page, 'View: Close All Editors');
      },
    },
    opened(plain, 'a plain Llama-3 8B'),
    opened(config, 'the sample'),
    {
      name: 'no page threw',
      act: () => {
        assert.deepEqual(pageErrors, []);
        return Promise.resolve();
      },
    },
  ];
  await walkSteps(steps, emit, () => failed('drawn'));
}

/** One operation: its stage, what it does for which part of the batch, and when. */
interface DrawnOperation {
  readonly stage: number;
  readonly kind: string;
  readonly microBatch: number;
  readonly slice: number;
  readonly startMs: number;
  readonly endMs: number;
}

const kinds = new Map<number, string>([
  [operationKind.forward, 'forward'],
  [operationKind.backward, 'backward'],
  [operationKind.backwardInput, 'backward input'],
  [operationKind.backwardWeight, 'backward weight'],
]);

/** Every operation of a candidate, stage by stage. */
function operationsOf({ timeline }: Candidate): DrawnOperation[] {
  assert.ok(timeline !== null);
  return Array.from({ length: timeline.stages }, (_, stage) => stage).flatMap((stage) =>
    Array.from(timeline.kind.subarray(timeline.rowStart[stage], timeline.rowStart[stage + 1]), (kind, index) => {
      const row = timeline.rowStart[stage]! + index;
      const { microBatch, slice } = timeline.units[timeline.unit[row]!]!;
      return { stage, kind: kinds.get(kind)!, microBatch, slice, startMs: timeline.startMs[row]!, endMs: timeline.endMs[row]! };
    }),
  );
}

/** Brings a tab and a candidate forward as the host does. */
async function show(frame: Frame, tab: TabId, candidate: CandidateId): Promise<void> {
  const message = packMessage({ type: 'show', tab, candidate } satisfies HostMessage);
  await frame.evaluate(`window.postMessage({ ...${JSON.stringify(message)}, buffer: new ArrayBuffer(0) }, '*')`);
}

/** The operations that a page draws, by what it copies as a table. */
async function drawnIn(frame: Frame): Promise<DrawnOperation[]> {
  await frame.evaluate(`Object.defineProperty(navigator, 'clipboard', {
    configurable: true,
    value: { writeText: async (text) => void (globalThis.copied = text) },
  }); globalThis.copied = null;`);
  await frame.getByRole('button', { name: 'Export' }).click();
  await frame.getByText('Copy operations as table').click();
  const text = await frame.evaluate<string>('globalThis.copied');
  const [header = '', ...lines] = text.trimEnd().split('\n');
  const column = (name: string): number => header.split('\t').indexOf(name);
  return lines.map((line) => {
    const cells = line.split('\t');
    const number = (name: string): number => Number(cells[column(name)]);
    return {
      stage: number('stage'),
      kind: cells[column('operation')] ?? '',
      microBatch: number('micro_batch'),
      slice: number('slice'),
      startMs: number('start_ms'),
      endMs: number('end_ms'),
    };
  });
}
