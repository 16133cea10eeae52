import type { Schedule } from '../schedule';
import { toActions, actionType, type ActionTable, type CsvVersion } from './actions';

/** Chunks of a stage whose weights are gathered at a time: one for a forward, one for a backward and one to come. */
const mostGathered = 3;

/** Actions of one rank that are put together one by one. */
interface Row {
  readonly type: number[];
  readonly chunk: number[];
  readonly microBatch: number[];
  readonly overlapsNext: number[];
}

/**
 * A schedule with everything PyTorch's runtime does around the passes, in the order of its own lowering: weights of the next chunks
 * gathered and of the others let go (UNSHARD, RESHARD), gradients reduced after the last backward of each chunk, and each pass's output
 * sent and received as soon as it is ready, so that all ranks agree on the order of transfers. 2.15 waits for each send and reduction
 * (`_add_wait_send`, `_add_reduce_grad`), and lets go of weights in the order in which they were gathered. `schedule` must be one that can
 * run.
 */
export function lowerSchedule(schedule: Schedule, version: CsvVersion): ActionTable {
  const table = toActions(schedule);
  const rows = Array.from({ length: schedule.stages }, (_, rank) => withWeights(table, rank, schedule.units.length, version));
  const lowered = withTransfers(rows, schedule);
  return joinRows(version === '2.14' ? lowered : lowered.map(withWaits));
}

function emptyRow(): Row {
  return { type: [], chunk: [], microBatch: [], overlapsNext: [] };
}

function add(
  { type, chunk, microBatch, overlapsNext }: Row,
  action: readonly [type: number, chunk: number, microBatch?: number, overlapsNext?: number],
): void {
  type.push(action[0]);
  chunk.push(action[1]);
  microBatch.push(action[2] ?? 0);
  overlapsNext.push(action[3] ?? 0);
}

/** The passes of a rank with what happens to weights and gradients. */
function withWeights(table: ActionTable, rank: number, microBatches: number, version: CsvVersion): Row {
  const [from = 0, to = 0] = table.rowStart.subarray(rank, rank + 2);
  const row = emptyRow();
  const backwardsLeft = new Map<number, number>();
  const isLast = (at: number): boolean => {
    if (table.type[at] !== actionType.backward && table.type[at] !== actionType.backwardWeight) return false;
    const chunk = table.chunk[at] ?? 0;
    const left = (backwardsLeft.get(chunk) ?? microBatches) - 1;
    backwardsLeft.set(chunk, left);
    return left === 0;
  };
  const gather = gatherer(table, { from, to, version }, row);
  for (let at = from; at < to; at++) {
    if (at === from || table.overlapsNext[at - 1] !== 1) gather(at);
    add(row, [table.type[at] ?? 0, table.chunk[at] ?? 0, table.microBatch[at] ?? 0, table.overlapsNext[at] ?? 0]);
    if (!isLast(at)) continue;
    add(row, [actionType.reduceGradients, table.chunk[at] ?? 0]);
    if (version !== '2.14') add(row, [actionType.waitReduceGradients, table.chunk[at] ?? 0]);
  }
  gather(to);
  return row;
}

/** Lets go of weights that are not among the next ones at a row and gathers those that are, soonest first. */
function gatherer(
  { chunk, overlapsNext }: ActionTable,
  { from, to, version }: { readonly from: number; readonly to: number; readonly version: CsvVersion },
  out: Row,
): (row: number) => void {
  // The next row of the chunk of each row, and of each chunk from where we are.
  const nextOfChunk = new Uint32Array(to - from);
  const upcoming = new Map<number, number>();
  for (let row = to - 1; row >= from; row--) {
    const own = chunk[row] ?? 0;
    nextOfChunk[row - from] = upcoming.get(own) ?? to;
    upcoming.set(own, row);
  }
  let gathered: readonly number[] = [];
  let passed = from;
  let last = -1;
  return (row) => {
    let isSame = last !== -1;
    for (; passed < row; passed++) {
      const next = nextOfChunk[passed - from] ?? to;
      upcoming.set(chunk[passed] ?? 0, next);
      if (next > last || next === to) isSame = false;
    }
    if (isSame) return;
    const soonest = [...upcoming].filter(([, next]) => next < to).sort(([, a], [, b]) => a - b);
    last = soonest[mostGathered - 1]?.[1] ?? to;
    // An overlapped pair counts as a whole.
    const end = last + (overlapsNext[last] ?? 0);
    const wanted = soonest.filter(([, next]) => next <= end).map(([own]) => own);
    for (const own of gathered) if (!wanted.includes(own)) add(out, [actionType.reshard, own]);
    for (const own of wanted) if (!gathered.includes(own)) add(out, [actionType.unshard, own]);
    const kept = gathered.filter((own) => wanted.includes(own));
    gathered = version === '2.14' ? wanted.sort((a, b) => a - b) : [...kept, ...wanted.filter((own) => !kept.includes(own))];
  };
}

