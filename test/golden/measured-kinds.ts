import type { MeasuredKind, RunKind, Widening } from '../../src/core/time-model/error-bars';
import { nearestKind, classifyRun, statedKind, widened } from '../../src/core/time-model/error-bars';
import { b200Rows } from './b200';
import { nemoRows } from './nemo';
import { recomputeRows } from './recompute';
import { ptdpRows, vtrainRows, type Row } from './rows';
import { wildRows } from './wild';
import { golden } from './data';
import type { Goal } from './goals';
import type { TrainingSpec } from '../../src/core/domain/request';

/** A measured run: of which kind, from which source, and what it took over its prediction. */
export interface MeasuredRun {
  readonly kind: RunKind;
  readonly source: string;
  readonly name: string;
  /** Where it was published. */
  readonly link: string;
  readonly unit: 's' | 'tokens/s/GPU';
  readonly measured: number;
  readonly predicted: number;
  /** Measured over predicted time. */
  readonly ratio: number;
}

const megatron = (gpu: string, experts = false, training: Pick<TrainingSpec, 'gemmPrecision'> = {}): RunKind =>
  classifyRun(gpu, training, { experts: experts ? { count: 8, active: 2 } : null });

/** The page of a row of wild.json: `owner/name@commit:path:line`, or a paper and its table. */
function linkOf(source: string): string {
  const [, repository, commit, path = '', line] = /^([\w.-]+\/[\w.-]+)@([0-9a-f]{40}):(.*?)(?::(\d+))?$/.exec(source) ?? [];
  if (repository === undefined) return `https://arxiv.org/abs/${/\d{4}\.\d{5}/.exec(source)?.[0] ?? ''}`;
  return `https://github.com/${repository}/blob/${commit}/${encodeURI(path)}${line === undefined ? '' : `?plain=1#L${line}`}`;
}

/** The page of a file of data whose rows have none of their own. */
function pageOf(name: string): string {
  const { from, commit } = (golden(name) as { readonly source: { readonly from: string; readonly commit?: string } }).source;
  const [, repository, path] = /^([\w.-]+\/[\w.-]+), (\S+?\.\w+)/.exec(from) ?? [];
  return repository === undefined ? linkOf(from) : linkOf(`${repository}@${commit}:${path}`);
}

/** Every measured run of docs/accuracy.md that the analytic model is held against, except for TeraPipe's, whose runtime is its own. */
export async function measuredRuns(): Promise<readonly MeasuredRun[]> {
  const of = (source: string, link: string, kind: RunKind, rows: readonly Row[]): MeasuredRun[] =>
    rows.map(({ name, measured, predicted }) => ({
      kind,
      source,
      name,
      link,
      unit: 's',
      measured: measured / 1e3,
      predicted: predicted / 1e3,
      ratio: measured / predicted,
    }));
  const wild = await wildRows(({ seconds }) => seconds !== null);
  const throughput = pageOf('megatron-bridge-throughput');
  return [
    ...of('vTrain', pageOf('vtrain'), megatron('A100-80GB'), vtrainRows()),
    ...of('PTD-P', pageOf('ptd-p'), megatron('A100-80GB'), ptdpRows()),
    ...of('2205.05198', pageOf('activation-recompute'), megatron('A100-80GB'), recomputeRows()),
    ...b200Rows().flatMap((row) => of('SimuMax', pageOf('b200'), megatron('B200', row.kind === 'experts'), [row])),
    ...nemoRows().map(({ name, system, mixture, measured, predicted, request: { training } }) => ({
      kind: megatron(system === 'DGX-H100' ? 'H100-80GB' : 'B200', mixture, training),
      source: mixture ? 'Megatron-Bridge, experts' : 'Megatron-Bridge, dense',
      name: `${name}, ${system}`,
      link: throughput,
      unit: 'tokens/s/GPU' as const,
      measured,
      predicted,
      ratio: predicted / measured,
    })),
    ...wild.map(({ case: { id, group, family, seconds, source }, request: { cluster, training, model }, predicted }) => ({
      kind: classifyRun(cluster.gpu.name, training, model),
      source: family,
      name: `${id}: ${group}`,
      link: linkOf(source),
      unit: 's' as const,
      measured: seconds ?? NaN,
      predicted: predicted.iterationMs / 1e3,
      ratio: (1e3 * (seconds ?? NaN)) / predicted.iterationMs,
    })),
  ];
}

/** Values by a key, in the order in which keys come. */
export function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) groups.set(keyOf(value), [...(groups.get(keyOf(value)) ?? []), value]);
  return groups;
}

