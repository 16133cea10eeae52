import path from 'node:path';
import type { HuggingFaceModel } from '../../core/huggingface/reader';
import { fileStart } from '../../core/languages/json/document';
import type { Run } from '../../core/run/run';
import type { WrittenModel } from '../../core/run/written-model';
import type { CancelSignal } from '../../core/errors';
import type { Finding } from '../../core/findings';
import type { LocatedFields } from '../../core/domain/located';
import { nearbyConfig } from './nearby-config';
import { onnxDoubtCode } from './errors';
import { fieldsOfOnnx, locatedFields, requireComplete, settleTying, type OnnxModel } from './model-of-onnx';
import { readOnnxStructure } from './read-structure';
import { sentence, type Sentence } from '../../core/sentence';

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
