import * as vscode from 'vscode';
import type { AppliedLayout } from '../../core/export/apply-layout';
import { CancelledError, ExpectedError } from '../../core/errors';
import { toRange } from '../language/ranges';
import { uriBaseName } from './sources';
import { sentence } from '../../core/sentence';

const proposalScheme = 'terapipe-layout';

/** Previews of changes to configs. */
export interface LayoutDiffs {
  /** Shows a change as a diff; writes nothing. */
  readonly show: (applied: AppliedLayout, title: string) => Promise<void>;
  /**
   * Applies the change of a diff (the active one where none is named) as one edit of the open file, which undo reverts. @throws
   * ExpectedError `apply-outdated` when the file is another by now.
   */
  readonly apply: (uri: unknown) => Promise<void>;
  /** Closes a diff and discards its change. */
  readonly discard: (uri: unknown) => Promise<void>;
  readonly dispose: () => void;
}

/** Keeps the changed texts as read-only documents of a scheme of our own, one a file. */
export function createLayoutDiffs(): LayoutDiffs {
  const proposals = new Map<string, AppliedLayout>();
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const provider = vscode.workspace.registerTextDocumentContentProvider(proposalScheme, {
    onDidChange: changed.event,
    provideTextDocumentContent: (uri) => proposals.get(uri.toString())?.text ?? '',
  });
  const closed = vscode.workspace.onDidCloseTextDocument(({ uri }) => proposals.delete(uri.toString()));

  function named(uri: unknown): vscode.Uri {
    const wanted = uri instanceof vscode.Uri && uri.scheme === proposalScheme ? uri : activeProposal();
    if (wanted === null) throw new CancelledError();
    return wanted;
  }

  async function close(uri: vscode.Uri): Promise<void> {
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter(({ input }) => isDiffWith(input, uri));
    await vscode.window.tabGroups.close(tabs);
    proposals.delete(uri.toString());
  }

  return {
    show: async (applied, title) => {
      const file = vscode.Uri.parse(applied.file);
      const uri = file.with({ scheme: proposalScheme, query: file.scheme });
      proposals.set(uri.toString(), applied);
      changed.fire(uri);
      await vscode.commands.executeCommand('vscode.diff', file, uri, title, { preview: false, viewColumn: vscode.ViewColumn.One });
    },
    apply: async (target) => {
      const uri = named(target);
      const applied = proposals.get(uri.toString());
      if (applied === undefined) throw outdated(uri);
      await write(applied);
      await close(uri);
      await vscode.window.showTextDocument(vscode.Uri.parse(applied.file), { preview: false });
    },
    discard: async (target) => close(named(target)),
    dispose: () => {
      provider.dispose();
      closed.dispose();
      changed.dispose();
      proposals.clear();
    },
  };
}

async function write({ file, before, edits }: AppliedLayout): Promise<void> {
  const uri = vscode.Uri.parse(file);
  const document = await vscode.workspace.openTextDocument(uri);
  if (document.getText() !== before) throw outdated(uri);
  const edit = new vscode.WorkspaceEdit();
  const texts = new Map([[file, before]]);
  for (const { place, newText } of edits) edit.replace(uri, toRange(place, texts), newText);
  if (!(await vscode.workspace.applyEdit(edit)))
    throw new ExpectedError('config-unreadable', sentence`${uriBaseName(uri)} cannot be edited`, sentence`check that it is not read-only`);
}

function outdated(uri: vscode.Uri): ExpectedError {
  return new ExpectedError(
    'apply-outdated',
    sentence`${uriBaseName(uri)} has changed since the layout was written into it`,
    sentence`apply the layout again`,
  );
}

function activeProposal(): vscode.Uri | null {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  return input instanceof vscode.TabInputTextDiff && input.modified.scheme === proposalScheme ? input.modified : null;
}

function isDiffWith(input: unknown, uri: vscode.Uri): boolean {
  return input instanceof vscode.TabInputTextDiff && input.modified.toString() === uri.toString();
}
