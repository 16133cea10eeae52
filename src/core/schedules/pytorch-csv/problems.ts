import type { Finding } from '../../findings';
import type { TextRange } from '../../domain/located';
import { rowText, type ActionTable } from './actions';
import { sentence, type Sentence } from '../../sentence';

/**
 * What can be wrong with a schedule file:
 * - `too-large`; `empty`: no action at all; `empty-row`: PyTorch counts it as a rank; `ranks`, `micro-batches`: another number than wanted.
 * - `action`: a cell is not an action; `old-letters`: of an older PyTorch; `blank`: idle cells among communication, where PyTorch allows
 *   none; `reduce-grad`: PyTorch writes these for GPipe and 1F1B and refuses to read them; `format`: communication where only passes can be
 *   loaded.
 * - `stage`: a stage is left out, on two ranks or on the wrong one; `micro-batch`: a number out of range; `duplicate`, `missing`: a pass
 *   that runs twice or never.
 * - `order`: a row runs something before what it needs in the same row; `deadlock`: ranks wait for each other.
 * - `transfer`: a send without its receive or the other way round, or one that nothing needs; `transfer-order`: receives in another order
 *   than their sends; `sharding`: a pass on weights that are not gathered; `wait`: a send or a reduction that nothing waits for,
 *   or the other way round, in a file of PyTorch 2.15.
 */
export const csvProblemCodes = [
  'too-large',
  'empty',
  'empty-row',
  'ranks',
  'micro-batches',
  'action',
  'old-letters',
  'blank',
  'reduce-grad',
  'format',
  'stage',
  'micro-batch',
  'duplicate',
  'missing',
  'order',
  'deadlock',
  'transfer',
  'transfer-order',
  'sharding',
  'wait',
] as const;
type CsvProblemCode = (typeof csvProblemCodes)[number];

/** One thing wrong with a schedule file. */
export interface CsvProblem {
  readonly code: CsvProblemCode;
  /** Line of the file (the rank) and cell in it, both from 0; null where the whole file or row is meant. */
  readonly row: number | null;
  readonly column: number | null;
  /** UTF-16 offsets in the text. */
  readonly range: TextRange;
  readonly message: Sentence;
  readonly remedy: Sentence;
}

/** Where each row of an action table is in its file. */
interface Positions {
  /** Line of the file of each rank, from 0. */
  readonly line: Uint32Array;
  /** Cell in the line, from 0. */
  readonly column: Uint32Array;
  readonly start: Uint32Array;
  readonly end: Uint32Array;
}

/** An action table with the place of everything in it. */
export interface LocatedTable extends ActionTable {
  readonly positions: Positions;
  /** Rank of each row. */
  readonly rank: Uint32Array;
}

/** More problems than that are not listed. */
export const mostProblems = 100;

/** A problem at the action of a row, or at the overlapped pair that begins there. */
export function problemAt(table: LocatedTable, row: number, code: CsvProblemCode, message: Sentence, remedy: Sentence): CsvProblem {
  const { positions, rank } = table;
  const range = { start: positions.start[row] ?? 0, end: positions.end[row + (table.overlapsNext[row] ?? 0)] ?? 0 };
  return { code, row: positions.line[rank[row] ?? 0] ?? 0, column: positions.column[row] ?? 0, range, message, remedy };
}

/** A problem of the file as a whole, at its first line. */
export function problemOfFile(text: string, code: CsvProblemCode, message: Sentence, remedy: Sentence): CsvProblem {
  const [line = ''] = /^.[^\r\n]*/s.exec(text) ?? [];
  return { code, row: null, column: null, range: { start: 0, end: line.length }, message, remedy };
}

/** `2F0 of rank 1`. */
export function actionOfRank(table: LocatedTable, row: number): Sentence {
  return sentence`${rowText(table, row)} of rank ${table.rank[row] ?? 0}`;
}

/** What leaves a schedule whole, though the program that loads it may refuse it. */
const harmless: readonly CsvProblemCode[] = ['blank', 'reduce-grad', 'sharding'];

/** A problem of a schedule file as a finding. */
export function toCsvFinding({ code, range, message, remedy }: CsvProblem, file: string): Finding {
  const severity = harmless.includes(code) ? 'warning' : 'error';
  return { code: `schedule-csv-${code}`, severity, place: { file, range }, message, remedy, fixes: [] };
}
