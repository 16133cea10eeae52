import type { ModelProto } from 'onnx-buf';
import { toModelSpec, type WrittenModel } from '../../../../src/core/run/written-model';
import { sentence, type Sentence } from '../../../../src/core/sentence';
import { fieldsOfOnnx, locatedFields, requireComplete, settleTying } from '../../../../src/profiler/onnx-file/model-of-onnx';

/** A Transformer's sizes from nothing but its graph, why each, and what could be otherwise. */
export function modelOfOnnx(model: ModelProto, file: string) {
  const { fields, precision, doubts } = settleTying(fieldsOfOnnx(model, file));
  const located = locatedFields(requireComplete(fields, file));
  const reasons = Object.entries(located).map(([field, { source }]) => [field, source.kind === 'default' ? source.reason : sentence``]);
  const reason = Object.fromEntries(reasons) as Readonly<Record<keyof WrittenModel, Sentence>>;
  return { model: toModelSpec(located), reason, precision, doubts };
}
