import { column, formatCount } from '../../../src/core/format';
import { h } from '../../base/dom';
import { partAttributes } from '../../base/parts';
import { makePagedTable, type Column } from '../../base/paged-table';
import { t } from '../../base/strings';
import { operationAt, stageRows, type Operation, type Operations } from '../../base/operations';
import { asTsv } from '../../shared/table-text';
import { operationRows, type OperationRow } from '../../charts/lanes/dependencies';
import type { Page } from '../../base/pages';
import type { ShownTimeline } from './shown';
import { kindName, stageText, timeText } from '../../charts/lanes/labels';

/** The same operations as the canvas, stage by stage, as a table for screen readers, keyboards and copying. */
export function makeOperationTable(
  { operations: shown, markedStage, selected: picked }: ShownTimeline,
  pick: (operation: Operation) => void,
): { readonly element: HTMLElement; readonly update: () => void } {
  const table = makePagedTable();
  const element = h('section', { ...partAttributes, class: 'table-twin', 'aria-label': t('Operations of one stage') }, table.element);
  const update = (): void => {
    const operations = shown();
    if (operations === null) return;
    const stage = markedStage() ?? 0;
    const { first, end } = stageRows(operations, stage);
    const selected = picked()?.row ?? null;
    table.show({
      caption: t('{0}: {1} operations', stageText(operations, stage), formatCount(end - first)),
      columns: columns(operations),
      total: end - first,
      rows: (page) => operationRows(operations, stage, page).map((row) => rowCells(operations, row)),
      marked: selected !== null && selected >= first && selected < end ? selected - first : null,
      onRow: (index) => pick(operationAt(operations, first + index)),
    });
  };
  return { element, update };
}

function columns({ ofFile, sliced, chunked }: Operations): Column[] {
  const numeric = (title: string): Column => ({ title, numeric: true });
  return [
    { title: t('Operation'), numeric: false },
    ...(ofFile ? [numeric(t('Stage'))] : chunked ? [numeric(t('Chunk'))] : []),
    numeric(t('Micro-batch')),
    ...(sliced ? [numeric(t('Slice'))] : []),
    ...(ofFile ? [] : [numeric(t('Tokens')), numeric(t('Context'))]),
    numeric(t('Start')),
    numeric(t('End')),
    numeric(t('Duration')),
    numeric(t('Idle before')),
  ];
}

function rowCells(operations: Operations, { operation, idleBeforeMs }: OperationRow): string[] {
  const { unit, startMs, endMs, chunk } = operation;
  const time = (ms: number): string => (operations.ofFile ? timeText(operations, ms) : column.duration(ms));
  return [
    kindName(operation),
    ...(operations.ofFile || operations.chunked ? [String(chunk)] : []),
    String(unit.microBatch),
    ...(operations.sliced ? [String(unit.slice)] : []),
    ...(operations.ofFile ? [] : [formatCount(unit.tokens), formatCount(unit.context)]),
    time(startMs),
    time(endMs),
    time(endMs - startMs),
    idleBeforeMs > 0 ? time(idleBeforeMs) : '',
  ];
}

/** Kinds in the copied table, in order of `operationKind`. */
const kindColumn = ['forward', 'backward', 'backward input', 'backward weight'] as const;

/** Rows of the copied table; larger schedules are cut there, and the last line notes it. */
const mostCopiedRows = 200_000;

/** Every operation of all stages as tab-separated text with times in ms, of a schedule file in steps. */
export function operationsAsTsv(operations: Operations): string {
  const header = operations.ofFile
    ? ['rank', 'operation', 'stage', 'micro_batch', 'start_step', 'end_step', 'idle_before_steps']
    : ['stage', 'operation', 'micro_batch', 'slice', 'batch', 'tokens', 'context', 'start_ms', 'end_ms', 'idle_before_ms'];
  const rows: (string | number)[][] = [header];
  for (let stage = 0; stage < operations.stages && rows.length <= mostCopiedRows; stage++) {
    const { first, end } = stageRows(operations, stage);
    const page: Page = { first: 0, end: Math.min(end - first, mostCopiedRows + 1 - rows.length), total: end - first };
    for (const { operation, idleBeforeMs } of operationRows(operations, stage, page)) {
      const { unit, startMs, endMs, chunk } = operation;
      const { microBatch, slice, batch, tokens, context } = unit;
      const where = operations.ofFile ? [chunk, microBatch] : [microBatch, slice, batch, tokens, context];
      rows.push([stage, kindColumn[operation.kind], ...where, startMs, endMs, idleBeforeMs]);
    }
  }
  if (operations.count > mostCopiedRows) rows.push([`cut after ${mostCopiedRows} of ${operations.count} operations`]);
  return asTsv(rows);
}
