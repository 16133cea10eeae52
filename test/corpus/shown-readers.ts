import { readFileSync } from 'node:fs';
import path from 'node:path';
import * as v from 'valibot';
import type { LoadedConfig } from '../../src/core/config-files/load-config';
import { gpuPresetNames } from '../../src/core/cluster/presets';
import { ExpectedError } from '../../src/core/errors';
import { formatBytes, formatDuration, formatDurationRange, formatExactly } from '../../src/core/format';
import { launcherTraits } from '../../src/core/launchers/registry';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { makePlan } from '../../src/core/planner/make-plan';
import { candidatePeakBytes, chosenCandidate, type Plan } from '../../src/core/planner/plan';
import type { Fact } from '../../src/core/run/facts';
import { say } from '../../src/core/sentence';
import { applyOverrides } from '../../src/core/terapipe/overrides';

const published = v.strictObject({
  /** What was measured, and where it is published. */
  what: v.string(),
  source: v.string(),
  /** Of the published run. */
  stepMs: v.exactOptional(v.number()),
  memoryGiB: v.exactOptional(v.number()),
});

const example = v.strictObject({
  /** Key of the registry. */
  format: v.string(),
  /** Under the corpus folder: `owner+name/path/in/the/repository`. */
  file: v.string(),
  commit: v.string(),
  /** What the plan is asked for, as `--gpu`, `--nodes` and `--gpus-per-node`; null: the file has it. */
  gpu: v.picklist(gpuPresetNames),
  nodes: v.nullable(v.number()),
  gpusPerNode: v.nullable(v.number()),
  published: v.exactOptional(published),
});

const shown = v.strictObject({
  ...example.entries,
  /** `name value (line)` of what the file gives. */
  facts: v.array(v.string()),
  plan: v.string(),
  stepMs: v.nullable(v.number()),
  memoryGiB: v.nullable(v.number()),
  /** `name value: why` of what the reader takes where the file is silent. */
  assumed: v.array(v.string()),
});

export type ReaderExample = v.InferOutput<typeof example>;
export type ShownReader = v.InferOutput<typeof shown>;

export const readersFile = path.join(import.meta.dirname, 'readers.json');

export const knownReaders: readonly ShownReader[] = v.parse(v.array(shown), JSON.parse(readFileSync(readersFile, 'utf8')));

/** A public file for every launcher of the registry. */
export const readerExamples: readonly ReaderExample[] = knownReaders;

export function isKnownReader(reader: ShownReader): boolean {
  return knownReaders.some((each) => JSON.stringify(each) === JSON.stringify(reader));
}

export function writtenReaders(readers: readonly ShownReader[]): string {
  return `${JSON.stringify(readers, null, 2)}\n`;
}

const mostFacts = 16;
const gibibyte = 2 ** 30;

/** What `inspect` and `plan` make of an example. */
export function shownReader(reader: ReaderExample, { run, launcher }: LoadedConfig): ShownReader {
  const { format, file, commit, gpu, nodes, gpusPerNode } = reader;
  const facts = Object.entries<Fact<unknown>>(launcher?.facts ?? {});
  const text = launcher?.text ?? '';
  const given = facts.flatMap(([name, { value, source }]) =>
    source.kind === 'file' ? [`${name} ${valueText(value)} (${lineText(text, source.place, launcher?.file)})`] : [],
  );
  const assumed = facts.flatMap(([name, { value, source }]) =>
    source.kind === 'default' ? [`${name} ${valueText(value)}: ${say(source.reason)}`] : [],
  );
  const planned = run === null ? 'no run in this file' : plannedText(run, { gpu, nodes, gpusPerNode });
  const isPlan = typeof planned !== 'string';
  return {
    format,
    file,
    commit,
    gpu,
    nodes,
    gpusPerNode,
    ...(reader.published && { published: reader.published }),
    facts: given.slice(0, mostFacts),
    plan: isPlan ? planText(planned) : planned,
    stepMs: isPlan ? Math.round(chosenCandidate(planned).iterationMs) : null,
    memoryGiB: isPlan ? Number((candidatePeakBytes(chosenCandidate(planned)) / gibibyte).toFixed(1)) : null,
    assumed: assumed.slice(0, mostFacts),
  };
}

function plannedText(run: NonNullable<LoadedConfig['run']>, open: Pick<ReaderExample, 'gpu' | 'nodes' | 'gpusPerNode'>): Plan | string {
  const isElsewhere = launcherTraits(run.format).accelerator !== undefined;
  try {
    return makePlan(resolveRun(isElsewhere ? applyOverrides(run, [`cluster.gpu=${open.gpu}`]) : run, open));
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    return say(error.message);
  }
}

function planText(plan: Plan): string {
  const { layout, training } = plan.request;
  const chosen = chosenCandidate(plan);
  const sizes = `TP${layout.tensor} PP${layout.pipeline} CP${layout.context} EP${layout.expert} DP${layout.data}`;
  const peak = candidatePeakBytes(chosen);
  return `${sizes}, ${training.globalBatch} sequences of ${formatExactly(training.sequenceLength)}: ${formatDuration(chosen.iterationMs)} (${formatDurationRange(chosen.iterationMs, plan.cost.range)}), ${formatBytes(peak)}`;
}

function valueText(value: unknown): string {
  const written = typeof value === 'string' ? value : JSON.stringify(value);
  return written.length > 60 ? `${written.slice(0, 57)}...` : written;
}

function lineText(text: string, place: { readonly file: string; readonly range: { readonly start: number } }, file?: string): string {
  const name = place.file.split('/').at(-1) ?? '';
  return place.file === file ? `line ${text.slice(0, place.range.start).split('\n').length}` : name;
}
