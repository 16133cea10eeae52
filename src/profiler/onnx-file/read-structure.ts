import { fromBinary } from '@bufbuild/protobuf';
import { ModelProtoSchema, type ModelProto } from 'onnx-buf';
import { errorMessage, throwIfCancelled, type CancelSignal, type ExpectedError } from '../../core/errors';
import { fileSource, type ByteSource } from './byte-source';
import { openRegular } from '../../files/read-regular';
import { onnxError } from './errors';
import { pruneModel } from './prune';
import { type Sentence, sentence } from '../../core/sentence';

/**
 * The model of an ONNX file with its weights left out: names, shapes, types, nodes and attributes stay, and constants of up to 4 kB. Files
 * of many GB are read in pieces, skipping the weights; files of external data are not opened.
 * @throws ExpectedError `onnx-unreadable`, `onnx-syntax`, `onnx-too-large`, at the start of the file; CancelledError.
 */
export async function readOnnxStructure(file: string, signal?: CancelSignal): Promise<ModelProto> {
  throwIfCancelled(signal);
  const handle = await openRegular(file).catch((error: unknown) => {
    throw systemFailure(file, error);
  });
  if (handle === 'folder') throw onnxError('onnx-unreadable', file, sentence`is a folder`, sentence`name the .onnx file in it`);
  if (handle === 'device') throw onnxError('onnx-unreadable', file, sentence`is not a regular file`, sentence`name an .onnx file`);
  try {
    return await readStructure(fileSource(handle, (await handle.stat()).size), file, signal);
  } catch (error) {
    throw systemFailure(file, error);
  } finally {
    await handle.close();
  }
}

/** As `readOnnxStructure`, from any source of bytes. */
export async function readStructure(source: ByteSource, file: string, signal?: CancelSignal): Promise<ModelProto> {
  await rejectKnownOthers(source, file);
  const pruned = await pruneModel(source, file, signal);
  const model = decoded(pruned, file);
  if (model.graph === undefined || model.graph.node.length === 0)
    throw onnxError('onnx-syntax', file, sentence`is not an ONNX model: it holds no graph`, sentence`name the .onnx file of a model`);
  return model;
}

function decoded(pruned: Uint8Array, file: string): ModelProto {
  try {
    return fromBinary(ModelProtoSchema, pruned);
  } catch (error) {
    const why = errorMessage(error);
    throw onnxError(
      'onnx-syntax',
      file,
      sentence`is not an ONNX model, or is damaged: ${why}`,
      sentence`export or download the model again`,
    );
  }
}

/** What people have by that name when it is not a model. */
async function rejectKnownOthers(source: ByteSource, file: string): Promise<void> {
  if (source.size === 0) throw onnxError('onnx-syntax', file, sentence`is empty`, sentence`export or download the model again`);
  const start = new TextDecoder('latin1').decode(await source.read(0, Math.min(64, source.size)));
  if (start.startsWith('version https://git-lfs'))
    throw onnxError(
      'onnx-syntax',
      file,
      sentence`is a pointer to a file in Git LFS, not the model`,
      sentence`fetch the model with git lfs pull`,
    );
  if (start.startsWith('PK\u0003\u0004'))
    throw onnxError(
      'onnx-syntax',
      file,
      sentence`is a zip archive (as PyTorch checkpoints are), not an ONNX model`,
      sentence`export the model to ONNX, or name its config.json`,
    );
}

/** A failure of the file system as the user can understand it; anything else as it is. */
function systemFailure(file: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error;
  const unreadable = (what: Sentence, remedy: Sentence): ExpectedError => onnxError('onnx-unreadable', file, what, remedy);
  switch (error.code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return unreadable(sentence`does not exist`, sentence`fix the path`);
    case 'EACCES':
    case 'EPERM':
      return unreadable(sentence`may not be read`, sentence`check its permissions`);
    default:
      return unreadable(sentence`cannot be read (${String(error.code)})`, sentence`check the file`);
  }
}
