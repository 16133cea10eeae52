import { own } from '../core/records';
/*
 * A message to a page in transit. VS Code sends it as JSON plus the buffers of its typed arrays, and the protocol of its extension host
 * counts them in one byte and drops buffers beyond 255 without an error. So all columns of a message share one buffer, large ones in as few
 * bytes as hold every number exactly: of the copies that are made on the way each takes the host's memory. A large buffer travels in pieces
 * for the same reason: each is made when it is sent. Numbers that JSON does not have (`Infinity` of a forbidden cut) travel there, too.
 * What is in several places travels once: the stages of a plan share what they hold, and JSON would write it out for each.
 */

const columnTypes = { Uint8Array, Uint32Array, Int32Array, Float64Array } as const;
type ColumnType = keyof typeof columnTypes;
type Column = InstanceType<(typeof columnTypes)[ColumnType]>;
const storedTypes = { ...columnTypes, Uint16Array } as const;
type StoredType = keyof typeof storedTypes;

/** Shorter columns are stored as they are. */
const narrowedLength = 4096;

/** In bytes; each column begins at a multiple of it, which suits elements of every size. */
const alignment = 8;

/** Bytes of a piece, a multiple of `alignment`: what is freed of such a size goes back to the system or serves the next one. */
const pieceLength = 2 ** 18;

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

/** An object or a list that the message holds in another place, too. */
interface Repeated {
  /** Keys from the message to its place. */
  readonly path: readonly string[];
  /** Keys to where it is written out. */
  readonly first: readonly string[];
}

/** A message with null in place of what lies in `buffer`, or, where that is empty, in the pieces that follow, and of what is repeated. */
export interface PackedMessage {
  readonly type: 'packed';
  readonly message: unknown;
  readonly packed: readonly Packed[];
  readonly repeated: readonly Repeated[];
  readonly buffer: ArrayBuffer;
  /** Of the buffer, whole. */
  readonly byteLength: number;
}

