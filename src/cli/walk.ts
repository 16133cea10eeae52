import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { configEndings, hasLauncherEnding, recogniseConfig } from '../core/launch/readers';
import { ExpectedError } from '../core/errors';
import { isScheduleCsv } from '../core/schedule/pytorch/cells';
import { readNamedFile, type SourceText } from './read-file';

const maximumDepth = 12;
const maximumFiles = 20_000;
const endings = new RegExp(`\\.(${[...configEndings, 'csv'].join('|')})$`, 'i');
const skipped = new Set(['node_modules', '__pycache__', 'dist', 'out']);

/**
 * The configs and schedules we recognise under a folder, in order of their paths. Hidden folders, package folders, links, and files that cannot be read or are no
 * config are passed over.
 */
export async function configsUnder(folder: string): Promise<SourceText[]> {
  const budget = { files: maximumFiles };
  const names = await configFilesUnder(folder, maximumDepth, budget);
  const configs: SourceText[] = [];
  for (const name of names) {
    const source = await readQuietly(name);
    if (source !== null && (recogniseConfig(source.file, source.text) !== null || isScheduleFile(source))) configs.push(source);
  }
  return configs;
}

/** Whether a file is a schedule in PyTorch's CSV: by its content, where its ending does not say that it is something else. */
export function isScheduleFile({ file, text }: SourceText): boolean {
  return !hasLauncherEnding(file) && isScheduleCsv(text);
}

async function configFilesUnder(folder: string, depth: number, budget: { files: number }): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory() && depth > 0 && !entry.name.startsWith('.') && !skipped.has(entry.name))
      found.push(...(await configFilesUnder(name, depth - 1, budget)));
    else if (entry.isFile() && endings.test(entry.name) && budget.files > 0) {
      budget.files -= 1;
      found.push(name);
    }
  }
  return found;
}

async function readQuietly(name: string): Promise<SourceText | null> {
  try {
    return await readNamedFile(name);
  } catch (error) {
    if (error instanceof ExpectedError) return null;
    throw error;
  }
}
