/*
 * Plain data as a pickle of protocol 2, which Python and the memory viewer of PyTorch read: dicts, lists, pairs, texts, whole numbers and
 * booleans, and no opcode that makes any other object.
 */

/** What is written; objects are dicts. */
export type Plain = string | number | boolean | readonly Plain[] | PlainDict;
interface PlainDict {
  readonly [key: string]: Plain;
}

const initialBytes = 1 << 16;

/** @throws Error for a number that is not whole, or beyond 2^53. */
export function pickle(value: Plain): Uint8Array {
  const writer = new Pickler();
  writer.bytes(0x80, 2);
  writer.value(value);
  writer.bytes(0x2e);
  return writer.done();
}

class Pickler {
  private buffer = new Uint8Array(initialBytes);
  private view = new DataView(this.buffer.buffer);
  private size = 0;
  /** Texts that were written, by their place in the memo. */
  private readonly memo = new Map<string, number>();

  done(): Uint8Array {
    return this.buffer.slice(0, this.size);
  }

  bytes(...values: readonly number[]): void {
    const at = this.room(values.length);
    this.buffer.set(values, at);
  }

  value(value: Plain): void {
    if (typeof value === 'string') this.text(value);
    else if (typeof value === 'number') this.number(value);
    else if (typeof value === 'boolean') this.bytes(value ? 0x88 : 0x89);
    else if (isList(value)) this.list(value);
    else this.dict(value);
  }

  private list(items: readonly Plain[]): void {
    this.bytes(0x5d, 0x28);
    for (const item of items) this.value(item);
    this.bytes(0x65);
  }

  private dict(dict: PlainDict): void {
    this.bytes(0x7d, 0x28);
    for (const [key, value] of Object.entries(dict)) {
      this.text(key);
      this.value(value);
    }
    this.bytes(0x75);
  }

  /** BINUNICODE and LONG_BINPUT, then LONG_BINGET. */
  private text(text: string): void {
    const known = this.memo.get(text);
    if (known !== undefined) {
      this.long(0x6a, known);
      return;
    }
    const encoded = new TextEncoder().encode(text);
    this.long(0x58, encoded.length);
    const at = this.room(encoded.length);
    this.buffer.set(encoded, at);
    this.long(0x72, this.memo.size);
    this.memo.set(text, this.memo.size);
  }

  private long(opcode: number, value: number): void {
    this.bytes(opcode);
    const at = this.room(4);
    this.view.setUint32(at, value, true);
  }

  /** BININT, or LONG1 of 8 bytes. */
  private number(value: number): void {
    if (!Number.isSafeInteger(value)) throw new Error(`${value} is not a whole number`);
    if (Math.abs(value) < 2 ** 31) {
      this.bytes(0x4a);
      const at = this.room(4);
      this.view.setInt32(at, value, true);
      return;
    }
    this.bytes(0x8a, 8);
    const at = this.room(8);
    this.view.setBigInt64(at, BigInt(value), true);
  }

  private room(bytes: number): number {
    const at = this.size;
    this.size += bytes;
    if (this.size > this.buffer.length) {
      const larger = new Uint8Array(Math.max(this.size, 2 * this.buffer.length));
      larger.set(this.buffer);
      this.buffer = larger;
      this.view = new DataView(larger.buffer);
    }
    return at;
  }
}

function isList(value: Plain): value is readonly Plain[] {
  return Array.isArray(value);
}
