import assert from 'node:assert/strict';
import type { Plan } from '../../src/core/planner/plan';
import type { Case } from './cases';
import { planOf, stateOf } from './fixtures';

let known: Plan | null = null;
const large = (): Plan =>
  (known ??= planOf({ stages: 1000, layers: 1000, hidden: 2048, tensor: 1, nodes: 125, unit: 128, training: { globalBatch: 16 } }));

/** Milliseconds the page's own code takes per frame, over frames that each zoom a little. */
const zoomFrames = `new Promise((resolve) => {
  const region = document.querySelector('.lanes-region');
  region.focus();
  const times = [];
  const pen = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  let press = 0;
  const step = () => {
    const start = performance.now();
    region.dispatchEvent(new KeyboardEvent('keydown', { code: press % 24 < 12 ? 'KeyW' : 'KeyS', key: 'w', bubbles: true }));
    requestAnimationFrame(() => {
      pen.drawImage(document.querySelector('.lanes'), 0, 0);
      pen.getImageData(0, 0, 1, 1);
      times.push(performance.now() - start);
      if (++press < 48) setTimeout(step, 0);
      else resolve(times);
    });
  };
  step();
})`;

/** Cases that print how long a frame takes; the bounds are loose, for shared machines. */
export const performanceCases: readonly Case[] = [
  {
    name: 'performance: 1,000 stages and a quarter million operations zoom smoothly',
    options: { kind: 'tab', width: 1600, height: 900, reducedMotion: true },
    state: () => stateOf('tab', large()),
    steps: async ({ page }) => {
      await page.getByText('1,000 stages').waitFor();
      const times = (await page.evaluate<number[]>(zoomFrames)).sort((a, b) => a - b);
      const median = times[Math.floor(times.length / 2)]!;
      const worst = times.at(-1)!;
      const operations = large().candidates[0]!.timeline!.kind.length;
      assert.ok(operations > 200_000);
      assert.ok(median < 150, `median frame of ${median.toFixed(1)} ms`);
      return `webview: ${operations.toLocaleString('en-US')} operations on 1,000 stages, frame median ${median.toFixed(1)} ms, worst ${worst.toFixed(1)} ms (software raster, read back)`;
    },
  },
];
