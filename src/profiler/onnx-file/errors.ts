import path from 'node:path';
import { ExpectedError } from '../../core/errors';
import { type Sentence, sentence } from '../../core/sentence';

/** Every way an ONNX file can fail to give a layer. Each wants a heading in docs/findings.md. */
type OnnxErrorCode = 'onnx-unreadable' | 'onnx-syntax' | 'onnx-too-large' | 'onnx-no-transformer' | 'onnx-incomplete';

/** Code of the remarks on what a graph leaves uncertain. */
export const onnxDoubtCode = 'onnx-doubt';

/** An `ExpectedError` about a whole model file: `what` follows the file's name. */
export function onnxError(code: OnnxErrorCode, file: string, what: Sentence, remedy: Sentence): ExpectedError {
  return new ExpectedError(code, sentence`${path.basename(file)} ${what}`, remedy, { file, range: { start: 0, end: 0 } });
}
