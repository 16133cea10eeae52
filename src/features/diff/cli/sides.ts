import path from 'node:path';
import { configError, ExpectedError } from '../../../core/errors';
import { fileStart } from '../../../core/languages/json/document';
import { mayBeConfig } from '../../../core/config-files/readers';
import type { ReadReferenced } from '../../../core/run/run';
import { sentence } from '../../../core/sentence';
import { printable, quoted } from '../../../core/text';
import { kindOfPath, readReferenced, readRegularFile, referencedPath, decodeText, type SourceText } from '../../../cli/read-file';
import { configsUnder, isConfigOrSchedule, isSkippedFolder } from '../../../cli/walk';
import { openTree, resolveRevision, treePath, type GitTree, type TreeFile } from './git-tree';

/** One of the two states that are compared. */
export interface Side {
  /** As it was written. */
  readonly name: string;
  /** Whether it is one file, which is compared with the other's whatever both are called. */
  readonly isFile: boolean;
  /** By path from the folder that was named. */
  readonly configs: ReadonlyMap<string, SourceText>;
  /** Reads files that a config of this side names. */
  readonly read: ReadReferenced;
}

/** Two revisions, and whether the first is where they parted. */
export interface RevisionRange {
  readonly base: string;
  readonly head: string;
  readonly sinceParted: boolean;
}

/**
 * Opens a side: a path that exists, else a git revision (`main`: the current folder there) or a path in one (`main:configs`).
 * @throws ExpectedError as `readRegularFile`, `configsUnder` and `openTree`; `config-not-found`.
 */
export async function openSide(name: string, signal: AbortSignal): Promise<Side> {
  const kind = await kindOfPath(name);
  if (kind === 'folder') return folderSide(name);
  if (kind === 'file') return fileSide(name, await readRegularFile(name), readReferenced);
  const colon = name.indexOf(':');
  const isDrive = /^[a-z]:[\\/]/i.test(name);
  const [revision, inside] = colon > 0 && !isDrive ? [name.slice(0, colon), name.slice(colon + 1)] : [name, ''];
  if (isDrive || (await resolveRevision(revision, signal)) === null)
    throw configError(
      'config-not-found',
      sentence`${printable(name)} is neither a file or folder nor a git revision`,
      sentence`name a file, a folder, a revision or REV:PATH`,
      fileStart(name),
    );
  return revisionSide(revision, inside, signal);
}

function fileSide(name: string, source: SourceText, read: ReadReferenced): Side {
  return { name, isFile: true, configs: new Map([[path.basename(source.file), source]]), read };
}

async function folderSide(name: string): Promise<Side> {
  const { configs } = await configsUnder(name);
  const byPath = new Map(configs.map((source) => [slashed(path.relative(name, source.file)), source]));
  return { name, isFile: false, configs: byPath, read: readReferenced };
}

/**
 * A file or folder of a revision, by its path from the current folder.
 * @throws ExpectedError as `openTree`; `config-not-found`.
 */
export async function revisionSide(revision: string, inside: string, signal: AbortSignal): Promise<Side> {
  const tree = await openTree(revision, signal);
  const name = inside === '' ? revision : `${revision}:${inside}`;
  const at = treePath(inside === '' ? '.' : inside, tree);
  if (at === null)
    throw new ExpectedError('config-not-found', sentence`${quoted(inside)} is outside this repository`, sentence`name a path inside it`);
  const read = treeReader(tree);
  const found = tree.files.get(at);
  if (found !== undefined) return fileSide(name, await readOne(tree, found, slashed(path.normalize(inside))), read);
  const folder = at === '' ? '' : `${at}/`;
  const candidates = [...tree.files].filter(([file]) => file.startsWith(folder) && isLooked(file.slice(folder.length)));
  const contents = await tree.read(candidates.map(([, file]) => file));
  const configs = new Map<string, SourceText>();
  for (const [file, { id }] of candidates) {
    const text = decodeText(contents.get(id) ?? new Uint8Array());
    const relative = file.slice(folder.length);
    const source = text === null ? null : { file: slashed(path.join(inside, relative)), text };
    if (source !== null && isConfigOrSchedule(source)) configs.set(relative, source);
  }
  return { name, isFile: false, configs, read };
}

/** As in a folder of the disk. */
function isLooked(file: string): boolean {
  const folders = file.split('/').slice(0, -1);
  return (mayBeConfig(file) || /\.csv$/i.test(file)) && !folders.some(isSkippedFolder);
}

/** Files that configs name, in the revision of the config: never from the disk. */
function treeReader(tree: GitTree): ReadReferenced {
  return async (from, name) => {
    const file = referencedPath(from, name) ?? '';
    const at = treePath(file, tree);
    const found = at === null ? undefined : tree.files.get(at);
    if (found !== undefined) return readOne(tree, found, slashed(file));
    throw configError(
      'config-not-found',
      sentence`${printable(file)} does not exist in that revision`,
      sentence`fix the path`,
      fileStart(file),
    );
  };
}

async function readOne(tree: GitTree, found: TreeFile, file: string): Promise<SourceText> {
  const text = decodeText((await tree.read([found])).get(found.id) ?? new Uint8Array());
  if (text !== null) return { file, text };
  throw configError('config-binary', sentence`${printable(file)} is not UTF-8 text`, sentence`name a JSON config file`, fileStart(file));
}

function slashed(file: string): string {
  return file.split(path.sep).join('/');
}
