import * as vscode from 'vscode';
import { configEndings, recogniseConfig } from '../../core/config-files/readers';
import type { ConfigFormat } from '../../core/run/config-format';
import { ExpectedError } from '../../core/errors';
import { isScheduleCsv, sniffed } from '../../core/schedules/pytorch-csv/cells';
import { startOfDocument } from './document-text';
import { openDocument, readText } from './sources';

const excluded = '**/{node_modules,.git,.hg,.svn,.venv,venv,site-packages,__pycache__,.cache,.tox,dist,out,build,target}/**';
const maximumPlans = 200;
const maximumModels = 400;
const maximumLaunchers = 1000;
const readAtOnce = 8;

/** Files that may be launchers, by their ending; content decides. */
export const launcherGlob = `**/*.{${configEndings.filter((ending) => !ending.startsWith('json')).join(',')}}`;
/** Of Python only the modules that TorchTitan, Megatron-Bridge and InternEvo keep their configs in. */
export const pythonGlob = '{**/config_registry.py,**/recipes/**/*.py,**/configs/**/*.py}';
/** JSON has too many uses: of DeepSpeed's files only those with its usual names are looked for. */
const deepSpeedGlob = '**/{ds_,ds-,deepspeed,zero}*.json';

/** Language of files without a better one whose first line is a schedule's (package.json). */
export const scheduleLanguage = 'pytorch-schedule';

export interface FoundConfig {
  readonly file: string;
  readonly format: ConfigFormat;
}

/**
 * The configs of the workspace, by path; at most 200 `terapipe.json` or `*.terapipe.json`, 400 `config.json`, 1,000 files that may be
 * launchers, 200 that may be DeepSpeed's and 200 modules of Python are looked at, and nothing under dependencies or build output. How long
 * it took goes to the log.
 */
export async function findConfigs(log: vscode.LogOutputChannel, token?: vscode.CancellationToken): Promise<readonly FoundConfig[]> {
  const startedMs = performance.now();
  const found = new Map<string, FoundConfig>();
  const listed = await Promise.all([
    vscode.workspace.findFiles('**/{terapipe,*.terapipe}.json', excluded, maximumPlans, token),
    vscode.workspace.findFiles('**/config.json', excluded, maximumModels, token),
    vscode.workspace.findFiles(launcherGlob, excluded, maximumLaunchers, token),
    vscode.workspace.findFiles(deepSpeedGlob, excluded, maximumPlans, token),
    vscode.workspace.findFiles(pythonGlob, excluded, maximumPlans, token),
  ]);
  const queue = listed.flat();
  const looked = queue.length;
  const listedMs = performance.now() - startedMs;
  const work = async (): Promise<void> => {
    for (let uri = queue.shift(); uri !== undefined && token?.isCancellationRequested !== true; uri = queue.shift()) {
      const config = await lookAt(uri);
      if (config !== null) found.set(config.file, config);
    }
  };
  await Promise.all(Array.from({ length: readAtOnce }, work));
  const spentMs = performance.now() - startedMs;
  log.debug(`Found ${found.size} configs among ${looked} files in ${spentMs.toFixed(0)} ms, ${listedMs.toFixed(0)} ms of it to list them`);
  return [...found.values()].sort((a, b) => a.file.localeCompare(b.file));
}

/**
 * Whether the file is a schedule in PyTorch's CSV: it may be one by its name or language, and it looks like one. False for what cannot be
 * read.
 */
export async function isScheduleFile(uri: vscode.Uri): Promise<boolean> {
  if (!mayBeSchedule(uri)) return false;
  try {
    const open = openDocument(uri.toString());
    return isScheduleCsv(open === undefined ? await readText(uri.toString()) : startOfDocument(open, sniffed + 1));
  } catch (error) {
    if (error instanceof ExpectedError) return false;
    throw error;
  }
}

/** By its ending, or because VS Code knows its first line. */
export function mayBeSchedule(uri: vscode.Uri): boolean {
  if (uri.scheme === 'git') return false;
  if (/\.csv$/i.test(uri.path)) return true;
  return openDocument(uri.toString())?.languageId === scheduleLanguage;
}

/** Which config a file is; null for anything else, and for what cannot be read. */
export async function lookAt(uri: vscode.Uri): Promise<FoundConfig | null> {
  const file = uri.toString();
  try {
    const format = recogniseConfig(file, await readText(file));
    return format === null ? null : { file, format };
  } catch (error) {
    if (error instanceof ExpectedError) return null;
    throw error;
  }
}
