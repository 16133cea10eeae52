import { coveringAssumed } from '../../src/core/planner/explain/assumed';
import { costProvenance } from '../../src/core/time-model/provenance';
import { buildPipeline } from '../../src/core/planner/predict/pipeline';
import { predict } from '../../src/core/planner/predict/predict';
import { scheduleOn } from '../../src/core/schedules/on-layout';
import type { PlanRequest } from '../../src/core/domain/request';
import type { Candidate } from '../../src/core/planner/plan';
import { golden, once } from './data';
import { groupBy } from './measured-runs';
import { peakOf } from './wild-memory';
import { predictAsFixed, requestOf, type WildCase, type WildRow } from './wild';

/** A drawn run, and the range that its plan states: of what it takes over its prediction. */
export interface DrawnRow extends WildRow {
  readonly range: readonly [low: number, high: number];
}

/** Published runs that were written down before any was predicted, and that no constant is made from. */
export const drawnRows = once(async (): Promise<readonly DrawnRow[]> => {
  const { cases } = golden('drawn') as { readonly cases: readonly WildCase[] };
  return Promise.all(
    cases.map(async (one) => {
      const request = await requestOf(one.config);
      const predicted = predictAsGiven(request);
      const { range } = coveringAssumed(costProvenance(request, buildPipeline(request)), request, predicted);
      return { case: one, request, predicted, range };
    }),
  );
});

/** The slices of the file, not the best. */
function predictAsGiven(request: PlanRequest): Candidate {
  const { slicing, schedule, layout } = request;
  if (slicing.scheme === null || schedule === null) return predictAsFixed(request);
  const kind = scheduleOn(schedule, layout);
  return predict(buildPipeline(request), { id: '1f1b', name: schedule, kind, scheme: slicing.scheme, certificate: null });
}

/** How the runs of a source were predicted. */
export interface DrawnSource {
  readonly source: string;
  /** All sources together. */
  readonly isAll: boolean;
  readonly errors: readonly number[];
  readonly inside: number;
  readonly width: number;
  /** Errors of peak memory. */
  readonly memory: readonly number[];
}

/** The sources of drawn runs, all of MLPerf as one, in the order of the file, and all of them together at the end. */
export function drawnSources(rows: readonly DrawnRow[]): readonly DrawnSource[] {
  const sources = groupBy(rows, ({ case: { family } }) => /^(?:MLPerf|ModelZoo)/.exec(family)?.[0] ?? family);
  return [
    ...[...sources].map(([source, same]) => ({ ...drawnSource(source, same), isAll: false })),
    { ...drawnSource('all drawn runs', rows), isAll: true },
  ];
}

function drawnSource(source: string, rows: readonly DrawnRow[]): Omit<DrawnSource, 'isAll'> {
  const timed = rows.flatMap(({ case: { seconds }, predicted: { iterationMs }, range: [low, high] }) => {
    if (seconds === null) return [];
    const ratio = (1e3 * seconds) / iterationMs;
    return [{ error: 1 / ratio - 1, isInside: ratio >= low && ratio <= high, half: (high - low) / 2 }];
  });
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    source,
    errors: timed.map(({ error }) => error),
    inside: mean(timed.map(({ isInside }) => Number(isInside))),
    width: mean(timed.map(({ half }) => half)),
    memory: rows
      .filter(({ case: { memoryGiB } }) => memoryGiB !== null)
      .map(peakOf)
      .map(({ predicted, measured }) => predicted / measured - 1),
  };
}
