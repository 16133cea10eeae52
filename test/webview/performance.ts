import assert from 'node:assert/strict';
import type { Plan } from '../../src/core/planner/plan';
import type { Case } from './cases';
import { planOf, stateOf } from './fixtures';

let known: Plan | null = null;
const large = (): Plan =>
  (known ??= planOf({ stages: 1000, layers: 1000, hidden: 2048, tensor: 1, nodes: 125, unit: 128, training: { globalBatch: 16 } }));

interface Frames {
  /** The page's own code of each frame. */
  readonly ms: readonly number[];
  /** Calls of each frame that draw on a canvas. */
  readonly calls: readonly number[];
}

/** What frames take that each zoom a little, from the key to the picture: VS Code hands the key on as a message. */
const zoomFrames = `new Promise((resolve) => {
  let drawn = 0;
  for (const { prototype } of [CanvasRenderingContext2D, OffscreenCanvasRenderingContext2D])
    for (const name of ['fillRect', 'strokeRect', 'rect', 'fill', 'stroke', 'lineTo', 'fillText', 'drawImage', 'putImageData']) {
      const draw = prototype[name];
      prototype[name] = function (...args) {
        drawn++;
        return draw.apply(this, args);
      };
    }
  const region = document.querySelector('.lanes-region');
  region.focus();
  const frames = { ms: [], calls: [] };
  const pen = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  let press = 0;
  const step = () => {
    const start = performance.now();
    drawn = 0;
    const looked = () => {
      frames.calls.push(drawn);
      pen.drawImage(document.querySelector('.lanes'), 0, 0);
      pen.getImageData(0, 0, 1, 1);
      frames.ms.push(performance.now() - start);
      if (++press < 48) setTimeout(step, 0);
      else resolve(frames);
    };
    window.addEventListener('message', () => requestAnimationFrame(looked), { once: true });
    region.dispatchEvent(new KeyboardEvent('keydown', { code: press % 24 < 12 ? 'KeyW' : 'KeyS', key: 'w', bubbles: true }));
  };
  step();
})`;

/** Of some values the one in the middle, and the largest. */
function middleAndMost(values: readonly number[]): readonly [middle: number, most: number] {
  const ascending = [...values].sort((a, b) => a - b);
  return [ascending[Math.floor(ascending.length / 2)]!, ascending.at(-1)!];
}

/** Cases that print how long a frame takes, and count what it draws. */
export const performanceCases: readonly Case[] = [
  {
    name: 'performance: 1,000 stages and a quarter million operations zoom smoothly',
    options: { kind: 'tab', width: 1600, height: 900, reducedMotion: true },
    state: () => stateOf('tab', large()),
    steps: async ({ page }) => {
      await page.getByText('TP1 PP1000 DP1').waitFor();
      const { ms, calls } = await page.evaluate<Frames>(zoomFrames);
      const most = Math.max(...calls);
      const [median, worst] = middleAndMost(ms);
      const operations = large().candidates[0]!.timeline!.kind.length;
      assert.ok(operations > 200_000);
      assert.ok(most > 0 && most < operations / 20, `${most} calls draw a frame`);
      return `webview: ${operations.toLocaleString('en-US')} operations on 1,000 stages, at most ${most} calls draw a frame; frame median ${median.toFixed(1)} ms, worst ${worst.toFixed(1)} ms (software raster, read back)`;
    },
  },
  {
    name: 'performance: 1,000 stages that are collapsed to 125 nodes take less than half the drawing',
    options: { kind: 'tab', width: 1600, height: 900, reducedMotion: true },
    state: () => stateOf('tab', large()),
    steps: async ({ page }) => {
      await page.getByText('TP1 PP1000 DP1').waitFor();
      const open = await page.evaluate<Frames>(zoomFrames);
      await page.locator('.lanes-region').press('Shift+G');
      await page.locator('[title="Collapse the stages of each node"][aria-pressed="true"]').waitFor();
      const collapsed = await page.evaluate<Frames>(zoomFrames);
      const [openMs] = middleAndMost(open.ms);
      const [collapsedMs, worst] = middleAndMost(collapsed.ms);
      // the middle: a frame of the stages that comes late on a busy machine counts as one of the nodes
      const [openCalls] = middleAndMost(open.calls);
      const [calls] = middleAndMost(collapsed.calls);
      assert.ok(calls > 0 && calls < openCalls / 2, `${calls} calls for ${openCalls}`);
      return `webview: ${calls} calls draw a frame of 125 collapsed nodes, ${openCalls} one of their 1,000 stages; frame median ${collapsedMs.toFixed(1)} ms, ${(collapsedMs / openMs).toFixed(2)} times that of the stages, worst ${worst.toFixed(1)} ms (software raster, read back)`;
    },
  },
];
