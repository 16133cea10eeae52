import { layoutFields, trainingFields } from '../../core/config/fields';
import { plain } from '../../core/config/section';
import type { Run } from '../../core/config/run';
import { modelSpecOf, type WrittenModel } from '../../core/config/written-model';
import { formatCount } from '../../core/format';
import { valuesOf } from '../../core/located';
import { parameterCount } from '../../core/model/parameters';
import { printable } from '../../core/text';
import type { Answer } from '../answer';
import { indented, table } from '../table';

/** `terapipe inspect`: what the files say and the defaults of their format; null for the rest. */
export function inspectAnswer(run: Run): Answer {
  const sections = {
    model: { ...valuesOf<WrittenModel>(run.model), parameters: parameterCount(modelSpecOf(run.model)) },
    layout: { ...nulls(layoutFields), ...plain(run.layout) },
    training: { ...nulls(trainingFields), ...plain(run.training) },
    cluster: {
      gpu: run.gpu?.value.name ?? null,
      memoryBytes: run.gpu?.value.memoryBytes ?? null,
      nodes: run.nodes?.value ?? null,
      gpusPerNode: run.gpusPerNode?.value ?? null,
    },
    slicing: { unit: run.unit?.value ?? null, scheme: run.scheme?.value ?? null },
  };
  const rows = Object.entries(run.model).map(([key, { value, source }]) => [
    key,
    valueText(value),
    source.kind === 'default' ? source.because : source.kind === 'override' ? 'set' : '',
  ]);
  const given = (['layout', 'training', 'cluster', 'slicing'] as const).flatMap((name) => {
    const known = Object.entries<unknown>(sections[name]).filter(([, value]) => value !== null);
    return known.length === 0
      ? []
      : ['', name, indented(table(known.map(([key, value]) => [key, valueText(value)]), [1]))]; // prettier-ignore
  });
  return {
    json: { version: 1, format: run.format, ...sections, schedule: run.schedule?.value ?? null, files: run.files },
    text: [
      printable(`${run.title}: ${run.format}, ${formatCount(sections.model.parameters)} parameters`),
      '',
      'model',
      indented(table(rows, [1, 2])),
      ...given,
    ].join('\n'),
    exitCode: 0,
  };
}

function nulls(fields: object): Record<string, null> {
  return Object.fromEntries(Object.keys(fields).map((key) => [key, null]));
}

/** Exact: this is where one looks a size up. */
function valueText(value: unknown): string {
  return printable(typeof value === 'number' ? value.toLocaleString('en-US') : typeof value === 'string' ? value : JSON.stringify(value));
}
