import * as vscode from 'vscode';
import { recogniseConfig } from '../core/launch/readers';
import type { ConfigFormat } from '../core/config/run';
import { ExpectedError } from '../core/errors';
import { readText } from './sources';

const excluded = '**/{node_modules,.git,.hg,.svn,.venv,venv,site-packages,__pycache__,.cache,.tox,dist,out,build,target}/**';
const maximumPlans = 200;
const maximumModels = 400;
const readAtOnce = 8;

export interface FoundConfig {
  readonly file: string;
  readonly format: ConfigFormat;
}

/** The configs of the workspace, by path; at most 200 `terapipe.json` or `*.terapipe.json` and 400 `config.json` are looked at, and nothing under dependencies or build output. */
export async function findConfigs(token?: vscode.CancellationToken): Promise<readonly FoundConfig[]> {
  const [plans, models] = await Promise.all([
    vscode.workspace.findFiles('**/{terapipe,*.terapipe}.json', excluded, maximumPlans, token),
    vscode.workspace.findFiles('**/config.json', excluded, maximumModels, token),
  ]);
  const queue = [...plans, ...models];
  const found: FoundConfig[] = [];
  const work = async (): Promise<void> => {
    for (let uri = queue.shift(); uri !== undefined && token?.isCancellationRequested !== true; uri = queue.shift()) {
      const config = await lookAt(uri);
      if (config !== null) found.push(config);
    }
  };
  await Promise.all(Array.from({ length: readAtOnce }, work));
  return found.sort((a, b) => a.file.localeCompare(b.file));
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
