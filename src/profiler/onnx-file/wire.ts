import { ScalarType, type DescField, type DescMessage } from '@bufbuild/protobuf';
import {
  AttributeProtoSchema,
  FunctionProtoSchema,
  GraphProtoSchema,
  NodeProtoSchema,
  SparseTensorProtoSchema,
  TensorProtoSchema,
} from 'onnx-buf';

/** Wire types of the protocol buffer encoding; groups (3 and 4) do not occur in ONNX. */
export const wireTypes = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** What becomes of a field when a model is read for its structure. */
export interface FieldRule {
  /** `payload`: weights, kept only while small. `name`: text that others refer to, never dropped by itself. */
  readonly action: 'descend' | 'copy' | 'name' | 'payload' | 'drop';
  /** Of the message to descend into. */
  readonly schema: DescMessage | null;
  readonly wires: readonly number[];
}

/** Messages that hold weights somewhere inside. */
const holders: readonly DescMessage[] = [
  GraphProtoSchema,
  NodeProtoSchema,
  AttributeProtoSchema,
  TensorProtoSchema,
  SparseTensorProtoSchema,
  FunctionProtoSchema,
];

const payloads = new Set(['rawData', 'floatData', 'int32Data', 'stringData', 'int64Data', 'doubleData', 'uint64Data']);

/** Has no sizes, and can be long: exporters write stack traces into the metadata of nodes. */
const dropped = new Set(['docString', 'metadataProps', 'trainingInfo', 'configuration', 'deviceConfigurations', 'quantizationAnnotation']);

const rules = new Map<DescMessage, ReadonlyMap<number, FieldRule>>();

/** Rules of a message by field number; fields without one are of a later ONNX and dropped. */
export function fieldRules(schema: DescMessage): ReadonlyMap<number, FieldRule> {
  const known = rules.get(schema);
  if (known !== undefined) return known;
  const made = new Map(schema.fields.map((field) => [field.number, fieldRule(schema, field)]));
  rules.set(schema, made);
  return made;
}

function fieldRule(schema: DescMessage, field: DescField): FieldRule {
  const wires = fieldWires(field);
  if (dropped.has(field.localName)) return { action: 'drop', schema: null, wires };
  if (schema === TensorProtoSchema && payloads.has(field.localName)) return { action: 'payload', schema: null, wires };
  if (field.message !== undefined && holders.includes(field.message)) return { action: 'descend', schema: field.message, wires };
  return { action: field.scalar === ScalarType.STRING ? 'name' : 'copy', schema: null, wires };
}

function fieldWires(field: DescField): readonly number[] {
  if (field.message !== undefined || field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES) return [wireTypes.bytes];
  const single =
    field.scalar === ScalarType.DOUBLE ? wireTypes.fixed64 : field.scalar === ScalarType.FLOAT ? wireTypes.fixed32 : wireTypes.varint;
  return field.fieldKind === 'list' ? [single, wireTypes.bytes] : [single];
}
