import path from 'node:path';
import { type HuggingFaceModel, readHuggingFace } from '../../core/huggingface/reader';
import { fileStart, maximumConfigSize } from '../../core/languages/json/document';
import type { Run } from '../../core/run/run';
import type { WrittenModel } from '../../core/run/written-model';
import { type CancelSignal, ExpectedError } from '../../core/errors';
import type { Finding } from '../../core/findings';
import type { LocatedFields } from '../../core/domain/located';
import { onnxDoubtCode } from './errors';
import { fieldsOfOnnx, locatedFields, requireComplete, settleTying, type OnnxModel } from './model-of-onnx';
import { readOnnxStructure } from './read-structure';
import { sentence, type Sentence } from '../../core/sentence';
import { readRegular } from '../../files/read-regular';

/**
 * A run of the model in an ONNX file, as `loadConfig` makes one of a config: the reason of every size names what it was read from in the
 * graph. What the graph does not show comes from a HuggingFace config.json in the same folder, if there is one of the same model.
 * @throws ExpectedError as `readOnnxStructure`, `fieldsOfOnnx`, `nearbyConfig` and `requireComplete`; CancelledError.
 */
export async function runOfOnnx(file: string, signal?: CancelSignal): Promise<Run> {
  const graph = fieldsOfOnnx(await readOnnxStructure(file, signal), file);
  const { config, doubts: configDoubts } = await nearbyConfig(file, graph);
  const joined = settleTying(config === null ? graph : joinedWith(graph, config));
  const own = locatedFields(requireComplete(joined.fields, file));
  const { precision } = graph;
  return {
    file,
    files: config === null ? [file] : [file, config.document.file],
    format: 'onnx',
    title: path.basename(file).replace(/\.onnx$/i, ''),
    place: fileStart(file),
    model: config === null ? own : { ...own, ...joinedFields(graph, config) },
    // An fp32 export has nothing on the type that a model is trained in; one in 16 bits does.
    training:
      precision === null || precision === 'fp32'
        ? {}
        : { precision: { value: precision, source: { kind: 'default', reason: sentence`the graph computes in it` } } },
    layout: {},
    constants: {},
    remarks: [...joined.doubts, ...configDoubts].map((doubt) => remark(file, doubt)),
    texts: new Map(config === null ? [] : [[config.document.file, config.document.text]]),
  };
}

/** The fields of a config that the graph leaves open. */
function joinedFields({ fields }: OnnxModel, { model }: HuggingFaceModel): Partial<LocatedFields<WrittenModel>> {
  return Object.fromEntries(Object.entries(model).filter(([field]) => fields[field as keyof WrittenModel] === null));
}

function joinedWith(graph: OnnxModel, config: HuggingFaceModel): OnnxModel {
  const added = Object.entries(joinedFields(graph, config)).map(([field, { value }]) => [field, { value, reason: sentence`config.json` }]);
  return { ...graph, fields: { ...graph.fields, ...(Object.fromEntries(added) as Partial<OnnxModel['fields']>) } };
}

function remark(file: string, message: Sentence): Finding {
  return {
    code: onnxDoubtCode,
    severity: 'information',
    place: fileStart(file),
    message,
    fixes: [],
    remedy: sentence`describe the model in a terapipe.json if this is wrong`,
  };
}

/** A config of the same model, if one is needed and exists, and a remark on one that is not used. */
interface NearbyConfig {
  readonly config: HuggingFaceModel | null;
  readonly doubts: readonly Sentence[];
}

/**
 * The config.json in the folder of an ONNX file, where the graph lacks something. Exporters put it there (Optimum, or in the folder above).
 * @throws ExpectedError as `readHuggingFace` when sizes depend on it; where only the tie of embedding and head does, that is a doubt.
 */
async function nearbyConfig(file: string, { fields }: OnnxModel): Promise<NearbyConfig> {
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
