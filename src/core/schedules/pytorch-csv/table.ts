import { formatCount } from '../../format';
import type { TextRange } from '../../domain/located';
import { ranksOfRows } from './actions';
import { actionsAt, spacesEnd, spacesStart, faultOfCell, isSeparator, type LocatedAction } from './cells';
import { mostProblems, problemOfFile, type CsvProblem, type LocatedTable } from './problems';
import { sentence, type Sentence } from '../../sentence';

/** UTF-16 units, rows and actions of the largest file that is read; a million passes with their sends and receives stay below. */
const maximumSize = 64 * 2 ** 20;
const maximumRanks = 4_096;
const maximumActions = 4_000_000;

/** A file cut into actions, and the cells that are none. */
interface ReadTable {
  readonly table: LocatedTable;
  /** Idle cells: PyTorch allows them only in `compute_only` files. */
  readonly firstIdle: CsvProblem | null;
  readonly problems: readonly CsvProblem[];
}

/**
 * Cuts a schedule file into actions: one row for each rank, no header, cells between commas, empty cells where a rank idles, rows of any
 * length (PyTorch reads them with Python's csv module). Lines end in LF, CRLF or CR; spaces and quotes around an action do not count.
 */
export function readTable(text: string): ReadTable {
  if (text.length > maximumSize) return refused(text, sentence`The file has more than ${formatCount(maximumSize)} characters`);
  const capacity = countSeparators(text) + 1;
  if (capacity > maximumActions) return refused(text, sentence`The file has more than ${formatCount(maximumActions)} cells`);
  const rows = createColumns(capacity);
  const problems: CsvProblem[] = [];
  let firstIdle: CsvProblem | null = null;
  const readCell = (line: number, column: number, from: number, to: number) => {
    const { start, end, around } = cellAt(text, from, to);
    if (start === end) firstIdle ??= idleCell(line, column, around);
    else if (!rows.add(actionsAt(text, start, end), column) && problems.length < mostProblems)
      problems.push({ row: line, column, range: { start, end }, ...faultOfCell(text.slice(start, end)) });
    return start < end;
  };
  let line = 0;
  for (let start = 0; start < text.length; line++) {
    if (line === maximumRanks) return refused(text, sentence`The file has more than ${formatCount(maximumRanks)} rows`);
    let isEmpty = true;
    let from = start;
    let end = separatorAt(text, from);
    for (let column = 0; ; column++) {
      if (rows.add(actionsAt(text, from, end), column) || readCell(line, column, from, end)) isEmpty = false;
      if (text[end] !== ',') break;
      from = end + 1;
      end = separatorAt(text, from);
    }
    if (isEmpty) problems.push(emptyRow(line, { start: start === 0 || end > start ? start : start - 1, end: Math.max(end, 1) }));
    else rows.endRank(line);
    start = text.startsWith('\r\n', end) ? end + 2 : end + 1;
  }
  return { table: rows.done(), firstIdle, problems };
}

/** A cell without the spaces and quotes around it; `around` is the whole cell with an adjacent comma, if it has one. */
interface Cell extends TextRange {
  readonly around: TextRange;
}

function cellAt(text: string, from: number, to: number): Cell {
  const around = text[to] === ',' || from === 0 ? { start: from, end: Math.min(to + 1, text.length) } : { start: from - 1, end: to };
  const start = spacesEnd(text, from, to);
  const end = spacesStart(text, start, to);
  if (end - start < 2 || text[start] !== '"' || text[end - 1] !== '"') return { start, end, around };
  const inner = spacesEnd(text, start + 1, end - 1);
  return { start: inner, end: spacesStart(text, inner, end - 1), around };
}

/** Where a cell ends: at a comma, a line break or the end of the text. */
function separatorAt(text: string, from: number): number {
  let at = from;
  while (at < text.length && !isSeparator(text.charCodeAt(at))) at += 1;
  return at;
}

function refused(text: string, message: Sentence): ReadTable {
  return {
    table: createColumns(0).done(),
    firstIdle: null,
    problems: [problemOfFile(text, 'too-large', message, sentence`write a shorter schedule`)],
  };
}

function emptyRow(row: number, range: TextRange): CsvProblem {
  return {
    code: 'empty-row',
    row,
    column: null,
    range,
    message: sentence`An empty row counts as a rank that runs nothing`,
    remedy: sentence`delete the row`,
  };
}

function idleCell(row: number, column: number, range: TextRange): CsvProblem {
  const message = sentence`An idle cell in a schedule with communication, which PyTorch refuses`;
  return {
    code: 'blank',
    row,
    column,
    range,
    message,
    remedy: sentence`delete the idle cells: sends and receives decide when a rank waits`,
  };
}

function countSeparators(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isSeparator(code) || code === 59) count += 1;
  }
  return count;
}

/** Columns that fill action by action. */
function createColumns(capacity: number) {
  const type = new Uint8Array(capacity);
  const overlapsNext = new Uint8Array(capacity);
  const [chunk, microBatch, column, starts, ends] = [0, 1, 2, 3, 4].map(() => new Uint32Array(capacity)) as [
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
  ];
  const rowStart = [0];
  const line: number[] = [];
  let row = 0;
  const put = (action: LocatedAction, cell: number) => {
    type[row] = action.type;
    chunk[row] = action.chunk;
    microBatch[row] = action.microBatch;
    column[row] = cell;
    starts[row] = action.start;
    ends[row] = action.end;
    row += 1;
  };
  return {
    add: (found: ReturnType<typeof actionsAt>, cell: number): boolean => {
      if (found === null) return false;
      if ('type' in found) put(found, cell);
      else {
        overlapsNext[row] = 1;
        for (const action of found) put(action, cell);
      }
      return true;
    },
    endRank: (number: number) => {
      rowStart.push(row);
      line.push(number);
    },
    done: (): LocatedTable => {
      const table = {
        rowStart: Uint32Array.from(rowStart),
        type: type.subarray(0, row),
        overlapsNext: overlapsNext.subarray(0, row),
        chunk: chunk.subarray(0, row),
        microBatch: microBatch.subarray(0, row),
      };
      const positions = {
        line: Uint32Array.from(line),
        column: column.subarray(0, row),
        start: starts.subarray(0, row),
        end: ends.subarray(0, row),
      };
      return { ...table, positions, rank: ranksOfRows(table) };
    },
  };
}
