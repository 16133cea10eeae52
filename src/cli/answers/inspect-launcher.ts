import type { Facts, FactName, LauncherFile } from '../../core/run/facts';
import { readNames } from '../../core/domain/settings/setting';
import { settings } from '../../core/domain/settings/table';
import type { Run } from '../../core/run/run';
import { countModelParameters } from '../../core/huggingface/count';
import { formatCount, formatExactly } from '../../core/format';
import { worldSize } from '../../core/launchers/counts';
import { dataParallelSize, microBatchesPerReplica, parallelSize } from '../../core/launchers/layout-sizes';
import type { LoadedConfig } from '../../core/config-files/load-config';
import { lineColumnAt, printable } from '../../core/text';
import type { Answer } from '../answer';
import { indented, table } from '../table';
import { adapterJson } from './adapter';
import { say } from '../../core/sentence';

/** The facts of a launcher's file by section. */
const sections = {
  model: readNames(settings.model),
  layout: readNames(settings.layout),
  training: readNames(settings.training),
  cluster: readNames(settings.cluster),
} as const satisfies Readonly<Record<string, readonly FactName[]>>;

/** `terapipe inspect` of a launcher's file: what it sets, what follows from it, and the model config joined to it; null for the rest. */
export function launcherAnswer(launcher: LauncherFile, { model, run }: LoadedConfig): Answer {
  const facts: Facts = { ...(model?.facts ?? run?.facts), ...launcher.facts };
  const derived = { ...argumentDefaults(launcher, run), ...derivedFrom(facts, launcher) };
  const valueOf = (name: FactName): unknown => facts[name]?.value ?? derived[name] ?? null;
  const json = Object.fromEntries(
    Object.entries(sections).map(([section, names]) => [section, Object.fromEntries(names.map((name) => [name, valueOf(name)]))]),
  );
  const parameters = run === null ? null : countModelParameters(run);
  const adapter = adapterJson(launcher.adapters);
  const files = [launcher.file, ...(model === null ? [] : [model.file])];
  return {
    json: {
      version: 1,
      format: launcher.format,
      ...json,
      model: { ...json['model'], parameters },
      training: { ...json['training'], recompute: facts.recomputeGranularity?.value ?? null },
      adapter,
      schedule: facts.schedule?.value ?? null,
      placeholders: launcher.placeholders,
      files,
    },
    text: [
      printable(`${files.join(' with ')}: ${launcher.format}${parameters === null ? '' : `, ${formatCount(parameters)} parameters`}`),
      ...Object.entries(sections).flatMap(([section, names]) => {
        const rows = names.flatMap((name) =>
          valueOf(name) === null ? [] : [[name, shown(valueOf(name)), describeSource(facts, name, launcher, model)]],
        );
        return rows.length === 0 ? [] : ['', section, indented(table(rows, [1, 2]))];
      }),
      ...adapterSection(adapter),
      ...(launcher.placeholders.length === 0 ? [] : ['', printable(`placeholders: ${launcher.placeholders.join(', ')}`)]),
    ].join('\n'),
    exitCode: 0,
  };
}

function adapterSection(adapter: object | null): readonly string[] {
  const rows = Object.entries(adapter ?? {}).filter(([, value]) => value !== null && (!Array.isArray(value) || value.length > 0));
  return rows.length === 0 ? [] : ['', 'adapter', indented(table(rows.map(([name, value]) => [name, shown(value)]), [1]))]; // prettier-ignore
}

/**
 * What Megatron-LM's arguments default to in a run whose sizes are known; its YAML files are those of tests, where an absent flag is shown
 * as absent.
 */
function argumentDefaults({ format }: LauncherFile, run: Run | null): Partial<Record<FactName, number>> {
  if (format !== 'megatron-shell' || run === null) return {};
  const { kvHeads, ffn, headDim } = run.model;
  return { kvHeads: kvHeads.value, ffn: ffn.value, headDim: headDim.value, expert: 1 };
}

/**
 * What launchers take or compute where a file leaves it open: sizes of 1, GPUs, replicas, micro-batches. Whether there are expert-parallel
 * ranks is left open.
 */
function derivedFrom(facts: Facts, { format }: LauncherFile): Partial<Record<FactName, number | null>> {
  const sizes = Object.fromEntries((['tensor', 'pipeline', 'context'] as const).map((name) => [name, parallelSize(facts, format, name)]));
  return { ...sizes, world: worldSize(facts), data: dataParallelSize(facts, format), microBatches: microBatchesPerReplica(facts, format) };
}

function describeSource(facts: Facts, name: FactName, launcher: LauncherFile, model: LauncherFile | null): string {
  const source = facts[name]?.source;
  if (source === undefined) return 'the default, or follows from other settings';
  if (source.kind === 'default') return printable(say(source.reason));
  if (source.kind === 'override') return 'set';
  const { file, range } = source.place;
  const text = file === launcher.file ? launcher.text : (model?.text ?? '');
  return printable(`${file}:${lineColumnAt(text, range.start).line}`);
}

function shown(value: unknown): string {
  return printable(typeof value === 'number' ? formatExactly(value) : typeof value === 'string' ? value : JSON.stringify(value));
}
