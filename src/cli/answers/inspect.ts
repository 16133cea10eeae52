import { layoutFields, trainingFields } from '../../core/terapipe/fields';
import { plain } from '../../core/terapipe/section';
import { readNames } from '../../core/domain/settings/setting';
import { settings } from '../../core/domain/settings/table';
import { countParameterRange, countModelParameters } from '../../core/huggingface/count';
import type { Run } from '../../core/run/run';
import { modelFields, type WrittenModel } from '../../core/run/written-model';
import { formatCount, formatExactly } from '../../core/format';
import { plainValues, type Source } from '../../core/domain/located';
import { hasAttention } from '../../core/model/mixers';
import { printable } from '../../core/text';
import type { Answer } from '../answer';
import { indented, table } from '../table';
import { adapterJson } from './adapter';
import { say } from '../../core/sentence';

/** `terapipe inspect`: what the files set and the defaults of their format; null for the rest. */
export function inspectAnswer(run: Run): Answer {
  const sections = {
    model: {
      ...modelValues(run),
      ...otherFactValues(run),
      parameters: countModelParameters(run),
      parametersBetween: countParameterRange(run),
    },
    layout: { ...nulls(layoutFields), ...plain(run.layout) },
    training: { ...nulls(trainingFields), ...plain(run.training) },
    cluster: {
      instance: run.instance?.value ?? null,
      gpu: run.gpu?.value.name ?? null,
      memoryBytes: run.gpu?.value.memoryBytes ?? null,
      nodes: run.nodes?.value ?? null,
      gpusPerNode: run.gpusPerNode?.value ?? null,
      groups:
        run.groups?.value.map(({ gpu, nodes, gpusPerNode }) => ({ gpu: gpu.name, memoryBytes: gpu.memoryBytes, nodes, gpusPerNode })) ??
        null,
    },
    slicing: { unit: run.unit?.value ?? null, scheme: run.scheme?.value ?? null },
  };
  const rows = [
    ...Object.entries(run.model).map(([key, { value, source }]) =>
      isAssumed(run, key) ? [key, '-', unsetText(run, key, value)] : [key, valueText(value), sourceText(source)],
    ),
    ...otherFacts.flatMap((name) => {
      const fact = run.facts?.[name];
      return fact === undefined ? [] : [[name, valueText(fact.value), sourceText(fact.source)]];
    }),
  ];
  const given = (['layout', 'training', 'cluster', 'slicing'] as const).flatMap((name) => {
    const known = Object.entries<unknown>(sections[name]).filter(([, value]) => value !== null);
    return known.length === 0
      ? []
      : ['', name, indented(table(known.map(([key, value]) => [key, valueText(value)]), [1]))]; // prettier-ignore
  });
  return {
    json: {
      version: 1,
      format: run.format,
      ...sections,
      layout: sections.layout,
      training: sections.training,
      adapter: adapterJson(run.adapters),
      schedule: run.schedule?.value ?? null,
      files: run.files,
    },
    text: [
      printable(
        `${run.title}: ${run.format}${sections.model.parameters === null ? '' : `, ${formatCount(sections.model.parameters)} parameters`}${rangeText(countParameterRange(run))}`,
      ),
      ...(run.unplanned === undefined ? [] : [printable(say(run.unplanned.message))]),
      '',
      'model',
      indented(table(rows, [1, 2])),
      ...given,
    ].join('\n'),
    exitCode: 0,
  };
}

/** Of a model whose type is not known. */
function rangeText(range: readonly [number, number] | null): string {
  return range === null ? '' : `, a guess: ${formatCount(range[0])} to ${formatCount(range[1])}`;
}

const sizes: ReadonlySet<string> = new Set(['modelType', ...Object.keys(modelFields)]);
/** What files give of a model beyond its sizes. */
const otherFacts = readNames(settings.model).filter((name) => !sizes.has(name));

function otherFactValues({ facts }: Run): Record<(typeof otherFacts)[number], unknown> {
  return Object.fromEntries(otherFacts.map((name) => [name, facts?.[name]?.value ?? null])) as Record<(typeof otherFacts)[number], unknown>;
}

const attentionSizes: ReadonlySet<string> = new Set<keyof WrittenModel>(['heads', 'kvHeads', 'headDim']);

/** Null for what planning assumes without a setting. */
function modelValues(run: Run): Record<keyof WrittenModel, unknown> {
  const values: Record<string, unknown> = plainValues<WrittenModel>(run.model);
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, isAssumed(run, key) ? null : value])) as Record<
    keyof WrittenModel,
    unknown
  >;
}

function isAssumed({ model, assumedFields }: Run, key: string): boolean {
  return assumedFields?.some((name) => name === key && model[name].source.kind === 'default') === true;
}

function unsetText({ unplanned, traits }: Run, key: string, value: unknown): string {
  const kinds = traits?.layerKinds;
  if (
    key === 'ffn'
      ? kinds?.every(({ feedForward }) => feedForward === 'none')
      : attentionSizes.has(key) && kinds?.some(hasAttention) === false
  )
    return 'in no layer';
  return unplanned === undefined ? `not set; planned as ${valueText(value)}` : 'not set';
}

function sourceText(source: Source): string {
  return source.kind === 'default' ? say(source.reason) : source.kind === 'override' ? 'set' : '';
}

function nulls(fields: object): Record<string, null> {
  return Object.fromEntries(Object.keys(fields).map((key) => [key, null]));
}

/** Exact: this is where one looks a size up. */
function valueText(value: unknown): string {
  if (Array.isArray(value)) return printable(runs(value.map((item) => (typeof item === 'object' ? JSON.stringify(item) : String(item)))));
  return printable(typeof value === 'number' ? formatExactly(value) : typeof value === 'string' ? value : JSON.stringify(value));
}

/** A list with its repetitions counted: `5 x sliding_attention, full_attention`. */
function runs(items: readonly string[]): string {
  const counted: { readonly item: string; count: number }[] = [];
  for (const item of items) {
    const last = counted.at(-1);
    if (last?.item === item) last.count += 1;
    else counted.push({ item, count: 1 });
  }
  return counted.map(({ item, count }) => (count === 1 ? item : `${count} x ${item}`)).join(', ');
}
