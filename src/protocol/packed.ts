/*
 * A message to a page as it travels. VS Code hands it over as JSON with the buffers of its typed arrays beside it, and the protocol of its extension host counts these in one byte: of more than some 250 the
 * rest is lost without a word. So all columns of a message share one buffer. Numbers that JSON has no word for (`Infinity` of a forbidden cut) travel there, too.
 */

const columnTypes = { Uint8Array, Uint32Array, Float64Array } as const;
type ColumnType = keyof typeof columnTypes;
type Column = InstanceType<(typeof columnTypes)[ColumnType]>;

/** In bytes; each column begins at a multiple of it, which suits elements of every size. */
const alignment = 8;

/** What lies in the buffer: a column, or one number. */
interface Packed {
  /** Keys from the message to its place. */
  readonly path: readonly string[];
  readonly type: ColumnType | 'number';
  readonly byteOffset: number;
  /** In elements. */
  readonly length: number;
}

/** A message with null in place of what lies in `buffer`. */
export interface PackedMessage {
  readonly type: 'packed';
  readonly message: unknown;
  readonly packed: readonly Packed[];
  readonly buffer: ArrayBuffer;
}

/** Packs plain data with typed arrays, which is left as it is. A column that stands in several places travels once. */
export function packMessage(message: unknown): PackedMessage {
  const packed: Packed[] = [];
  const { offsetOf, buffer } = makeBuffer();
  const path: string[] = [];
  const entry = (key: string, value: unknown): unknown => {
    path.push(key);
    const packedValue = plain(value);
    path.pop();
    return packedValue;
  };
  const moved = (type: Packed['type'], column: Column): null => {
    packed.push({ path: [...path], type, byteOffset: offsetOf(column), length: column.length });
    return null;
  };
  const plain = (value: unknown): unknown => {
    if (isColumn(value)) return moved(columnTypeOf(value), value);
    if (typeof value === 'number' && !Number.isFinite(value)) return moved('number', Float64Array.of(value));
    if (Array.isArray(value)) return value.map((each, index) => entry(String(index), each));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, entry(key, each)]));
  };
  return { type: 'packed', message: plain(message), packed, buffer: buffer() };
}

/** Gives each column its place, once, and in the end the buffer with all of them. */
function makeBuffer(): { readonly offsetOf: (column: Column) => number; readonly buffer: () => ArrayBuffer } {
  const offsets = new Map<Column, number>();
  let bytes = 0;
  return {
    offsetOf: (column) => {
      const offset = offsets.get(column) ?? bytes;
      if (!offsets.has(column)) bytes += Math.ceil(column.byteLength / alignment) * alignment;
      offsets.set(column, offset);
      return offset;
    },
    buffer: () => {
      const all = new Uint8Array(bytes);
      for (const [column, offset] of offsets) all.set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength), offset);
      return all.buffer;
    },
  };
}

function isColumn(value: unknown): value is Column {
  return Object.values(columnTypes).some((type) => value instanceof type);
}

function columnTypeOf(column: Column): ColumnType {
  if (column instanceof Float64Array) return 'Float64Array';
  return column instanceof Uint32Array ? 'Uint32Array' : 'Uint8Array';
}

/**
 * The message that `packMessage` packed, its columns views of the one buffer; null for anything else. What arrived is filled in, so it belongs to the caller.
 * @throws RangeError where a column does not lie in the buffer
 */
export function unpackMessage(value: unknown): unknown {
  if (!isPacked(value)) return null;
  const { packed, buffer } = value;
  const whole = { message: value.message };
  for (const { path, type, byteOffset, length } of packed) {
    const keys = ['message', ...path];
    const parent = keys.slice(0, -1).reduce<Record<string, unknown>>((at, key) => at[key] as Record<string, unknown>, whole);
    parent[keys.at(-1) ?? ''] =
      type === 'number' ? new Float64Array(buffer, byteOffset, 1)[0] : new columnTypes[type](buffer, byteOffset, length);
  }
  return whole.message;
}

/** Other frames and extensions of the browser post to a page, too. */
function isPacked(value: unknown): value is PackedMessage {
  return (
    value !== null &&
    typeof value === 'object' &&
    'type' in value &&
    value.type === 'packed' &&
    'packed' in value &&
    'buffer' in value &&
    value.buffer instanceof ArrayBuffer
  );
}
