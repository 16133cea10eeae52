import { formatCount } from '../../format';
import { actionNames, actionText, actionType, isPass, rowText, typesWithMicroBatch } from './actions';
import { oldLetters } from './cells';
import { actionOfRank, mostProblems, problemAt, type CsvProblem, type LocatedTable } from './problems';
import { counted, sentence } from '../../sentence';

/** The passes and transfers of a complete schedule by what they do. */
export interface ActionIndex {
  readonly chunks: number;
  readonly microBatches: number;
  readonly stageOfChunk: Uint32Array;
  /** Row of an action that names a micro-batch, -1 where there is none. */
  readonly findActionRow: (type: number, chunk: number, microBatch: number) => number;
  /** Row of the backward, full or for inputs, that hands on a gradient. */
  readonly findBackwardRow: (chunk: number, microBatch: number) => number;
}

/** The index of a complete table; null with the problems that have to be solved before its order can be checked. */
type Structure =
  { readonly index: ActionIndex; readonly problems: readonly [] } | { readonly index: null; readonly problems: readonly CsvProblem[] };

/**
 * Whether every chunk lies on one rank and runs every micro-batch once, forward and backward (PyTorch's `_validate_schedule`, which lets
 * passes run twice and micro-batches have any number).
 * There are as many micro-batches as have a forward somewhere.
 */
export function checkStructure(table: LocatedTable): Structure {
  const failed = (...problems: readonly CsvProblem[]): Structure => ({ index: null, problems: problems.slice(0, mostProblems) });
  const placed = placeChunks(table);
  if (placed.problems.length > 0) return failed(...placed.problems);
  const chunks = placed.stageOfChunk.length;
  const microBatches = countMicroBatches(table);
  const outside = outOfRange(table, microBatches);
  if (outside.length > 0) return failed(...outside);
  if (chunks * microBatches > table.type.length) return failed(tooFew(table, chunks, microBatches));
  const rows = new Int32Array(typesWithMicroBatch * chunks * microBatches).fill(-1);
  const cell = (type: number, chunk: number, microBatch: number) => (type * chunks + chunk) * microBatches + microBatch;
  const twice = fill(table, rows, cell);
  const findActionRow = (type: number, chunk: number, microBatch: number) => rows[cell(type, chunk, microBatch)] ?? -1;
  const findBackwardRow = (chunk: number, microBatch: number) =>
    Math.max(findActionRow(actionType.backward, chunk, microBatch), findActionRow(actionType.backwardInput, chunk, microBatch));
  const index: ActionIndex = { chunks, microBatches, stageOfChunk: placed.stageOfChunk, findActionRow, findBackwardRow };
  const old = inOldLetters(table, index);
  if (old !== null) return failed(old);
  const problems = [...twice, ...incomplete(table, index)];
  return problems.length > 0 ? failed(...problems) : { index, problems: [] };
}

function placeChunks(table: LocatedTable): { readonly stageOfChunk: Uint32Array; readonly problems: readonly CsvProblem[] } {
  const rankByChunk = new Map<number, number>();
  table.type.forEach((type, row) => {
    const chunk = table.chunk[row] ?? 0;
    if (isPass(type) && !rankByChunk.has(chunk)) rankByChunk.set(chunk, table.rank[row] ?? 0);
  });
  let missing = 0;
  while (rankByChunk.has(missing)) missing += 1;
  const problems: CsvProblem[] = [];
  table.chunk.forEach((chunk, row) => {
    const rank = rankByChunk.get(chunk);
    if (problems.length >= mostProblems || (rank === table.rank[row] && chunk < missing)) return;
    const [message, remedy] =
      rank === undefined || chunk >= missing
        ? [
            sentence`${rowText(table, row)} is of stage ${chunk}, and no rank runs stage ${missing}`,
            sentence`number stages from 0 without a gap`,
          ]
        : [
            sentence`${actionOfRank(table, row)} is on another rank than stage ${chunk}, which begins on rank ${rank}`,
            sentence`move it to rank ${rank}`,
          ];
    problems.push(problemAt(table, row, 'stage', message, remedy));
  });
  return { stageOfChunk: Uint32Array.from({ length: missing }, (_, chunk) => rankByChunk.get(chunk) ?? 0), problems };
}

/** How many micro-batches have a forward. */
export function countMicroBatches({ type, microBatch }: LocatedTable): number {
  return new Set(microBatch.filter((_, row) => type[row] === actionType.forward)).size;
}

function outOfRange(table: LocatedTable, microBatches: number): CsvProblem[] {
  const problems: CsvProblem[] = [];
  table.microBatch.forEach((microBatch, row) => {
    if (microBatch >= microBatches && (table.type[row] ?? 0) < typesWithMicroBatch && problems.length < mostProblems)
      problems.push(
        problemAt(
          table,
          row,
          'micro-batch',
          sentence`${rowText(table, row)} is of micro-batch ${microBatch}, and the schedule runs ${counted(microBatches, 'micro-batch', 'micro-batches')}, counted from 0`,
          sentence`number micro-batches from 0 without a gap`,
        ),
      );
  });
  return problems;
}

