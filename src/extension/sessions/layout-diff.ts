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
   * The same once more; the file itself where the change was applied. @throws ExpectedError `apply-outdated` when the file is another by
   * now.
   */
  readonly showAgain: (applied: AppliedLayout, title: string) => Promise<void>;
  /**
   * Applies the change of a diff (the one in view where none is named) as one edit of the open file, which undo reverts. @throws
   * ExpectedError `apply-outdated` when the file is another by now.
   */
  readonly apply: (uri: unknown) => Promise<void>;
  /** Closes a diff and discards its change. */
  readonly discard: (uri: unknown) => Promise<void>;
  readonly dispose: () => void;
}

/** Keeps the changed texts as read-only documents of a scheme of our own; of each file the last is open. */
export function createLayoutDiffs(): LayoutDiffs {
  const proposals = new Map<string, AppliedLayout>();
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const provider = vscode.workspace.registerTextDocumentContentProvider(proposalScheme, {
    onDidChange: changed.event,
    provideTextDocumentContent: (uri) => proposals.get(uri.toString())?.text ?? '',
  });
  // Unknown: an extension host that starts again finds the key as the last one left it.
  let isInView: boolean | null = null;
  const showKeys = (): void => {
    const now = proposalInView() !== null;
    if (now !== isInView) void vscode.commands.executeCommand('setContext', 'terapipe.layoutDiff', now);
    isInView = now;
  };
  // Not when the document is closed, which VS Code does a while later: a new diff of the same file may be shown by then.
  const closed = vscode.window.tabGroups.onDidChangeTabs((tabs) => {
    for (const { input } of tabs.closed)
      if (isProposal(input) && openTabs(input.modified).length === 0) proposals.delete(input.modified.toString());
    showKeys();
  });
  const regrouped = vscode.window.tabGroups.onDidChangeTabGroups(showKeys);
  showKeys();

  function named(uri: unknown): vscode.Uri {
    const wanted = uri instanceof vscode.Uri && uri.scheme === proposalScheme ? uri : proposalInView();
    if (wanted === null) throw new CancelledError();
    return wanted;
  }

  async function close(uri: vscode.Uri): Promise<void> {
    await vscode.window.tabGroups.close(openTabs(uri));
    proposals.delete(uri.toString());
  }

  async function show(applied: AppliedLayout, title: string): Promise<void> {
    const file = vscode.Uri.parse(applied.file);
    // By its title: an editor of an address that is open already would keep the title it has.
    const uri = file.with({ scheme: proposalScheme, query: file.scheme, fragment: title });
    proposals.set(uri.toString(), applied);
    changed.fire(uri);
    const others = proposalTabs((other) => other.path === uri.path && other.query === uri.query && other.fragment !== title);
    await vscode.commands.executeCommand('vscode.diff', file, uri, title, { preview: false, viewColumn: vscode.ViewColumn.One });
    await vscode.window.tabGroups.close(others, true);
  }

  return {
    show,
    showAgain: async (applied, title) => {
      const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(applied.file));
      const text = document.getText();
      if (text === applied.before) return show(applied, title);
      if (text !== applied.text) throw outdated(document.uri);
      await vscode.window.showTextDocument(document, { preview: false, viewColumn: vscode.ViewColumn.One });
    },
    apply: async (target) => {
      const uri = named(target);
      const applied = proposals.get(uri.toString());
      if (applied === undefined) throw outdated(uri);
      // Where the diff is: another group may have the focus, which would get a second editor of the file.
      const viewColumn = openTabs(uri)[0]?.group.viewColumn ?? vscode.ViewColumn.One;
      await write(applied);
      await close(uri);
      await vscode.window.showTextDocument(vscode.Uri.parse(applied.file), { preview: false, viewColumn });
    },
    discard: async (target) => close(named(target)),
    dispose: () => {
      provider.dispose();
      closed.dispose();
      regrouped.dispose();
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

/** Of the group with the focus, else of any other: a page next to the diff may have the focus. */
function proposalInView(): vscode.Uri | null {
  const { activeTabGroup, all } = vscode.window.tabGroups;
  const input = [activeTabGroup, ...all].map(({ activeTab }) => activeTab?.input).find(isProposal);
  return input?.modified ?? null;
}

function isProposal(input: unknown): input is vscode.TabInputTextDiff {
  return input instanceof vscode.TabInputTextDiff && input.modified.scheme === proposalScheme;
}

/** Tabs with the diff of a proposal. */
function openTabs(uri: vscode.Uri): readonly vscode.Tab[] {
  return proposalTabs((other) => other.toString() === uri.toString());
}

function proposalTabs(isWanted: (uri: vscode.Uri) => boolean): readonly vscode.Tab[] {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  return tabs.filter(({ input }) => isProposal(input) && isWanted(input.modified));
}
