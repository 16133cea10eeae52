import { waitOf } from './dependencies';
import { operationAt, rowsOf, type Operation, type Operations } from '../../base/operations';

/** One page of a long list: rows `first` to `end - 1` of `total`. */
export interface Page {
  readonly first: number;
  readonly end: number;
  readonly total: number;
}

/** The page of `size` rows that holds `index`; an index past the end gives the last page. */
export function pageAround(index: number, total: number, size: number): Page {
  const last = Math.max(0, Math.ceil(total / size) - 1);
  const first = Math.min(last, Math.max(0, Math.floor(index / size))) * size;
  return { first, end: Math.min(total, first + size), total };
}

/** One row of the table twin. */
export interface OperationRow {
  readonly operation: Operation;
  readonly idleBeforeMs: number;
}

/** Rows `page` of what a stage does, in time order. */
export function operationRows(operations: Operations, stage: number, page: Page): OperationRow[] {
  const { first, end } = rowsOf(operations, stage);
  return Array.from({ length: Math.max(0, Math.min(end, first + page.end) - first - page.first) }, (_, index) => {
    const operation = operationAt(operations, first + page.first + index);
    return { operation, idleBeforeMs: waitOf(operations, operation).idleMs };
  });
}

/** Cells as tab-separated text that a spreadsheet takes: tabs and line breaks inside cells become spaces. */
export function asTsv(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((row) => row.map((cell) => String(cell).replace(/[\t\r\n]+/g, ' ')).join('\t')).join('\n') + '\n';
}
