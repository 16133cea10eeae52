import { column, formatCount } from '../../../src/core/format';
import type { TableContent } from '../../base/paged-table';
import { t } from '../../base/strings';
import type { Point } from './points';
import { hasBatches, type SampleRow } from './rows';
import { signedPercent } from '../../charts/ticks';

/** The samples as the paged table shows them. `selected`: position in its part of the sample to mark. */
export function sampleTable(rows: readonly SampleRow[], selected: number | null, pick: (index: number) => void): TableContent {
  const numeric = (title: string): TableContent['columns'][number] => ({ title, numeric: true });
  const withBatch = hasBatches(rows);
  const pass = ({ measuredMs, fittedMs, errorPercent }: Point): string[] => [
    column.number(measuredMs),
    fittedMs === null ? '–' : column.number(fittedMs),
    errorPercent === null ? '–' : signedPercent(errorPercent),
  ];
  return {
    caption: t('Every measured slice; times in ms'),
    columns: [
      numeric(t('Context')),
      numeric(t('Tokens')),
      ...(withBatch ? [numeric(t('Sequences'))] : []),
      numeric(t('Forward')),
      numeric(t('fitted')),
      numeric(t('error')),
      numeric(t('Backward')),
      numeric(t('fitted')),
      numeric(t('error')),
      numeric(t('Rounds')),
      { title: t('Used as'), numeric: false },
    ],
    total: rows.length,
    rows: ({ first, end }) =>
      rows
        .slice(first, end)
        .map(({ sample, forward, backward }) => [
          formatCount(sample.context),
          formatCount(sample.tokens),
          ...(withBatch ? [formatCount(sample.batch)] : []),
          ...pass(forward),
          ...pass(backward),
          formatCount(sample.rounds),
          sample.holdOut ? t('hold-out') : t('fit'),
        ]),
    marked: selected === null ? null : indexOrNull(rows.findIndex(({ index }) => index === selected)),
    onRow: (row) => {
      const found = rows[row];
      if (found !== undefined) pick(found.index);
    },
  };
}

function indexOrNull(index: number): number | null {
  return index < 0 ? null : index;
}
