import * as vscode from 'vscode';
import { configError } from '../../core/errors';
import { maximumConfigSize, fileStart } from '../../core/languages/json/document';
import { formatCount } from '../../core/format';
import { readRegular, type StoredFile } from '../../files/read-regular';
import { systemCode } from '../../files/system-reason';
import { textWithin } from './document-text';
import { referencedPath } from '../../host/sessions/referenced-path';
import { maximumDrawnSize } from '../../host/sessions/schedule-size';
import { sentence } from '../../core/sentence';

/**
 * Text of a file as the user sees it: the open document with its unsaved edits, else what is stored, on this machine or wherever
 * `workspace.fs` reaches.
 * @throws ExpectedError `config-not-found`, `config-unreadable`, `config-too-large` or `config-binary`, placed at the start of the file.
 */
export async function readText(file: string): Promise<string> {
  const uri = vscode.Uri.parse(file, true);
  const place = fileStart(file);
  const name = uriBaseName(uri);
  const open = openDocument(file);
  if (open !== undefined) {
    const text = textWithin(open, maximumDrawnSize);
    if (text !== null) return text;
    const most = `${formatCount(maximumDrawnSize)} characters`;
    throw configError(
      'config-too-large',
      sentence`${name} has more than ${most}, the most that the editor reads`,
      sentence`check it on the terminal`,
      place,
    );
  }
  const stored = await (uri.scheme === 'file' ? onThisMachine(uri) : elsewhere(uri));
  if (stored.kind !== 'file') throw notRead(stored.kind, file);
  if (stored.bytes.includes(0)) throw configError('config-binary', sentence`${name} is not text`, sentence`name a JSON config file`, place);
  return new TextDecoder('utf-8').decode(stored.bytes);
}

type Stored = StoredFile | { readonly kind: 'nothing' | 'refused' };

/** Not by way of `workspace.fs`, which asks the window first, and that is busy while somebody types. */
async function onThisMachine(uri: vscode.Uri): Promise<Stored> {
  try {
    return await readRegular(uri.fsPath, maximumConfigSize);
  } catch (error) {
    const code = systemCode(error);
    if (code === null) throw error;
    return { kind: code === 'ENOENT' || code === 'ENOTDIR' ? 'nothing' : 'refused' };
  }
}

/** Why there is no text of a file. */
function notRead(kind: Exclude<Stored['kind'], 'file'>, file: string): Error {
  const name = uriBaseName(vscode.Uri.parse(file, true));
  const place = fileStart(file);
  switch (kind) {
    case 'nothing':
      return configError('config-not-found', sentence`There is no file ${displayPath(file)}`, sentence`fix the path`, place);
    case 'refused':
      return configError('config-unreadable', sentence`${name} cannot be read`, sentence`check its permissions`, place);
    case 'folder':
      return configError('config-unreadable', sentence`${name} is a folder`, sentence`name the config file in it`, place);
    case 'device':
      return configError('config-unreadable', sentence`${name} is not a regular file`, sentence`name a config file`, place);
    case 'too large':
      return configError(
        'config-too-large',
        sentence`${name} is over 5 MB, too large for a config`,
        sentence`name the config file itself`,
        place,
      );
  }
}

/** A file of another machine or of a virtual workspace. */
async function elsewhere(uri: vscode.Uri): Promise<Stored> {
  try {
    const { size, type } = await vscode.workspace.fs.stat(uri);
    if ((type & vscode.FileType.Directory) !== 0) return { kind: 'folder' };
    if (size > maximumConfigSize) return { kind: 'too large' };
    return { kind: 'file', bytes: await vscode.workspace.fs.readFile(uri) };
  } catch (error) {
    if (!(error instanceof vscode.FileSystemError)) throw error;
    return { kind: error.code === 'FileNotFound' ? 'nothing' : 'refused' };
  }
}

/**
 * The document in which a person sees or edits a file. VS Code keeps documents of closed tabs for minutes, whatever becomes of their files:
 * those do not count.
 */
export function openDocument(file: string): vscode.TextDocument | undefined {
  const document = vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === file);
  return document === undefined || document.isDirty || document.uri.scheme !== 'file' || isInTab(file) ? document : undefined;
}

function isInTab(file: string): boolean {
  const isOwnFile = (uri: vscode.Uri): boolean => uri.toString() === file;
  return vscode.window.tabGroups.all.some(({ tabs }) =>
    tabs.some(({ input }) => {
      if (input instanceof vscode.TabInputText || input instanceof vscode.TabInputCustom) return isOwnFile(input.uri);
      return input instanceof vscode.TabInputTextDiff && (isOwnFile(input.original) || isOwnFile(input.modified));
    }),
  );
}

/** Whether a file that was there has been deleted or renamed. One that cannot be asked for is not. */
export async function isGone(file: string): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(vscode.Uri.parse(file));
    return false;
  } catch (error) {
    return error instanceof vscode.FileSystemError && error.code === 'FileNotFound';
  }
}

/**
 * Identity of the file that `path` names inside the file `from`: relative to its folder, or absolute on the same file system.
 * @throws ExpectedError `config-not-found` for a path that leads elsewhere (another machine, another scheme).
 */
export function resolvePath(from: string, path: string): string {
  const base = vscode.Uri.parse(from, true);
  const referenced = referencedPath(base, path);
  if (referenced === null) {
    const what = path.includes('\0') ? sentence`The path has a NUL character` : sentence`The path leads to another machine`;
    throw configError('config-not-found', what, sentence`name a file on this machine`, fileStart(from));
  }
  return (
    'absolute' in referenced ? base.with({ path: referenced.absolute }) : vscode.Uri.joinPath(base, '..', referenced.relative)
  ).toString();
}

/** Last part of a URI's path, for a sentence. */
export function uriBaseName(uri: vscode.Uri): string {
  return uri.path.slice(uri.path.lastIndexOf('/') + 1);
}

/** A file's path as people name it: relative to its workspace folder where there is one. */
export function displayPath(file: string): string {
  return vscode.workspace.asRelativePath(vscode.Uri.parse(file));
}
