import { createHash, randomBytes } from 'node:crypto';
import { closeSync, fstatSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import process from 'node:process';

/*
 * Code that V8 compiled, in the user's cache folder. V8 compares only the length of a source and notices no damage, so a file begins with
 * the digest of the rest, and each code is kept with the digest of its source. The rest is the index's length, the index and the codes.
 */

/** What V8 compiled of a source. */
export interface CachedCode {
  /** Of the source. */
  readonly digest: string;
  readonly code: Buffer;
}

/** Of codes by name. */
type Index = readonly (readonly [name: string, digest: string, bytes: number])[];

const digestBytes = 20;
const ending = '.v8';
/** Files that are older are removed: of versions that are gone. */
const keptMs = 30 * 24 * 3600 * 1000;

/** The file with the code of a folder for this V8 and processor. @param use what is run. */
export function cacheFile(folder: string, use: string): string {
  const name = sourceDigest([folder, use, process.versions.v8, process.arch].join('\n'));
  return path.join(userCache(), 'terapipe', `${name}${ending}`);
}

export function sourceDigest(source: string): string {
  return createHash('sha1').update(source).digest('hex');
}

/** Where programs of this user keep what can be made again. */
function userCache(): string {
  const { XDG_CACHE_HOME: xdg, LOCALAPPDATA: local } = process.env;
  if (xdg !== undefined && path.isAbsolute(xdg)) return xdg;
  if (process.platform === 'win32') return local ?? path.join(homedir(), 'AppData', 'Local');
  return path.join(homedir(), process.platform === 'darwin' ? 'Library/Caches' : '.cache');
}

/** As Node.js switches its own cache off. */
function isOff(): boolean {
  return process.env['NODE_DISABLE_COMPILE_CACHE'] === '1';
}

/** Codes by name; none where the file is missing, damaged, or others may have written it. */
export function readCodeCache(file: string): ReadonlyMap<string, CachedCode> {
  if (isOff()) return new Map();
  try {
    const bytes = readOwn(file);
    const rest = bytes.subarray(digestBytes);
    if (!contentDigest(rest).equals(bytes.subarray(0, digestBytes))) return new Map();
    let start = 4 + rest.readUInt32LE(0);
    const index = JSON.parse(rest.toString('utf8', 4, start)) as Index;
    return new Map(index.map(([name, digest, length]) => [name, { digest, code: rest.subarray(start, (start += length)) }]));
  } catch {
    return new Map();
  }
}

/** Keeps codes. Where that fails the next start compiles again, as this one did. */
export function writeCodeCache(file: string, codes: () => ReadonlyMap<string, CachedCode>): void {
  if (isOff()) return;
  const folder = path.dirname(file);
  const temporary = path.join(folder, `.${randomBytes(8).toString('hex')}${ending}`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(temporary, packed(codes()), { flag: 'wx', mode: 0o600 });
    renameSync(temporary, file);
    removeOld(folder);
  } catch {
    removeIfThere(temporary);
  }
}

function removeIfThere(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // Another start of this user, or the system, removed it or its folder.
  }
}

function packed(codes: ReadonlyMap<string, CachedCode>): Buffer {
  const index: Index = [...codes].map(([name, { digest, code }]) => [name, digest, code.length]);
  const text = Buffer.from(JSON.stringify(index));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  const rest = Buffer.concat([length, text, ...[...codes.values()].map(({ code }) => code)]);
  return Buffer.concat([contentDigest(rest), rest]);
}

function contentDigest(bytes: Buffer): Buffer {
  return createHash('sha1').update(bytes).digest();
}

/** @throws Error where others may have written the file. */
function readOwn(file: string): Buffer {
  const descriptor = openSync(file, 'r');
  try {
    const status = fstatSync(descriptor);
    const isOwn = process.getuid === undefined || (status.uid === process.getuid() && (status.mode & 0o022) === 0);
    if (!isOwn || !status.isFile()) throw new Error('others may write it');
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function removeOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    if (name.endsWith(ending) && Date.now() - statSync(file).mtimeMs > keptMs) removeIfThere(file);
  }
}
