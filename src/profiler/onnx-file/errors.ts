import path from 'node:path';
import { ExpectedError } from '../../core/errors';

/** Every way an ONNX file can fail to give a layer. Each wants a heading in docs/findings.md. */
export type OnnxErrorCode = 'onnx-unreadable' | 'onnx-syntax' | 'onnx-too-large' | 'onnx-no-transformer' | 'onnx-incomplete';

/** Code of the remarks on what a graph leaves uncertain. */
export const onnxDoubtCode = 'onnx-doubt';

/** An `ExpectedError` about a whole model file: `what` follows the file's name. */
export function onnxError(code: OnnxErrorCode, file: string, what: string, remedy: string): ExpectedError {
  return new ExpectedError(code, `${path.basename(file)} ${what}`, remedy, { file, range: { start: 0, end: 0 } });
}
