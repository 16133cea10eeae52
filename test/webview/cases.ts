import type { Page } from 'playwright-core';
import type { HostMessage, PageState } from '../../src/protocol/page';
import type { OpenOptions, OpenPage } from './browser';

/** One thing a person does with a page and sees. */
export interface Case {
  readonly name: string;
  readonly options: OpenOptions;
  /** Sent before the steps; null sends nothing, as a host that has not started. */
  readonly state: () => PageState | null;
  /** Resolves to a line worth printing, or nothing. */
  readonly steps: (open: OpenPage) => Promise<string | undefined>;
}

/** The message that shows a state. */
export function show(state: PageState): HostMessage {
  return { type: 'state', state };
}

/** Waits until a condition holds. @throws Error with `what` when it does not after a minute of asking. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const pauseMs = 25;
  // Counts its own pauses, not the clock: what a machine does not get round to does not use up the minute.
  for (let waitedMs = 0; !(await holds()); waitedMs += pauseMs) {
    if (waitedMs > 60_000) throw new Error(`still waiting: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

let clipboardFree: Promise<unknown> = Promise.resolve();

/** Cases that run at the same time share the browser's clipboard: from writing to reading, each has it to itself. */
export function withClipboard<T>(use: () => Promise<T>): Promise<T> {
  const used = clipboardFree.then(use);
  clipboardFree = used.catch(() => undefined);
  return used;
}

/**
 * Turns the wheel where the pointer is, waits until what is shown has changed, and returns that. Chromium hands a turn on when it gets to
 * it, and may lose one on a busy machine: only where no turn has reached the page, it is turned again.
 */
export async function turnWheel<T>(
  page: Page,
  deltaY: number,
  modifier: 'Control' | 'Shift' | 'Alt' | null,
  shown: () => Promise<T>,
): Promise<T> {
  const arrived = (): Promise<number> => page.evaluate<number>('harness.wheels()');
  const [before, earlier] = [JSON.stringify(await shown()), await arrived()];
  for (let turns = 0; turns < 3 && (await arrived()) === earlier; turns += 1) {
    if (modifier !== null) await page.keyboard.down(modifier);
    await page.mouse.wheel(0, deltaY);
    if (modifier !== null) await page.keyboard.up(modifier);
    for (let waitedMs = 0; waitedMs < 20_000; waitedMs += 25) {
      const now = await shown();
      if (JSON.stringify(now) !== before) return now;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
  const turns = (await arrived()) - earlier;
  throw new Error(`${modifier ?? 'no key'} and the wheel by ${deltaY}, which reached the page ${turns} times, changed nothing`);
}

/** How many colours the canvas at `selector` holds: one or two are an empty one. */
export async function drawnColors({ page }: OpenPage, selector: string): Promise<number> {
  return page.evaluate<number>(`(() => {
    const canvas = document.querySelector('${selector}');
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    const colors = new Set();
    for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255) colors.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
    return colors.size;
  })()`);
}
