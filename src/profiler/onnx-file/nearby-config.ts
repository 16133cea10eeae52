import path from 'node:path';
import { readHuggingFace, type HuggingFaceModel } from '../../core/huggingface/reader';
import { maximumConfigSize } from '../../core/languages/json/document';
import { ExpectedError } from '../../core/errors';
import { readRegular } from '../../files/read-regular';
import type { OnnxModel } from './model-of-onnx';
import { sentence, type Sentence } from '../../core/sentence';

/** A config of the same model, if one is needed and exists, and a remark on one that is not used. */
interface NearbyConfig {
  readonly config: HuggingFaceModel | null;
  readonly doubts: readonly Sentence[];
}

/**
 * The config.json in the folder of an ONNX file, where the graph lacks something. Exporters put it there (Optimum, or in the folder above).
 * @throws ExpectedError as `readHuggingFace` when sizes depend on it; where only the tie of embedding and head does, that is a doubt.
 */
export async function nearbyConfig(file: string, { fields }: OnnxModel): Promise<NearbyConfig> {
  const silent = Object.entries(fields).flatMap(([field, read]) => (read === null ? [field] : []));
  if (silent.length === 0) return { config: null, doubts: [] };
  const folder = path.dirname(file);
  const candidates = path.basename(path.resolve(folder)) === 'onnx' ? [folder, path.dirname(path.resolve(folder))] : [folder];
  for (const candidate of candidates) {
    const name = path.join(candidate, 'config.json');
    const text = await readConfigText(name);
    if (text === null) continue;
    try {
      return sameModel(readHuggingFace(name, text), fields);
    } catch (error) {
      if (!(error instanceof ExpectedError) || silent.some((field) => field !== 'tiedEmbeddings')) throw error;
      return { config: null, doubts: [sentence`config.json next to the model could not be read (${error.message})`] };
    }
  }
  return { config: null, doubts: [] };
}

function sameModel(config: HuggingFaceModel, fields: OnnxModel['fields']): NearbyConfig {
  for (const field of ['hidden', 'layers', 'heads', 'vocab'] as const) {
    const [own, other] = [fields[field]?.value, config.model[field].value];
    if (own !== undefined && own !== other && own !== 0)
      return {
        config: null,
        doubts: [sentence`config.json next to the model is for another one (${field} ${other}, the graph has ${own}) and is not used`],
      };
  }
  return { config, doubts: [] };
}

async function readConfigText(file: string): Promise<string | null> {
  try {
    const stored = await readRegular(file, maximumConfigSize);
    return stored.kind === 'file' ? new TextDecoder().decode(stored.bytes) : null;
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return null;
    throw error;
  }
}
