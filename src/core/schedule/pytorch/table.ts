import { formatCount } from '../../format';
import type { TextRange } from '../../located';
import { ranksOfRows } from './actions';
import { actionsOfCell, faultOfCell, type CellAction } from './cells';
import { mostProblems, problemOfFile, type CsvProblem, type LocatedTable } from './problems';

/** UTF-16 units, rows and actions of the largest file that is read; a million passes with their sends and receives stay below. */
const maximumSize = 64 * 2 ** 20;
const maximumRanks = 4_096;
const maximumActions = 4_000_000;

/** A file cut into actions, and the cells that are none. */
export interface ReadTable {
  readonly table: LocatedTable;
  /** Idle cells: PyTorch allows them in `compute_only` files alone. */
  readonly firstBlank: CsvProblem | null;
  readonly problems: readonly CsvProblem[];
}

/**
 * Cuts a schedule file into actions: one row for each rank, no header, cells apart by commas, blank where a rank idles, rows of any length (PyTorch reads them with Python's csv module). Lines end
 * in LF, CRLF or CR; blanks and quotes around an action do not count.
 */
export function readTable(text: string): ReadTable {
  if (text.length > maximumSize) return refused(text, 'The file is over 64 MB');
  const capacity = countSeparators(text) + 1;
  if (capacity > maximumActions) return refused(text, `The file has over ${formatCount(maximumActions)} cells`);
  const rows = tableOf(capacity);
  const problems: CsvProblem[] = [];
  let firstBlank: CsvProblem | null = null;
  let line = 0;
  for (const cells of linesOf(text)) {
    if (line === maximumRanks) return refused(text, `The file has over ${formatCount(maximumRanks)} rows`);
    if (cells.every(({ start, end }) => start === end)) problems.push(emptyRow(line, cells));
    else {
      cells.forEach((cell, column) => {
        const actions = cell.start === cell.end ? [] : actionsOfCell(text.slice(cell.start, cell.end));
        if (actions === null && problems.length < mostProblems) problems.push(fault(text, line, column, cell));
        if (actions?.length === 0) firstBlank ??= blank(line, column, cell);
        rows.add(actions ?? [], column, cell.start);
      });
      rows.endRank(line);
    }
    line += 1;
  }
  return { table: rows.done(), firstBlank, problems };
}

/** A cell without blanks and quotes around it, and all of it with a comma beside it, if it has one. */
interface Cell {
  readonly start: number;
  readonly end: number;
  readonly around: TextRange;
}

function refused(text: string, message: string): ReadTable {
  return { table: tableOf(0).done(), firstBlank: null, problems: [problemOfFile(text, 'too-large', message, 'write a shorter schedule')] };
}

function fault(text: string, row: number, column: number, { start, end }: TextRange): CsvProblem {
  return { row, column, range: { start, end }, ...faultOfCell(text.slice(start, end)) };
}

function emptyRow(row: number, cells: readonly Cell[]): CsvProblem {
  const range = { start: cells[0]?.around.start ?? 0, end: cells.at(-1)?.around.end ?? 0 };
  return {
    code: 'empty-row',
    row,
    column: null,
    range,
    message: 'An empty row counts as a rank that runs nothing',
    remedy: 'delete the row',
  };
}

function blank(row: number, column: number, { around }: Cell): CsvProblem {
  const message = 'A cell is blank in a schedule with communication, which PyTorch refuses';
  return { code: 'blank', row, column, range: around, message, remedy: 'delete the blank cells: sends and receives say when a rank waits' };
}

function countSeparators(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 44 || code === 59 || code === 10 || code === 13) count += 1;
  }
  return count;
}

/** The cells of each line. The end of the text after a line break is no line. */
function* linesOf(text: string): Generator<readonly Cell[]> {
  let cells: Cell[] = [];
  let from = 0;
  for (const { index, 0: separator } of text.matchAll(/,|\r\n|\n|\r/g)) {
    cells.push(cellOf(text, from, index));
    from = index + separator.length;
    if (separator === ',') continue;
    yield cells;
    cells = [];
  }
  if (from < text.length || cells.length > 0) yield [...cells, cellOf(text, from, text.length)];
}

function cellOf(text: string, from: number, to: number): Cell {
  const around = text[to] === ',' || from === 0 ? { start: from, end: Math.min(to + 1, text.length) } : { start: from - 1, end: to };
  return { ...trimmed(text, from, to), around };
}

/** The range without blanks around it, and without quotes around what is left. */
function trimmed(text: string, from: number, to: number): TextRange {
  let start = from;
  let end = to;
  const isBlank = (at: number) => text[at] === ' ' || text[at] === '\t';
  const cut = () => {
    while (start < end && isBlank(start)) start += 1;
    while (end > start && isBlank(end - 1)) end -= 1;
  };
  cut();
  if (end - start >= 2 && text[start] === '"' && text[end - 1] === '"') {
    start += 1;
    end -= 1;
    cut();
  }
  return { start, end };
}

/** Columns that fill action by action. */
function tableOf(capacity: number) {
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
  return {
    add: (actions: readonly CellAction[], cell: number, offset: number) => {
      actions.forEach((action, index) => {
        type[row] = action.type;
        chunk[row] = action.chunk;
        microBatch[row] = action.microBatch;
        column[row] = cell;
        starts[row] = offset + action.start;
        ends[row] = offset + action.end;
        overlapsNext[row] = index + 1 < actions.length ? 1 : 0;
        row += 1;
      });
    },
    endRank: (number: number) => {
      rowStart.push(row);
      line.push(number);
    },
    done: (): LocatedTable => {
      const table = {
        ...{ rowStart: Uint32Array.from(rowStart), type: type.subarray(0, row), overlapsNext: overlapsNext.subarray(0, row) },
        ...{ chunk: chunk.subarray(0, row), microBatch: microBatch.subarray(0, row) },
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
