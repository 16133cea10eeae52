import { formatCount, formatDuration } from '../../../src/core/format';
import type { ComparisonAnswer } from '../../../src/features/compare/protocol';
import { h } from '../../base/dom';
import { makePagedTable, type Column } from '../../base/paged-table';
import { t } from '../../base/strings';
import type { Operation, Operations } from '../../base/operations';
import { kindName } from '../../charts/lanes/labels';
import { passPairs, type PassPair } from './counterpart';
import { sideOperations } from './compared-sides';
import type { ComparedPass, SideId } from './settings';
import { badges, signed } from './labels';

/** The passes of one stage on both sides as a table: what the two timelines show, for screen readers, keyboards and copying. */
export function makePassTable(pick: (side: SideId, operation: Operation) => void): {
  readonly element: HTMLElement;
  readonly update: (answer: ComparisonAnswer, stage: number, pass: ComparedPass | null) => void;
} {
  const table = makePagedTable();
  const element = h('section', { class: 'compared-section', 'aria-label': t('Passes of one stage') }, table.element);
  let known: { readonly key: string; readonly pairs: readonly PassPair[] } | null = null;
  const update = (answer: ComparisonAnswer, stage: number, pass: ComparedPass | null): void => {
    const [a, b] = [sideOperations(answer, 'a'), sideOperations(answer, 'b')];
    const key = `${answer.id} ${stage}`;
    if (known?.key !== key) known = { key, pairs: passPairs(a, b, stage) };
    const { pairs } = known;
    const marked = pass === null ? -1 : pairs.findIndex((pair) => isPass(pair[pass.side], pass));
    table.show({
      caption: t('Stage {0}: {1} passes', stage, formatCount(pairs.length)),
      columns: columns(answer),
      total: pairs.length,
      rows: (page) => pairs.slice(page.first, page.end).map((pair) => cells(pair, isSliced(a) || isSliced(b))),
      marked: marked < 0 ? null : marked,
      onRow: (index) => {
        const pair = pairs[index];
        const operation = pair?.a ?? pair?.b ?? null;
        if (operation !== null) pick(pair?.a === null ? 'b' : 'a', operation);
      },
    });
  };
  return { element, update };
}

function isPass(operation: Operation | null, { chunk, kind, unit }: ComparedPass): boolean {
  return operation !== null && operation.chunk === chunk && operation.kind === kind && operation.unitIndex === unit;
}

function isSliced(operations: Operations | null): boolean {
  return operations?.timeline.units.some(({ slice }) => slice > 0) ?? false;
}

function columns(answer: ComparisonAnswer): Column[] {
  const { a, b } = badges(answer);
  const numeric = (title: string): Column => ({ title, numeric: true });
  return [
    { title: t('Pass'), numeric: false },
    numeric(t('{0}: start', a)),
    numeric(t('{0}: start', b)),
    numeric(t('difference')),
    numeric(t('{0}: takes', a)),
    numeric(t('{0}: takes', b)),
    numeric(t('difference')),
  ];
}

function cells({ a, b }: PassPair, sliced: boolean): string[] {
  const some = a ?? b;
  if (some === null) return [];
  const { microBatch, slice } = some.unit;
  const name = sliced ? t('{0} {1}, slice {2}', kindName(some), microBatch, slice) : t('{0} {1}', kindName(some), microBatch);
  const compared = (of: (operation: Operation) => number): string[] => [
    a === null ? '' : formatDuration(of(a)),
    b === null ? '' : formatDuration(of(b)),
    a === null || b === null ? '' : signed(of(b) - of(a), formatDuration),
  ];
  return [name, ...compared(({ startMs }) => startMs), ...compared(({ startMs, endMs }) => endMs - startMs)];
}
