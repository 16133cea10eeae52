import type { DescMessage } from '@bufbuild/protobuf';
import { ModelProtoSchema } from 'onnx-buf';
import type { CancelSignal } from '../../core/errors';
import { createCursor, type ByteSource, type Cursor } from './byte-source';
import { onnxError } from './errors';
import { fieldRules, wireTypes, type FieldRule } from './wire';
import { sentence } from '../../core/sentence';

/** Constants up to this size are kept: shapes of reshapes and head counts are among them. */
const keptPayloadBytes = 4096;
/** Longest name, and longest other field that is copied. */
const mostFieldBytes = 64 * 1024;
/** Messages (nodes, attributes, tensors, graphs) in one model; the largest exports have some 100,000. */
const mostMessages = 400_000;
const mostBytes = 32 * 2 ** 20;
/** Three levels for each graph inside a graph. */
const deepest = 60;
/** A tag and a length. */
const mostHeaderBytes = 20;
/** Bytes of a length that is written before it is known. */
const lengthBytes = 5;

/** A message being copied. */
interface Frame {
  readonly schema: DescMessage;
  /** Where it ends in the source. */
  readonly end: number;
  /** Where its length goes in the copy; null for the model itself. */
  readonly lengthAt: number | null;
  payloadBytes: number;
}

/**
 * A serialized ModelProto without its weights, doc strings and metadata, as a serialized ModelProto. Reads forward in pieces and skips what
 * it leaves out.
 * @throws ExpectedError `onnx-syntax` when the bytes are not the protocol buffer of a model, `onnx-too-large`; CancelledError.
 */
export async function pruneModel(source: ByteSource, file: string, signal?: CancelSignal): Promise<Uint8Array> {
  const cursor = createCursor(source, signal);
  const copy = createCopy(file);
  const frames: Frame[] = [{ schema: ModelProtoSchema, end: source.size, lengthAt: null, payloadBytes: 0 }];
  let messages = 0;
  for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
    if (cursor.position() === frame.end) {
      if (frame.lengthAt !== null) copy.closeLength(frame.lengthAt);
      frames.pop();
      continue;
    }
    const opened = await copyField(cursor, copy, frame, file);
    if (opened === null) continue;
    messages += 1;
    if (messages > mostMessages)
      throw onnxError(
        'onnx-too-large',
        file,
        sentence`has more than ${mostMessages} nodes, attributes and tensors`,
        sentence`export the model without unrolled loops`,
      );
    if (frames.length >= deepest) throw syntaxError(file, cursor.position(), 'graphs are nested too deeply');
    frames.push(opened);
  }
  return copy.bytes();
}

/** Copies, shortens or skips one field; the frame to go on with when it is a message to look into. */
async function copyField(cursor: Cursor, copy: Copy, frame: Frame, file: string): Promise<Frame | null> {
  if (cursor.available() < mostHeaderBytes) await cursor.fetch(mostHeaderBytes);
  const at = cursor.position();
  const tag = cursor.varint();
  if (tag === null) throw syntaxError(file, at, 'the file ends early, or is damaged');
  const [number, wire] = [Math.floor(tag / 8), tag % 8];
  const rule = fieldRules(frame.schema).get(number);
  if (number < 1 || number > 0x1fffffff || (rule !== undefined && !rule.wires.includes(wire)))
    throw syntaxError(file, at, `field ${number} has wire type ${wire}`);
  const length = readValueLength(cursor, wire);
  if (length === null || cursor.position() + length > frame.end) throw syntaxError(file, at, 'a field runs past the end of its message');
  if (rule?.action === 'descend' && rule.schema !== null)
    return { schema: rule.schema, end: cursor.position() + length, lengthAt: copy.openLength(tag), payloadBytes: 0 };
  if (rule?.action === 'name' && length > mostFieldBytes) throw syntaxError(file, at, `a name is ${length} bytes long`);
  if (rule === undefined || !isKept(rule, length, frame)) {
    cursor.skip(length);
    return null;
  }
  copy.varint(tag);
  if (wire === wireTypes.bytes) copy.varint(length);
  for (let left = length; left > 0;) {
    if (cursor.available() === 0) await cursor.fetch(1);
    const count = Math.min(left, cursor.available());
    if (count === 0) throw syntaxError(file, cursor.position(), 'the file ends early');
    copy.append(cursor.take(count));
    left -= count;
  }
  return null;
}

/** Bytes of the value that follows a tag; null when there is none. Moves past the length of a length-delimited one. */
function readValueLength(cursor: Cursor, wire: number): number | null {
  switch (wire) {
    case wireTypes.varint:
      return cursor.varintLength();
    case wireTypes.fixed64:
      return 8;
    case wireTypes.fixed32:
      return 4;
    case wireTypes.bytes:
      return cursor.varint();
    default:
      return null;
  }
}

function isKept(rule: FieldRule, length: number, frame: Frame): boolean {
  if (rule.action === 'drop') return false;
  if (rule.action !== 'payload') return length <= mostFieldBytes;
  frame.payloadBytes += length;
  return frame.payloadBytes <= keptPayloadBytes;
}

/** The copy as it grows. Lengths of messages are filled in when they close, as varints of a fixed five bytes. */
interface Copy {
  readonly varint: (value: number) => void;
  readonly append: (bytes: Uint8Array) => void;
  readonly openLength: (tag: number) => number;
  readonly closeLength: (at: number) => void;
  readonly bytes: () => Uint8Array;
}

function createCopy(file: string): Copy {
  let buffer = new Uint8Array(64 * 1024);
  let length = 0;
  const reserve = (count: number): void => {
    if (length + count > mostBytes)
      throw onnxError(
        'onnx-too-large',
        file,
        sentence`has more than ${mostBytes / 2 ** 20} MiB of names, nodes and shapes`,
        sentence`name the .onnx file of a single model`,
      );
    if (length + count <= buffer.length) return;
    const larger = new Uint8Array(Math.max(2 * buffer.length, length + count));
    larger.set(buffer);
    buffer = larger;
  };
  const varint = (value: number): void => {
    reserve(10);
    for (let rest = value; ; rest = Math.floor(rest / 128)) {
      buffer[length] = (rest % 128) + (rest < 128 ? 0 : 128);
      length += 1;
      if (rest < 128) return;
    }
  };
  return {
    varint,
    append(bytes) {
      reserve(bytes.length);
      buffer.set(bytes, length);
      length += bytes.length;
    },
    openLength(tag) {
      varint(tag);
      reserve(lengthBytes);
      length += lengthBytes;
      return length - lengthBytes;
    },
    closeLength(at) {
      let rest = length - at - lengthBytes;
      for (let index = 0; index < lengthBytes; index += 1) {
        buffer[at + index] = (rest % 128) + (index < lengthBytes - 1 ? 128 : 0);
        rest = Math.floor(rest / 128);
      }
    },
    bytes: () => buffer.subarray(0, length),
  };
}

function syntaxError(file: string, at: number, why: string): Error {
  return onnxError(
    'onnx-syntax',
    file,
    sentence`is not an ONNX model, or is damaged: ${why} (byte ${at})`,
    sentence`export or download the model again`,
  );
}
