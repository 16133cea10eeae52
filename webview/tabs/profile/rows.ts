import type { Profile, ProfilePart, Sample } from '../../../src/core/domain/profile';
import { asTsv } from '../../shared/table-text';
import { profilePoints, type Point } from './points';

/** One sample with the fitted times of both passes. */
export interface SampleRow {
  readonly sample: Sample;
  /** Position of the sample in its part. */
  readonly index: number;
  readonly forward: Point;
  readonly backward: Point;
}

/** The samples of a part by context, then tokens, then batch. */
export function sampleRows(profile: Profile, part: ProfilePart): SampleRow[] {
  const points = profilePoints(profile, part);
  return profile.samples[part]
    .flatMap((sample, index): SampleRow[] => {
      const [forward, backward] = points.slice(2 * index, 2 * index + 2);
      return forward === undefined || backward === undefined ? [] : [{ sample, index, forward, backward }];
    })
    .sort((a, b) => a.sample.context - b.sample.context || a.sample.tokens - b.sample.tokens || a.sample.batch - b.sample.batch);
}

/** Whether a table of these rows needs a column for the sequences. */
export function hasBatches(rows: readonly SampleRow[]): boolean {
  return rows.some(({ sample }) => sample.batch > 1);
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
