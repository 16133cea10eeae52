import { operationKind, type Schedule } from './schedule';
import { maximum } from '../numbers';

/** What attention of earlier slices takes in a pass of each unit on each chunk, ms: entry `chunk * units.length + unit`. */
type MovableMs = Float64Array;

/** What a stage waits for what it exchanges in one pass, ms: of a cell that takes `evenedMs` in place of `ownMs`. */
export type ExchangeMs = (cell: number, ownMs: number, evenedMs: number) => number;

/**
 * The same where the stages even out, at each time, the attention of the slices that they are at (docs/model/schedules.md, Attention
 * exchanged): each takes the mean and what it waits for the exchange; where that would not make the slowest of them faster, what it had.
 * The passes of one time are the (k + p - 1 - r)th forwards of the stages r, and the (k + r)th backwards: those of an order that runs two
 * slices further ahead for each stage behind. Without waits the sum of all stays what it was.
 */
export function evenedOut(schedule: Schedule, movableMs: MovableMs, exchangeMs: ExchangeMs, pass: 'forward' | 'backward'): MovableMs {
  const evened = movableMs.slice();
  for (const cells of passesAtOneTime(schedule, pass)) {
    const own = cells.map((cell) => movableMs[cell] ?? 0);
    const mean = own.reduce((sum, ms) => sum + ms, 0) / cells.length;
    const shared = cells.map((cell, index) => mean + exchangeMs(cell, own[index] ?? 0, mean));
    if (maximum(shared) >= maximum(own)) continue;
    cells.forEach((cell, index) => (evened[cell] = shared[index] ?? 0));
  }
  return evened;
}

/** Cells of the passes that stages run at one time, one of each stage at most. */
export function passesAtOneTime({ stages, rowStart, kind, chunk, unit, units }: Schedule, pass: 'forward' | 'backward'): number[][] {
  const times: number[][] = [];
  for (let stage = 0; stage < stages; stage++) {
    let at = pass === 'forward' ? stage : stages - 1 - stage;
    for (let row = rowStart[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) {
      if ((kind[row] === operationKind.forward) !== (pass === 'forward') || kind[row] === operationKind.backwardWeight) continue;
      (times[at] ??= []).push((chunk[row] ?? 0) * units.length + (unit[row] ?? 0));
      at++;
    }
  }
  return times;
}
