/* A writer of small pickles (protocol 4), for tests: every opcode that is refused can be written too. */

/** One opcode with its argument. */
export function op(code: number, ...bytes: readonly number[]): number[] {
  return [code, ...bytes];
}

/** A text of up to 255 bytes. */
export function text(value: string): number[] {
  const bytes = Buffer.from(value, 'utf8');
  return [0x8c, bytes.length, ...bytes];
}

/** The pickle of plain data: objects are dicts, arrays are lists. */
export function pickled(value: unknown): Uint8Array {
  return framed(encoded(value));
}

/** Opcodes with the head and the end of a pickle. */
export function framed(opcodes: readonly number[]): Uint8Array {
  return Uint8Array.from([0x80, 4, ...opcodes, 0x2e]);
}

function encoded(value: unknown): number[] {
  if (value === null) return [0x4e];
  if (typeof value === 'boolean') return [value ? 0x88 : 0x89];
  if (typeof value === 'string') return text(value);
  if (typeof value === 'number') return integer(value);
  if (Array.isArray(value)) return [0x5d, 0x28, ...value.flatMap((item) => encoded(item)), 0x65];
  return [0x7d, 0x28, ...Object.entries(value as object).flatMap(([key, item]) => [...text(key), ...encoded(item)]), 0x75];
}

function integer(value: number): number[] {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt(value));
  return [0x8a, 8, ...bytes];
}
