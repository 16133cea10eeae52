import { formatCount, formatDuration } from '../../src/core/format';
import { h } from '../dom';
import { makePagedTable, type Column } from '../paged-table';
import { t } from '../strings';
import { operationAt, rowsOf, type Operation, type Operations } from './operations';
import { asTsv, operationRows, type OperationRow, type Page } from './table-rows';
import { kindName } from './words';

/** What the table twin needs of its owner. */
export interface OperationTableOwner {
  readonly operations: () => Operations | null;
  readonly stage: () => number;
  /** Row of the selected operation. */
  readonly selected: () => number | null;
  readonly pick: (operation: Operation) => void;
}

/** The same operations as the canvas, stage by stage, as a table for screen readers, keyboards and copying. */
export function makeOperationTable(owner: OperationTableOwner): { readonly element: HTMLElement; readonly update: () => void } {
  const table = makePagedTable();
  const element = h('section', { class: 'table-twin', 'aria-label': t('Operations of one stage') }, table.element);
  const update = (): void => {
    const operations = owner.operations();
    if (operations === null) return;
    const stage = owner.stage();
    const { first, end } = rowsOf(operations, stage);
    const selected = owner.selected();
    table.show({
      caption: t('Stage {0} of {1}: {2} operations', stage, operations.stages, formatCount(end - first)),
      columns: columns(),
      total: end - first,
      rows: (page) => operationRows(operations, stage, page).map((row) => cellsOf(row)),
      marked: selected !== null && selected >= first && selected < end ? selected - first : null,
      onRow: (index) => owner.pick(operationAt(operations, first + index)),
    });
  };
  return { element, update };
}

function columns(): Column[] {
  const numeric = (title: string): Column => ({ title, numeric: true });
  return [
    { title: t('Operation'), numeric: false },
    numeric(t('Micro-batch')),
    numeric(t('Slice')),
    numeric(t('Tokens')),
    numeric(t('Context')),
    numeric(t('Start')),
    numeric(t('End')),
    numeric(t('Duration')),
    numeric(t('Idle before')),
  ];
}

function cellsOf({ operation, idleBeforeMs }: OperationRow): string[] {
  const { unit, startMs, endMs } = operation;
  return [
    kindName(operation),
    String(unit.microBatch),
    String(unit.slice),
    formatCount(unit.tokens),
    formatCount(unit.context),
    formatDuration(startMs),
    formatDuration(endMs),
    formatDuration(endMs - startMs),
    idleBeforeMs > 0 ? formatDuration(idleBeforeMs) : '',
  ];
}

/** Kinds in the copied table, in order of `operationKind`. */
const kindColumn = ['forward', 'backward', 'backward input', 'backward weight'] as const;

/** Rows of the copied table; larger schedules are cut there, and the last line says so. */
const mostCopiedRows = 200_000;

/** Every operation of all stages as tab-separated text with times in ms. */
export function operationsAsTsv(operations: Operations): string {
  const header = ['stage', 'operation', 'micro_batch', 'slice', 'batch', 'tokens', 'context', 'start_ms', 'end_ms', 'idle_before_ms'];
  const rows: (string | number)[][] = [header];
  for (let stage = 0; stage < operations.stages && rows.length <= mostCopiedRows; stage++) {
    const { first, end } = rowsOf(operations, stage);
    const page: Page = { first: 0, end: Math.min(end - first, mostCopiedRows + 1 - rows.length), total: end - first };
    for (const { operation, idleBeforeMs } of operationRows(operations, stage, page)) {
      const { unit, startMs, endMs } = operation;
      rows.push([
        stage,
        kindColumn[operation.kind],
        unit.microBatch,
        unit.slice,
        unit.batch,
        unit.tokens,
        unit.context,
        startMs,
        endMs,
        idleBeforeMs,
      ]);
    }
  }
  if (operations.count > mostCopiedRows) rows.push([`cut after ${mostCopiedRows} of ${operations.count} operations`]);
  return asTsv(rows);
}
