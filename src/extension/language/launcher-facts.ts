import type { FactName, Facts, LauncherFile } from '../../core/run/facts';
import type { ConfigFormat } from '../../core/run/config-format';
import { toModelSpec } from '../../core/run/written-model';
import { plural } from '../../core/format';
import { product, worldSize } from '../../core/launchers/counts';
import { dataParallelSize, microBatchesPerReplica, gpusPerReplica, parallelSize } from '../../core/launchers/layout-sizes';
import type { TextRange } from '../../core/domain/located';
import { parameterCount } from '../../core/model/parameters';
import { namedFacts, type NamedFact } from '../../host/sessions/run-facts';
import type { SessionState } from '../../host/sessions/session-state';
import type { Translate } from '../../core/sentence';
import { minimum } from '../../core/numbers';

/** Facts at an offset of a file, with the range that is about them. */
interface FactsAt {
  readonly range: TextRange;
  readonly facts: readonly NamedFact[];
  /** The offset is on the flag or key, and the value is written elsewhere in the file. */
  readonly elsewhere: boolean;
}

/** The facts whose value, else whose key or flag, holds the offset: those of the narrowest range. Null where there are none. */
export function factsAt(facts: Facts, file: string, offset: number): FactsAt | null {
  const inFile = namedFacts(facts).flatMap(({ key, fact }) =>
    fact.source.kind === 'file' && fact.source.place.file === file ? [{ key, fact, value: fact.source.place.range }] : [],
  );
  const candidates = [
    ...inFile.map(({ key, fact, value }) => ({ key, fact, range: value, elsewhere: false })),
    ...inFile.flatMap(({ key, fact, value }) =>
      fact.whole === undefined ? [] : [{ key, fact, range: fact.whole, elsewhere: !holds(fact.whole, value.start) }],
    ),
  ].filter(({ range }) => holds(range, offset));
  const widths = candidates.map(({ range }) => range.end - range.start);
  const best = candidates[widths.indexOf(minimum(widths))];
  if (best === undefined) return null;
  const { range, elsewhere } = best;
  return { range, elsewhere, facts: candidates.filter((one) => one.range.start === range.start && one.range.end === range.end) };
}

/** Whether an offset is in a range or at its end. */
export function holds({ start, end }: TextRange, offset: number): boolean {
  return start <= offset && offset <= end;
}

/** Parameters of a run whose model planning understands whole; null for others. */
export function parametersOfRun({ run }: SessionState): number | null {
  return run === null || run.unplanned !== undefined ? null : parameterCount(toModelSpec(run.model, run.traits));
}

/** GPUs in all: as given, or those of all replicas. */
export function totalGpus(facts: Facts, format: ConfigFormat): number | null {
  return worldSize(facts) ?? product(gpusPerReplica(facts, format), facts.data === undefined ? null : dataParallelSize(facts, format));
}

/** `128 GPUs: TP8 PP16 DP1, 192 micro-batches`, of it what is known; null when nothing is. */
export function totalsText(facts: Facts, { format }: Pick<LauncherFile, 'format'>, t: Translate): string | null {
  const microBatches = microBatchesPerReplica(facts, format);
  const batches = microBatches === null ? null : plural(microBatches, 'micro-batch', 'micro-batches');
  const gpus = gpusText(facts, format, t);
  return [gpus, batches].filter((part) => part !== null).join(', ') || null;
}

const layoutFacts: readonly FactName[] = ['tensor', 'pipeline', 'context', 'data', 'dataShard', 'dataReplicate', 'nodes', 'world'];

/** `128 GPUs: TP8 PP16 DP1`, of it what is known; null when nothing is. */
export function gpusText(facts: Facts, format: ConfigFormat, t: Translate): string | null {
  if (layoutFacts.every((name) => facts[name] === undefined)) return null;
  const context = parallelSize(facts, format, 'context');
  const sizes: readonly (readonly [name: string, size: number | null])[] = [
    ['TP', parallelSize(facts, format, 'tensor')],
    ['PP', parallelSize(facts, format, 'pipeline')],
    ...(context === 1 ? [] : ([['CP', context]] as const)),
    ['DP', dataParallelSize(facts, format)],
  ];
  const known = sizes.flatMap(([name, size]) => (size === null ? [] : [`${name}${size}`])).join(' ');
  const world = totalGpus(facts, format);
  if (world !== null) return known === '' ? plural(world, 'GPU') : t('{0}: {1}', plural(world, 'GPU'), known);
  const replica = gpusPerReplica(facts, format);
  return replica === null ? known || null : t('{0} a replica: {1}', plural(replica, 'GPU'), known);
}
