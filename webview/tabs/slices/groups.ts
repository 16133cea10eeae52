import { formatDuration, formatTokens } from '../../../src/core/format';
import { operationKind, schemeUnits, type Timeline } from '../../../src/core/schedules/schedule';
import type { BatchSlice, Scheme } from '../../../src/core/domain/scheme';
import { t } from '../../base/strings';

/** Batch chunks cut alike, in order of their first one. */
export interface SchemeGroup {
  readonly chunk: BatchSlice;
  readonly times: number;
  /** Index into the scheme's units of the first chunk's first slice. */
  readonly firstUnit: number;
}

/** Puts equal chunks of a scheme together: 10,000 micro-batches cut alike are one group. */
export function groupScheme(scheme: Scheme): SchemeGroup[] {
  const groups = new Map<string, { chunk: BatchSlice; times: number; firstUnit: number }>();
  let unit = 0;
  for (const chunk of scheme) {
    const key = `${chunk.batch}:${chunk.tokens.join(',')}`;
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { chunk, times: 1, firstUnit: unit });
    else known.times++;
    unit += chunk.tokens.length;
  }
  return [...groups.values()];
}

/** The paper's notation with runs shortened: `[(1, [120 × 4, 112 × 6, 64])] × 2`. */
export function schemeText(groups: readonly SchemeGroup[]): string {
  return groups.map(({ chunk, times }) => `[(${chunk.batch}, [${runsText(chunk.tokens)}])]${times > 1 ? ` × ${times}` : ''}`).join(' + ');
}

const mostRuns = 12;

function runsText(tokens: readonly number[]): string {
  const runs: { length: number; times: number }[] = [];
  for (const length of tokens) {
    const last = runs.at(-1);
    if (last?.length === length) last.times++;
    else runs.push({ length, times: 1 });
  }
  const shown = runs.slice(0, mostRuns).map(({ length, times }) => (times > 1 ? `${length} × ${times}` : String(length)));
  return [...shown, ...(runs.length > mostRuns ? ['…'] : [])].join(', ');
}

/** One row of the table of slices. Times null where nothing was simulated. */
export interface SliceRow {
  readonly batch: number;
  readonly times: number;
  readonly slice: number;
  readonly tokens: number;
  readonly context: number;
  readonly forwardMs: number | null;
  readonly backwardMs: number | null;
}

/** The slices of every group with their times on one stage. */
export function sliceRows(scheme: Scheme, timeline: Timeline | null, stage: number): SliceRow[] {
  const times = timeline === null ? null : unitTimes(timeline, stage);
  return groupScheme(scheme).flatMap(({ chunk, times: repeats, firstUnit }) =>
    schemeUnits([chunk]).map(({ slice, tokens, context, batch }) => ({
      batch,
      times: repeats,
      slice,
      tokens,
      context,
      forwardMs: times?.forwardMs[firstUnit + slice] ?? null,
      backwardMs: times?.backwardMs[firstUnit + slice] ?? null,
    })),
  );
}

function unitTimes(
  { rowStart, units, unit, kind, startMs, endMs }: Timeline,
  stage: number,
): { readonly forwardMs: Float64Array; readonly backwardMs: Float64Array } {
  const forwardMs = new Float64Array(units.length);
  const backwardMs = new Float64Array(units.length);
  for (let row = rowStart[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) {
    const column = kind[row] === operationKind.forward ? forwardMs : backwardMs;
    const index = unit[row] ?? 0;
    column[index] = (column[index] ?? 0) + (endMs[row] ?? 0) - (startMs[row] ?? 0);
  }
  return { forwardMs, backwardMs };
}

/** The busiest stage: slice times are those on it. */
export function busiestStage(busyMs: Float64Array): number {
  return busyMs.reduce((most, ms, stage) => (ms > (busyMs[most] ?? 0) ? stage : most), 0);
}

/** The text of a tooltip on a slice. */
export function sliceLines({ slice, tokens, context, forwardMs, backwardMs }: SliceRow): string[] {
  return [
    t('Slice {0} · {1}', slice, formatTokens(tokens)),
    t('After {0}', formatTokens(context)),
    ...(forwardMs === null || backwardMs === null
      ? []
      : [t('Forward {0}, backward {1}', formatDuration(forwardMs), formatDuration(backwardMs))]),
  ];
}
