import { actionText, actionType, isPass, isWait, rowText, typesWithMicroBatch } from './actions';
import { actionOfRank, mostProblems, problemAt, type CsvProblem, type LocatedTable } from './problems';
import type { ActionIndex } from './structure';
import { sentence, type Sentence } from '../../sentence';

const { forward, sendForward, receiveForward, sendBackward, receiveBackward, waitSendForward, waitReduceGradients } = actionType;
const { unshard, reshard, reduceGradients } = actionType;

/** Whether a chunk and the next lie on two ranks, so that what one hands to the other is sent. */
export function crossesAfter({ chunks, stageOfChunk }: ActionIndex, chunk: number): boolean {
  return chunk >= 0 && chunk + 1 < chunks && stageOfChunk[chunk] !== stageOfChunk[chunk + 1];
}

/** Sends and receives that are missing, and those that nothing needs. */
export function transferProblems(table: LocatedTable, index: ActionIndex): CsvProblem[] {
  const problems: CsvProblem[] = [];
  const demand = (receiver: number, sender: number, send: number, receive: number) => {
    const ends = [
      { type: send, pass: sender, add: (name: string) => sentence`add ${name} behind ${actionOfRank(table, sender)}` },
      { type: receive, pass: receiver, add: (name: string) => sentence`add ${name} before ${actionOfRank(table, receiver)}` },
    ];
    for (const { type, pass, add } of ends) {
      const chunk = table.chunk[pass] ?? 0;
      const microBatch = table.microBatch[pass] ?? 0;
      if (index.findActionRow(type, chunk, microBatch) !== -1 || problems.length >= mostProblems) continue;
      const name = actionText(type, chunk, microBatch);
      problems.push(
        problemAt(table, pass, 'transfer', sentence`${actionOfRank(table, receiver)} needs ${name}, which no rank runs`, add(name)),
      );
    }
  };
  for (let chunk = 0; chunk < index.chunks; chunk++) {
    if (!crossesAfter(index, chunk)) continue;
    for (let microBatch = 0; microBatch < index.microBatches; microBatch++) {
      demand(
        index.findActionRow(forward, chunk + 1, microBatch),
        index.findActionRow(forward, chunk, microBatch),
        sendForward,
        receiveForward,
      );
      demand(index.findBackwardRow(chunk, microBatch), index.findBackwardRow(chunk + 1, microBatch), sendBackward, receiveBackward);
    }
  }
  table.type.forEach((type, row) => {
    if (isPass(type) || isWait(type) || type >= typesWithMicroBatch || problems.length >= mostProblems) return;
    const chunk = table.chunk[row] ?? 0;
    const lower = type === sendForward || type === receiveBackward ? chunk : chunk - 1;
    if (crossesAfter(index, lower)) return;
    const between =
      lower < 0
        ? sentence`stage 0 is the first`
        : lower + 1 === index.chunks
          ? sentence`stage ${lower} is the last`
          : sentence`stages ${lower} and ${lower + 1} are on one rank`;
    problems.push(
      problemAt(
        table,
        row,
        'transfer',
        sentence`${rowText(table, row)} has no other end: ${between}`,
        sentence`delete ${rowText(table, row)}`,
      ),
    );
  });
  return problems;
}

/**
 * What PyTorch 2.15 refuses of waits, in a file with any: every send and every reduction has one behind it in its row, and a rank reduces
 * the gradients of one chunk at a time (`_validate_send_waits`, `_prepare_schedule_with_comms`).
 */
export function waitProblems(table: LocatedTable): CsvProblem[] {
  if (!table.type.some(isWait)) return [];
  const problems: CsvProblem[] = [];
  const report = (row: number, message: Sentence, remedy: Sentence) => {
    if (problems.length < mostProblems) problems.push(problemAt(table, row, 'wait', message, remedy));
  };
  for (let rank = 0; rank + 1 < table.rowStart.length; rank++) {
    const pending = new Map<string, number>();
    let reduced: number | null = null;
    for (let row = table.rowStart[rank] ?? 0; row < (table.rowStart[rank + 1] ?? 0); row++) {
      const type = table.type[row] ?? 0;
      const name = rowText(table, row);
      const begun = name.replace('WAIT_', '');
      if (type === reduceGradients && reduced !== null)
        report(
          row,
          sentence`${name} begins while ${rowText(table, reduced)} is not waited for`,
          sentence`put ${waitText(table, reduced)} before it`,
        );
      if (type === sendForward || type === sendBackward || type === reduceGradients) pending.set(name, row);
      else if (isWait(type) && !pending.delete(begun))
        report(row, sentence`${name} waits for ${begun}, which does not come before it`, sentence`delete ${name}`);
      if (type === reduceGradients) reduced = row;
      else if (type === waitReduceGradients) reduced = null;
    }
    for (const row of pending.values())
      report(row, sentence`Nothing waits for ${rowText(table, row)}`, sentence`add ${waitText(table, row)} behind it`);
  }
  return problems;
}

