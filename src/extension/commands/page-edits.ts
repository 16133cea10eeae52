import * as vscode from 'vscode';
import { ExpectedError } from '../../core/errors';
import type { TextEdit } from '../../core/findings';
import { sentence } from '../../core/sentence';
import { nameOf } from '../sessions/sources';

/** Edits that pages asked for, of which the last one of a config can be taken back. */
export interface PageEdits {
  /** Replaces parts of one file, as one edit that undo takes back. @throws ExpectedError `config-unreadable`. */
  readonly make: (config: string, edits: readonly TextEdit[]) => Promise<void>;
  readonly canUndo: (config: string) => boolean;
  /** Puts the text back as it was before the last edit. @throws ExpectedError `undo-outdated` where the file was edited since. */
  readonly undo: (config: string) => Promise<void>;
}

interface Made {
  readonly uri: vscode.Uri;
  readonly before: string;
  readonly after: string;
}

export function createPageEdits(): PageEdits {
  const made = new Map<string, Made>();
  return {
    make: async (config, edits) => {
      const [first] = edits;
      if (first === undefined) return;
      const uri = vscode.Uri.parse(first.place.file);
      const document = await vscode.workspace.openTextDocument(uri);
      const before = document.getText();
      await replace(
        document,
        edits.map(({ place: { range }, newText }) => ({ ...range, newText })),
      );
      made.set(config, { uri, before, after: document.getText() });
    },
    canUndo: (config) => {
      const last = made.get(config);
      return last !== undefined && vscode.workspace.textDocuments.some((document) => isAsLeft(document, last));
    },
    undo: async (config) => {
      const last = made.get(config);
      if (last === undefined) return;
      const document = await vscode.workspace.openTextDocument(last.uri);
      if (!isAsLeft(document, last))
        throw new ExpectedError('undo-outdated', sentence`${nameOf(last.uri)} was edited since`, sentence`undo there, edit by edit`);
      await replace(document, [{ start: 0, end: last.after.length, newText: last.before }]);
      made.delete(config);
    },
  };
}

function isAsLeft(document: vscode.TextDocument, { uri, after }: Made): boolean {
  return document.uri.toString() === uri.toString() && document.getText() === after;
}

async function replace(
  document: vscode.TextDocument,
  parts: readonly { readonly start: number; readonly end: number; readonly newText: string }[],
): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  for (const { start, end, newText } of parts)
    edit.replace(document.uri, new vscode.Range(document.positionAt(start), document.positionAt(end)), newText);
  if (await vscode.workspace.applyEdit(edit)) return;
  throw new ExpectedError(
    'config-unreadable',
    sentence`${nameOf(document.uri)} cannot be edited`,
    sentence`check that it is not read-only`,
  );
}
