import { packedParts, type PackedMessage } from '../../src/protocol/packed';

/** A message packed into one part, however large. */
export function packMessage(message: unknown): PackedMessage {
  const [head, ...pieces] = packedParts(message);
  if (head?.type !== 'packed') throw new Error('the first part is the message');
  if (pieces.length === 0) return head;
  const whole = new Uint8Array(head.byteLength);
  for (const piece of pieces) if (piece.type === 'piece') whole.set(piece.bytes, piece.byteOffset);
  return { ...head, buffer: whole.buffer };
}
