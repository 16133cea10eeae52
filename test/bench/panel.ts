// Prints how fast a timeline of a million operations pans and zooms in the real panel: `npm run bench:panel`. VS Code runs in Chromium,
// input is that of a mouse, frames are the browser's own.
import { cpSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Frame, Page } from 'playwright-core';
import { startCodeServer, temporaryFolder } from '../harness/code-server.mjs';
import { ensureBuild, ensureChromium, root } from '../harness/setup.mjs';
import { ensureTools } from '../harness/tools.mjs';
import { figures, pageFrame } from '../vscode/plan-page';
import { until } from '../vscode/until';
import { launchBrowser, openWorkbench, runFromPalette } from '../vscode/workbench';

/** What a frame may take at the median: 60 a second. */
const goalMs = 16.7;
const steps = 240;
const inputEveryMs = 8;
const size = { width: 1920, height: 1080 };

/** 64 stages, 8,192 micro-batches, forward and backward of each: 1,048,576 operations a schedule. */
const config = {
  model: { from: 'config.json', vocab: 0 },
  cluster: { gpu: 'H100-80GB', nodes: 32, gpusPerNode: 8 },
  training: { sequenceLength: 2048, globalBatch: 8192, microBatch: 1 },
  layout: { tensor: 4, pipeline: 64, data: 1 },
  schedule: '1F1B',
};

interface Recording {
  /** From the start of each frame to that of the next one, ms; of frames that follow input, or of all while there is none. */
  readonly lengths: number[];
  /**
   * From the start of each such frame until the page is free again, ms: its own work, painting included as far as the main thread does it.
   */
  readonly work: number[];
}

/** Records the frames of the document it runs in. `recording.all` takes those without input, too. */
const recorder = `(() => {
  const recording = (globalThis.recording = { all: true, lengths: [], work: [] });
  const channel = new MessageChannel();
  let [before, began, hasInput, counts] = [0, 0, false, false];
  for (const type of ['wheel', 'pointermove']) addEventListener(type, () => (hasInput = true), { capture: true, passive: true });
  channel.port1.onmessage = () => counts && recording.work.push(performance.now() - began);
  const tick = (now) => {
    if (counts && before > 0) recording.lengths.push(now - before);
    [before, began, counts, hasInput] = [now, performance.now(), recording.all || hasInput, false];
    channel.port2.postMessage(null);
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
})()`;

function workspace(): string {
  const folder = path.join(temporaryFolder('terapipe-bench'), 'million');
  cpSync(path.join(root, 'media/samples/gpt3-175b'), folder, { recursive: true });
  const model = { model_type: 'gpt2', n_layer: 64, n_embd: 4096, n_head: 32, vocab_size: 50257, n_positions: 2048 };
  writeFileSync(path.join(folder, 'config.json'), JSON.stringify(model, null, 2));
  writeFileSync(path.join(folder, 'terapipe.json'), JSON.stringify(config, null, 2));
  return folder;
}

async function record(frame: Frame, act: () => Promise<void>): Promise<Recording> {
  await frame.evaluate('Object.assign(recording, { all: false, lengths: [], work: [] })');
  await act();
  return frame.evaluate<Recording>('recording');
}

const sorted = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b);

function print(what: string, { lengths, work }: Recording): void {
  const three = (values: readonly number[]): string => {
    const ascending = sorted(values);
    const at = (share: number): string =>
      (ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? NaN).toFixed(1);
    return `median ${at(0.5)} ms, 95th ${at(0.95)} ms, worst ${at(1)} ms`;
  };
  console.log(`${what}: ${lengths.length} frames, ${three(lengths)}; work in a frame ${three(work)}`);
}

/** Sends input as often as a mouse does, without waiting for the page to take it. */
async function paced(send: (step: number) => Promise<void>): Promise<void> {
  const sent: Promise<void>[] = [];
  for (let step = 0; step < steps; step++) {
    sent.push(send(step));
    await new Promise((resolve) => setTimeout(resolve, inputEveryMs));
  }
  await Promise.all(sent);
}

async function measure(page: Page, frame: Frame): Promise<void> {
  const box = await until('lanes', async () => (await frame.locator('.lanes-overlay').first().boundingBox()) ?? undefined);
  const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  await page.mouse.move(middle.x, middle.y);
  const wheel = async (key: string, delta: (step: number) => number): Promise<void> => {
    await page.keyboard.down(key);
    await paced((step) => page.mouse.wheel(0, delta(step)));
    await page.keyboard.up(key);
  };
  print('Zoom in and out, Ctrl + wheel', await record(frame, () => wheel('Control', (step) => (step < steps / 2 ? -60 : 60))));
  print('Zoom in, Ctrl + wheel', await record(frame, () => wheel('Control', () => -30)));
  print('Pan, Shift + wheel', await record(frame, () => wheel('Shift', (step) => (step < steps / 2 ? 40 : -40))));
  const drag = async (): Promise<void> => {
    await page.mouse.move(middle.x, box.y + 10);
    await page.mouse.down();
    await paced((step) => page.mouse.move(middle.x + 4 * (step < steps / 2 ? step : steps - step), box.y + 10));
    await page.mouse.up();
  };
  print('Pan, drag on the axis', await record(frame, drag));
  await page.keyboard.press('0');
  await page.mouse.move(middle.x, middle.y);
  print('Zoom out of the whole step again', await record(frame, () => wheel('Control', (step) => (step % 2 === 0 ? -8 : 8))));
}

async function main(): Promise<void> {
  const [tools, chromium] = [await ensureTools(), await ensureChromium()];
  await ensureBuild({ production: true });
  const server = await startCodeServer(tools, { extensions: [root, path.join(root, 'test/harness/demo-driver')] });
  const browser = await launchBrowser(chromium);
  try {
    const began = performance.now();
    const { page } = await openWorkbench(browser, server.url(workspace()), async (fresh) => {
      await fresh.setViewportSize(size);
    });
    const frame = await pageFrame(page, 'tab');
    await frame.evaluate(recorder);
    const openedMs = performance.now() - began;
    await figures(page, 'tab');
    const shownMs = performance.now() - began - openedMs;
    const loading = await frame.evaluate<Recording>('recording');
    await page.locator('.tabs-container .tab', { hasText: 'Timeline of' }).click();
    await runFromPalette(page, 'View: Maximize Editor Group and Hide Side Bars');
    await frame.locator('vscode-button[aria-label="Show details"]').click();
    await frame.waitForTimeout(1000);
    const label = await frame.locator('.lanes-region').getAttribute('aria-label');
    const lanes = await frame.locator('.lanes-overlay').first().boundingBox();
    console.log(`${label ?? ''} Shown ${(shownMs / 1000).toFixed(1)} s after its page was there.`);
    print('Page while the plan is made and received', loading);
    console.log(
      `Frames that follow input, lanes of ${lanes?.width.toFixed(0)} x ${lanes?.height.toFixed(0)} in a window of ${size.width} x ${size.height}; goal: median of ${goalMs} ms.`,
    );
    await measure(page, frame);
    await page.screenshot({ path: path.join(root, 'out/bench-panel.png') });
  } finally {
    await browser.close();
    await server.stop();
  }
}

void main().then(() => process.exit());
