import * as vscode from 'vscode';
import { ExpectedError } from '../../core/errors';
import type { TextEdit } from '../../core/findings';
import { sentence } from '../../core/sentence';
import { uriBaseName } from '../sessions/sources';

/** Edits that pages asked for, which can be taken back one after the other. */
export interface PageEdits {
  /** Replaces parts of files, as one edit that undo takes back. @throws ExpectedError `config-unreadable`. */
  readonly make: (config: string, edits: readonly TextEdit[]) => Promise<void>;
  readonly canUndo: (config: string) => boolean;
  /** Puts the texts back as they were before the last edit. @throws ExpectedError `undo-outdated` where one was edited since. */
  readonly undo: (config: string) => Promise<void>;
}

/** A text before and after an edit. */
interface Changed {
  readonly uri: vscode.Uri;
  readonly before: string;
  readonly after: string;
}

/** Edits of a config that are kept to be taken back. */
const mostKept = 50;

export function createPageEdits(): PageEdits {
  const made = new Map<string, readonly (readonly Changed[])[]>();
  return {
    make: async (config, edits) => {
      if (edits.length === 0) return;
      const files = [...new Set(edits.map(({ place }) => place.file))];
      const documents = await Promise.all(files.map((file) => vscode.workspace.openTextDocument(vscode.Uri.parse(file))));
      const texts = documents.map((document) => document.getText());
      await replace(
        documents.map((document, at) => ({
          document,
          parts: edits.filter(({ place }) => place.file === files[at]).map(({ place: { range }, newText }) => ({ ...range, newText })),
        })),
      );
      const changed = documents.map((document, at) => ({ uri: document.uri, before: texts[at] ?? '', after: document.getText() }));
      made.set(config, [...(made.get(config) ?? []), changed].slice(-mostKept));
    },
    canUndo: (config) => {
      const last = made.get(config)?.at(-1);
      return last?.every((each) => vscode.workspace.textDocuments.some((document) => isAsLeft(document, each))) === true;
    },
    undo: async (config) => {
      const kept = made.get(config) ?? [];
      const last = kept.at(-1);
      if (last === undefined) return;
      const documents = await Promise.all(last.map(({ uri }) => vscode.workspace.openTextDocument(uri)));
      const edited = last.find((each) => !documents.some((document) => isAsLeft(document, each)));
      if (edited !== undefined)
        throw new ExpectedError('undo-outdated', sentence`${uriBaseName(edited.uri)} was edited since`, sentence`undo there, edit by edit`);
      const [only, ...others] = documents;
      if (only !== undefined && others.length === 0) await undoInEditor(only);
      await replace(
        documents.map((document, at) => ({
          document,
          parts: [{ start: 0, end: document.getText().length, newText: last[at]?.before ?? '' }],
        })),
      );
      made.set(config, kept.slice(0, -1));
    },
  };
}

const groups = ['First', 'Second', 'Third', 'Fourth', 'Fifth', 'Sixth', 'Seventh', 'Eighth'];

/**
 * Undoes once in the editor of a document, so that a file that was saved before the edit is no longer marked as changed, and shows what was
 * there before. Nothing where no editor has it: VS Code undoes only in an editor that has the focus.
 */
async function undoInEditor(document: vscode.TextDocument): Promise<void> {
  const viewColumn = editorColumn(document);
  if (viewColumn === undefined) return;
  const page = vscode.window.tabGroups.activeTabGroup;
  const [group, place] = [groups[page.viewColumn - 1], page.tabs.findIndex(({ isActive }) => isActive)];
  await vscode.window.showTextDocument(document, { viewColumn });
  await vscode.commands.executeCommand('undo');
  if (group !== undefined) await vscode.commands.executeCommand(`workbench.action.focus${group}EditorGroup`);
  // The editor was behind the page.
  if (viewColumn === page.viewColumn && place >= 0) await vscode.commands.executeCommand('workbench.action.openEditorAtIndex', place);
}

/** The column of a document's editor, also of one behind another tab. */
function editorColumn(document: vscode.TextDocument): vscode.ViewColumn | undefined {
  const { visibleTextEditors, tabGroups } = vscode.window;
  const visible = visibleTextEditors.find((editor) => editor.document === document)?.viewColumn;
  const isTabOf = ({ input }: vscode.Tab): boolean =>
    input instanceof vscode.TabInputText && input.uri.toString() === document.uri.toString();
  return visible ?? tabGroups.all.find(({ tabs }) => tabs.some(isTabOf))?.viewColumn;
}

function isAsLeft(document: vscode.TextDocument, { uri, after }: Changed): boolean {
  return document.uri.toString() === uri.toString() && document.getText() === after;
}

interface Part {
  readonly start: number;
  readonly end: number;
  readonly newText: string;
}

/** Replaces parts of texts as one edit; what reads so already is left unchanged. */
async function replace(texts: readonly { readonly document: vscode.TextDocument; readonly parts: readonly Part[] }[]): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  for (const { document, parts } of texts)
    for (const { start, end, newText } of parts)
      if (document.getText().slice(start, end) !== newText)
        edit.replace(document.uri, new vscode.Range(document.positionAt(start), document.positionAt(end)), newText);
  if (edit.size === 0 || (await vscode.workspace.applyEdit(edit))) return;
  throw new ExpectedError(
    'config-unreadable',
    sentence`${texts.map(({ document }) => uriBaseName(document.uri)).join(', ')} cannot be edited`,
    sentence`check that it is not read-only`,
  );
}