function tooFew(table: LocatedTable, chunks: number, microBatches: number): CsvProblem {
  const forwards = table.type.reduce((sum, type) => sum + (type === actionType.forward ? 1 : 0), 0);
  const [stages, units] = [counted(chunks, 'stage'), counted(microBatches, 'micro-batch', 'micro-batches')];
  return problemAt(
    table,
    0,
    'missing',
    sentence`The schedule has ${counted(forwards, 'forward')}, too few for ${units} on ${stages}`,
    sentence`run every micro-batch on every stage`,
  );
}

/** Notes the row of every action; returns the ones that were there before. */
function fill(table: LocatedTable, rows: Int32Array, cell: (type: number, chunk: number, microBatch: number) => number): CsvProblem[] {
  const problems: CsvProblem[] = [];
  table.type.forEach((type, row) => {
    if (type >= typesWithMicroBatch) return;
    const at = cell(type, table.chunk[row] ?? 0, table.microBatch[row] ?? 0);
    const first = rows[at] ?? -1;
    if (first === -1) rows[at] = row;
    else if (problems.length < mostProblems)
      problems.push(problemAt(table, row, 'duplicate', sentence`${rowText(table, row)} appears twice`, sentence`delete one of the two`));
  });
  return problems;
}

/** A file whose B is what I is now: weight gradients come after it, and there is no I anywhere. */
function inOldLetters(table: LocatedTable, { findActionRow }: ActionIndex): CsvProblem | null {
  if (table.type.includes(actionType.backwardInput)) return null;
  const weight = table.type.indexOf(actionType.backwardWeight);
  const row = weight === -1 ? -1 : findActionRow(actionType.backward, table.chunk[weight] ?? 0, table.microBatch[weight] ?? 0);
  if (row === -1) return null;
  const { code, message, remedy } = oldLetters(rowText(table, row));
  return problemAt(table, row, code, message, remedy);
}

/**
 * Passes that no rank runs, by chunk and kind, and backwards that are both full and split, at what there is of the same chunk and
 * micro-batch.
 */
function incomplete(table: LocatedTable, index: ActionIndex): CsvProblem[] {
  const problems: CsvProblem[] = [];
  const { forward, backward, backwardInput, backwardWeight } = actionType;
  for (let chunk = 0; chunk < index.chunks && problems.length < mostProblems; chunk++) {
    const lacking = new Map<number, number[]>();
    for (let microBatch = 0; microBatch < index.microBatches; microBatch++) {
      const has = (type: number) => index.findActionRow(type, chunk, microBatch) !== -1;
      const lack = (type: number) => {
        const known = lacking.get(type);
        if (known === undefined) lacking.set(type, [microBatch]);
        else known.push(microBatch);
      };
      if (!has(forward)) lack(forward);
      if (has(backward)) {
        if (has(backwardInput) || has(backwardWeight)) problems.push(twiceBackward(table, index, chunk, microBatch));
      } else if (!has(backwardInput)) lack(has(backwardWeight) ? backwardInput : backward);
      else if (!has(backwardWeight)) lack(backwardWeight);
    }
    for (const [type, microBatches] of lacking) problems.push(notRun(table, index, chunk, type, microBatches));
  }
  return problems;
}

function notRun(
  table: LocatedTable,
  { findActionRow, stageOfChunk }: ActionIndex,
  chunk: number,
  type: number,
  microBatches: readonly number[],
): CsvProblem {
  const [first = 0, ...more] = microBatches;
  const names =
    more.length === 0
      ? actionText(type, chunk, first)
      : sentence`${actionText(type, chunk, first)} and ${formatCount(more.length)} more ${actionNames[type] ?? ''} of stage ${chunk}`;
  const sibling = Array.from({ length: typesWithMicroBatch }, (_, other) => findActionRow(other, chunk, first)).find((row) => row !== -1);
  return problemAt(
    table,
    sibling ?? table.chunk.indexOf(chunk),
    'missing',
    sentence`No rank runs ${names}`,
    sentence`add ${more.length === 0 ? sentence`it` : sentence`them`} to the row of rank ${stageOfChunk[chunk] ?? 0}`,
  );
}

function twiceBackward(table: LocatedTable, { findActionRow }: ActionIndex, chunk: number, microBatch: number): CsvProblem {
  const [full, input, weight] = [actionType.backward, actionType.backwardInput, actionType.backwardWeight].map((type) =>
    actionText(type, chunk, microBatch),
  );
  const row = Math.max(
    findActionRow(actionType.backwardInput, chunk, microBatch),
    findActionRow(actionType.backwardWeight, chunk, microBatch),
  );
  return problemAt(
    table,
    row,
    'duplicate',
    sentence`${rowText(table, row)} runs again what ${full ?? ''} does`,
    sentence`keep ${full ?? ''}, or ${input ?? ''} and ${weight ?? ''}`,
  );
}
