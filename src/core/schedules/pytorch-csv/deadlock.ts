import { actionType, cellText, rowText } from './actions';
import { crossesAfter, endsOfWait, matchingSend } from './communication';
import { actionOfRank, problemAt, type CsvProblem, type LocatedTable } from './problems';
import type { ActionIndex } from './structure';
import { sentence } from '../../sentence';

/**
 * Where a complete schedule stops: the action of every rank that cannot run, those that no other rank is to blame for first. None when all
 * ranks finish.
 *
 * A forward needs the one of the chunk before, a backward its forward and the backward of the chunk behind, a weight gradient its input
 * gradient. With `slices` to a micro-batch, a slice goes forward behind the slice before it and backward behind the slice after it, as
 * attention demands. With communication, what another rank computes has to be received, a receive waits for its send and a send for nobody
 * (PyTorch's `_simulate_comms_compute`). Linear in the number of actions.
 */
export function deadlockProblems(table: LocatedTable, index: ActionIndex, withTransfers: boolean, slices: number): CsvProblem[] {
  const needs = actionNeeds(table, index, withTransfers, slices);
  const next = runRows(table, needs);
  const deadlocked = Array.from(next.keys()).flatMap((rank) => {
    const row = next[rank] ?? 0;
    return row < (table.rowStart[rank + 1] ?? 0) ? [deadlockAt(table, row, needs, next)] : [];
  });
  return [...deadlocked.filter(({ code }) => code === 'order'), ...deadlocked.filter(({ code }) => code !== 'order')];
}

/** The rows that the action of a row needs; of an overlapped pair, what either needs, by its forward. */
type Needs = (row: number) => readonly number[];

function actionNeeds(table: LocatedTable, index: ActionIndex, withTransfers: boolean, slices: number): Needs {
  const { findActionRow, findBackwardRow, chunks } = index;
  const { forward, backwardInput, backwardWeight, sendForward, receiveForward, sendBackward, receiveBackward } = actionType;
  const { waitSendForward, waitSendBackward } = actionType;
  const sent = Uint8Array.from({ length: chunks }, (_, chunk) => (withTransfers && crossesAfter(index, chunk) ? 1 : 0));
  const forwardNeeds = (chunk: number, unit: number) => {
    const needed = unit % slices === 0 ? [] : [findActionRow(forward, chunk, unit - 1)];
    if (chunk > 0)
      needed.push(sent[chunk - 1] === 1 ? findActionRow(receiveForward, chunk, unit) : findActionRow(forward, chunk - 1, unit));
    return needed;
  };
  const backwardNeeds = (chunk: number, unit: number) => {
    const needed = [findActionRow(forward, chunk, unit)];
    if ((unit + 1) % slices !== 0) needed.push(findBackwardRow(chunk, unit + 1));
    if (chunk + 1 < chunks) needed.push(sent[chunk] === 1 ? findActionRow(receiveBackward, chunk, unit) : findBackwardRow(chunk + 1, unit));
    return needed;
  };
  const needs = (row: number): readonly number[] => {
    const type = table.type[row] ?? 0;
    const chunk = table.chunk[row] ?? 0;
    const unit = table.microBatch[row] ?? 0;
    if (type === forward) return forwardNeeds(chunk, unit);
    if (type <= backwardInput) return backwardNeeds(chunk, unit);
    if (type === backwardWeight) return [findActionRow(backwardInput, chunk, unit)];
    if (type === sendForward) return [findActionRow(forward, chunk, unit)];
    if (type === sendBackward) return [findBackwardRow(chunk, unit)];
    if (type === waitSendForward || type === waitSendBackward) return endsOfWait(table, index, row);
    return type === receiveForward || type === receiveBackward ? [matchingSend(table, index, row)] : [];
  };
  return (row) => (table.overlapsNext[row] === 1 ? [...needs(row), ...needs(row + 1)] : needs(row));
}

/** Runs every rank as far as it goes; the row each stops at. A waiting rank is visited again only when what it waits for is done. */
function runRows({ rowStart, overlapsNext, type }: LocatedTable, needs: Needs): Uint32Array {
  const ranks = rowStart.length - 1;
  const next = rowStart.slice(0, ranks);
  const done = new Uint8Array(type.length);
  // Ranks that wait for a row, as chains: the first one by row, the one after by rank.
  const waiting = new Int32Array(type.length).fill(-1);
  const waitsToo = new Int32Array(ranks).fill(-1);
  const ready = Array.from({ length: ranks }, (_, rank) => ranks - 1 - rank);
  const finish = (row: number) => {
    done[row] = 1;
    for (let woken = waiting[row] ?? -1; woken !== -1; woken = waitsToo[woken] ?? -1) ready.push(woken);
  };
  for (let rank = ready.pop(); rank !== undefined; rank = ready.pop()) {
    const end = rowStart[rank + 1] ?? 0;
    let row = next[rank] ?? end;
    while (row < end) {
      const missing = needs(row).find((needed) => done[needed] !== 1);
      if (missing !== undefined) {
        waitsToo[rank] = waiting[missing] ?? -1;
        waiting[missing] = rank;
        break;
      }
      if (overlapsNext[row] === 1) finish(row++);
      finish(row++);
    }
    next[rank] = row;
  }
  return next;
}

/** Why the cell of a row cannot run: something behind it in its own row, or else another rank. */
function deadlockAt(table: LocatedTable, row: number, needs: Needs, next: Uint32Array): CsvProblem {
  const rank = table.rank[row] ?? 0;
  const undone = needs(row).filter((needed) => needed >= (next[table.rank[needed] ?? 0] ?? 0));
  const own = undone.find((needed) => table.rank[needed] === rank);
  return own === undefined ? waits(table, row, undone[0] ?? row, next) : tooEarly(table, row, own);
}

function tooEarly(table: LocatedTable, row: number, needed: number): CsvProblem {
  const [early, late] = [cellText(table, row), rowText(table, needed)];
  return needed <= row + 1 && table.overlapsNext[row] === 1
    ? problemAt(
        table,
        row,
        'order',
        sentence`${early} overlaps a backward with the forward that it depends on`,
        sentence`run them one after the other`,
      )
    : problemAt(
        table,
        row,
        'order',
        sentence`${early} comes before ${late}, which it needs, in the same row`,
        sentence`move ${late} before it`,
      );
}

function waits(table: LocatedTable, row: number, needed: number, next: Uint32Array): CsvProblem {
  const stop = next[table.rank[needed] ?? 0] ?? 0;
  const blocked = stop === needed ? sentence`which cannot run either` : sentence`where ${cellText(table, stop)} comes first and cannot run`;
  const message = sentence`${cellText(table, row)} waits for ${actionOfRank(table, needed)}, ${blocked}`;
  return problemAt(table, row, 'deadlock', message, sentence`order the rows so that no two ranks wait for each other`);
}
