import { host, type CopyTimes, type Schedule } from '../schedule';

/** Copies of activations while a schedule runs. */
export interface RunningCopies {
  /** When all copies that a row waits for are done, ms; 0 where it waits for none. */
  readonly readyMs: (row: number) => number;
  /** Starts the copies that wait for the end of a row. */
  readonly start: (stage: number, row: number, endMs: number) => void;
  /** Of the copies that have started. */
  readonly times: CopyTimes;
}

const none = -1;

/**
 * The copies of a schedule, each as soon as its row has ended and the link is free; null without any. The links of a node carry
 * both directions at once; to and from the host copies go one at a time.
 *
 * @param copyMs of each copy; absent: they take no time.
 */
export function runningCopies({ copies, kind }: Schedule, copyMs?: Float64Array): RunningCopies | null {
  if (copies === undefined) return null;
  const { start, after, before, back, to } = copies;
  const startMs = new Float64Array(before.length);
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
    times: { startMs, endMs: doneMs },
    start: (stage, row, endMs) => {
      for (; (next[stage] ?? 0) < (start[stage + 1] ?? 0); next[stage] = (next[stage] ?? 0) + 1) {
        const copy = next[stage] ?? 0;
        if ((after[copy] ?? 0) > row) return;
        const isBack = back[copy] === 1;
        const toHost = to[stage] === host;
        const link = freeMs[isBack || toHost ? 1 : 0];
        const fromMs = isBack || toHost ? endMs : Math.max(endMs, readyMs(row + 1));
        startMs[copy] = Math.max(fromMs, link[stage] ?? 0);
        link[stage] = doneMs[copy] = startMs[copy] + (copyMs?.[copy] ?? 0);
      }
    },
  };
}
