import assert from 'node:assert/strict';
import { cpSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import * as esbuild from 'esbuild';
import type { Browser, Frame } from 'playwright-core';
import { operationKind } from '../../src/core/schedules/schedule';
import { chosenOf, type Candidate, type CandidateId } from '../../src/core/planner/plan';
import { packMessage } from '../../src/protocol/packed';
import type { HostMessage } from '../../src/protocol/page';
import { startCodeServer, temporaryFolder } from '../harness/code-server.mjs';
import { root } from '../harness/setup.mjs';
import { walkSteps, type Step, type TierRun } from '../harness/tier-result';
import { planOfFile, withCandidates } from './drawn/plans';
import { figures, pageFrame } from './plan-page';
import { developmentHost, openFile, openWorkbench, runFromPalette } from './workbench';

/** So many typed arrays that none of the limits between the extension host and a page is far. */
const manyCandidates = 60;

/**
 * What a page draws is what was planned: of a plain model, of the shipped sample (some 15 candidates each, together more typed arrays than the extension host's protocol takes
 * arguments) and of a plan with many candidates.
 */
export async function walkDrawn(browser: Browser, { tools, screenshotsDir, emit }: TierRun): Promise<void> {
  mkdirSync(screenshotsDir, { recursive: true });
  const workspace = path.join(temporaryFolder('terapipe-drawn'), 'drawn');
  const sample = path.join(workspace, 'sample');
  cpSync(path.join(root, 'media/samples/llama3-8b'), sample, { recursive: true });
  mkdirSync(path.join(workspace, 'plain'));
  const plain = path.join(workspace, 'plain/llama-3-8b.json');
  cpSync(path.join(sample, 'config.json'), plain);
  const config = path.join(sample, 'terapipe.json');
  const env = { TERAPIPE_TEST_CONFIG: config, TERAPIPE_TEST_CANDIDATES: String(manyCandidates) };
  const server = await startCodeServer(tools, { env });
  try {
    const testsFile = await bundleHost();
    const { page, pageErrors } = await openWorkbench(browser, server.url(workspace), (fresh) =>
      developmentHost(fresh, server.port, root, testsFile),
    );
    const opened = (file: string, name: string): Step => ({
      name: `every operation of ${name} is drawn where it is planned`,
      act: async () => {
        await openFile(page, path.basename(file));
        await page.locator('.codelens-decoration a', { hasText: '/ step' }).waitFor();
        await runFromPalette(page, 'TeraPipe: Open timeline');
        await figures(page, 'tab');
        assert.deepEqual(await drawnIn(await pageFrame(page, 'tab')), operationsOf(chosenOf(await planOfFile(file))));
        await page.screenshot({ path: path.join(screenshotsDir, `vscode-drawn-${path.basename(path.dirname(file))}.png`) });
        await runFromPalette(page, 'View: Close All Editors');
      },
    });
    const steps: readonly Step[] = [
      {
        name: `every operation of ${manyCandidates} candidates is drawn where it is planned`,
        act: async () => {
          await figures(page, 'tab');
          const frame = await pageFrame(page, 'tab');
          for (const candidate of withCandidates(await planOfFile(config), manyCandidates).candidates) {
            await showCandidate(frame, candidate.id);
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
    await walkSteps(steps, emit, async () => {
      await page.screenshot({ path: path.join(screenshotsDir, 'vscode-drawn-failed.png') });
    });
  } finally {
    await server.stop();
  }
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

/** Brings a candidate forward as the host does. */
async function showCandidate(frame: Frame, candidate: CandidateId): Promise<void> {
  const message = packMessage({ type: 'show', tab: 'timeline', candidate } satisfies HostMessage);
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

async function bundleHost(): Promise<string> {
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: ['test/vscode/drawn/host.ts'],
    outdir: 'out/drawn',
    bundle: true,
    platform: 'node',
    target: 'node22',
    format: 'cjs',
    external: ['vscode'],
    // jsonc-parser's `main` is UMD, whose requires esbuild cannot follow.
    mainFields: ['module', 'main'],
    logLevel: 'warning',
  });
  return path.join(root, 'out/drawn/host.js');
}
