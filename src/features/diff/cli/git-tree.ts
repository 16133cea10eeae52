import { spawn } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { CancelledError, ExpectedError, errorMessage } from '../../../core/errors';
import { maximumConfigSize } from '../../../core/languages/json/document';
import { sentence } from '../../../core/sentence';
import { quoted } from '../../../core/text';
import { systemCode } from '../../../files/system-reason';

/** A file of a revision. */
export interface TreeFile {
  /** Of its content. */
  readonly id: string;
  readonly bytes: number;
}

/** The regular files of a revision that are small enough for a config. Nothing is checked out and no command of the repository runs. */
export interface GitTree {
  /** By their paths from the root of the repository. */
  readonly files: ReadonlyMap<string, TreeFile>;
  /** The path of the current folder from there; empty, or ends with a slash. */
  readonly prefix: string;
  readonly root: string;
  /** Contents by id. @throws ExpectedError `git-failed`, `git-too-large`; CancelledError. */
  readonly read: (files: readonly TreeFile[]) => Promise<ReadonlyMap<string, Buffer>>;
}

/** Most that git may list or give at once, bytes, and how long it may take, ms. */
const listLimit = 256 * 2 ** 20;
const contentLimit = 512 * 2 ** 20;
const timeLimitMs = 60_000;

/** The variables git runs with: it asks nobody, fetches nothing and takes no locks. */
const environment = { GIT_TERMINAL_PROMPT: '0', GIT_NO_LAZY_FETCH: '1', GIT_OPTIONAL_LOCKS: '0', GIT_NO_REPLACE_OBJECTS: '1' };

/**
 * The files of a revision in the repository of the current folder.
 * @throws ExpectedError `git-failed`, `git-revision`; CancelledError.
 */
export async function openTree(revision: string, signal: AbortSignal): Promise<GitTree> {
  const commit = await openCommit(revision, signal);
  const [root = '', prefix = ''] = (await git(['rev-parse', '--show-toplevel', '--show-prefix'], signal)).toString('utf8').split('\n');
  const listed = await git(['ls-tree', '-r', '-z', '-l', '--full-tree', commit], signal);
  return { files: filesListed(listed.toString('utf8')), prefix, root, read: (files) => readContents(files, signal) };
}

/** The commit of a revision; null where there is none. @throws ExpectedError `git-failed`; CancelledError. */
export async function resolveRevision(revision: string, signal: AbortSignal): Promise<string | null> {
  if (revision === '' || revision.includes('\0')) return null;
  try {
    return (await git(['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`], signal)).toString('utf8').trim();
  } catch (error) {
    if (error instanceof ExpectedError && error.code === 'git-revision') return null;
    throw error;
  }
}

/** The commit from which two revisions part. @throws ExpectedError `git-failed`, `git-revision`; CancelledError. */
export async function mergeBase(one: string, other: string, signal: AbortSignal): Promise<string> {
  const commits = await Promise.all([one, other].map((revision) => openCommit(revision, signal)));
  return (await git(['merge-base', ...commits], signal)).toString('utf8').trim();
}

async function openCommit(revision: string, signal: AbortSignal): Promise<string> {
  const commit = await resolveRevision(revision, signal);
  if (commit !== null) return commit;
  const what = sentence`${quoted(revision)} is not a revision of this repository`;
  throw new ExpectedError('git-revision', what, sentence`fetch it, or name a branch, tag or commit`);
}

/** Lines of `ls-tree -l -z`: mode, type, id and size, then a tab and the path. */
function filesListed(listed: string): Map<string, TreeFile> {
  const files = new Map<string, TreeFile>();
  for (const line of listed.split('\0')) {
    const [, mode, id = '', size, name = ''] = /^(\d+) blob ([0-9a-f]+) +(\d+)\t([^]+)$/.exec(line) ?? [];
    const isRegular = mode === '100644' || mode === '100755';
    if (isRegular && Number(size) <= maximumConfigSize) files.set(name, { id, bytes: Number(size) });
  }
  return files;
}

async function readContents(files: readonly TreeFile[], signal: AbortSignal): Promise<ReadonlyMap<string, Buffer>> {
  const sizes = new Map(files.map(({ id, bytes }) => [id, bytes]));
  let total = 0;
  for (const bytes of sizes.values()) total += bytes;
  if (total > contentLimit)
    throw new ExpectedError(
      'git-too-large',
      sentence`These configs have more than ${contentLimit / 2 ** 20} MB`,
      sentence`name a folder with fewer`,
    );
  const contents = new Map<string, Buffer>();
  if (sizes.size === 0) return contents;
  const printed = await git(['cat-file', '--batch'], signal, [...sizes.keys()].join('\n'));
  let start = 0;
  for (const [id, bytes] of sizes) {
    start = printed.indexOf('\n', start) + 1;
    contents.set(id, printed.subarray(start, start + bytes));
    start += bytes + 1;
  }
  return contents;
}

/** What `git` prints, run without a shell. Its exit status 1 without a message is `git-revision`: nothing of that name. */
function git(args: readonly string[], signal: AbortSignal, input = ''): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', ['-c', 'core.fsmonitor=false', ...args], {
      env: { ...process.env, ...environment },
      signal,
      timeout: timeLimitMs,
      windowsHide: true,
    });
    const [out, err]: [Buffer[], Buffer[]] = [[], []];
    let bytes = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      out.push(chunk);
      bytes += chunk.length;
      if (bytes > listLimit + contentLimit) child.kill();
    });
    child.stderr.on('data', (chunk: Buffer) => void err.push(chunk));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.on('error', (error) => {
      if (signal.aborted) reject(new CancelledError());
      else reject(gitFailed(systemCode(error) === 'ENOENT' ? 'git is not installed' : errorMessage(error)));
    });
    child.on('close', (status, killed) => {
      const [message = ''] = Buffer.concat(err).toString('utf8').trim().split('\n');
      if (status === 0) resolve(Buffer.concat(out));
      else if (status === 1 && message === '')
        reject(new ExpectedError('git-revision', sentence`There is no such revision`, sentence`name another one`));
      else reject(gitFailed(killed === null ? message : 'git took too long or printed too much'));
    });
  });
}

function gitFailed(why: string): ExpectedError {
  return new ExpectedError('git-failed', sentence`git gave no answer (${quoted(why, 200)})`, sentence`run it inside a git repository`);
}

/** The path from the root of the repository of a path from the current folder; null where it leads out of it. */
export function treePath(file: string, { prefix, root }: Pick<GitTree, 'prefix' | 'root'>): string | null {
  const relative = path.isAbsolute(file) ? path.relative(root, file) : path.join(prefix, file);
  const found = path
    .normalize(relative)
    .split(path.sep)
    .join('/')
    .replace(/^\.\/|\/$/g, '');
  if (found === '..' || found.startsWith('../') || path.isAbsolute(found)) return null;
  return found === '.' ? '' : found;
}