/** A part of the buffer of the message before it. */
export interface PackedPiece {
  readonly type: 'piece';
  readonly byteOffset: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Packs plain data with typed arrays, which is left as it is: a message and, where its buffer is large, the pieces of that. A column that
 * is in several places travels once. Each piece is made when it is asked for, so a column must not change before the last.
 * @throws TypeError for arrays of other types, which JSON would write as objects.
 */
export function* packedParts(message: unknown): Generator<PackedMessage | PackedPiece, void, undefined> {
  const { head, places } = pack(message);
  const { byteLength } = head;
  if (byteLength <= pieceLength) yield { ...head, buffer: packedBytes(places, 0, byteLength).buffer };
  else {
    yield head;
    for (let byteOffset = 0; byteOffset < byteLength; byteOffset += pieceLength) {
      yield { type: 'piece', byteOffset, bytes: packedBytes(places, byteOffset, Math.min(byteLength, byteOffset + pieceLength)) };
    }
  }
}

/** Whether pieces follow a part that is a message. */
export function hasPieces(part: PackedMessage | PackedPiece): boolean {
  return part.type === 'packed' && part.buffer.byteLength < part.byteLength;
}

/** What a part hands over when it is posted to a thread. */
export function transferredBuffer(part: PackedMessage | PackedPiece): ArrayBuffer {
  return part.type === 'packed' ? part.buffer : part.bytes.buffer;
}

/** Columns in the order in which they lie in the buffer. */
type Places = readonly (PlaceOf & { readonly column: Column })[];

/** The message without its buffer, and where its columns lie there. */
function pack(message: unknown): { readonly head: PackedMessage; readonly places: Places } {
  const packed: Packed[] = [];
  const repeated: Repeated[] = [];
  const written = new Map<object, readonly string[]>();
  const { columnPlace, places, byteLength } = makePlaces();
  const path: (string | number)[] = [];
  const moved = (type: Packed['type'], column: Column): null => {
    packed.push({ path: path.map(String), type, ...columnPlace(column), length: column.length });
    return null;
  };
  const entry = (key: string | number, value: unknown): unknown => {
    if (!isPlaced(value)) return value;
    path.push(key);
    const packedValue = plain(value);
    path.pop();
    return packedValue;
  };
  const plain = (value: unknown): unknown => {
    if (isColumn(value)) return moved(columnType(value), value);
    if (typeof value === 'number') return moved('number', Float64Array.of(value));
    // Structured clones know more than JSON does.
    if (value instanceof Set || value instanceof Map) return value;
    const holder = value as Readonly<Record<string, unknown>>;
    if (holdsObjects(holder)) {
      const first = written.get(holder);
      if (first !== undefined) {
        repeated.push({ path: path.map(String), first });
        return null;
      }
      written.set(holder, path.map(String));
    }
    return Array.isArray(value) ? plainList(value) : plainObject(holder);
  };
  // What holds no columns is left where it is: thousands of small objects need no copies.
  const plainList = (values: readonly unknown[]): readonly unknown[] => {
    let copy: unknown[] | null = null;
    for (let index = 0; index < values.length; index += 1) {
      const value = values[index];
      const packedValue = entry(index, value);
      if (packedValue !== value) (copy ??= [...values])[index] = packedValue;
    }
    return copy ?? values;
  };
  const plainObject = (holder: Readonly<Record<string, unknown>>): unknown => {
    let changes: [key: string, packedValue: unknown][] | null = null;
    for (const key in holder) {
      const value = own(holder, key);
      const packedValue = entry(key, value);
      if (packedValue !== value) (changes ??= []).push([key, packedValue]);
    }
    return changes === null ? holder : Object.fromEntries([...Object.entries(holder), ...changes]);
  };
  const whole = isPlaced(message) ? plain(message) : message;
  const head = { type: 'packed', message: whole, packed, repeated, buffer: new ArrayBuffer(0) } as const;
  return { head: { ...head, byteLength: byteLength() }, places };
}

/** Whether a value may not be left where it is: objects, and numbers that JSON does not have. */
function isPlaced(value: unknown): boolean {
  return isObject(value) || (typeof value === 'number' && !Number.isFinite(value));
}

/**
 * Whether it is worth a reference: what holds nothing but texts and numbers is about as short. Keys are read with `for`, as in
 * `plainObject`: lists of the keys or values of each object would take more memory, for each plan, than the plan.
 */
function holdsObjects(holder: Readonly<Record<string, unknown>>): boolean {
  if (Array.isArray(holder)) return holder.some(isObject);
  for (const key in holder) if (isObject(own(holder, key))) return true;
  return false;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

type PlaceOf = Pick<Packed, 'byteOffset' | 'stored'>;

/** Gives each column its place, once. */
function makePlaces(): { readonly columnPlace: (column: Column) => PlaceOf; readonly places: Places; readonly byteLength: () => number } {
  const known = new Map<Column, PlaceOf>();
  const places: (PlaceOf & { readonly column: Column })[] = [];
  let bytes = 0;
  return {
    columnPlace: (column) => {
      const before = known.get(column);
      if (before !== undefined) return before;
      const place = { byteOffset: bytes, stored: column.length < narrowedLength ? columnType(column) : narrowestType(column) };
      known.set(column, place);
      places.push({ ...place, column });
      bytes += Math.ceil((column.length * storedTypes[place.stored].BYTES_PER_ELEMENT) / alignment) * alignment;
      return place;
    },
    places,
    byteLength: () => bytes,
  };
}

/** The bytes of the buffer from `start` to `end`, multiples of `alignment`. */
function packedBytes(places: Places, start: number, end: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(end - start);
  for (const { column, byteOffset, stored } of places) {
    const size = storedTypes[stored].BYTES_PER_ELEMENT;
    if (byteOffset >= end || byteOffset + size * column.length <= start) continue;
    const first = Math.max(0, start - byteOffset) / size;
    const elements = column.subarray(first, (end - byteOffset) / size);
    new storedTypes[stored](bytes.buffer, byteOffset + first * size - start, elements.length).set(elements);
  }
  return bytes;
}

/** The type with the smallest elements that holds all of a column's. */
function narrowestType(column: Column): StoredType {
  if (column instanceof Uint8Array) return 'Uint8Array';
  let most = 0;
  // An iterator would make two objects of each number, which is more memory than the column takes.
  for (let index = column.length - 1; index >= 0; index -= 1) {
    const value = column[index] ?? 0;
    // Neither fractions nor -0 nor NaN are among them.
    if (!Object.is(value >>> 0, value)) return 'Float64Array';
    if (value > most) most = value;
  }
  if (most < 2 ** 8) return 'Uint8Array';
  return most < 2 ** 16 ? 'Uint16Array' : 'Uint32Array';
}

function isColumn(value: unknown): value is Column {
  if (!ArrayBuffer.isView(value)) return false;
  if (Object.values(columnTypes).some((type) => value instanceof type)) return true;
  throw new TypeError(`a page gets no ${value.constructor.name}`);
}

function columnType(column: Column): ColumnType {
  if (column instanceof Float64Array) return 'Float64Array';
  if (column instanceof Int32Array) return 'Int32Array';
  return column instanceof Uint32Array ? 'Uint32Array' : 'Uint8Array';
}

/**
 * Puts together what `packedParts` packed: gets every part as it arrives, and returns the message with its last one, its
 * columns views of the one buffer as far as they lie there as they are; null before that and for anything else. A message that begins
 * before another has ended takes its place. What arrived is filled in, so it belongs to the caller.
 * @throws RangeError where a column or a piece does not lie in the buffer
 */
export function makeUnpacker(): (value: unknown) => unknown {
  let begun: PackedMessage | null = null;
  let missing = 0;
  return (value) => {
    if (isPacked(value)) {
      const { byteLength, buffer } = value;
      missing = byteLength - buffer.byteLength;
      begun = missing === 0 ? null : { ...value, buffer: new ArrayBuffer(byteLength) };
      return begun === null ? unpack(value) : null;
    }
    if (begun === null || !isPiece(value)) return null;
    new Uint8Array(begun.buffer).set(value.bytes, value.byteOffset);
    missing -= value.bytes.length;
    if (missing > 0) return null;
    const whole = begun;
    begun = null;
    return unpack(whole);
  };
}

function unpack({ message, packed, repeated, buffer }: PackedMessage): unknown {
  const whole = { message };
  const put = (path: readonly string[], value: unknown): void => {
    const [holder, key = ''] = [path.slice(0, -1), path.at(-1)];
    // The message itself is what an empty path leads to.
    if (path.length === 0) whole.message = value;
    else (valueAt(whole.message, holder) as Record<string, unknown>)[key] = value;
  };
  const widened = new Map<number, Column>();
  for (const { path, type, stored, byteOffset, length } of packed) {
    if (type === 'number') put(path, new Float64Array(buffer, byteOffset, 1)[0]);
    else if (type === stored) put(path, new columnTypes[type](buffer, byteOffset, length));
    else {
      const column = widened.get(byteOffset) ?? new columnTypes[type](new storedTypes[stored](buffer, byteOffset, length));
      widened.set(byteOffset, column);
      put(path, column);
    }
  }
  for (const { path, first } of repeated) put(path, valueAt(whole.message, first));
  return whole.message;
}

/** What lies in a message where a path leads. */
function valueAt(message: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => own(at as Record<string, unknown>, key), message);
}

/** Whether a message is one of `packedParts`. */
export function isPackedPart(value: unknown): value is PackedMessage | PackedPiece {
  return isPacked(value) || isPiece(value);
}

/** Other frames and extensions of the browser post to a page, too. */
function isPacked(value: unknown): value is PackedMessage {
  return (
    value !== null &&
    typeof value === 'object' &&
    'type' in value &&
    value.type === 'packed' &&
    'packed' in value &&
    'repeated' in value &&
    'byteLength' in value &&
    'buffer' in value &&
    value.buffer instanceof ArrayBuffer
  );
}

function isPiece(value: unknown): value is PackedPiece {
  return (
    value !== null &&
    typeof value === 'object' &&
    'type' in value &&
    value.type === 'piece' &&
    'byteOffset' in value &&
    'bytes' in value &&
    value.bytes instanceof Uint8Array
  );
}