/** The quantile of sorted values, between neighbours in proportion. */
export function quantile(sorted: readonly number[], share: number): number {
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

/** Fewest runs of a source that is left out to see what ranges of the others miss. */
const fewestOfSource = 20;
/** Part of a source that the widened range of the others holds. */
const heldOfSource = 0.75;

/** Largest factors that are tried, in hundredths. */
const mostWidening = { low: 20, high: 40 };

/** The factors, least wide together, that widen ranges of other sources so far that they hold three quarters of each source, left out. */
export function wideningOf(runs: readonly MeasuredRun[]): Widening {
  const bySource = [...groupBy(runs, ({ source }) => source)].map(([source, same]) => {
    const others = kindsOf(runs.filter((run) => run.source !== source));
    return same.map(({ kind, ratio }) => {
      const { low, high } = nearestKind(kind, others).runs;
      return { experts: kind.experts, belowLow: ratio / low, aboveHigh: ratio / high };
    });
  });
  const of = (experts: boolean): Widening['experts'] => {
    const sources = bySource.map((rows) => rows.filter((row) => row.experts === experts)).filter(({ length }) => length >= fewestOfSource);
    const holds = ({ low, high }: Widening['experts']): boolean =>
      sources.every(
        (rows) => rows.filter(({ belowLow, aboveHigh }) => belowLow >= low && aboveHigh <= high).length >= heldOfSource * rows.length,
      );
    let best = { low: 1 - mostWidening.low / 100, high: 1 + mostWidening.high / 100 };
    for (let down = 0; down <= mostWidening.low; down++)
      for (let up = 0; up <= mostWidening.high; up++) {
        const tried = { low: (100 - down) / 100, high: (100 + up) / 100 };
        if (tried.high / tried.low < best.high / best.low - 1e-9 && holds(tried)) best = tried;
      }
    return best;
  };
  return { dense: of(false), experts: of(true) };
}

/** The module that holds them. */
export function kindsModule(kinds: readonly MeasuredKind[], widening: Widening): string {
  return `/** Written by \`npm run golden -- --write-readme\` from the runs of docs/accuracy.md, each kind of at least five. */
export const measuredKinds = ${JSON.stringify(kinds, null, 2)} as const;

/** Written with them: what a range of other sources misses of one that is left out. */
export const unseenWidening = ${JSON.stringify(widening, null, 2)} as const;
`;
}

/** How many of a source's rows lie inside their ranges, and how wide those are. */
export interface Coverage {
  readonly source: string;
  readonly rows: number;
  /** Share inside the range that a plan states. */
  readonly inside: number;
  /** Share inside the range of only the other sources, widened as for runs that none of them is like. */
  readonly insideOthers: number;
  readonly width: number;
}

/** What the ranges of `kinds` hold of each source. */
export function coverage(runs: readonly MeasuredRun[], kinds: readonly MeasuredKind[]): readonly Coverage[] {
  const within = ({ ratio }: MeasuredRun, { low, high }: MeasuredKind): boolean => ratio >= low && ratio <= high;
  const widening = wideningOf(runs);
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  return [...groupBy(runs, ({ source }) => source)].map(([source, same]) => {
    const others = kindsOf(runs.filter((run) => run.source !== source));
    return {
      source,
      rows: same.length,
      inside: mean(same.map((run) => Number(within(run, statedKind(run.kind, kinds, widening).runs)))),
      insideOthers: mean(same.map((run) => Number(within(run, widened(nearestKind(run.kind, others).runs, widening))))),
      width: mean(same.map(({ kind }) => statedKind(kind, kinds, widening).runs).map(({ low, high }) => high - low)),
    };
  });
}

/** Shares of runs that ranges for 80 % of them may hold. */
const wanted = { least: 0.75, most: 0.9 };

/** What is asked of the ranges that plans state, and of ranges made only from other people's runs. */
export function coverageGoals(shares: readonly Coverage[]): Goal[] {
  const rows = shares.reduce((sum, share) => sum + share.rows, 0);
  const goal = (name: string, insideOf: (share: Coverage) => number): Goal => {
    const overall = shares.reduce((sum, share) => sum + (share.rows / rows) * insideOf(share), 0);
    const isWithin = (inside: number): boolean => inside >= wanted.least && inside <= wanted.most;
    const percent = (inside: number): string => `${(100 * inside).toFixed(1)} %`;
    const outside = shares.filter((share) => share.rows >= fewestOfSource && !isWithin(insideOf(share)));
    const named = outside.map((share) => `${share.source} ${percent(insideOf(share))}`).join(', ');
    return {
      name,
      found: `${percent(overall)} over all${named === '' ? '' : `; ${named}`}`,
      goal: '75 to 90 % over all and of each source of 20 runs',
      met: isWithin(overall) && outside.length === 0,
    };
  };
  return [goal('Ranges hold', ({ inside }) => inside), goal('Ranges of other sources hold', ({ insideOthers }) => insideOthers)];
}
