import { formatCount, formatNumber } from '../../src/core/format';
import type { Profile, ProfilePart, Sample } from '../../src/core/profile/profile';
import { asTsv } from '../timeline/table-rows';
import type { TableContent } from '../paged-table';
import { t } from '../strings';
import { pointsOf, type Point } from './points';
import { signedPercent } from './words';

/** One sample with what the fit says of both passes. */
export interface SampleRow {
  readonly sample: Sample;
  /** Position of the sample in its part. */
  readonly index: number;
  readonly forward: Point;
  readonly backward: Point;
}

/** The samples of a part by context, then tokens, then batch. */
export function sampleRows(profile: Profile, part: ProfilePart): SampleRow[] {
  const points = pointsOf(profile, part);
  return profile.samples[part]
    .flatMap((sample, index): SampleRow[] => {
      const [forward, backward] = points.slice(2 * index, 2 * index + 2);
      return forward === undefined || backward === undefined ? [] : [{ sample, index, forward, backward }];
    })
    .sort((a, b) => a.sample.context - b.sample.context || a.sample.tokens - b.sample.tokens || a.sample.batch - b.sample.batch);
}

/** The samples as the paged table shows them. `selected`: position in its part of the sample to mark. */
export function sampleTable(rows: readonly SampleRow[], selected: number | null, pick: (index: number) => void): TableContent {
  const numeric = (title: string): TableContent['columns'][number] => ({ title, numeric: true });
  const withBatch = rows.some(({ sample }) => sample.batch > 1);
  const pass = ({ measuredMs, fittedMs, errorPercent }: Point): string[] => [
    formatNumber(measuredMs),
    fittedMs === null ? '–' : formatNumber(fittedMs),
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
      { title: t('Used to'), numeric: false },
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
          sample.holdOut ? t('judge') : t('fit'),
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

/** The samples as tab-separated text, times in ms with all digits. */
export function samplesAsTsv(rows: readonly SampleRow[]): string {
  const header = [
    'batch',
    'tokens',
    'context',
    'forward_ms',
    'backward_ms',
    'forward_fitted_ms',
    'backward_fitted_ms',
    'forward_error_percent',
    'backward_error_percent',
    'rounds',
    'hold_out',
  ];
  return asTsv([
    header,
    ...rows.map(({ sample, forward, backward }) => [
      sample.batch,
      sample.tokens,
      sample.context,
      sample.forwardMs,
      sample.backwardMs,
      forward.fittedMs ?? '',
      backward.fittedMs ?? '',
      forward.errorPercent ?? '',
      backward.errorPercent ?? '',
      sample.rounds,
      sample.holdOut ? 1 : 0,
    ]),
  ]);
}
