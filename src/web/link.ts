import { ExpectedError } from '../core/errors';
import { sentence } from '../core/sentence';

/** What a link carries: texts of files by path, the shown one first. */
export type LinkedFiles = readonly (readonly [path: string, text: string])[];

const prefix = '#v1=';
const mostPacked = 256 * 1024;
/** A link never grows beyond this, whatever it claims to hold. */
const mostUnpacked = 4 * 2 ** 20;

/** The fragment that carries files: JSON, compressed, in base64url. */
export async function toFragment(files: LinkedFiles): Promise<string> {
  const packed = await collect(new Blob([JSON.stringify(files)]).stream().pipeThrough(new CompressionStream('deflate-raw')), mostPacked);
  const text = Array.from(packed, (byte) => String.fromCharCode(byte)).join('');
  return prefix + btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** The files of a fragment; null where it is of another kind. @throws ExpectedError `link-unreadable`. */
export async function fromFragment(fragment: string): Promise<LinkedFiles | null> {
  if (!fragment.startsWith(prefix)) return null;
  try {
    if (fragment.length > 2 * mostPacked) throw tooLarge();
    const bytes = fromBase64(fragment.slice(prefix.length).replaceAll('-', '+').replaceAll('_', '/'));
    const unpacked = await collect(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')), mostUnpacked);
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(unpacked));
    if (Array.isArray(value) && value.length > 0 && value.every(isFile)) return value;
  } catch (error) {
    if (error instanceof ExpectedError) throw error;
  }
  throw new ExpectedError('link-unreadable', sentence`This link is damaged`, sentence`ask for a new one, or open the file itself`);
}

/** Bytes of base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

function isFile(value: unknown): value is readonly [string, string] {
  return Array.isArray(value) && value.length === 2 && isPath(value[0]) && typeof value[1] === 'string';
}

/** A path that a URI can hold: half of a character (a lone surrogate) has none. */
function isPath(value: unknown): boolean {
  return typeof value === 'string' && value.length < 1000 && !/\p{Surrogate}/u.test(value);
}

async function collect(stream: ReadableStream<Uint8Array>, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.length;
    if (size > most) {
      void reader.cancel();
      throw tooLarge();
    }
    pieces.push(next.value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function tooLarge(): ExpectedError {
  return new ExpectedError('link-too-large', sentence`These files are too large for a link`, sentence`send the files themselves`);
}
