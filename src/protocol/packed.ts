/*
 * A message to a page as it travels. VS Code hands it over as JSON with the buffers of its typed arrays beside it, and the protocol of its extension host counts these in one byte: of more than some 250 the
 * rest is lost without a word. So all columns of a message share one buffer, large ones in as few bytes as hold every number exactly: of the copies that are made on the way each takes the host's memory. Numbers that JSON has no word for (`Infinity` of a forbidden cut) travel there, too.
 */

const columnTypes = { Uint8Array, Uint32Array, Float64Array } as const;
type ColumnType = keyof typeof columnTypes;
type Column = InstanceType<(typeof columnTypes)[ColumnType]>;
const storedTypes = { ...columnTypes, Uint16Array } as const;
type StoredType = keyof typeof storedTypes;

/** Shorter columns are stored as they are. */
const narrowedLength = 4096;

/** In bytes; each column begins at a multiple of it, which suits elements of every size. */
const alignment = 8;

/** What lies in the buffer: a column, or one number. */
interface Packed {
  /** Keys from the message to its place. */
  readonly path: readonly string[];
  readonly type: ColumnType | 'number';
  /** What its elements are in the buffer, which is the same where the column is short. */
  readonly stored: StoredType;
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
  const { placeOf, buffer } = makeBuffer();
  const path: string[] = [];
  const entry = (key: string, value: unknown): unknown => {
    path.push(key);
    const packedValue = plain(value);
    path.pop();
    return packedValue;
  };
  const moved = (type: Packed['type'], column: Column): null => {
    packed.push({ path: [...path], type, ...placeOf(column), length: column.length });
    return null;
  };
  const plain = (value: unknown): unknown => {
    if (isColumn(value)) return moved(columnTypeOf(value), value);
    if (typeof value === 'number' && !Number.isFinite(value)) return moved('number', Float64Array.of(value));
    if (Array.isArray(value)) return value.map((each, index) => entry(String(index), each));
    // Structured clones know more than JSON does.
    if (value === null || typeof value !== 'object' || value instanceof Set || value instanceof Map) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, entry(key, each)]));
  };
  return { type: 'packed', message: plain(message), packed, buffer: buffer() };
}

type PlaceOf = Pick<Packed, 'byteOffset' | 'stored'>;

/** Gives each column its place, once, and in the end the buffer with all of them. */
function makeBuffer(): { readonly placeOf: (column: Column) => PlaceOf; readonly buffer: () => ArrayBuffer } {
  const places = new Map<Column, PlaceOf>();
  let bytes = 0;
  return {
    placeOf: (column) => {
      const known = places.get(column);
      if (known !== undefined) return known;
      const place = { byteOffset: bytes, stored: column.length < narrowedLength ? columnTypeOf(column) : narrowestOf(column) };
      places.set(column, place);
      bytes += Math.ceil((column.length * storedTypes[place.stored].BYTES_PER_ELEMENT) / alignment) * alignment;
      return place;
    },
    buffer: () => {
      const all = new ArrayBuffer(bytes);
      for (const [column, { byteOffset, stored }] of places) new storedTypes[stored](all, byteOffset, column.length).set(column);
      return all;
    },
  };
}

/** The type with the smallest elements that holds all of a column's. */
function narrowestOf(column: Column): StoredType {
  if (column instanceof Uint8Array) return 'Uint8Array';
  let most = 0;
  for (const value of column) {
    // Neither fractions nor -0 nor NaN are among them.
    if (!Object.is(value >>> 0, value)) return 'Float64Array';
    if (value > most) most = value;
  }
  if (most < 2 ** 8) return 'Uint8Array';
  return most < 2 ** 16 ? 'Uint16Array' : 'Uint32Array';
}

function isColumn(value: unknown): value is Column {
  return Object.values(columnTypes).some((type) => value instanceof type);
}

function columnTypeOf(column: Column): ColumnType {
  if (column instanceof Float64Array) return 'Float64Array';
  return column instanceof Uint32Array ? 'Uint32Array' : 'Uint8Array';
}

/**
 * The message that `packMessage` packed, its columns views of the one buffer as far as they lie there as they are; null for anything else. What arrived is filled in, so it belongs to the caller.
 * @throws RangeError where a column does not lie in the buffer
 */
export function unpackMessage(value: unknown): unknown {
  if (!isPacked(value)) return null;
  const { packed, buffer } = value;
  const whole = { message: value.message };
  const widened = new Map<number, Column>();
  for (const { path, type, stored, byteOffset, length } of packed) {
    const keys = ['message', ...path];
    const parent = keys.slice(0, -1).reduce<Record<string, unknown>>((at, key) => at[key] as Record<string, unknown>, whole);
    if (type === 'number') parent[keys.at(-1) ?? ''] = new Float64Array(buffer, byteOffset, 1)[0];
    else if (type === stored) parent[keys.at(-1) ?? ''] = new columnTypes[type](buffer, byteOffset, length);
    else {
      const column = widened.get(byteOffset) ?? new columnTypes[type](new storedTypes[stored](buffer, byteOffset, length));
      widened.set(byteOffset, column);
      parent[keys.at(-1) ?? ''] = column;
    }
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
