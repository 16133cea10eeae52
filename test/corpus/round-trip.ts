import { ExpectedError } from '../../src/core/errors';
import type { ModelSpec } from '../../src/core/domain/model';
import { newFileLaunchers } from '../../src/core/export/export-menu';
import { newFileWriter, newLauncher, type NewFileWriter } from '../../src/core/export/launchers/new-launcher';
import { readHuggingFace } from '../../src/core/huggingface/reader';
import { asLaunched } from '../../src/core/launchers/as-launched';
import { runOfLauncher } from '../../src/core/launchers/launcher-run';
import { findNamedModel } from '../../src/core/launchers/named-models';
import { launchers } from '../../src/core/launchers/registry';
import { differentFields, modelFields } from '../../src/core/model/fields';
import type { LauncherFile, LauncherReader } from '../../src/core/run/facts';
import { toModelSpec, toTrainedModel } from '../../src/core/run/written-model';
import { say } from '../../src/core/sentence';
import { sliceRuntimes } from '../../src/core/slice-runtimes/registry';
import { planWith } from '../unit/core/export/launchers/plans';
import { shellReader } from '../unit/core/launchers/shell/shell-reader';

/** What became of a model that was written into a new file and read back. */
export interface RoundTrip {
  /** Fields of the model in which the file differs, dotted. */
  readonly different: readonly string[];
  /** Those of them that no gap names, or whose gap is not in the header of the file. */
  readonly silent: readonly string[];
}

/** A launcher of which new files are written, and how they are read. */
export interface RoundTripper {
  readonly id: string;
  readonly name: string;
  readonly writer: NewFileWriter;
  readonly read: LauncherReader;
}

/** Every launcher of which new files are written. */
export async function roundTrippers(): Promise<readonly RoundTripper[]> {
  return Promise.all(
    newFileLaunchers.map(async ({ format, id, name }) => ({
      id,
      name,
      writer: await newFileWriter(format),
      read: await (launchers[format].reader ?? shellReader)(),
    })),
  );
}

/** The model of a config.json; null for one that is not planned, or no decoder. */
export function plannedModel(config: string): ModelSpec | null {
  try {
    const { model, traits, unplanned, encoder } = readHuggingFace('config.json', config);
    const spec = toModelSpec(model, traits);
    return unplanned !== undefined || encoder !== undefined || spec.stacks !== undefined ? null : spec;
  } catch (error) {
    if (error instanceof ExpectedError) return null;
    throw error;
  }
}

/**
 * Writes a model into a new file of a launcher, or of one of Megatron-LM's runtimes of slices, and reads it back.
 * @returns null where the runtime has no flag for something that the model has, which its export refuses in words.
 */
export function roundTrip(model: ModelSpec, { writer, read }: RoundTripper, runtime: string | null = null): RoundTrip | null {
  const sliced = runtime === null ? {} : { sliced: { runtime, slices: 4, rule: 'average' as const, lengths: [32, 32, 32, 32] }, slices: 4 };
  const dropout = (model.details?.hiddenDropoutShare ?? 0) > 0;
  const plan = planWith({ model, stageLayers: [model.layers], sequenceLength: 128, dropout, ...sliced });
  const { text, fileName, modelGaps } = newLauncher(plan, writer);
  const lacks = sliceRuntimes.find(({ id }) => id === runtime)?.lacks ?? {};
  if (Object.keys(lacks).some((flag) => new RegExp(`^ +--${flag}\\b`, 'm').test(text))) return null;
  const back = readBack(read(fileName, text));
  const different = back === null ? [...modelFields(model).keys()] : differentFields(model, back);
  // strict JSON has no comments
  const isInHeader = (reason: string): boolean => fileName.endsWith('.json') || text.toLowerCase().includes(reason.toLowerCase());
  const named = modelGaps.flatMap(({ fields, reason }) => (isInHeader(say(reason)) ? fields : []));
  const isNamed = (path: string): boolean => named.some((field) => path === field || path.startsWith(`${field}.`));
  return { different, silent: different.filter((path) => !isNamed(path)) };
}

/** The model that a file sets or names; null: it has none. */
function readBack(launcher: LauncherFile): ModelSpec | null {
  const named = findNamedModel(launcher);
  const { layers, hidden, hybridPattern } = launcher.facts;
  if (named === null && (hidden === undefined || (layers ?? hybridPattern) === undefined)) return null;
  const joined = named === null ? null : { model: named.config.model, traits: named.config.traits, texts: new Map<string, string>() };
  return toTrainedModel(runOfLauncher(asLaunched(launcher, joined !== null), 'run', joined));
}
