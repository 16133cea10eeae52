import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { looksLikeTraining } from '../core/config-files/folder-summary';
import { hasLauncherEnding, mayBeConfig, recogniseConfig } from '../core/config-files/readers';
import { fileStart } from '../core/languages/json/document';
import { ExpectedError, errorMessage, configError } from '../core/errors';
import { findingOfError, type Finding } from '../core/findings';
import { formatCount } from '../core/format';
import { isScheduleCsv } from '../core/schedules/pytorch-csv/cells';
import { systemCode } from '../files/system-reason';
import { readRegularFile, type SourceText } from './read-file';
import { sentence } from '../core/sentence';

const maximumDepth = 12;
const maximumFiles = 20_000;
const skipped = new Set(['node_modules', '__pycache__', 'dist', 'out']);
/** Files that are configs by name, whatever they contain. */
const ownName = /(^|\.)terapipe\.json$/i;

/** What lies under a folder. */
export interface FolderContents {
  readonly configs: readonly SourceText[];
  /** Possible configs that could not be read. */
  readonly unread: readonly Finding[];
  /** Files with the ending of a config that are none that is read. */
  readonly others: readonly OtherFile[];
}

/** A file that is not a config that is read. */
export interface OtherFile {
  readonly file: string;
  /** It looks like a training run all the same. */
  readonly trains: boolean;
}

/**
 * The configs and schedules that we recognise under a folder, in order of their paths. Hidden folders, package folders, links that lead
 * somewhere, and files that are not text or too large for a config are passed over; whatever is called `terapipe.json` is none of those.
 * @throws ExpectedError `config-unreadable` when the folder itself cannot be read.
 */
export async function configsUnder(folder: string): Promise<FolderContents> {
  const walk: Walk = { names: [], unread: [], isCutOff: false };
  await findNames(folder, maximumDepth, walk);
  const [own] = walk.unread;
  if (own?.file === folder) throw unreadableError(own);
  const configs: SourceText[] = [];
  const others: OtherFile[] = [];
  const unread = walk.unread.map((each): Finding => ({
    ...findingOfError(unreadableError(each), fileStart(each.file)),
    severity: 'warning',
  }));
  for (const name of walk.names) {
    const { source, finding } = await readFound(name);
    if (finding !== null) unread.push(finding);
    if (source === null) continue;
    if (isConfigOrSchedule(source)) configs.push(source);
    else others.push({ file: source.file, trains: looksLikeTraining(source.text) });
  }
  if (walk.isCutOff) unread.push(cutOff(folder));
  return { configs, unread, others };
}

/** Whether a folder's file is checked. A fault of ours that it meets here is met again then, and reported as its own. */
export function isConfigOrSchedule(source: SourceText): boolean {
  try {
    return recogniseConfig(source.file, source.text) !== null || isScheduleFile(source);
  } catch {
    return true;
  }
}

/** Whether a file is a schedule in PyTorch's CSV: by its content, where its ending does not show that it is something else. */
export function isScheduleFile({ file, text }: SourceText): boolean {
  return !hasLauncherEnding(file) && isScheduleCsv(text);
}

interface Walk {
  readonly names: string[];
  /** Folders that cannot be read, and why. */
  readonly unread: { readonly file: string; readonly code: string }[];
  isCutOff: boolean;
}

async function findNames(folder: string, depth: number, walk: Walk): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    const code = systemCode(error) ?? errorMessage(error);
    // Gone since it was listed.
    if (code !== 'ENOENT') walk.unread.push({ file: folder, code });
    return [];
  });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) {
      if (depth > 0 && !isSkippedFolder(entry.name)) await findNames(name, depth - 1, walk);
      continue;
    }
    const isLooked = entry.isFile() ? mayBeConfig(name) || /\.csv$/i.test(name) : ownName.test(entry.name);
    if (!isLooked || (entry.isSymbolicLink() && (await leadsSomewhere(name)))) continue;
    if (walk.names.length < maximumFiles) walk.names.push(name);
    else walk.isCutOff = true;
  }
}

/** Whether a folder of this name is passed over. */
export function isSkippedFolder(name: string): boolean {
  return name.startsWith('.') || skipped.has(name);
}

async function leadsSomewhere(link: string): Promise<boolean> {
  return stat(link).then(
    () => true,
    () => false,
  );
}

/** The text of a file; a finding where that matters; nothing where it is not a config, or gone since it was listed. */
async function readFound(name: string): Promise<{ readonly source: SourceText | null; readonly finding: Finding | null }> {
  try {
    return { source: await readRegularFile(name), finding: null };
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    const finding = findingOfError(error, fileStart(name));
    if (ownName.test(path.basename(name))) return { source: null, finding };
    return { source: null, finding: error.code === 'config-unreadable' ? { ...finding, severity: 'warning' } : null };
  }
}

function unreadableError({ file, code }: Walk['unread'][number]): ExpectedError {
  const isForbidden = code === 'EACCES' || code === 'EPERM';
  const what = isForbidden ? 'may not be read' : `cannot be read (${code})`;
  return configError(
    'config-unreadable',
    sentence`The folder ${path.basename(file)} ${what}`,
    sentence`check its permissions`,
    fileStart(file),
  );
}

function cutOff(folder: string): Finding {
  return {
    code: 'check-cut-off',
    severity: 'warning',
    place: fileStart(folder),
    message: sentence`There are more than ${formatCount(maximumFiles)} files that may be configs; the others were not read`,
    remedy: sentence`check the folders in it one by one`,
    fixes: [],
  };
}
