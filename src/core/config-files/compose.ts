import { ExpectedError } from '../errors';
import type { Finding } from '../findings';
import type { ComposingReader, Composition } from '../launchers/composition';
import type { Base, Layer } from '../languages/layers';
import type { LauncherFile, LauncherReader } from '../run/facts';
import type { ReadReferenced } from '../run/run';
import { quoted } from '../text';
import { sentence } from '../sentence';

/** A chain of files may be this long, and a run may have this many. */
const mostLayers = 100;

/** What a config is composed of, weakest first, the opened file last; and the files that are missing. */
interface Layers {
  readonly layers: readonly Layer[];
  readonly missing: readonly Base[];
}

/** @throws ExpectedError as the readers of its syntax. */
async function collectLayers(own: Layer, composition: Composition, read: ReadReferenced): Promise<Layers> {
  const missing: Base[] = [];
  const layers: Layer[] = [];
  /** Weakest first, each behind what it builds on itself. */
  const add = async (layer: Layer, chain: readonly string[]): Promise<void> => {
    for (const base of composition.findBases(layer)) {
      const found = layers.length + chain.length < mostLayers ? await readFirst(base, layer.file, read) : null;
      if (found === null) missing.push(base);
      else if (!chain.includes(found.file)) await add(found, [...chain, found.file]);
    }
    layers.push(layer);
  };
  await add(own, [own.file]);
  return { layers, missing };
}

/** A config with the files that it builds on, and the reader of changed texts of it over the same files. */
interface ComposedConfig {
  readonly launcher: LauncherFile;
  readonly reread: LauncherReader;
}

/** A config with the files that it builds on. @throws ExpectedError as the readers of its syntax. */
export async function readComposed(own: Layer, reader: ComposingReader, read: ReadReferenced): Promise<ComposedConfig> {
  const { composition } = reader;
  if (composition === undefined) return { launcher: reader(own.file, own.text), reread: reader };
  const { layers, missing } = await collectLayers(own, composition, read);
  const launcher = composition.read(layers);
  const remarks = composition.reportsMissing === true ? [] : missing.map(notThere);
  return {
    launcher: { ...launcher, remarks: [...launcher.remarks, ...remarks] },
    reread: (file, text) => composition.read([...layers.slice(0, -1), { file, text }]),
  };
}

async function readFirst({ paths }: Base, from: string, read: ReadReferenced): Promise<Layer | null> {
  for (const path of paths)
    try {
      return await read(from, path);
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
    }
  return null;
}

/**
 * @finding base-not-found
 * The config builds on another file (`extends`, `defaults`, a preset of its launcher) that is not where it should lie, so what that one
 * sets is not known: often the sizes of the model. Open the folder or the clone that holds both.
 * @example `extends: llama3_base.yaml`, opened without that file. ""llama3_base.yaml" is missing, so its settings are unknown"
 * @source Primus `primus/core/config/preset_loader.py`; Hydra and NeMo-RL read the files of a `defaults` list; each stops without them.
 * @ignore the file lies in the installed package of the launcher.
 */
function notThere({ written, place }: Base): Finding {
  return {
    code: 'base-not-found',
    severity: 'information',
    place,
    message: sentence`${quoted(written)} is missing, so its settings are unknown`,
    remedy: sentence`open the folder that holds it too`,
    fixes: [],
  };
}
