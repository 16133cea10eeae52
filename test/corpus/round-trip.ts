import { ExpectedError } from '../../src/core/errors';
import type { ModelSpec } from '../../src/core/domain/model';
import { newLauncher, type NewFileWriter } from '../../src/core/export/launchers/new-launcher';
import { readHuggingFace } from '../../src/core/huggingface/reader';
import { asLaunched } from '../../src/core/launchers/as-launched';
import { runOfLauncher } from '../../src/core/launchers/launcher-run';
import { modelGaps } from '../../src/core/launchers/megatron/model-flags';
import { usualKind } from '../../src/core/model/layers';
import type { LauncherReader } from '../../src/core/run/facts';
import { toModelSpec, toTrainedModel } from '../../src/core/run/written-model';
import { sliceRuntimes } from '../../src/core/slice-runtimes/registry';
import { planWith } from '../unit/core/export/launchers/plans';

/** What became of a model that was written into a new script and read back. */
export interface RoundTrip {
  /** Fields of the model in which the script differs, dotted. */
  readonly different: readonly string[];
  /** Those of them that no gap names. */
  readonly silent: readonly string[];
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
 * Writes a model into a new script of Megatron-LM, or of one of its runtimes of slices, and reads it back.
 * @returns null where the runtime has no flag for something that the model has, which its export refuses in words.
 */
export function roundTrip(model: ModelSpec, writer: NewFileWriter, read: LauncherReader, runtime: string | null = null): RoundTrip | null {
  const sliced = runtime === null ? {} : { sliced: { runtime, slices: 4, rule: 'average' as const, lengths: [32, 32, 32, 32] }, slices: 4 };
  const { text, fileName } = newLauncher(planWith({ model, stageLayers: [model.layers], sequenceLength: 128, ...sliced }), writer);
  const lacks = sliceRuntimes.find(({ id }) => id === runtime)?.lacks ?? {};
  if (Object.keys(lacks).some((flag) => new RegExp(`^ +--${flag}\\b`, 'm').test(text))) return null;
  const back = toTrainedModel(runOfLauncher(asLaunched(read(fileName, text), false), 'run', null));
  const [before, after] = [modelFields(model), modelFields(back)];
  const paths = [...new Set([...before.keys(), ...after.keys()])];
  const different = paths.filter((path) => JSON.stringify(before.get(path)) !== JSON.stringify(after.get(path)));
  const named = modelGaps(model).flatMap(({ fields }) => fields);
  const isNamed = (path: string): boolean => named.some((field) => path === field || path.startsWith(`${field}.`));
  return { different, silent: different.filter((path) => !isNamed(path)) };
}

/** Every field of a model by its path, apart from those that mean nothing next to the others. */
function modelFields(model: ModelSpec): ReadonlyMap<string, unknown> {
  const { latent, layerKinds, denseFfn, rotary, smallParameters, state, ...rest } = model;
  const isLatent = (latent ?? null) !== null;
  const kinds = layerKinds ?? Array.from({ length: model.layers }, () => usualKind(model));
  const { share = 1, ...otherRotary } = rotary ?? {};
  const found = new Map<string, unknown>();
  add(found, '', {
    ...rest,
    modelType: null,
    // how many tokens kernels work on at once changes no result
    state: state === undefined ? null : { ...state, chunk: null },
    ...(isLatent ? { latent, kvHeads: null, headDim: null } : {}),
    // positions that are not learned bound no weights
    maxPositions: model.positions === 'learned' ? model.maxPositions : null,
    normsPerLayer: model.normsPerLayer ?? 2,
    denseFfn: kinds.some(({ feedForward }) => feedForward === 'dense') && model.experts !== null ? (denseFfn ?? model.ffn) : null,
    ...(model.positions === 'rotary' && { rotary: { ...otherRotary, ...(share === 1 ? {} : { share }) } }),
  });
  found.set(
    'layerKinds',
    kinds.map(({ feedForward, window, mixer = 'attention' }) => [feedForward, window, mixer].join()),
  );
  if (Object.values(smallParameters ?? {}).some((count) => count !== 0)) found.set('smallParameters', smallParameters);
  return found;
}

function add(found: Map<string, unknown>, path: string, value: unknown): void {
  if (value === undefined || value === null || value === false) return;
  if (typeof value !== 'object' || Array.isArray(value)) found.set(path, value);
  else for (const [key, inner] of Object.entries(value)) add(found, path === '' ? key : `${path}.${key}`, inner);
}
