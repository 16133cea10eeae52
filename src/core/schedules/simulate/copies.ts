import type { Schedule } from '../schedule';

/** Copies of activations while a schedule runs. */
export interface RunningCopies {
  /** When all copies that a row waits for are done, ms; 0 where it waits for none. */
  readonly readyMs: (row: number) => number;
  /** Starts the copies that wait for the end of a row. */
  readonly start: (stage: number, row: number, endMs: number) => void;
}

const none = -1;

/**
 * The copies of a schedule, each as soon as its row has ended and the link is free; null without any. Links carry both directions at once,
 * a GPU's to the host too.
 *
 * @param copyMs of each copy; absent: they take no time.
 */
export function runningCopies({ copies, kind }: Schedule, copyMs?: Float64Array): RunningCopies | null {
  if (copies === undefined) return null;
  const { start, after, before, back } = copies;
  const doneMs = new Float64Array(before.length);
  const next = start.slice();
  const freeMs = [new Float64Array(start.length), new Float64Array(start.length)] as const;
  const first = new Int32Array(kind.length).fill(none);
  const same = new Int32Array(before.length).fill(none);
  before.forEach((row, copy) => {
    same[copy] = first[row] ?? none;
    first[row] = copy;
  });
  const readyMs = (row: number): number => {
    let ms = 0;
    for (let copy = first[row] ?? none; copy !== none; copy = same[copy] ?? none) ms = Math.max(ms, doneMs[copy] ?? 0);
    return ms;
  };
  return {
    readyMs,
    start: (stage, row, endMs) => {
      for (; (next[stage] ?? 0) < (start[stage + 1] ?? 0); next[stage] = (next[stage] ?? 0) + 1) {
        const copy = next[stage] ?? 0;
        if ((after[copy] ?? 0) > row) return;
        const isBack = back[copy] === 1;
        const link = freeMs[isBack ? 1 : 0];
        const fromMs = isBack ? endMs : Math.max(endMs, readyMs(row + 1));
        link[stage] = doneMs[copy] = Math.max(fromMs, link[stage] ?? 0) + (copyMs?.[copy] ?? 0);
      }
    },
  };
}
