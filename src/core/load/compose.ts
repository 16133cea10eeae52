import { ExpectedError } from '../errors';
import type { Finding } from '../findings';
import type { Base, Composition, Layer } from '../formats/composition';
import type { LauncherFile } from '../formats/facts';
import type { ReadReferenced } from '../formats/run';
import { quoted } from '../text';
import { sentence } from '../sentence';

/** A chain of files may be so long, and a run may have so many. */
const mostLayers = 100;

/** A config with the files that it builds on. @throws ExpectedError as the readers of its syntax. */
export async function readComposed(own: Layer, composition: Composition, read: ReadReferenced): Promise<LauncherFile> {
  const missing: Base[] = [];
  const layers: Layer[] = [];
  /** Weakest first, each behind what it builds on itself. */
  const add = async (layer: Layer, chain: readonly string[]): Promise<void> => {
    for (const base of composition.basesOf(layer)) {
      const found = layers.length + chain.length < mostLayers ? await firstOf(base, layer.file, read) : null;
      if (found === null) missing.push(base);
      else if (!chain.includes(found.file)) await add(found, [...chain, found.file]);
    }
    layers.push(layer);
  };
  await add(own, [own.file]);
  const launcher = composition.read(layers);
  const remarks = composition.saysMissing === true ? [] : missing.map(notThere);
  return { ...launcher, remarks: [...launcher.remarks, ...remarks] };
}

async function firstOf({ paths }: Base, from: string, read: ReadReferenced): Promise<Layer | null> {
  for (const path of paths)
    try {
      return await read(from, path);
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
    }
  return null;
}

function notThere({ written, place }: Base): Finding {
  return {
    code: 'base-not-found',
    severity: 'information',
    place,
    message: sentence`${quoted(written)} is not here, so what it sets is not known`,
    remedy: sentence`open the folder that holds it too`,
    fixes: [],
  };
}