function waitText(table: LocatedTable, row: number): string {
  return rowText(table, row).replace(/(?=SEND|REDUCE)/, 'WAIT_');
}

/** The send and the receive that a wait for a send needs: it ends when the other rank takes what was sent. */
export function endsOfWait(table: LocatedTable, { findActionRow }: ActionIndex, wait: number): readonly number[] {
  const [chunk, microBatch] = [table.chunk[wait] ?? 0, table.microBatch[wait] ?? 0];
  return table.type[wait] === waitSendForward
    ? [findActionRow(sendForward, chunk, microBatch), findActionRow(receiveForward, chunk + 1, microBatch)]
    : [findActionRow(sendBackward, chunk, microBatch), findActionRow(receiveBackward, chunk - 1, microBatch)];
}

/** Row of the send that a receive takes. */
export function matchingSend(table: LocatedTable, index: ActionIndex, receive: number): number {
  const chunk = table.chunk[receive] ?? 0;
  const microBatch = table.microBatch[receive] ?? 0;
  return table.type[receive] === receiveForward
    ? index.findActionRow(sendForward, chunk - 1, microBatch)
    : index.findActionRow(sendBackward, chunk + 1, microBatch);
}

/** Receives in another order than the sends of the same two ranks: NCCL hands over what was sent first, whatever its name. */
export function transferOrderProblems(table: LocatedTable, index: ActionIndex): CsvProblem[] {
  const problems: CsvProblem[] = [];
  const ranks = table.rowStart.length - 1;
  // Last receive between each two ranks.
  const last = new Map<number, number>();
  table.type.forEach((type, row) => {
    if (type !== receiveForward && type !== receiveBackward) return;
    const send = matchingSend(table, index, row);
    const pair = (table.rank[send] ?? 0) * ranks + (table.rank[row] ?? 0);
    const before = last.get(pair);
    const lastSend = before === undefined ? -1 : matchingSend(table, index, before);
    if (send > lastSend) last.set(pair, row);
    else if (before !== undefined && problems.length < mostProblems)
      problems.push(
        problemAt(
          table,
          row,
          'transfer-order',
          sentence`${rowText(table, row)} comes behind ${rowText(table, before)}, and rank ${table.rank[send] ?? 0} sends ${rowText(table, send)} before ${rowText(table, lastSend)}`,
          sentence`receive in the order of the sends`,
        ),
      );
  });
  return problems;
}

/** What the weights of a chunk have been through in its row. */
interface Weights {
  gathered: boolean;
  reducedAt: number | null;
}

/**
 * UNSHARD, RESHARD and REDUCE_GRAD out of turn: in a file with any UNSHARD (it is for FSDP) each pass needs gathered weights; in a file
 * with any REDUCE_GRAD each chunk reduces its gradients once, after its last backward.
 */
export function shardingProblems(table: LocatedTable, { chunks }: ActionIndex): CsvProblem[] {
  const problems: CsvProblem[] = [];
  const report = (row: number, message: Sentence, remedy: Sentence) => {
    if (problems.length < mostProblems) problems.push(problemAt(table, row, 'sharding', message, remedy));
  };
  const sharded = table.type.includes(unshard);
  const weights = Array.from({ length: chunks }, (): Weights => ({ gathered: !sharded, reducedAt: null }));
  table.type.forEach((type, row) => {
    const chunk = table.chunk[row] ?? 0;
    const state = weights[chunk];
    if (state === undefined) return;
    const name = rowText(table, row);
    if (isPass(type)) {
      if (!state.gathered)
        report(row, sentence`${name} runs while the weights of stage ${chunk} are sharded`, sentence`put ${chunk}UNSHARD before it`);
      if (type !== forward && state.reducedAt !== null)
        report(
          row,
          sentence`${name} comes behind ${chunk}REDUCE_GRAD, which leaves its gradient out`,
          sentence`move ${chunk}REDUCE_GRAD behind it`,
        );
    } else if (type === unshard || type === reshard) {
      if (sharded && state.gathered === (type === unshard))
        report(
          row,
          sentence`${name} comes while the weights of stage ${chunk} are ${state.gathered ? sentence`gathered` : sentence`sharded`} already`,
          sentence`delete ${name}`,
        );
      state.gathered = type === unshard;
    } else if (type === reduceGradients) {
      if (state.reducedAt !== null) report(row, sentence`${name} appears twice`, sentence`delete the first one`);
      state.reducedAt = row;
    }
  });
  const unreduced = table.type.includes(reduceGradients) ? weights.findIndex(({ reducedAt }) => reducedAt === null) : -1;
  if (unreduced !== -1)
    report(
      table.chunk.lastIndexOf(unreduced),
      sentence`No rank runs ${unreduced}REDUCE_GRAD, and other stages reduce their gradients`,
      sentence`add ${unreduced}REDUCE_GRAD behind the last backward of stage ${unreduced}`,
    );
  return problems;
}
