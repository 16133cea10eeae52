import type { FileHandle } from 'node:fs/promises';
import { throwIfCancelled, type CancelSignal } from '../../core/errors';

/** Bytes that can be read anywhere: an open file, or a stand-in. */
export interface ByteSource {
  /** Bytes in all. */
  readonly size: number;
  /** Up to `length` bytes from `offset`; none past the end. */
  readonly read: (offset: number, length: number) => Promise<Uint8Array>;
}

/** Bytes fetched at a time: large enough for graphs of many nodes, small enough that a stop between two payloads costs little. */
const windowBytes = 32 * 1024;

/** @param size by its status; a file that shrinks meanwhile just ends early. */
export function fileSource(handle: FileHandle, size: number): ByteSource {
  return {
    size,
    read: async (offset, length) => {
      const buffer = new Uint8Array(length);
      const { bytesRead } = await handle.read(buffer, 0, length, offset);
      return buffer.subarray(0, bytesRead);
    },
  };
}

/** A place in a source that moves forward, and a window of bytes ahead of it. Skipping past the window reads nothing. */
export interface Cursor {
  readonly position: () => number;
  /** Bytes that can be taken now. */
  readonly available: () => number;
  /** Fetches so that `count` bytes (at most a window) can be taken, or all that are left. @throws CancelledError. */
  readonly fetch: (count: number) => Promise<void>;
  /** The next `count` bytes, which must be available. Valid until the next fetch. */
  readonly take: (count: number) => Uint8Array;
  readonly skip: (count: number) => void;
  /** An unsigned varint as a number (exact up to 2^53) or null where none ends within ten bytes or what is available. */
  readonly varint: () => number | null;
  /** Bytes of the varint that comes next, without moving; null as `varint`. */
  readonly varintLength: () => number | null;
}

export function createCursor(source: ByteSource, signal: CancelSignal | undefined): Cursor {
  let window: Uint8Array = new Uint8Array(0);
  /** Offset of the window in the source. */
  let start = 0;
  let index = 0;
  return {
    position: () => start + index,
    available: () => Math.max(0, window.length - index),
    async fetch(count) {
      throwIfCancelled(signal);
      const from = start + index;
      let got: Uint8Array = new Uint8Array(0);
      // A read may return less than asked for before the end.
      while (got.length < count && from + got.length < source.size) {
        const more = await source.read(from + got.length, Math.min(windowBytes, source.size - from) - got.length);
        if (more.length === 0) break;
        got = got.length === 0 ? more : joined(got, more);
      }
      window = got;
      start = from;
      index = 0;
    },
    take(count) {
      index += count;
      return window.subarray(index - count, index);
    },
    skip(count) {
      index += count;
    },
    varint() {
      let value = 0;
      for (let length = 0; length < 10; length += 1) {
        const byte = window[index + length];
        if (byte === undefined) return null;
        value += (byte & 0x7f) * 2 ** (7 * length);
        if (byte < 0x80) {
          index += length + 1;
          return value;
        }
      }
      return null;
    },
    varintLength() {
      for (let length = 1; length <= 10; length += 1) {
        const byte = window[index + length - 1];
        if (byte === undefined) return null;
        if (byte < 0x80) return length;
      }
      return null;
    },
  };
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
