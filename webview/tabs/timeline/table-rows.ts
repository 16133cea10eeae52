import { waitOf } from '../../charts/lanes/dependencies';
import type { Page } from '../../base/pages';
import { operationAt, rowsOf, type Operation, type Operations } from '../../base/operations';

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
