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
