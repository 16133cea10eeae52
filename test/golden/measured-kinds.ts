import type { MeasuredKind, RunKind } from '../../src/core/time-model/error-bars';
import { runKindOf } from '../../src/core/time-model/error-bars';
import { b200Rows } from './b200';
import { nemoRows } from './nemo';
import { recomputeRows } from './recompute';
import { ptdpRows, vtrainRows } from './rows';
import { wildRows } from './wild';

/** A measured run: of which kind, from which source, and what it took over its prediction. */
export interface MeasuredRun {
  readonly kind: RunKind;
  readonly source: string;
  readonly ratio: number;
}

interface Times {
  readonly measured: number;
  readonly predicted: number;
}

const megatron = (gpu: string, experts = false): RunKind => runKindOf(gpu, {}, { experts: experts ? { count: 8, active: 2 } : null });

/** Every measured run of docs/accuracy.md that the analytic model is held against, but for TeraPipe's, whose runtime is its own. */
export async function measuredRuns(): Promise<readonly MeasuredRun[]> {
  const of = (source: string, kind: RunKind, rows: readonly Times[]): MeasuredRun[] =>
    rows.map(({ measured, predicted }) => ({ kind, source, ratio: measured / predicted }));
  const wild = await wildRows(({ seconds }) => seconds !== null);
  return [
    ...of('vTrain', megatron('A100-80GB'), vtrainRows()),
    ...of('PTD-P', megatron('A100-80GB'), ptdpRows()),
    ...of('2205.05198', megatron('A100-80GB'), recomputeRows()),
    ...b200Rows().flatMap((row) => of('SimuMax', megatron('B200', row.kind === 'experts'), [row])),
    // tokens a second, not seconds
    ...nemoRows().flatMap(({ system, mixture, measured, predicted }) =>
      of(mixture ? 'Megatron-Bridge, experts' : 'Megatron-Bridge, dense', megatron(system === 'DGX-H100' ? 'H100-80GB' : 'B200', mixture), [
        { measured: predicted, predicted: measured },
      ]),
    ),
    ...wild.map(({ case: { family, seconds }, request: { cluster, training, model }, predicted }) => ({
      kind: runKindOf(cluster.gpu.name, training, model),
      source: family,
      ratio: (1e3 * (seconds ?? NaN)) / predicted.iterationMs,
    })),
  ];
}

function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) groups.set(keyOf(value), [...(groups.get(keyOf(value)) ?? []), value]);
  return groups;
}

/** The quantile of sorted values, between neighbours in proportion. */
function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const [low = NaN, high = low] = [sorted[below], sorted[below + 1]];
  return low + (at - below) * (high - low);
}

const fewest = 5;

/** The kinds of `measuredRuns` with the range that holds 80 % of each, the prediction itself always inside. */
export function kindsOf(runs: readonly MeasuredRun[]): readonly MeasuredKind[] {
  const byKind = groupBy(runs, ({ kind }) => JSON.stringify(kind));
  return [...byKind].flatMap(([key, same]) => {
    const ratios = same.map(({ ratio }) => ratio).sort((a, b) => a - b);
    if (ratios.length < fewest) return [];
    const [low, high] = [Math.floor(100 * quantile(ratios, 0.1)) / 100, Math.ceil(100 * quantile(ratios, 0.9)) / 100];
    return [{ ...(JSON.parse(key) as RunKind), rows: ratios.length, low: Math.min(1, low), high: Math.max(1, high) }];
  });
}

/** The module that holds them. */
export function kindsModule(kinds: readonly MeasuredKind[]): string {
  return `/** Written by \`npm run golden -- --write-readme\` from the runs of docs/accuracy.md, each kind of at least five. */
export const measuredKinds = ${JSON.stringify(kinds, null, 2)} as const;
`;
}

/** Share of each source's rows that lie inside the bar of their kind, and the mean width of the bars. */
export function coverage(
  runs: readonly MeasuredRun[],
  kinds: readonly MeasuredKind[],
): readonly { source: string; rows: number; inside: number; width: number }[] {
  const barOf = (kind: RunKind): MeasuredKind | undefined =>
    kinds.find((one) => one.runtime === kind.runtime && one.generation === kind.generation && one.experts === kind.experts);
  return [...groupBy(runs, ({ source }) => source)].map(([source, same]) => {
    const bars = same.map(({ kind, ratio }) => ({ ratio, bar: barOf(kind) }));
    const inside = bars.filter(({ ratio, bar }) => bar !== undefined && ratio >= bar.low && ratio <= bar.high).length;
    const width = bars.reduce((sum, { bar }) => sum + (bar === undefined ? NaN : bar.high - bar.low), 0) / bars.length;
    return { source, rows: same.length, inside: inside / same.length, width };
  });
}
