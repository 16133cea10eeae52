import { settingSection, type Section } from '../../core/domain/settings/table';
import { formatCount, formatNumber, plural } from '../../core/format';
import { microBatchesPerReplica } from '../../core/launchers/layout-sizes';
import type { Place } from '../../core/domain/located';
import { printable } from '../../core/text';
import { fileName } from '../../host/file-name';
import { factsOfRun, namedFacts, type NamedFact } from '../../host/sessions/run-facts';
import { gpusText, parametersOfRun } from './launcher-facts';
import { valueText } from './launcher-hover';
import type { SessionState } from '../../host/sessions/session-state';
import type { Translate } from '../../core/sentence';

/** A part of a launcher's run, with its value. */
export interface GroupRow {
  readonly kind: 'group';
  readonly file: string;
  readonly group: Section;
  readonly label: string;
  readonly value: string;
}

/** One value of the run, with the place that defines it. */
export interface FactRow {
  readonly kind: 'fact';
  readonly file: string;
  readonly label: string;
  readonly value: string;
  readonly place: Place;
}

/** The parts of a launcher's run that some file sets. None for other configs. */
export function groupRows(state: SessionState, t: Translate): readonly GroupRow[] {
  const { file, launcher } = state;
  if (launcher === null) return [];
  const labels: readonly (readonly [Section, string, string])[] = [
    ['model', t('Model'), modelText(state, t)],
    ['layout', t('Layout'), layoutText(state, t)],
    ['training', t('Training'), trainingText(state, t)],
    ['cluster', t('Cluster'), clusterText(state, t)],
  ];
  return labels.flatMap(([group, label, value]): GroupRow[] =>
    factRows(state, group, t).length === 0 ? [] : [{ kind: 'group', file, group, label, value }],
  );
}

/** The values of one part: first those of the launcher, then those of the model config joined to it, each in the order of its file. */
export function factRows(state: SessionState, group: Section, t: Translate): readonly FactRow[] {
  const { file, launcher } = state;
  return namedFacts(factsOfRun(state))
    .flatMap(({ key, fact }) => {
      if (settingSection(key) !== group || fact.source.kind !== 'file') return [];
      return [{ key, fact, place: fact.source.place }];
    })
    .sort((a, b) => Number(a.place.file !== file) - Number(b.place.file !== file) || a.place.range.start - b.place.range.start)
    .map((row) => ({
      kind: 'fact',
      file,
      label: printable(row.fact.name ?? row.key),
      value: row.place.file === launcher?.file ? valueOf(row) : t('{0}, from {1}', valueOf(row), printable(fileName(row.place.file))),
      place: row.place,
    }));
}

function valueOf({ fact: { value } }: NamedFact): string {
  return printable(typeof value === 'number' ? formatWhole(value) : valueText(value));
}

/** Sizes to the last digit: they are what the file sets. */
function formatWhole(value: number): string {
  return Number.isSafeInteger(value) ? value.toLocaleString('en-US') : formatNumber(value);
}

function modelText(state: SessionState, t: Translate): string {
  const { layers, hidden, flavor, modelType } = factsOfRun(state);
  const parameters = parametersOfRun(state);
  return joined([
    layers === undefined ? (flavor?.value ?? modelType?.value ?? null) : plural(layers.value, 'layer'),
    hidden === undefined ? null : t('hidden {0}', hidden.value),
    parameters === null ? null : t('{0} parameters', formatCount(parameters)),
  ]);
}

function layoutText(state: SessionState, t: Translate): string {
  return state.launcher === null ? '' : (gpusText(factsOfRun(state), state.launcher.format, t) ?? '');
}

function trainingText(state: SessionState, t: Translate): string {
  const facts = factsOfRun(state);
  const { globalBatch, sequenceLength, precision } = facts;
  const microBatches = state.launcher === null ? null : microBatchesPerReplica(facts, state.launcher.format);
  return joined([
    globalBatch === undefined ? null : plural(globalBatch.value, 'sequence'),
    sequenceLength === undefined ? null : t('{0} tokens each', formatWhole(sequenceLength.value)),
    microBatches === null ? null : plural(microBatches, 'micro-batch', 'micro-batches'),
    precision?.value ?? null,
  ]);
}

function clusterText(state: SessionState, t: Translate): string {
  const { nodes, gpusPerNode, world } = factsOfRun(state);
  if (nodes !== undefined && gpusPerNode !== undefined)
    return t('{0} of {1}', plural(nodes.value, 'node'), plural(gpusPerNode.value, 'GPU'));
  return joined([
    nodes === undefined ? null : plural(nodes.value, 'node'),
    gpusPerNode === undefined ? null : t('{0} a node', plural(gpusPerNode.value, 'GPU')),
    world === undefined ? null : plural(world.value, 'GPU'),
  ]);
}

function joined(parts: readonly (string | null)[]): string {
  return printable(parts.filter((part) => part !== null).join(', '));
}