/** Puts each send behind its pass and the receive at that moment's end of the other rank, ranks taking turns by one action each. */
function withTransfers(rows: readonly Row[], { stageOfChunk, units }: Schedule): Row[] {
  const chunks = stageOfChunk.length;
  const lowered = rows.map(emptyRow);
  const cell = (chunk: number, unit: number) => chunk * units.length + unit;
  const forwardDone = new Uint8Array(chunks * units.length);
  const backwardDone = new Uint8Array(chunks * units.length);
  const isReady = ({ type, chunk, microBatch }: Row, at: number): boolean => {
    const own = chunk[at] ?? 0;
    const unit = microBatch[at] ?? 0;
    if (type[at] === actionType.forward) return own === 0 || forwardDone[cell(own - 1, unit)] === 1;
    if (!isBackward(type[at])) return true;
    return own + 1 === chunks || backwardDone[cell(own + 1, unit)] === 1;
  };
  const finish = (rank: number, { type, chunk, microBatch }: Row, at: number) => {
    const own = chunk[at] ?? 0;
    const unit = microBatch[at] ?? 0;
    const isForward = type[at] === actionType.forward;
    if (!isForward && !isBackward(type[at])) return;
    (isForward ? forwardDone : backwardDone)[cell(own, unit)] = 1;
    const target = isForward ? own + 1 : own - 1;
    const receiver = lowered[stageOfChunk[target] ?? rank];
    const sender = lowered[rank];
    if (target < 0 || target === chunks || receiver === undefined || sender === undefined || receiver === sender) return;
    add(sender, [isForward ? actionType.sendForward : actionType.sendBackward, own, unit]);
    add(receiver, [isForward ? actionType.receiveForward : actionType.receiveBackward, target, unit]);
  };
  takeTurns(rows, (rank, row, at) => {
    const last = at + (row.overlapsNext[at] ?? 0);
    if (!isReady(row, at) || (last > at && !isReady(row, last))) return at;
    for (let part = at; part <= last; part++)
      add(lowered[rank] ?? emptyRow(), [row.type[part] ?? 0, row.chunk[part] ?? 0, row.microBatch[part] ?? 0, row.overlapsNext[part] ?? 0]);
    for (let part = at; part <= last; part++) finish(rank, row, part);
    return last + 1;
  });
  return lowered;
}

/**
 * A wait for every send: of activations behind the backward that they come back as, when the next rank has used them, of gradients at the
 * end of the row.
 */
function withWaits(row: Row): Row {
  const { sendForward, sendBackward, waitSendForward, waitSendBackward } = actionType;
  const out = emptyRow();
  const pending = new Map<string, readonly [type: number, chunk: number, microBatch: number]>();
  const actionKey = (type: number, at: number): string => [type, row.chunk[at], row.microBatch[at]].join();
  let backwards: string[] = [];
  row.type.forEach((type, at) => {
    const [chunk = 0, microBatch = 0] = [row.chunk[at], row.microBatch[at]];
    add(out, [type, chunk, microBatch, row.overlapsNext[at] ?? 0]);
    if (type === sendForward) pending.set(actionKey(type, at), [waitSendForward, chunk, microBatch]);
    else if (type === sendBackward) pending.set(actionKey(type, at), [waitSendBackward, chunk, microBatch]);
    if (isBackward(type)) backwards.push(actionKey(sendForward, at));
    // nothing is between the two passes of an overlapped pair
    if (row.overlapsNext[at] === 1) return;
    for (const key of backwards) {
      const wait = pending.get(key);
      if (wait !== undefined) add(out, wait);
      pending.delete(key);
    }
    backwards = [];
  });
  for (const wait of pending.values()) add(out, wait);
  return out;
}

/** Lets each row in turn try its next action; `step` returns where the row is after that. */
function takeTurns(rows: readonly Row[], step: (rank: number, row: Row, at: number) => number): void {
  const next = rows.map(() => 0);
  let left = rows.reduce((sum, { type }) => sum + type.length, 0);
  for (let before = -1; left > 0 && before !== left;) {
    before = left;
    rows.forEach((row, rank) => {
      const at = next[rank] ?? 0;
      if (at >= row.type.length) return;
      const after = step(rank, row, at);
      left -= after - at;
      next[rank] = after;
    });
  }
  if (left > 0) throw new RangeError('a schedule that cannot run was lowered');
}

function isBackward(type: number | undefined): boolean {
  return type === actionType.backward || type === actionType.backwardInput;
}

function joinRows(rows: readonly Row[]): ActionTable {
  const rowStart = new Uint32Array(rows.length + 1);
  rows.forEach(({ type }, rank) => (rowStart[rank + 1] = (rowStart[rank] ?? 0) + type.length));
  const total = rowStart.at(-1) ?? 0;
  const table = {
    rowStart,
    type: new Uint8Array(total),
    chunk: new Uint32Array(total),
    microBatch: new Uint32Array(total),
    overlapsNext: new Uint8Array(total),
  };
  rows.forEach((row, rank) => {
    for (const column of ['type', 'chunk', 'microBatch', 'overlapsNext'] as const) table[column].set(row[column], rowStart[rank]);
  });
  return table;
}
