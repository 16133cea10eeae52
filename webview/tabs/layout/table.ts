import { gpusUsed } from '../../../src/core/domain/request';
import { column, formatCount, formatRate } from '../../../src/core/format';
import { verdictWord } from '../../../src/core/memory-model/verdict';
import { h, type Child } from '../../base/dom';
import type { Column, TableContent } from '../../base/paged-table';
import { costOfTokens } from '../../../src/core/planner/training-cost';
import { slowdownText } from '../../../src/core/planner/explain/slower';
import { capitalised } from '../../shared/sentence';
import { amountText } from '../../shared/training-cost';
import { t } from '../../base/strings';
import type { LayoutColumn, LayoutViewSettings } from './settings';
import { rowName, type LayoutRow } from './rows';
import { say } from '../../../src/core/sentence';

/** Props of the table. */
interface LayoutTableProps {
  readonly settings: LayoutViewSettings;
  /** To train on, for GPU hours; null: no column of them. */
  readonly tokens: number | null;
  readonly picked: string | null;
  /** The step of the best, ms. */
  readonly bestMs: number;
  readonly pick: (row: LayoutRow) => void;
  readonly open: (row: LayoutRow) => void;
  readonly press: (column: LayoutColumn) => void;
}

/** The layouts as the paged table shows them, `total` before the filter. */
export function layoutTable(rows: readonly LayoutRow[], total: number, props: LayoutTableProps): TableContent {
  const { settings: look, tokens, picked, press, bestMs } = props;
  const number = (title: string, className: string, by?: LayoutColumn): Column => ({
    title,
    numeric: true,
    className,
    ...(by === undefined ? {} : { sort: { descending: look.by === by ? look.descending : null, press: () => press(by) } }),
  });
  const marked = rows.findIndex(({ id }) => id === picked);
  const withRow = (act: (row: LayoutRow) => void) => (index: number) => {
    const row = rows[index];
    if (row !== undefined) act(row);
  };
  return {
    caption:
      rows.length === total ? t('{0} layouts', formatCount(total)) : t('{0} of {1} layouts', formatCount(rows.length), formatCount(total)),
    columns: [
      number(t('Step'), 'layout-step', 'step'),
      number(t('Memory'), 'layout-memory', 'memory'),
      number(t('Bubble'), 'layout-bubble', 'bubble'),
      number(t('Tokens/s'), 'layout-tokens', 'tokens'),
      number(t('MFU'), 'layout-mfu', 'mfu'),
      ...(tokens === null ? [] : [number(t('GPU hours'), 'layout-hours')]),
      { title: t('Schedule'), numeric: false, className: 'layout-schedule' },
      { title: t('Recompute'), numeric: false, className: 'layout-recompute' },
      { title: t('Layout'), numeric: false, className: 'layout-cell' },
    ],
    total: rows.length,
    rows: ({ first, end }) => rows.slice(first, end).map((row) => cells(row, tokens, bestMs)),
    marked: marked < 0 ? null : marked,
    markedId: picked,
    onRow: withRow(props.pick),
    onOpen: withRow(props.open),
  };
}

function cells(row: LayoutRow, tokens: number | null, bestMs: number): Child[] {
  const { plan, found, isBest, isLaunched, tie } = row;
  const tag = (text: string): HTMLElement => h('span', { class: 'tag' }, text);
  return [
    column.duration(plan.iterationMs),
    column.bytes(plan.peakBytes),
    column.percent(plan.bubbleRate),
    formatRate(plan.tokensPerSecond),
    column.percent(plan.mfu),
    ...(tokens === null ? [] : [amountText(costOfTokens(tokens, null, gpusUsed(plan.layout), plan.tokensPerSecond).gpuHours)]),
    capitalised(say(plan.name, t)),
    plan.recompute === null ? t('none') : say(plan.recompute, t),
    h(
      'div',
      { class: 'layout-row', title: found?.why ? capitalised(say(found.why, t)) : null },
      h(
        'span',
        { class: 'layout-sizes' },
        rowName(row),
        isBest ? tag(plan.fits ? t('best') : t('least memory')) : tie ? tag(t('within error')) : null,
        isLaunched ? tag(t('as launched')) : null,
        plan.fits ? null : tag(say(verdictWord(plan.verdict), t)),
      ),
      isBest ? null : h('span', { class: 'layout-why' }, capitalised(say(slowdownText(plan.iterationMs / bestMs - 1), t))),
    ),
  ];
}
