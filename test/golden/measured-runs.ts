import { classifyRun, type RunKind } from '../../src/core/time-model/error-bars';
import { gpusUsed, type PlanRequest } from '../../src/core/domain/request';
import { b200Rows } from './b200';
import { nemoRows } from './nemo';
import { recomputeRows } from './recompute';
import { ptdpRows, vtrainRows, type PredictedRow } from './rows';
import { wildRows } from './wild';
import { golden } from './data';

/** A measured run: of which kind, from which source, and what it took over its prediction. */
export interface MeasuredRun {
  readonly kind: RunKind;
  /** Rows of one table of the documents. */
  readonly source: string;
  /** Project or paper, which is left out whole. */
  readonly project: string;
  /** Runs of one model on one machine. */
  readonly group: string;
  readonly name: string;
  /** Where it was published. */
  readonly link: string;
  readonly unit: 's' | 'tokens/s/GPU';
  readonly measured: number;
  readonly predicted: number;
  /** Measured over predicted time. */
  readonly ratio: number;
  readonly request: PlanRequest;
}

/** The page of a row of wild.json: `owner/name@commit:path:line`, or a paper and its table. */
function linkOf(source: string): string {
  const [, repository, commit, path = '', line] = /^([\w.-]+\/[\w.-]+)@([0-9a-f]{7,40}):(.*?)(?::(\d+))?$/.exec(source) ?? [];
  if (repository === undefined) return `https://arxiv.org/abs/${/\d{4}\.\d{5}/.exec(source)?.[0] ?? ''}`;
  return `https://github.com/${repository}/blob/${commit}/${encodeURI(path)}${line === undefined ? '' : `?plain=1#L${line}`}`;
}

/** The page of a file of data whose rows have none of their own. */
function pageOf(name: string): string {
  const { from, commit } = (golden(name) as { readonly source: { readonly from: string; readonly commit?: string } }).source;
  const [, repository, path] = /^([\w.-]+\/[\w.-]+), (\S+?\.\w+)/.exec(from) ?? [];
  return repository === undefined ? linkOf(from) : linkOf(`${repository}@${commit}:${path}`);
}

const classify = ({ cluster, training, model }: PlanRequest): RunKind => classifyRun(cluster.gpu.name, training, model);

/** Families of published runs that one project measured. */
const projectName = (family: string): string => /^(?:DGX Cloud|MPT)/.exec(family)?.[0] ?? family;

/** Every measured run of docs/accuracy.md that the analytic model is held against, except for TeraPipe's, whose runtime is its own. */
export async function measuredRuns(): Promise<readonly MeasuredRun[]> {
  const of = (source: string, link: string, rows: readonly PredictedRow[], groupKey: (row: PredictedRow) => string): MeasuredRun[] =>
    rows.map((row) => ({
      kind: classify(row.request),
      source,
      project: source,
      group: groupKey(row),
      name: row.name,
      link,
      unit: 's',
      measured: row.measured / 1e3,
      predicted: row.predicted / 1e3,
      ratio: row.measured / row.predicted,
      request: row.request,
    }));
  const wild = await wildRows(({ seconds }) => seconds !== null);
  const throughput = pageOf('megatron-bridge-throughput');
  const hidden = ({ request }: PredictedRow): string => String(request.model.hidden);
  return [
    ...of('vTrain', pageOf('vtrain'), vtrainRows(), hidden),
    ...of('PTD-P', pageOf('ptd-p'), ptdpRows(), hidden),
    ...of('2205.05198', pageOf('activation-recompute'), recomputeRows(), hidden),
    ...of('SimuMax', pageOf('b200'), b200Rows(), hidden),
    ...nemoRows().map(({ name, system, precision, mixture, measured, predicted, request }) => ({
      kind: classify(request),
      source: mixture ? 'Megatron-Bridge, experts' : 'Megatron-Bridge, dense',
      project: 'Megatron-Bridge',
      group: `${request.model.hidden} ${request.model.layers} ${system} ${precision}`,
      name: `${name}, ${system}`,
      link: throughput,
      unit: 'tokens/s/GPU' as const,
      measured,
      predicted,
      ratio: predicted / measured,
      request,
    })),
    ...wild.map(({ case: { id, group, family, seconds, source }, request, predicted }) => ({
      kind: classify(request),
      source: family,
      project: projectName(family),
      group,
      name: `${id}: ${group}`,
      link: linkOf(source),
      unit: 's' as const,
      measured: seconds ?? NaN,
      predicted: predicted.iterationMs / 1e3,
      ratio: (1e3 * (seconds ?? NaN)) / predicted.iterationMs,
      request,
    })),
  ];
}

/** What a run was predicted to take, ms. */
export function predictedMs({ unit, predicted, request }: MeasuredRun): number {
  const { globalBatch, sequenceLength } = request.training;
  return unit === 's' ? 1e3 * predicted : (1e3 * globalBatch * sequenceLength) / (predicted * gpusUsed(request.layout));
}

/** Values by a key, in the order in which keys come. */
export function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}
