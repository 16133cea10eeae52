import { realpath } from 'node:fs/promises';
import path from 'node:path';
import * as vscode from 'vscode';
import { ExpectedError } from '../../../core/errors';
import type { ResolveDefaults } from '../../../core/plan-request/scenario';
import { append, isRecord, without } from '../../../core/records';
import { sentence } from '../../../core/sentence';
import { displayPath, openDocument, readText, resolvePath } from '../../../extension/sessions/sources';
import type { PlannerClient } from '../../../host/planner/client';
import { outside } from '../core/load';
import type { ToolAnswer } from '../core/tool';
import type { FileContent, FileRead } from '../job';

/** What calls of tools need of the editor. */
export interface ToolCalls {
  readonly ask: PlannerClient['ask'];
  /** What a config is planned for where no file sets it, as in its panel. */
  readonly defaults: (file: string) => ResolveDefaults;
}

/** Most files of one call: each is read only when the tool asks for it. */
const mostFiles = 200;

/**
 * Calls a tool as the editor has the files, with edits that are not saved. @param input unchecked.
 * @throws CancelledError; ExpectedError of the planner's process, or `agent-files` for a config that refers to too many files.
 */
export async function callTool({ ask, defaults }: ToolCalls, name: string, input: unknown, signal: AbortSignal): Promise<ToolAnswer> {
  const sources = openSources();
  const { path: file, name: textName, text, what, gpu, nodes, gpus, set, other } = isRecord(input) ? input : {};
  const title = [file, textName].find((given) => typeof given === 'string');
  const held = defaults(sources.identity(title ?? ''));
  // What its panel keeps of the last plan holds for the question about that plan, and for no other.
  const isAsPlanned = what !== 'fewest-gpus' && [text, gpu, nodes, gpus, set, other].every((given) => given === undefined);
  const files: FileContent[] = [];
  while (files.length <= mostFiles) {
    const answer = await ask('tool', { name, input, defaults: isAsPlanned ? held : without(held, 'kept'), files }, { signal });
    if (answer.kind === 'answer') return answer.answer;
    append(files, await Promise.all(answer.reads.map((read) => sources.found(read))));
  }
  throw new ExpectedError(
    'agent-files',
    sentence`The config refers to over ${mostFiles} files`,
    sentence`give its text and the settings in "set"`,
  );
}

/** Reads files of the workspace for one call, under the names that people see. */
function openSources() {
  /** Identities by name. */
  const known = new Map<string, string>();
  const identity = (name: string): string => known.get(name) ?? inFolders(name);
  return {
    identity,
    found: async ({ from, path: written }: FileRead): Promise<FileContent> => {
      const failed = ({ code, what, remedy, place }: ExpectedError): FileContent => ({
        from,
        path: written,
        found: { kind: 'failure', code, what, remedy, file: place?.file ?? written },
      });
      try {
        const uri = from === null ? identity(written) : resolvePath(identity(from), written);
        if (!(await isOfWorkspace(uri))) return failed(outside(written));
        const text = await readText(uri);
        const file = displayPath(uri);
        known.set(file, uri);
        return { from, path: written, found: { kind: 'text', file, text } };
      } catch (error) {
        if (error instanceof ExpectedError) return failed(error);
        throw error;
      }
    },
  };
}

/** The identity of a path as an agent writes it: absolute, or relative to a folder of the workspace, whose name may come first. */
function inFolders(name: string): string {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (path.isAbsolute(name)) return vscode.Uri.file(name).toString();
  const [first = '', ...rest] = name.split(/[\\/]/);
  const named = folders.length > 1 ? folders.find((folder) => folder.name === first) : undefined;
  const base = named ?? folders[0];
  return base === undefined
    ? vscode.Uri.file(path.resolve('/', name)).toString()
    : vscode.Uri.joinPath(base.uri, ...(named === undefined ? [first, ...rest] : rest)).toString();
}

/** Whether agents may read a file: one in a folder of the workspace, links followed, or one that an editor shows. */
async function isOfWorkspace(file: string): Promise<boolean> {
  const uri = vscode.Uri.parse(file, true);
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  if (folder === undefined) return openDocument(file) !== undefined;
  if (uri.scheme !== 'file') return true;
  const [top, real] = await Promise.all([folder.uri, uri].map(({ fsPath }) => realpath(fsPath).catch(() => fsPath)));
  const way = path.relative(top ?? '', real ?? '');
  return !way.startsWith('..') && !path.isAbsolute(way);
}
